"""l. The two looks around a command, beside two plain passes of scandir and stat over the same
50,000 files; and the first look, which copies them, beside reading and hashing each of them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from bench.figure import Figure, Scale, figure, interleave
from bench.tree import grow
from handrail.core.ports.snapshots import SnapshotLimits
from handrail.host.snapshots.local_snapshots import LocalSnapshots

FILES = 50_000


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    root = folder / "workspace"
    root.mkdir()
    grow(root, min(FILES, scale.files) if scale.files < 10_000 else FILES)
    handle = os.open(root, os.O_RDONLY)
    try:
        first = await interleave(
            {"limit": lambda: read(root), "ours": lambda: first_look(root, handle, folder)},
            rounds=1,
        )
        shadow = shadow_of(root, handle, folder / "warm")
        shadow.capture(None)

        def limit() -> None:
            plain(root)
            plain(root)

        def ours() -> None:
            look = shadow.diff(shadow.capture(None))
            assert not look.deltas

        warm = await interleave({"limit": limit, "ours": ours}, rounds=scale.rounds)
        shadow.close()
    finally:
        os.close(handle)
    return [
        figure("l", "looks around a command / 2x scandir+stat", warm, bar=1.5, goal=1.2),
        # Reported: it is paid once for a workspace, and has no bar.
        figure("l", "first look, which copies / read and hash", first, bar=100, goal=3),
    ]


def plain(root: Path) -> int:
    """What no look can do without: every name, and its stat."""
    count, folders = 0, [str(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return count


def read(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_file():
            hashlib.sha256(path.read_bytes()).digest()


def first_look(root: Path, handle: int, folder: Path) -> None:
    shutil.rmtree(folder / "cold", ignore_errors=True)
    shadow = shadow_of(root, handle, folder / "cold")
    shadow.capture(None)
    shadow.close()


def shadow_of(root: Path, handle: int, directory: Path) -> LocalSnapshots:
    return LocalSnapshots([(str(root), handle)], directory, limits=SnapshotLimits())
