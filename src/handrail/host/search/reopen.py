"""Where the kernel cannot hold ripgrep to its root, no name it reports is shown unchecked.

A directory that was a link for a moment may have led it outside.
"""

from __future__ import annotations

import os

from handrail.host.search.roots import Root, open_beneath


def still_there(root: Root, rel: str) -> bool:
    """Whether the path is a regular file of this root."""
    handle = open_beneath(root, rel)
    if handle is None:
        return False
    os.close(handle)
    return True
