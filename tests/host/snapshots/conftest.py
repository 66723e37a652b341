"""A folder, and shadows of it."""

import os

import pytest

from handrail.core.ports.snapshots import SnapshotLimits
from handrail.host.snapshots.local_snapshots import LocalSnapshots


class Folder:
    """A real directory with a shadow beside it."""

    def __init__(self, top):
        self.root = top / "work"
        self.root.mkdir()
        self.state = top / "state"
        self.handle = os.open(self.root, os.O_RDONLY)
        self.opened = []

    def shadow(self, state=None, **limits):
        shadow = LocalSnapshots(
            [(str(self.root), self.handle)],
            state or self.state,
            limits=SnapshotLimits(**limits),
        )
        self.opened.append(shadow)
        return shadow

    def write(self, path, content="x"):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path)
    yield made
    for shadow in made.opened:
        shadow.close()
    os.close(made.handle)


def told(look):
    """What is different: path → (before, after), by the hash, the target or the kind."""

    def short(sight):
        return None if sight is None else sight.text[:8] or sight.why or sight.form.value

    return {one.rel: (short(one.before), short(one.after)) for one in look.deltas}
