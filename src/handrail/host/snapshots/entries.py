"""The index of a tree: what is known of each entry.

An entry counts as unchanged only if its whole signature is equal, and only if the signature was
older than one clock tick when it was taken; otherwise the file is read again.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.places import Form
from handrail.core.ports.snapshots import (
    BUSY,
    LONG_LINK,
    NO_ROOM,
    SENSITIVE,
    TOO_LARGE,
    UNREADABLE,
    FileState,
)
from handrail.host.files.reading import TICK_NS, is_settled

# File systems that update a directory's stamp with every entry that is added or removed.
_STAMPING: Final = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "overlay", "zfs", "bcachefs"}
)

# Times of modification and change, inode, size, mode, device. No program can restore the time
# of change, so an equal signature means an unchanged file.
Signature = tuple[int, int, int, int, int, int]
# Device, inode, time of change.
Stamp = tuple[int, int, int]

# Markers in place of a digest: why the content was not copied.
REASONS: Final = {
    "!large": TOO_LARGE,
    "!room": NO_ROOM,
    "!sensitive": SENSITIVE,
    "!unreadable": UNREADABLE,
    "!busy": BUSY,
}
FOLDER: Final = "/"
# Longer targets are shortened and hashed.
LONGEST_TARGET: Final = 300
SPECIAL: Final = "?"


class TreeEntry(NamedTuple):
    """One indexed entry. `proof` is the signature, or None if an equal signature would prove
    nothing. `what` is a digest, a marker of `REASONS`, or a link target.
    """

    proof: Signature | None
    signature: Signature
    what: str

    @property
    def mode(self) -> int:
        """Type and permissions, as in `st_mode`."""
        return self.signature[4]


Listing = dict[str, TreeEntry]


@dataclass(slots=True)
class StorageUsage:
    """Totals over all roots; `stale` are the bytes of copies to which no entry refers."""

    files: int = 0
    size: int = 0
    stale: int = 0


@dataclass(slots=True)
class TreeIndex:
    """The entries of one root by directory; `left` are incomplete directories with the reasons."""

    usage: StorageUsage
    listings: dict[str, Listing] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    # Directories changed since the manifest was saved.
    dirty: set[str] = field(default_factory=set)
    # Maps paths to device and inode, for files with hard links before a program.
    linked: dict[str, tuple[int, int]] = field(default_factory=dict)

    def put(self, rel: str, name: str, entry: TreeEntry) -> None:
        """Add or replace an entry."""
        listing, usage = self.listings.get(rel), self.usage
        if listing is None:
            listing = self.listings[rel] = {}
        elif name in listing:
            self.drop(rel, name)
        listing[name] = entry
        usage.files += 1
        usage.size += kept_bytes(entry)
        self.dirty.add(rel)

    def drop(self, rel: str, name: str) -> None:
        """Remove an entry, but not entries below it."""
        listing = self.listings.get(rel)
        old = listing.pop(name, None) if listing is not None else None
        if old is not None:
            self.usage.files -= 1
            self.usage.size -= kept_bytes(old)
            self.usage.stale += kept_bytes(old)
            self.dirty.add(rel)

    def mark_lost(self, digests: set[str]) -> None:
        """Mark entries whose copies were not written because there was no room."""
        for rel in tuple(self.dirty):
            for name, entry in tuple(self.listings.get(rel, {}).items()):
                if is_kept(entry) and entry.what in digests:
                    self.put(rel, name, TreeEntry(None, entry.signature, "!room"))

    def count_in(self, usage: StorageUsage) -> TreeIndex:
        """Count the entries in `usage`, which roots share; return this object."""
        self.usage = usage
        for listing in self.listings.values():
            usage.files += len(listing)
            usage.size += sum(map(kept_bytes, listing.values()))
        return self

    def copy(self, usage: StorageUsage) -> TreeIndex:
        """An independent copy."""
        listings = {rel: dict(listing) for rel, listing in self.listings.items()}
        copied = TreeIndex(usage, listings, dict(self.left), linked=dict(self.linked))
        return copied.count_in(usage)

    def digests(self) -> set[str]:
        """The hashes of all contents in use."""
        return {
            entry.what
            for listing in self.listings.values()
            for entry in listing.values()
            if is_kept(entry)
        }


def make_entry(signature: Signature, what: str, started_ns: int) -> TreeEntry:
    """An entry of a walk that started at `started_ns`."""
    settled = max(signature[0], signature[1]) < started_ns - TICK_NS
    return TreeEntry(signature if settled else None, signature, what)


def folder_entry(mode: int) -> TreeEntry:
    """A directory; only its mode matters."""
    return TreeEntry(None, (0, 0, 0, 0, mode, 0), FOLDER)


def is_kept(entry: TreeEntry) -> bool:
    """Return whether the content was copied."""
    return stat.S_ISREG(entry.mode) and not entry.what.startswith("!")


def kept_bytes(entry: TreeEntry) -> int:
    """Return the bytes of the copy."""
    _, signature, what = entry
    return signature[3] if stat.S_ISREG(signature[4]) and what[0] != "!" else 0


def file_state(entry: TreeEntry, links: int = 1) -> FileState:
    """Return the entry as `FileState`."""
    form = Form.of(entry.mode)
    why = REASONS.get(entry.what, "") if form is Form.FILE else ""
    if form is Form.LINK and len(entry.what) > LONGEST_TARGET:
        why = LONG_LINK
    text = entry.what if form in (Form.FILE, Form.LINK) and not why else ""
    written_ns, changed_ns, inode, size, mode, _ = entry.signature
    return FileState(
        form, stat.S_IMODE(mode), size, text, why, written_ns, changed_ns, links, inode
    )


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
        """Return the stamp to compare with later; None if an equal stamp would prove nothing."""
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
