"""A second process that exchanges names in a workspace, without pause, while a test works."""

import subprocess
import sys
from contextlib import contextmanager

from tests.support.waiting import running

_SWAPPER = """
import ctypes, os, sys

libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
pairs = [(os.fsencode(one), os.fsencode(two)) for one, two in zip(sys.argv[2::2], sys.argv[3::2])]
print("ready", flush=True)
while True:
    for one, two in pairs:
        if libc.renameat2(-100, one, -100, two, 2):
            sys.exit("it cannot be exchanged")
"""


@contextmanager
def swapping(root, *pairs):
    """Exchange the two names of each pair, over and over; fails if that came to an end."""
    names = [name for pair in pairs for name in pair]
    command = [sys.executable, "-I", "-S", "-c", _SWAPPER, str(root), *names]
    with running(subprocess.Popen(command, stdout=subprocess.PIPE)) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"ready\n"
        yield
        assert swapper.poll() is None, "it swapped to the end"
