"""When a directory need not be listed again: its time stamps say that no entry came or went.

Believed only where the file system is known to stamp directories, and only if the stamp was old
enough when the directory was listed.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

# A change within one tick of the clock leaves no trace in the time stamps.
_COARSE_NS: Final = 20_000_000
# File systems of this kernel that stamp a directory with every entry that comes or goes.
_STAMPING: Final = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "overlay", "zfs", "bcachefs"}
)

Stamp = tuple[int, int, int]


def identity(info: os.stat_result) -> Stamp:
    """What stays the same as long as nothing came or went."""
    return info.st_dev, info.st_ino, info.st_ctime_ns


class DirectoryStamps:
    """Gives the stamp of a directory that is about to be listed."""

    def __init__(self) -> None:
        self._stamping: dict[int, bool] = {}

    def of(self, info: os.stat_result) -> Stamp | None:
        """The stamp to compare with later; None if it would prove nothing."""
        settled = info.st_ctime_ns < time.time_ns() - _COARSE_NS
        return identity(info) if settled and self._stamps(info.st_dev) else None

    def _stamps(self, device: int) -> bool:
        known = self._stamping.get(device)
        if known is None:
            known = self._stamping[device] = _filesystem_type(device) in _STAMPING
        return known


def _filesystem_type(device: int) -> str:
    """The name of the file system with this device number, empty if that cannot be told."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    kinds = {
        line.split(" - ", 1)[1].split()[0]
        for line in mounts.splitlines()
        if line.split()[2] == number and " - " in line
    }
    return kinds.pop() if len(kinds) == 1 else ""
