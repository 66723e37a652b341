"""Copies that nobody uses go; those of a runtime that is open stay."""

import os
import time

from handrail.core.ports.snapshots import SnapshotLimits
from handrail.host.snapshots.local_snapshots import LocalSnapshots
from handrail.host.snapshots.store_dir import remove_unused_stores

LATER = time.time_ns() + 10**15


def shadow_of(root, home):
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    return LocalSnapshots([(str(root), handle)], home, limits=SnapshotLimits()), handle


def test_places_that_nobody_has_are_emptied_and_used_again(tmp_path):
    root, home = tmp_path / "root", tmp_path / "shadow"
    root.mkdir()
    (root / "a").write_bytes(b"x" * 5000)
    first, one = shadow_of(root, home)
    second, two = shadow_of(root, home)
    first.capture(None)
    second.capture(None)
    second.close()
    (home / "not-a-place").mkdir()

    planned = remove_unused_stores(home, LATER, dry_run=True)
    freed = remove_unused_stores(home, LATER, dry_run=False)
    again, three = shadow_of(root, home)
    again.capture(None)

    assert planned == freed > 5000
    assert sum(1 for path in (home / "0").rglob("*") if path.is_file()) > 2
    assert remove_unused_stores(home, LATER, dry_run=False) == 0
    assert (home / "not-a-place").is_dir()
    for shadow, handle in ((first, one), (again, three)):
        shadow.close()
        os.close(handle)
    os.close(two)


def test_what_was_used_lately_stays(tmp_path):
    root, home = tmp_path / "root", tmp_path / "shadow"
    root.mkdir()
    (root / "a").write_bytes(b"x")
    shadow, handle = shadow_of(root, home)
    shadow.capture(None)
    shadow.close()
    os.close(handle)

    assert remove_unused_stores(home, time.time_ns() - 10**12, dry_run=False) == 0
    assert remove_unused_stores(tmp_path / "none", LATER, dry_run=False) == 0
