"""Reads one entry: its signature, and a copy of its content if one is to be made.

A file is opened through the handle of its directory, never by path, and only if it is a regular
file. A file that changes during the copy is read again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from handrail.core.names.sensitive import is_sensitive_folder, is_sensitive_name
from handrail.core.ports.snapshots import EntryChange, OtherNames, SnapshotLimits
from handrail.host.files.reading import TICK_NS
from handrail.host.files.root_identity import RootHandle
from handrail.host.files.roots import READ
from handrail.host.snapshots.content_store import ContentStore
from handrail.host.snapshots.entries import (
    LONGEST_TARGET,
    SPECIAL,
    Listing,
    Signature,
    StorageUsage,
    TreeEntry,
    TreeIndex,
    file_signature,
    is_kept,
    make_entry,
)

# Candidates per file from which undo can restore the hard link.
_MOST_NAMES: Final = 4
_SKIPPED: Final = frozenset({".git"})

FoundEntry = tuple[str, os.stat_result]
File = tuple[int, int]
Name = tuple[int, str]

_OPEN: Final = READ | os.O_NOFOLLOW
_TRIES: Final = 3
_REPORTED: Final = 256
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True)
class SnapshotServices:
    """What a walk needs besides the index."""

    contents: ContentStore
    limits: SnapshotLimits
    hidden: frozenset[str]
    usage: StorageUsage
    # Called with the number of files copied so far, every few hundred files.
    progress: Callable[[int], None] | None = None
    entries: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", self.limits.entries)


class EntryReading(NamedTuple):
    """An entry and its link count."""

    entry: TreeEntry
    links: int


class EntryReader:
    """Reads entries for one walk. `seed` is another index whose copies can be reused."""

    def __init__(self, services: SnapshotServices, seed: TreeIndex | None, started_ns: int) -> None:
        self._contents = services.contents
        self._limits = services.limits
        self._usage = services.usage
        self._progress = services.progress
        self._seed = seed
        self._started = started_ns
        self._freed = 0
        self._copied = 0
        # The directory of the last entry, and whether the files in it are sensitive.
        self._folder: tuple[str, bool] = ("", False)

    def read(
        self, rel: str, handle: int, name: str, info: os.stat_result, freed: int = 0
    ) -> EntryReading | None:
        """Read an entry of an open directory; return None if it was removed or replaced. `freed`
        are the bytes of the copy that it replaces.
        """
        self._freed = freed
        if stat.S_ISREG(info.st_mode):
            return self._file(rel, handle, name, info)
        signature = file_signature(info)
        if not stat.S_ISLNK(info.st_mode):
            return EntryReading(TreeEntry(signature, signature, SPECIAL), info.st_nlink)
        try:
            target = os.readlink(name, dir_fd=handle)
        except OSError:
            return None
        return EntryReading(make_entry(signature, _short(target), self._started), info.st_nlink)

    def copy_new(
        self, rel: str, handle: int, found: Sequence[FoundEntry], listing: Listing
    ) -> list[FoundEntry]:
        """Add the small files of a directory to its new listing; return the other entries, and the
        files that `read` has to try again or describe.

        A first look spends most of its time here, hence one loop for the steps of `read`.
        """
        contents, usage, progress = self._contents, self._usage, self._progress
        if self._seed is not None or is_sensitive_folder(rel):
            return [*found]
        small = min(contents.packed_below, self._limits.file_bytes + 1)
        settled, others = self._started - TICK_NS, list[FoundEntry]()
        for one in found:
            name, info = one
            signature = written, changed, _, size, mode, _ = file_signature(info)
            if (
                not stat.S_ISREG(mode)
                or size >= small
                or usage.size + size > self._limits.total_bytes
                or name in _SKIPPED
                or is_sensitive_name(name)
            ):
                others.append(one)
                continue
            try:
                data, after = _read_small(name, handle, size)
            except OSError:
                others.append(one)
                continue
            if len(data) != size or file_signature(after) != signature:
                others.append(one)
                continue
            try:
                digest = contents.pack(data)
            except OSError as error:
                listing[name] = TreeEntry(None, signature, _describe_failure(error))
            else:
                proof = signature if written < settled and changed < settled else None
                listing[name] = TreeEntry(proof, signature, digest)
                usage.size += size
            usage.files += 1
            self._copied += 1
            if progress is not None and self._copied % _REPORTED == 0:
                progress(self._copied)
        return others

    def _file(self, rel: str, handle: int, name: str, info: os.stat_result) -> EntryReading | None:
        signature = file_signature(info)
        known = self._known(rel, name, signature)
        if known is not None:
            return EntryReading(known, info.st_nlink)
        reason = "!sensitive" if self._is_sensitive(rel, name) else self._reason(info.st_size)
        if reason:
            # There may be room at the next walk.
            proof = None if reason == "!room" else signature
            return EntryReading(TreeEntry(proof, signature, reason), info.st_nlink)
        try:
            source = os.open(name, _OPEN, dir_fd=handle)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None
            return EntryReading(TreeEntry(signature, signature, "!unreadable"), info.st_nlink)
        try:
            return self._content(source, info, signature)
        finally:
            os.close(source)

    def _content(
        self, source: int, info: os.stat_result, signature: Signature
    ) -> EntryReading | None:
        """Copy an open file; `info` was read before it was opened, and is equal after the copy
        unless the file changed or was replaced.
        """
        for attempt in range(_TRIES):
            if attempt:
                if not stat.S_ISREG(info.st_mode):
                    return None
                reason = self._reason(info.st_size)
                if reason:
                    return EntryReading(TreeEntry(None, signature, reason), info.st_nlink)
            try:
                if attempt:
                    os.lseek(source, 0, os.SEEK_SET)
                digest = self._contents.take(source, info.st_size)
            except OSError as error:
                why = _describe_failure(error)
                return EntryReading(TreeEntry(None, signature, why), info.st_nlink)
            self._copied += 1
            if self._copied % _REPORTED == 0 and self._progress is not None:
                self._progress(self._copied)
            info = os.fstat(source)
            before, signature = signature, file_signature(info)
            if signature == before:
                return EntryReading(make_entry(signature, digest, self._started), info.st_nlink)
        return EntryReading(TreeEntry(None, signature, "!busy"), info.st_nlink)

    def _known(self, rel: str, name: str, signature: Signature) -> TreeEntry | None:
        if self._seed is None:
            return None
        entry = self._seed.listings.get(rel, {}).get(name)
        if entry is None or entry.proof != signature or not is_kept(entry):
            return None
        return entry

    def _is_sensitive(self, rel: str, name: str) -> bool:
        folder, holds_secrets = self._folder
        if folder != rel:
            holds_secrets = is_sensitive_folder(rel)
            self._folder = rel, holds_secrets
        return holds_secrets or is_sensitive_name(name)

    def _reason(self, size: int) -> str:
        """Return why a content of this size is not copied; "" if it is."""
        limits = self._limits
        if size > limits.file_bytes:
            return "!large"
        used = self._usage.size - self._freed
        return "!room" if used + size > limits.total_bytes else ""


def _read_small(name: str, handle: int, size: int) -> tuple[bytes, os.stat_result]:
    """Read a file of an open directory, and its stat afterwards. Raises OSError."""
    source = os.open(name, _OPEN, dir_fd=handle)
    try:
        return os.read(source, size), os.fstat(source)
    finally:
        os.close(source)


def _describe_failure(error: OSError) -> str:
    """Return the marker of a content that could not be copied."""
    return "!room" if error.errno in _FULL else "!unreadable"


def _short(target: str) -> str:
    """Return a link target; a long one is shortened, with a hash."""
    if len(target) <= LONGEST_TARGET:
        return target
    digest = hashlib.sha256(os.fsencode(target)).hexdigest()
    return f"{target[: LONGEST_TARGET - len(digest)]}…{digest}"


def find_other_names(
    deltas: Sequence[EntryChange],
    trees: Sequence[TreeIndex],
    tops: Sequence[RootHandle],
    *,
    everywhere: bool,
) -> dict[Name, OtherNames]:
    """Return for each removed file that had hard links its inode and the remaining names.
    `everywhere`: the indexes are partial, so the roots are searched.
    """
    gone = {(one.root, one.rel) for one in deltas if one.after is None}
    files = {key: trees[key[0]].linked[key[1]] for key in gone if key[1] in trees[key[0]].linked}
    if not files:
        return {}
    found = _search(tops, set(files.values())) if everywhere else _known(trees)
    left: dict[File, list[Name]] = {}
    for name, file in found:
        if name not in gone and len(left.setdefault(file, [])) < _MOST_NAMES:
            left[file].append(name)
    return {key: OtherNames(*file, tuple(left.get(file, ()))) for key, file in files.items()}


def _known(trees: Sequence[TreeIndex]) -> Iterator[tuple[Name, File]]:
    for root, tree in enumerate(trees):
        for rel, file in tree.linked.items():
            yield (root, rel), file


def _search(tops: Sequence[RootHandle], wanted: Collection[File]) -> Iterator[tuple[Name, File]]:
    inodes: Mapping[int, None] = dict.fromkeys(inode for _, inode in wanted)
    for number, top in enumerate(tops):
        folders = [""]
        while folders:
            rel = folders.pop()
            for entry in _entries(top, rel):
                below = f"{rel}/{entry.name}" if rel else entry.name
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _SKIPPED:
                            folders.append(below)
                    elif entry.inode() in inodes:
                        info = entry.stat(follow_symlinks=False)
                        if (info.st_dev, info.st_ino) in wanted:
                            yield (number, below), (info.st_dev, info.st_ino)


def _entries(root: RootHandle, rel: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root.absolute(rel)) as entries:
            return list(entries)
    except OSError:
        # A name found here is only a candidate: it is checked when a link to it is made.
        return []
