"""Ignore files by git's rules, as ripgrep implements them.

In each directory .rgignore takes precedence over .ignore, .gitignore and git's info/exclude;
within a file the last matching line decides, and the nearest file comes first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handrail.host.search.globs import BadGlob, expand, pattern
from handrail.host.search.search_roots import DIRECTORY, open_file

NAMES: Final = (".rgignore", ".ignore", ".gitignore", "exclude")
_GITIGNORE: Final = NAMES.index(".gitignore")
_MAX_BYTES: Final = 1 << 20


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
        """True: ignored; False: explicitly included; None: no line matches."""
        path = rel[len(self.base) :]
        for rule in reversed(self.rules):
            if (directory or not rule.only_directories) and rule.matches.fullmatch(path):
                return rule.hides
        return None


@dataclass(frozen=True, slots=True)
class Ignores:
    """All ignore files that apply in one directory: per kind, the nearest first.

    `above` is the path from the top of the repository to the root, which ignore files above the
    root see before every path.
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
    """The .gitignore files between a root and the top of its repository, nearest first."""
    kinds: list[tuple[IgnoreFile, ...]] = [()] * len(NAMES)
    top = above[-1] if above else root
    for directory in above:
        try:
            text = Path(directory, ".gitignore").read_text("utf-8", "surrogateescape")
        except OSError:
            continue
        base = _from(directory, top)
        kinds[_GITIGNORE] += (IgnoreFile(base, parse(text)),)
    return Ignores(_from(root, top), tuple(kinds))


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


def _from(path: str, top: str) -> str:
    rel = os.path.relpath(path, top)
    return "" if rel == "." else f"{rel}/"
