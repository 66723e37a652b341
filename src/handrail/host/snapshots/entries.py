"""What is remembered of one entry of a directory, and of a whole tree of them.

An entry is believed unchanged only by its whole signature, and only if the signature is older
than the tick of the clock in which it was taken: what is younger is read again.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from handrail.core.places import Form
from handrail.core.shadows import (
    BUSY,
    LONG_LINK,
    NO_ROOM,
    SENSITIVE,
    TOO_LARGE,
    UNREADABLE,
    FileState,
)
from handrail.host.snapshots.stamps import TICK_NS, Signature

# What stands in place of a content that was not kept, and why.
REASONS: Final = {
    "!large": TOO_LARGE,
    "!room": NO_ROOM,
    "!sensitive": SENSITIVE,
    "!unreadable": UNREADABLE,
    "!busy": BUSY,
}
FOLDER: Final = "/"
# Of a longer one only what tells it from others is remembered.
LONGEST_TARGET: Final = 300
SPECIAL: Final = "?"


class TreeEntry(NamedTuple):
    """`proof` is the signature, or None if it proves nothing. `what` is a digest, a reason
    from the table above, or the target of a link.
    """

    proof: Signature | None
    signature: Signature
    what: str

    @property
    def mode(self) -> int:
        """Kind and permissions, as the kernel has them."""
        return self.signature[4]


Listing = dict[str, TreeEntry]


@dataclass(slots=True)
class StorageUsage:
    """How much is remembered, over all roots: entries, bytes of their contents, and `stale`
    bytes of contents that no entry has any more.
    """

    files: int = 0
    size: int = 0
    stale: int = 0


@dataclass(slots=True)
class TreeIndex:
    """The entries of one root by directory. `left`: not looked into, or not completely."""

    usage: StorageUsage
    listings: dict[str, Listing] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    # Directories whose listing is not as it was last written down.
    dirty: set[str] = field(default_factory=set)
    # Device and inode of files that had several names at the last look before a program.
    linked: dict[str, tuple[int, int]] = field(default_factory=dict)

    def put(self, rel: str, name: str, entry: TreeEntry) -> None:
        """Remember an entry in place of the old one."""
        self.drop(rel, name)
        self.listings.setdefault(rel, {})[name] = entry
        self.usage.files += 1
        self.usage.size += kept_bytes(entry)
        self.dirty.add(rel)

    def drop(self, rel: str, name: str) -> None:
        """Forget an entry, not what is below it."""
        listing = self.listings.get(rel)
        old = listing.pop(name, None) if listing is not None else None
        if old is not None:
            self.usage.files -= 1
            self.usage.size -= kept_bytes(old)
            self.usage.stale += kept_bytes(old)
            self.dirty.add(rel)

    def count_in(self, usage: StorageUsage) -> TreeIndex:
        """Count its entries together with those of other roots; returns itself."""
        self.usage = usage
        for listing in self.listings.values():
            usage.files += len(listing)
            usage.size += sum(map(kept_bytes, listing.values()))
        return self

    def copy(self, usage: StorageUsage) -> TreeIndex:
        """The same entries, to be changed apart."""
        listings = {rel: dict(listing) for rel, listing in self.listings.items()}
        copied = TreeIndex(usage, listings, dict(self.left), linked=dict(self.linked))
        return copied.count_in(usage)

    def digests(self) -> set[str]:
        """The contents that are needed."""
        return {
            entry.what
            for listing in self.listings.values()
            for entry in listing.values()
            if is_kept(entry)
        }


def make_entry(signature: Signature, what: str, started_ns: int) -> TreeEntry:
    """An entry as of a look that began then."""
    settled = max(signature[0], signature[1]) < started_ns - TICK_NS
    return TreeEntry(signature if settled else None, signature, what)


def folder_entry(mode: int) -> TreeEntry:
    """A directory; only its mode is its own, all else is its entries'."""
    return TreeEntry(None, (0, 0, 0, 0, mode, 0), FOLDER)


def is_kept(entry: TreeEntry) -> bool:
    """Whether there is a copy of its content."""
    return stat.S_ISREG(entry.mode) and not entry.what.startswith("!")


def kept_bytes(entry: TreeEntry) -> int:
    """How much of the quota it uses."""
    return entry.signature[3] if is_kept(entry) else 0


def file_state(entry: TreeEntry, links: int = 1) -> FileState:
    """The entry as others see it."""
    form = Form.of(entry.mode)
    why = REASONS.get(entry.what, "") if form is Form.FILE else ""
    if form is Form.LINK and len(entry.what) > LONGEST_TARGET:
        why = LONG_LINK
    text = entry.what if form in (Form.FILE, Form.LINK) and not why else ""
    written_ns, changed_ns, inode, size, mode, _ = entry.signature
    return FileState(
        form, stat.S_IMODE(mode), size, text, why, written_ns, changed_ns, links, inode
    )
