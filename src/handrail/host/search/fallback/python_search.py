"""Searches without ripgrep, in a thread: slower, with equal results."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

import anyio.to_thread

from handrail.core.places import Kind
from handrail.core.ports.machine import FilesFound, FilesQuery, GrepFound, GrepMode, GrepQuery
from handrail.host.denials.denied_paths import Inode, InodeSet, inode_number
from handrail.host.denials.search_filter import ReadDenyFilter, ReadDenyView
from handrail.host.search import limits
from handrail.host.search.decode import check_text, read_all
from handrail.host.search.fallback.matcher import FileMatches, Matcher
from handrail.host.search.fallback.tree_walk import FileWalk, SearchBudget, WalkedFile
from handrail.host.search.filters import PathFilter, expand, path_filter, pattern
from handrail.host.search.results import (
    check_place,
    found_counts,
    found_files,
    found_lines,
    newest_first,
    unknown_type,
)
from handrail.host.search.search_engine import SearchEngine, grep_text
from handrail.host.search.search_roots import SearchRoot, open_file, open_roots

_GLOBS: Final = {
    "c": "*.[chH] *.[chH].in *.cats",
    "cmake": "*.cmake CMakeLists.txt",
    "cpp": "*.{[ChH],[ch]pp,[ch]xx,cc,hh}{,.in} *.inl",
    "cs": "*.cs",
    "csharp": "*.cs",
    "css": "*.css *.scss",
    "csv": "*.csv",
    "dart": "*.dart",
    "docker": "*Dockerfile*",
    "elixir": "*.{eex,ex,exs,heex,leex,livemd}",
    "go": "*.go",
    "graphql": "*.graphql *.graphqls",
    "h": "*.h *.hh *.hpp",
    "haskell": "*.{c2hs,cpphs,hs,hsc,lhs}",
    "html": "*.ejs *.htm *.html",
    "java": "*.{java,jsp,jspx,properties}",
    "js": "*.{cjs,js,jsx,mjs,vue}",
    "json": "*.json *.sarif composer.lock",
    "kotlin": "*.kt *.kts",
    "less": "*.less",
    "log": "*.log",
    "lua": "*.lua",
    "markdown": "*.{markdown,md,mdown,mdwn,mdx,mkd,mkdn}",
    "md": "*.{markdown,md,mdown,mdwn,mdx,mkd,mkdn}",
    "php": "*.{php,php3,php4,php5,php7,php8,pht,phtml}",
    "proto": "*.proto",
    "py": "*.py *.pyi",
    "python": "*.py *.pyi",
    "r": "*.{R,Rmd,Rnw,r,rmd,rnw}",
    "rst": "*.rst",
    "ruby": "*.{gemspec,rake,rb,rbw} .irbrc Gemfile Rakefile config.ru",
    "rust": "*.rs",
    "scala": "*.sbt *.scala",
    "sql": "*.psql *.sql",
    "svelte": "*.svelte *.svelte.ts",
    "swift": "*.swift",
    "toml": "*.toml Cargo.lock",
    "ts": "*.{cts,mts,ts,tsx}",
    "txt": "*.txt",
    "typescript": "*.{cts,mts,ts,tsx}",
    "vue": "*.vue",
    "xml": "*.{dtd,rng,sch,xhtml,xjb,xml,xml.dist,xsd,xsl,xslt}",
    "yaml": "*.yaml *.yml",
    "zig": "*.zig",
}


def type_globs(name: str) -> tuple[str, ...] | None:
    """Return the globs for base names of a type; None if the type is unknown."""
    globs = _GLOBS.get(name)
    if globs is None:
        return None
    return tuple(one for glob in globs.split(" ") for one in expand(glob))


def type_pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for base names of a type."""
    return re.compile("|".join(map(pattern, globs)), re.DOTALL)


def type_names() -> tuple[str, ...]:
    """The known types."""
    return tuple(_GLOBS)


_ENGINE: Final = "python"

_T = TypeVar("_T")


class PythonSearch(SearchEngine):
    """Implements the `Search` port with the standard library and RE2."""

    def __init__(
        self,
        roots: Sequence[str],
        *,
        hidden: Sequence[str] = (),
        handles: Sequence[int] = (),
        aliases: Sequence[tuple[str, str]] = (),
        deadline_s: float = limits.DEADLINE_S,
    ) -> None:
        super().__init__(open_roots(roots, hidden, handles, aliases), deadline_s)

    async def grep(self, query: GrepQuery) -> GrepFound:
        """Matching lines; see the port."""
        root, allowed = self._prepare(query)
        check_text(root, query.place)
        work = partial(_grep, root, query, allowed, Matcher(query), self._left_out)
        return await self._run_in_thread(work)

    async def grep_text(self, query: GrepQuery, text: str) -> GrepFound:
        """Matching lines of one text; see the port."""
        return await grep_text(lambda top: PythonSearch([top]), query, text)

    async def files(self, query: FilesQuery) -> FilesFound:
        """Files with matching names; see the port."""
        check_place(query.place)
        root = self._roots[query.place.root]
        allowed = path_filter(root, query.place, query.patterns, "pattern")
        return await self._run_in_thread(partial(_files, root, query, allowed))

    async def _run_in_thread(self, work: Callable[[SearchBudget], _T]) -> _T:
        budget = SearchBudget(self._deadline_s)
        try:
            return await anyio.to_thread.run_sync(work, budget, abandon_on_cancel=True)
        finally:
            budget.stop()


def _grep(
    root: SearchRoot,
    query: GrepQuery,
    allowed: PathFilter,
    matcher: Matcher,
    left_out: ReadDenyFilter | None,
    budget: SearchBudget,
) -> GrepFound:
    view = ReadDenyView(0, InodeSet())
    if left_out is not None:
        view = left_out.view(allowed, root, query.place)
    walk = FileWalk(root, query.place, allowed, query.recursive, budget)
    results = _Results()
    for found in _of_type(walk, query):
        _search(found, matcher, view.inodes, budget, results)
        if results.lines > limits.MAX_HITS or budget.over:
            break
    notes: list[str | None] = [*_notes(walk, results.unreadable)]
    if left_out is not None:
        results.drop(left_out.inodes())
        notes.append(limits.withheld(view.number, whole=view.inodes.complete))
    if query.mode is GrepMode.CONTENT:
        if results.turned_binary:
            notes.append(limits.turned_binary(results.turned_binary))
        by_rel = {rel: matched.lines for rel, matched in results.matched.items()}
        return found_lines(root, by_rel, notes, _ENGINE)
    counting = query.mode is GrepMode.COUNT
    counts = {rel: matched.times if counting else 0 for rel, matched in results.matched.items()}
    return found_counts(root, counts, notes, _ENGINE)


def _files(
    root: SearchRoot, query: FilesQuery, allowed: PathFilter, budget: SearchBudget
) -> FilesFound:
    walk = FileWalk(root, query.place, allowed, query.recursive, budget)
    rels = [found.rel for found in walk]
    ordered = newest_first(root, rels) if query.sort == "mtime" else sorted(rels)
    return found_files(root, ordered, _notes(walk, 0), _ENGINE)


class _Results:
    """The results so far."""

    def __init__(self) -> None:
        self.matched: dict[str, FileMatches] = {}
        self._inodes: dict[str, Inode] = {}
        self.lines = 0
        self.unreadable = 0
        self.turned_binary = 0

    def add(self, rel: str, inode: Inode, matched: FileMatches) -> None:
        """Add the result of one file."""
        if matched.times:
            self.matched[rel] = matched
            self._inodes[rel] = inode
            self.lines += len(matched.lines)
            self.turned_binary += matched.turned_binary

    def drop(self, withheld: InodeSet) -> None:
        """Remove the results of files that proved to be denied."""
        for rel, inode in self._inodes.items():
            if inode in withheld.inodes:
                del self.matched[rel]


def _of_type(walk: FileWalk, query: GrepQuery) -> Iterator[WalkedFile]:
    if query.type is None or query.place.kind is Kind.FILE:
        return iter(walk)
    globs = type_globs(query.type)
    if globs is None:
        raise unknown_type(query.type, type_names())
    matches = type_pattern(globs).fullmatch
    return (found for found in walk if matches(found.name))


def _search(
    found: WalkedFile, matcher: Matcher, withheld: InodeSet, budget: SearchBudget, results: _Results
) -> None:
    """Add the matches of one file, unless it is denied under another of its names."""
    handle = open_file(found.name, found.directory)
    if handle is None:
        results.unreadable += 1
        return
    try:
        info = os.fstat(handle)
        if withheld.covers(info):
            return
        data = read_all(handle)
    except OSError:
        data = None
    finally:
        os.close(handle)
    if data is None:
        results.unreadable += 1
    else:
        results.add(found.rel, inode_number(info), matcher.match(data, budget))


def _notes(walk: FileWalk, unreadable: int) -> list[str]:
    missed = walk.unreadable + unreadable
    notes = [limits.TOO_SLOW] if walk.budget.timed_out else []
    return [*notes, limits.unreadable(missed)] if missed else notes
