"""Directories of tests that hold what their owner may not enter."""

import os
import shutil


def remove_tree(top):
    """Remove a directory of a test's own with closed folders in it, also as an ordinary user."""
    os.chmod(top, 0o700)
    for folder, names, _ in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(top)
