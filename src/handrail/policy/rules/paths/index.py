"""Indexes of rules about paths, which look a path up by its names instead of trying every rule."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from handrail.policy.rules.paths.glob import (
    GLOBSTAR,
    Glob,
    GlobPart,
    Overlap,
    WildcardPart,
    compile_part,
    covers_exactly,
    fold_path,
    glob_overlap,
    matches_path_or_parent,
    split_path,
)
from handrail.policy.rules.paths.touched import TouchedPath, TouchExtent
from handrail.policy.rules.rule import Rule

_ANYTHING: Final = WildcardPart(re.compile(".*", re.DOTALL), "", "")
_SUFFIX: Final = re.compile(r"\.[a-z0-9_-]+")


class RankedRule(NamedTuple):
    """A rule and its position in the order of precedence."""

    order: int
    rule: Rule


class PathMatch(NamedTuple):
    """A rule that matches a touched path, and how certainly."""

    entry: RankedRule
    meeting: Overlap
    path: str


_Table = dict[str, list[tuple[Glob, RankedRule]]]


class RestrictionIndex:
    """Deny and ask rules about reading, or about writing, paths."""

    def __init__(self, rules: Iterable[tuple[Glob, RankedRule]]) -> None:
        self._all = tuple(rules)
        # By the path before the first wildcard, by a whole name, and by the suffix of a name.
        self._below: _Table = {}
        self._names: _Table = {}
        self._suffixes: _Table = {}
        self._other: list[tuple[Glob, RankedRule]] = []
        for rule in self._all:
            self._take(*rule)
        self._prefixes = sorted(self._below)

    def __bool__(self) -> bool:
        return bool(self._all)

    def find(self, target: TouchedPath) -> Iterator[PathMatch]:
        """Yield every rule that matches the path, in no particular order."""
        if target.glob:
            yield from self._by_glob(fold_path(target.path), target)
            return
        ancestors, names = _split_folded(target.path)
        for glob, entry in self._candidates(ancestors, names):
            if glob.literal or matches_path_or_parent(glob, names):
                yield PathMatch(entry, Overlap.SURE, target.path)
        if target.extent is not TouchExtent.ITSELF:
            for entry in self._within(ancestors, names, tree=target.tree):
                yield PathMatch(entry, Overlap.WITHIN, target.path)

    def _take(self, glob: Glob, entry: RankedRule) -> None:
        if glob.prefix or not glob.parts:
            self._below.setdefault(glob.prefix, []).append((glob, entry))
            return
        last = glob.parts[1] if len(glob.parts) == 2 and glob.parts[0] == GLOBSTAR else None
        if isinstance(last, WildcardPart) and not last.head and _SUFFIX.fullmatch(last.tail):
            self._suffixes.setdefault(last.tail, []).append((glob, entry))
        elif isinstance(last, str) and last != GLOBSTAR:
            self._names.setdefault(last, []).append((glob, entry))
        else:
            self._other.append((glob, entry))

    def _candidates(
        self, ancestors: Sequence[str], names: Sequence[str]
    ) -> list[tuple[Glob, RankedRule]]:
        found = list(self._other)
        if self._below:
            below = self._below
            for ancestor in ancestors:
                if ancestor in below:
                    found += below[ancestor]
        if self._names:
            for name in names:
                if name in self._names:
                    found += self._names[name]
        if self._suffixes:
            for name in names:
                dot = name.rfind(".")
                if dot >= 0:
                    found += self._suffixes.get(name[dot:], ())
        return found

    def _within(
        self, ancestors: Sequence[str], names: Sequence[str], *, tree: bool
    ) -> Iterator[RankedRule]:
        """Yield the rules that name a path below a directory and, for a whole tree, the rules that may
        match a path below it.
        """
        # The last ancestor is the directory itself, "" for the top.
        top = f"{ancestors[-1]}/"
        for prefix in self._prefixes[bisect_left(self._prefixes, top) :]:
            if not prefix.startswith(top):
                break
            yield from (entry for _, entry in self._below[prefix])
        if not tree:
            return
        for table in (self._names, self._suffixes):
            for rules in table.values():
                yield from (entry for _, entry in rules)
        for glob, entry in self._candidates(ancestors, ()):
            if not glob.literal and glob_overlap(glob, names, tree=True):
                yield entry

    def _by_glob(self, path: str, target: TouchedPath) -> Iterator[PathMatch]:
        names = [_target_part(name) for name in split_path(path)]
        for glob, entry in self._all:
            found = glob_overlap(glob, names, tree=target.tree)
            if found:
                yield PathMatch(entry, found, target.path)


class AllowIndex:
    """The allow rules of one tool."""

    def __init__(self, rules: Iterable[tuple[Glob, RankedRule]]) -> None:
        self._below: _Table = {}
        for glob, entry in rules:
            self._below.setdefault(glob.prefix, []).append((glob, entry))

    def cover(self, targets: Iterable[TouchedPath]) -> RankedRule | None:
        """The rule that covers the first target, if every target is covered; otherwise None."""
        first: RankedRule | None = None
        for target in targets:
            found = self._find(target)
            if found is None:
                return None
            first = first or found
        return first

    def _find(self, target: TouchedPath) -> RankedRule | None:
        if target.glob:
            return None
        names = split_path(target.path)
        for ancestor in _list_ancestors(target.path):
            for glob, entry in self._below.get(ancestor, ()):
                if covers_exactly(glob, names, tree=target.tree):
                    return entry
        return None


# Cached, because each call looks up the same few paths several times: for reads and writes, in rules
# and guardrails, before and after its plan is made.
@lru_cache(maxsize=256)
def _split_folded(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ancestors and the names of a path, in the form of case-insensitive comparison."""
    folded = fold_path(path)
    return tuple(_list_ancestors(folded)), tuple(split_path(folded))


def _list_ancestors(path: str) -> list[str]:
    """The directories above a path, with "" for the top, and the path itself."""
    found = [""]
    at = path.find("/", 1)
    while at > 0:
        found.append(path[:at])
        at = path.find("/", at + 1)
    if path != "/":
        found.append(path)
    return found


def _target_part(name: str) -> GlobPart:
    if name == GLOBSTAR:
        return GLOBSTAR
    try:
        return compile_part(name, fold=False)
    except re.error:
        return _ANYTHING
