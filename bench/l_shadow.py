"""l. The two looks around a command, beside two plain passes of scandir and stat over the same
50,000 files; and the first look, which copies them, beside one such pass, in CPU time: of a plain
tree, of a clean git tree, and of twice as many files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bench.figure import Figure, Scale, figure, interleave
from bench.tree import grow
from handrail.core.ports.snapshots import SnapshotLimits
from handrail.host.snapshots.local_snapshots import LocalSnapshots

FILES = 50_000
FIRST = 30_000
LOOKS = 3


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    root = folder / "workspace"
    root.mkdir()
    grow(root, min(FILES, scale.files) if scale.files < 10_000 else FILES)
    handle = os.open(root, os.O_RDONLY)
    try:
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
        *first_looks(folder, min(FIRST, scale.files)),
    ]


def first_looks(folder: Path, files: int) -> list[Figure]:
    """The first look at this many files, at half of them, and at a clean git tree of them."""
    half, whole = folder / "half", folder / "whole"
    for root, count in ((half, files // 2), (whole, files)):
        fill(root, count)
    plain_tree = {"limit": list[float](), "ours": list[float]()}
    growth = {"limit": list[float](), "ours": list[float]()}
    for _ in range(LOOKS):
        plain_tree["limit"].append(cpu(lambda: plain(whole)))
        plain_tree["ours"].append(cpu(lambda: first_look(whole, folder)))
        growth["limit"].append(cpu(lambda: first_look(half, folder)))
        growth["ours"].append(plain_tree["ours"][-1])
    rows = [
        figure("l", "first look, CPU / 1x scandir+stat", plain_tree, bar=25, goal=8),
        figure("l", f"first look, {files:,} / {files // 2:,} files", growth, bar=2.3, goal=2.1),
    ]
    git = shutil.which("git")
    if git is None:
        return rows
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -q -m a", "gc -q"):
        subprocess.run([git, "-c", "gc.auto=0", *words.split()], cwd=whole, check=True)
    clean = {"limit": list[float](), "ours": list[float]()}
    for _ in range(LOOKS):
        clean["limit"].append(cpu(lambda: plain(whole)))
        clean["ours"].append(cpu(lambda: first_look(whole, folder)))
    return [*rows, figure("l", "the same of a clean git tree", clean, bar=8, goal=6)]


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def fill(root: Path, files: int) -> None:
    """Files of about 3 kB, no two alike."""
    line = "an ordinary line of source text, as long as most of them are\n"
    for number in range(files):
        if number % 50 == 0:
            (root / f"part{number // 50}").mkdir(parents=True)
        path = root / f"part{number // 50}" / f"item{number}.py"
        path.write_text(f"# {number}\n{line * (20 + number % 60)}")


def plain(root: Path) -> int:
    """Read every name and its stat, the least that any look must do."""
    count, folders = 0, [str(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return count


def first_look(root: Path, folder: Path) -> None:
    handle = os.open(root, os.O_RDONLY)
    cold = folder / f"cold-{os.urandom(4).hex()}"
    shadow = shadow_of(root, handle, cold)
    shadow.capture(None)
    shadow.close()
    os.close(handle)


def shadow_of(root: Path, handle: int, directory: Path) -> LocalSnapshots:
    return LocalSnapshots([(str(root), handle)], directory, limits=SnapshotLimits())
