"""Walks a tree by handles; applies ignore files as git does, and skips links and special files."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.places import Kind, Place
from handrail.host.search.filters import BadGlob, PathFilter, expand, pattern
from handrail.host.search.search_roots import (
    DIRECTORY,
    SearchRoot,
    open_directory,
    open_file,
    repository_above,
)

NAMES: Final = (".rgignore", ".ignore", ".gitignore", "exclude")
_GITIGNORE: Final = NAMES.index(".gitignore")
_MAX_BYTES: Final = 1 << 20


class SearchBudget:
    """The time limit of a search, polled by its thread; `stop` ends a search no longer needed."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.timed_out = False
        self._stopped = False

    def stop(self) -> None:
        """Cancel the search."""
        self._stopped = True

    @property
    def over(self) -> bool:
        """Whether to stop and return what was found so far."""
        self.timed_out = self.timed_out or time.monotonic() > self._end
        return self.timed_out or self._stopped


class WalkedFile(NamedTuple):
    """A regular file as a name in an open directory; the handle is valid until the next file."""

    rel: str
    directory: int
    name: str


@dataclass(slots=True)
class FileWalk:
    """One walk; `unreadable` counts directories that could not be opened."""

    root: SearchRoot
    place: Place
    allowed: PathFilter
    recursive: bool
    budget: SearchBudget
    unreadable: int = 0

    def __iter__(self) -> Iterator[WalkedFile]:
        if self.place.kind is Kind.FILE:
            yield from self._walk_file()
            return
        pending = [(self.place.rel, self._ignores_outside())]
        while pending and not self.budget.over:
            rel, ignores = pending.pop()
            try:
                handle = open_directory(self.root, rel)
            except OSError:
                self.unreadable += 1
                continue
            try:
                yield from self._walk_directory(rel, handle, ignores, pending)
            finally:
                os.close(handle)

    def _walk_directory(
        self, rel: str, handle: int, ignores: Ignores, pending: list[tuple[str, Ignores]]
    ) -> Iterator[WalkedFile]:
        with os.scandir(handle) as scanned:
            entries = list(scanned)
        ignores = ignores.inside(rel, handle, (entry.name for entry in entries))
        base = f"{rel}/" if rel else ""
        for entry in entries:
            path = base + entry.name
            if entry.name == ".git":
                continue
            if entry.is_file(follow_symlinks=False):
                if self.allowed.accepts(path) and not ignores.hides(path, directory=False):
                    yield WalkedFile(path, handle, entry.name)
            elif (
                self.recursive
                and entry.is_dir(follow_symlinks=False)
                and not self.allowed.prunes(path)
                and not ignores.hides(path, directory=True)
            ):
                pending.append((path, ignores))

    def _walk_file(self) -> Iterator[WalkedFile]:
        if not self.allowed.accepts(self.place.rel):
            return
        parent, _, name = self.place.rel.rpartition("/")
        try:
            handle = open_directory(self.root, parent)
        except OSError:
            self.unreadable += 1
            return
        try:
            yield WalkedFile(self.place.rel, handle, name)
        finally:
            os.close(handle)

    def _ignores_outside(self) -> Ignores:
        """The ignore files above the place: those of the root, and of the repository above it."""
        ignores = ignores_above(self.root.path, repository_above(self.root.path))
        parts = Path(self.place.rel).parts
        for depth in range(len(parts)):
            rel = "/".join(parts[:depth])
            try:
                handle = open_directory(self.root, rel)
            except OSError:
                return ignores
            try:
                ignores = ignores.inside(rel, handle, os.listdir(handle))  # noqa: PTH208 - by handle
            finally:
                os.close(handle)
        return ignores


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of an ignore file."""

    matches: re.Pattern[str]
    hides: bool
    only_directories: bool


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """One ignore file; `base` is its directory beneath the root, with a slash."""

    base: str
    rules: tuple[IgnoreRule, ...]

    def verdict(self, rel: str, *, directory: bool) -> bool | None:
        """Return True for ignored, False for explicitly included, None if no line matches."""
        path = rel[len(self.base) :]
        for rule in reversed(self.rules):
            if (directory or not rule.only_directories) and rule.matches.fullmatch(path):
                return rule.hides
        return None


@dataclass(frozen=True, slots=True)
class Ignores:
    """All ignore files that apply in one directory, per kind and nearest first.

    `above` is the path from the top of the repository to the root; ignore files above the root
    match it in front of every path.
    """

    above: str
    kinds: tuple[tuple[IgnoreFile, ...], ...]

    def hides(self, rel: str, *, directory: bool) -> bool:
        """Whether a path beneath the root is ignored."""
        full = self.above + rel
        for kind in self.kinds:
            for rules in kind:
                verdict = rules.verdict(full, directory=directory)
                if verdict is not None:
                    return verdict
        return False

    def inside(self, rel: str, handle: int, names: Iterable[str]) -> Ignores:
        """The ignore files that apply in a directory, given its open handle and its names."""
        texts = _texts(handle, set(names))
        if not any(texts):
            return self
        base = f"{self.above}{rel}/" if rel else self.above
        return Ignores(
            self.above,
            tuple(
                (IgnoreFile(base, parse(text)), *kind) if text else kind
                for text, kind in zip(texts, self.kinds, strict=True)
            ),
        )


def ignores_above(root: str, above: Sequence[str]) -> Ignores:
    """Return the .gitignore files between a root and the top of its repository, nearest first."""
    kinds: list[tuple[IgnoreFile, ...]] = [()] * len(NAMES)
    top = above[-1] if above else root
    for directory in above:
        try:
            text = Path(directory, ".gitignore").read_text("utf-8", "surrogateescape")
        except OSError:
            continue
        base = _relative_path(directory, top)
        kinds[_GITIGNORE] += (IgnoreFile(base, parse(text)),)
    return Ignores(_relative_path(root, top), tuple(kinds))


def parse(text: str) -> tuple[IgnoreRule, ...]:
    """The rules of an ignore file; lines that cannot be parsed are skipped."""
    rules: list[IgnoreRule] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        rule = _rule(line)
        if rule is not None:
            rules.append(rule)
    return tuple(rules)


def _rule(line: str) -> IgnoreRule | None:
    if line.startswith("#"):
        return None
    if not line.endswith("\\ "):
        line = line.rstrip()
    hides = not line.startswith("!")
    glob = line if hides else line[1:]
    if glob.startswith(("\\!", "\\#")):
        glob = glob[1:]
    anchored = glob.startswith("/")
    glob = glob[1:] if anchored else glob
    only_directories = glob.endswith("/")
    glob = glob[:-1] if only_directories else glob
    if not glob:
        return None
    if not anchored and "/" not in glob:
        glob = f"**/{glob}"
    try:
        made = "|".join(pattern(one) for one in expand(glob))
        return IgnoreRule(re.compile(made, re.DOTALL), hides, only_directories)
    except (BadGlob, re.error):
        return None


def _texts(handle: int, names: set[str]) -> list[str | None]:
    texts = [_read(handle, name) if name in names else None for name in NAMES[:-1]]
    return [*texts, _exclude(handle) if ".git" in names else None]


def _exclude(handle: int) -> str | None:
    try:
        git = os.open(".git", DIRECTORY, dir_fd=handle)
    except OSError:
        return None
    try:
        info = os.open("info", DIRECTORY, dir_fd=git)
    except OSError:
        return None
    finally:
        os.close(git)
    try:
        return _read(info, "exclude")
    finally:
        os.close(info)


def _read(handle: int, name: str) -> str | None:
    file = open_file(name, handle)
    if file is None:
        return None
    try:
        return os.read(file, _MAX_BYTES).decode("utf-8", "surrogateescape")
    finally:
        os.close(file)


def _relative_path(path: str, top: str) -> str:
    rel = os.path.relpath(path, top)
    return "" if rel == "." else f"{rel}/"
