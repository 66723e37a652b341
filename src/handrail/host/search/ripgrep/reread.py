"""Searches files again through checked handles, so that the file shown is the file that was
checked.

ripgrep opens files by name, and a name may lead elsewhere by then. Where that matters, ripgrep only
names candidates. Each candidate is opened beneath the root without following links, compared with
the read denials, and searched again by its handle.
"""

from __future__ import annotations

import fcntl
import os
import resource
import time
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

import anyio.to_thread

from handrail.core.ports.machine import GrepFound, GrepMode, GrepQuery
from handrail.host.denials.denied_paths import Inode, InodeSet, inode_number
from handrail.host.processes.spawn import HelperResult
from handrail.host.search import limits
from handrail.host.search.decode import binary_behind, contains_nul
from handrail.host.search.results import found_counts, found_lines
from handrail.host.search.ripgrep.command_line import reread_command
from handrail.host.search.ripgrep.output import (
    ENGINE,
    LinesRead,
    LinesSource,
    read_lines,
    run_notes,
)
from handrail.host.search.ripgrep.parse import parse_counts
from handrail.host.search.search_roots import SearchRoot, open_beneath

_MOST_AT_ONCE: Final = 256
_OPERAND: Final = "/proc/self/fd/"


class RunRipgrep(Protocol):
    """Runs ripgrep on open files; it may read these and nothing else."""

    def __call__(
        self, arguments: Sequence[str], handles: Sequence[int], deadline_s: float
    ) -> Awaitable[HelperResult]:
        """The result of the run."""


class _CheckedFile(NamedTuple):
    rel: str
    handle: int
    inode: Inode


class RereadResults:
    """The results so far, by path beneath the root."""

    def __init__(self, query: GrepQuery) -> None:
        self._query = query
        self._inodes: dict[str, Inode] = {}
        self._lines: dict[str, list[tuple[int, bool, str]]] = {}
        self._counts: dict[str, int] = {}
        self._binary = 0
        self._notes: dict[str, None] = {}
        self._hits = 0

    @property
    def full(self) -> bool:
        """Whether no more results can be shown."""
        return self._hits > limits.MAX_HITS

    def stop(self, note: str) -> None:
        """Note why the remaining results are missing."""
        self._notes[note] = None

    def take(self, opened: Sequence[_CheckedFile], ended: HelperResult) -> None:
        """Add the matches that ripgrep found in some open files."""
        by_operand = {f"{_OPERAND}{one.handle}".encode(): one for one in opened}
        by_rel = {one.rel: one for one in opened}
        self._inodes.update((one.rel, one.inode) for one in opened)
        self._notes |= dict.fromkeys(filter(None, run_notes(ended)))
        if self._query.mode is GrepMode.CONTENT:
            source = LinesSource(
                lambda path: by_operand[path].rel if path in by_operand else "",
                by_operand.__contains__,
                lambda rel, offset: binary_behind(by_rel[rel].handle, offset),
            )
            read = read_lines(ended.stdout, source)
            self._lines |= read.by_rel
            self._binary += read.binary
            self._hits += sum(map(len, read.by_rel.values()))
            return
        for path, count in parse_counts(ended.stdout).items():
            one = by_operand.get(path)
            if one is None or (self._skips_binary and contains_nul(one.handle)):
                continue
            self._counts[one.rel] = count if self._counting else 0
            self._hits += 1

    def answer(self, root: SearchRoot, withheld: InodeSet, note: str | None) -> GrepFound:
        """Return all results, except files that proved to be denied."""
        lines = {rel: found for rel, found in self._lines.items() if self._open(rel, withheld)}
        counts = {rel: count for rel, count in self._counts.items() if self._open(rel, withheld)}
        if self._query.mode is GrepMode.CONTENT:
            notes = [*self._notes, *LinesRead(lines, self._binary).notes, note]
            return found_lines(root, lines, notes, ENGINE)
        return found_counts(root, counts, [*self._notes, note], ENGINE)

    @property
    def _counting(self) -> bool:
        return self._query.mode is GrepMode.COUNT

    @property
    def _skips_binary(self) -> bool:
        """Whether a NUL anywhere excludes a file: ripgrep does that for files that it finds itself,
        but not for files that it is given.
        """
        return self._counting and not self._query.multiline

    def _open(self, rel: str, withheld: InodeSet) -> bool:
        return self._inodes[rel] not in withheld.inodes


async def reread(
    root: SearchRoot,
    query: GrepQuery,
    rels: Sequence[str],
    withheld: InodeSet,
    run: RunRipgrep,
    deadline_s: float,
) -> RereadResults:
    """Search those files that exist and are not denied, within the deadline."""
    end = time.monotonic() + deadline_s
    findings = RereadResults(query)
    size = _batch_size()
    for first in range(0, len(rels), size):
        left = end - time.monotonic()
        if left <= 0:
            findings.stop(limits.TOO_SLOW)
        if left <= 0 or findings.full:
            break
        with _opened(root, withheld) as files:
            batch = rels[first : first + size]
            opened = await anyio.to_thread.run_sync(files.open, batch)
            if opened:
                handles = [one.handle for one in opened]
                operands = [f"{_OPERAND}{handle}" for handle in handles]
                ended = await run(reread_command(query, operands), handles, left)
                await anyio.to_thread.run_sync(findings.take, opened, ended)
    return findings


class _CheckedFiles:
    """Opens candidates, and closes them all at the end."""

    def __init__(self, root: SearchRoot, withheld: InodeSet) -> None:
        self._root = root
        self._withheld = withheld
        self._handles: list[int] = []

    def open(self, rels: Sequence[str]) -> list[_CheckedFile]:
        """Open those candidates that are regular files beneath the root and not denied."""
        opened: list[_CheckedFile] = []
        for rel in rels:
            handle = open_beneath(self._root, rel)
            if handle is None:
                continue
            self._handles.append(_above_streams(handle))
            info = os.fstat(self._handles[-1])
            if not self._withheld.covers(info):
                opened.append(_CheckedFile(rel, self._handles[-1], inode_number(info)))
        return opened

    def close(self) -> None:
        """Close the opened files."""
        for handle in self._handles:
            os.close(handle)


@contextmanager
def _opened(root: SearchRoot, withheld: InodeSet) -> Iterator[_CheckedFiles]:
    files = _CheckedFiles(root, withheld)
    try:
        yield files
    finally:
        files.close()


def _above_streams(handle: int) -> int:
    """Return a duplicate with a number above the child's standard streams."""
    if handle > 2:
        return handle
    try:
        return fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(handle)


def _batch_size() -> int:
    """Return a share of this process's file descriptor limit."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return _MOST_AT_ONCE
    return max(1, min(_MOST_AT_ONCE, limit // 8))
