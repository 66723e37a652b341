"""Which stat fields prove that a file or directory is unchanged, and when they do.

A change within one tick of the kernel's clock may leave the time stamps as they were, so stamps
that are younger than a tick prove nothing. Directory stamps are trusted only on file systems
that are known to update them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from handrail.host.files.reading import is_settled

# File systems that stamp a directory with every entry that is added or removed.
_STAMPING: Final = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "overlay", "zfs", "bcachefs"}
)

# Times of modification and change, inode, size, mode, device. No program can restore the time
# of change, so an equal signature means an unchanged file.
Signature = tuple[int, int, int, int, int, int]
# Device, inode, time of change.
Stamp = tuple[int, int, int]


def file_signature(info: os.stat_result) -> Signature:
    """The fields that differ between any two states of a file."""
    return (
        info.st_mtime_ns,
        info.st_ctime_ns,
        info.st_ino,
        info.st_size,
        info.st_mode,
        info.st_dev,
    )


def directory_stamp(info: os.stat_result) -> Stamp:
    """The fields that change whenever an entry is added to or removed from a directory."""
    return info.st_dev, info.st_ino, info.st_ctime_ns


class DirectoryStamps:
    """Takes stamps of directories that are about to be listed."""

    def __init__(self) -> None:
        self._stamping: dict[int, bool] = {}

    def take(self, info: os.stat_result) -> Stamp | None:
        """The stamp to compare with later; None if an equal stamp would prove nothing."""
        usable = is_settled(info.st_ctime_ns) and self._updates_stamps(info.st_dev)
        return directory_stamp(info) if usable else None

    def _updates_stamps(self, device: int) -> bool:
        known = self._stamping.get(device)
        if known is None:
            known = self._stamping[device] = _filesystem_type(device) in _STAMPING
        return known


def _filesystem_type(device: int) -> str:
    """The file system type of a device number, or "" if it cannot be determined."""
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
