"""A program in the workspace swaps a directory for a symlink while we open: no way out."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from tests.support.waiting import running

from handrail.core.places import Kind, Place
from handrail.core.plan import Change
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.host.files.local_files import LocalFiles

SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
one, two = (os.fsencode(path) for path in sys.argv[1:3])
print("ready", flush=True)
while True:
    if libc.renameat2(-100, one, -100, two, 2):
        sys.exit(os.strerror(ctypes.get_errno()))
"""


@pytest.fixture
def swapped(tmp_path):
    """`work/d` is a directory and a symlink to `outside` by turns, very fast."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    for top, text in ((work / "d", b"inside"), (outside, b"SECRET")):
        top.mkdir(parents=True)
        (top / "x").write_bytes(text)
    (work / "link").symlink_to(outside)
    script = [sys.executable, "-c", SWAPPER, str(work / "d"), str(work / "link")]
    with running(subprocess.Popen(script, stdout=subprocess.PIPE)) as swapper:
        assert swapper.stdout.readline() == b"ready\n"
        yield work, outside
        assert swapper.poll() is None, "the swapper died, so there was no race"
        swapper.kill()


def attempt(action):
    try:
        return action()
    except ProblemRaised as raised:
        return raised.problem.code


def opens(work, count):
    """What came of `count` reads by path and by place; stops early on an escape."""
    files = LocalFiles([work])
    place = Place(0, "d/x", "d/x", f"{work}/d/x", Kind.FILE)
    seen = Counter()
    while sum(seen.values()) < count or len(seen) < 2:
        seen[attempt(lambda: bytes(files.read(place).content.parts[0]))] += 1
        seen[attempt(lambda: bytes(files.read(files.locate("d/x")).content.parts[0]))] += 1
        seen[attempt(lambda: "; ".join(files.window(place, 1, 9).lines).encode())] += 1
        assert b"SECRET" not in seen
    files.close()
    return seen


def test_reads_never_escape(swapped, opener):
    seen = opens(swapped[0], 3_000)

    assert set(seen) <= {b"inside", "stale", "outside_workspace", "not_found"}
    assert seen[b"inside"]


@pytest.mark.torture
def test_a_hundred_thousand_reads_never_escape(swapped, opener):
    seen = opens(swapped[0], 100_000)

    assert set(seen) <= {b"inside", "stale", "outside_workspace", "not_found"}


def writes(work, outside, count):
    files = LocalFiles([work])
    before = {name: (outside / name).read_bytes() for name in os.listdir(outside)}
    seen = Counter()
    # A write has many steps; at least one must get through for the others to mean anything.
    while sum(seen.values()) < count or (not seen["written"] and sum(seen.values()) < 100_000):
        for rel in ("d/x", "d/new/y"):
            place = Place(0, rel, rel, f"{work}/{rel}", Kind.FILE)
            seen[attempt(lambda place=place: write(files, place))] += 1
    files.close()
    assert {name: (outside / name).read_bytes() for name in os.listdir(outside)} == before
    return seen


def write(files, place):
    seen = files.read(place) if files.stat(place) else None
    change = Change(place, seen and seen.content, Content(b"inside"), seen and seen.stat)
    staged = files.stage(change, durable=False)
    try:
        staged.publish()
    finally:
        staged.discard()
    return "written"


def test_writes_never_escape(swapped, opener):
    seen = writes(*swapped, 600)

    assert seen["written"]


@pytest.mark.torture
def test_many_writes_never_escape(swapped, opener):
    seen = writes(*swapped, 50_000)

    assert seen["written"]
