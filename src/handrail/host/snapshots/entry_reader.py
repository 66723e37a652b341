"""Reads one entry: its signature, and a copy of its content if one is to be made.

A file is opened through the handle of its directory, never by path, and only if it is a regular
file. A file that changes during the copy is read again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from handrail.core.names.sensitive import is_sensitive_folder, is_sensitive_name
from handrail.core.ports.snapshots import SnapshotLimits
from handrail.host.files.roots import READ
from handrail.host.snapshots.content_store import ContentStore
from handrail.host.snapshots.entries import (
    LONGEST_TARGET,
    SPECIAL,
    StorageUsage,
    TreeEntry,
    TreeIndex,
    is_kept,
    make_entry,
)
from handrail.host.snapshots.stamps import Signature, file_signature

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
        # The directory of the last entry, and whether what is in it holds secrets.
        self._folder: tuple[str, bool] = ("", False)

    def read(
        self, rel: str, handle: int, name: str, info: os.stat_result, freed: int = 0
    ) -> EntryReading | None:
        """Read an entry of an open directory; None if it is gone or was replaced. `freed` are the
        bytes of the copy that it replaces.
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
            source = os.open(name, READ | os.O_NOFOLLOW, dir_fd=handle)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None
            return EntryReading(TreeEntry(signature, signature, "!unreadable"), info.st_nlink)
        try:
            return self._content(source, signature)
        finally:
            os.close(source)

    def _content(self, source: int, signature: Signature) -> EntryReading | None:
        links = 1
        for attempt in range(_TRIES):
            info = os.fstat(source)
            if not stat.S_ISREG(info.st_mode):
                return None
            before, signature, links = signature, file_signature(info), info.st_nlink
            reason = self._reason(info.st_size) if signature != before else ""
            if reason:
                return EntryReading(TreeEntry(None, signature, reason), links)
            try:
                if attempt:
                    os.lseek(source, 0, os.SEEK_SET)
                digest = self._contents.take(source, info.st_size)
            except OSError as error:
                why = "!room" if error.errno in _FULL else "!unreadable"
                return EntryReading(TreeEntry(None, signature, why), links)
            self._copied += 1
            if self._copied % _REPORTED == 0 and self._progress is not None:
                self._progress(self._copied)
            if file_signature(os.fstat(source)) == signature:
                return EntryReading(make_entry(signature, digest, self._started), links)
        return EntryReading(TreeEntry(None, signature, "!busy"), links)

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
        """Why a content of this size is not copied; "" if it is."""
        limits = self._limits
        if size > limits.file_bytes:
            return "!large"
        used = self._usage.size - self._freed
        return "!room" if used + size > limits.total_bytes else ""


def _short(target: str) -> str:
    """A link target; a long one is shortened and gets a hash."""
    if len(target) <= LONGEST_TARGET:
        return target
    digest = hashlib.sha256(os.fsencode(target)).hexdigest()
    return f"{target[: LONGEST_TARGET - len(digest)]}…{digest}"
