"""Searches by ripgrep, started through `spawn` in its root's handle; it can read only the root."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, NamedTuple, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from handrail.core.places import Kind, Place
from handrail.core.ports.machine import FilesFound, FilesQuery, GrepFound, GrepMode, GrepQuery
from handrail.host.denials.denied_paths import InodeSet
from handrail.host.denials.search_filter import ReadDenyView
from handrail.host.processes import landlock, spawn
from handrail.host.search import limits
from handrail.host.search.decode import check_text
from handrail.host.search.filters import PathFilter, path_filter
from handrail.host.search.messages import RIPGREP_FAILED
from handrail.host.search.results import bad_pattern, check_place, unknown_type
from handrail.host.search.ripgrep.command_line import WalkOptions, files_command, grep_command
from handrail.host.search.ripgrep.output import candidates, files_answer, grep_answer, run_notes
from handrail.host.search.ripgrep.parse import pattern_error, unreadable_files
from handrail.host.search.ripgrep.reread import reread
from handrail.host.search.search_engine import SearchEngine, grep_text
from handrail.host.search.search_roots import (
    SearchRoot,
    open_directory,
    open_roots,
    repository_above,
)


class SearchSlots:
    """Limits concurrent searches to the number of cores."""

    def __init__(self) -> None:
        self._members = 0
        self._slots = anyio.Semaphore(os.cpu_count() or 1)

    @asynccontextmanager
    async def member(self) -> AsyncIterator[bool]:
        """Wait for a free core; yield whether this search runs alone."""
        self._members += 1
        try:
            # Lets searches that start at the same time be counted first.
            await anyio.lowlevel.checkpoint()
            async with self._slots:
                yield self._members == 1
        finally:
            self._members -= 1


_FEW: Final = 100


class TreeEstimate(NamedTuple):
    """An estimate from the first hundred names.

    `small`: there are no more names, so a second thread would cost more than it saves. `git`: a
    `.git` was among them.
    """

    small: bool
    git: bool


def estimate_tree(root: SearchRoot, place: Place) -> TreeEstimate:
    """Read about a hundred names from the top down."""
    if place.kind is Kind.FILE:
        return TreeEstimate(small=True, git=False)
    seen = 0
    git = False
    pending = deque([place.rel])
    while pending and seen <= _FEW:
        rel = pending.popleft()
        try:
            handle = open_directory(root, rel)
        except OSError:
            continue
        try:
            git = git or _has_git(handle)
            names = _directories(handle, _FEW - seen)
        finally:
            os.close(handle)
        seen += names.seen
        pending.extend(f"{rel}/{name}" if rel else name for name in names.directories)
    return TreeEstimate(seen <= _FEW, git)


class _Names(NamedTuple):
    seen: int
    directories: list[str]


def _directories(handle: int, most: int) -> _Names:
    seen = 0
    directories: list[str] = []
    with os.scandir(handle) as entries:
        for entry in entries:
            seen += 1
            if seen > most:
                break
            if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                directories.append(entry.name)
    return _Names(seen, directories)


def _has_git(handle: int) -> bool:
    try:
        os.stat(".git", dir_fd=handle, follow_symlinks=False)
    except OSError:
        return False
    return True


_COMPLAINED: Final = 2
# Above this, building the result would block the event loop for milliseconds.
_INLINE_BYTES: Final = 64 << 10

_T = TypeVar("_T")


class RipgrepSearch(SearchEngine):
    """Implements the `Search` port with ripgrep; `deadline_s` and `max_bytes` bound every search."""

    def __init__(
        self,
        roots: Sequence[str],
        binary: str,
        *,
        hidden: Sequence[str] = (),
        handles: Sequence[int] = (),
        aliases: Sequence[tuple[str, str]] = (),
        deadline_s: float = limits.DEADLINE_S,
        max_bytes: int = limits.MAX_BYTES,
    ) -> None:
        self.binary: Final = binary
        super().__init__(open_roots(roots, hidden, handles, aliases), deadline_s)
        self._max_bytes = max_bytes
        self._slots = SearchSlots()
        self._types: frozenset[str] | None = None

    async def grep(self, query: GrepQuery) -> GrepFound:
        """Matching lines; see the port."""
        root, allowed = self._prepare(query)
        view = await self._view(root, query.place, allowed)
        check_text(root, query.place)
        if query.type is not None:
            await self._check_type(query.type)
        note = limits.withheld(view.number, whole=view.inodes.complete)
        # Where the kernel confines ripgrep to readable files, its output can be used directly.
        if self._left_out is None and not root.hidden and landlock.abi():
            ended = await self._run_grep(root, query, allowed)
            if ended.confined:
                return await _run_where_cheap(
                    ended, partial(grep_answer, root, query, allowed, ended, note)
                )
        return await self._grep_by_handles(root, query, allowed, view)

    async def _view(self, root: SearchRoot, place: Place, allowed: PathFilter) -> ReadDenyView:
        """Return the denied files, before the search."""
        if self._left_out is None:
            return ReadDenyView(0, InodeSet())
        return await anyio.to_thread.run_sync(self._left_out.view, allowed, root, place)

    async def _grep_by_handles(
        self, root: SearchRoot, query: GrepQuery, allowed: PathFilter, view: ReadDenyView
    ) -> GrepFound:
        """Find candidates by name, then read their content through checked handles."""
        wide = query._replace(mode=GrepMode.FILES, before=0, after=0)
        named = await self._run_grep(root, wide, allowed)
        rels = await anyio.to_thread.run_sync(candidates, query, allowed, named)
        found = await reread(root, query, rels, view.inodes, self._run_on, self._deadline_s)
        for note in filter(None, run_notes(named)):
            found.stop(note)
        again = InodeSet()
        if rels and self._left_out is not None:
            # A file that was moved to a denied name during the search is denied too.
            again = await anyio.to_thread.run_sync(self._left_out.inodes)
        return found.answer(root, again, limits.withheld(view.number, whole=view.inodes.complete))

    async def grep_text(self, query: GrepQuery, text: str) -> GrepFound:
        """Matching lines of one text; see the port."""
        return await grep_text(lambda top: RipgrepSearch([top], self.binary), query, text)

    async def files(self, query: FilesQuery) -> FilesFound:
        """Files with matching names; see the port."""
        check_place(query.place)
        root = self._roots[query.place.root]
        allowed = path_filter(root, query.place, query.patterns, "pattern")
        ended = await self._run(root, query.place, partial(files_command, query, allowed))
        return await _run_where_cheap(ended, partial(files_answer, root, query, allowed, ended))

    async def version(self) -> str:
        """The binary's version, for `doctor`."""
        ended = await self._spawn(self._roots[0], ["--version"])
        return ended.stdout.decode("utf-8", "replace").partition("\n")[0]

    async def _run(
        self, root: SearchRoot, place: Place, arguments: Callable[[WalkOptions], list[str]]
    ) -> spawn.HelperResult:
        async with self._slots.member() as alone:
            seen = estimate_tree(root, place)
            above = [f"{directory}/.gitignore" for directory in repository_above(root.path)]
            way = WalkOptions(
                one_thread=seen.small or not alone,
                skip_git=seen.git,
                heed_above=bool(place.rel or above),
            )
            return await self._spawn(root, arguments(way), [root.fd, *above], filtered=False)

    async def _run_grep(
        self, root: SearchRoot, query: GrepQuery, allowed: PathFilter
    ) -> spawn.HelperResult:
        ended = await self._run(root, query.place, partial(grep_command, query, allowed))
        if ended.exit_code == _COMPLAINED and not ended.stdout:
            self._check_pattern_error(query, ended)
        return ended

    async def _run_on(
        self, arguments: Sequence[str], handles: Sequence[int], deadline_s: float
    ) -> spawn.HelperResult:
        """Run ripgrep on open files: the kernel allows it to open these and nothing else."""
        async with self._slots.member():
            return await self._spawn(
                self._roots[0], arguments, handles, handed=handles, deadline_s=deadline_s
            )

    async def _spawn(
        self,
        root: SearchRoot,
        arguments: Sequence[str],
        read: Sequence[str | int] = (),
        *,
        filtered: bool = True,
        handed: Sequence[int] = (),
        deadline_s: float | None = None,
    ) -> spawn.HelperResult:
        try:
            return await spawn.run(
                [self.binary, *arguments],
                cwd_fd=root.fd,
                read=read,
                deadline_s=self._deadline_s if deadline_s is None else deadline_s,
                max_bytes=self._max_bytes,
                filtered=filtered,
                handed=handed,
            )
        except OSError as error:
            raise RIPGREP_FAILED.error(binary=self.binary, reason=error.strerror) from error

    async def _check_type(self, name: str) -> None:
        if self._types is None:
            listed = await self._spawn(self._roots[0], ["--no-config", "--type-list"])
            lines = listed.stdout.decode("utf-8", "replace").splitlines()
            self._types = frozenset(line.partition(":")[0] for line in lines)
        if name not in self._types:
            raise unknown_type(name, self._types)

    def _check_pattern_error(self, query: GrepQuery, ended: spawn.HelperResult) -> None:
        if not unreadable_files(ended.stderr):
            raise bad_pattern(query, pattern_error(ended.stderr))


async def _run_where_cheap(ended: spawn.HelperResult, answer: Callable[[], _T]) -> _T:
    """Compute a small result in the event loop, a large one in a thread."""
    if len(ended.stdout) <= _INLINE_BYTES and ended.confined:
        return answer()
    return await anyio.to_thread.run_sync(answer)
