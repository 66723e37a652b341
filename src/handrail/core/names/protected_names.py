"""Matches paths against the table of protected names, for the policy and the sandbox.

The rows are in `protected_table`. Names are compared as on the most lenient file systems.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

from handrail.core.names.protected_table import EXECUTED, OBEYED, WRITTEN_BY_PROGRAM
from handrail.core.text.invisible import IGNORABLE

# ext4 and f2fs with case folding, HFS+ and others ignore these characters in names, so that
# `.g<ZWNJ>it` is `.git` there.
_IGNORABLE: Final = dict.fromkeys(IGNORABLE)


@lru_cache(maxsize=4_096)
def fold_name(name: str) -> str:
    """The name in the form in which names are compared: without case, ignorable characters, and dots
    and spaces at its end.
    """
    if name.isascii():
        return name.lower().rstrip(". ")
    visible = name.translate(_IGNORABLE)
    return unicodedata.normalize("NFC", visible.casefold()).translate(_IGNORABLE).rstrip(". ")


class NamePath(NamedTuple):
    """A row that is a path. `names` are folded; `whole`: everything below the path is included."""

    names: tuple[str, ...]
    whole: bool


class NameTable:
    """The parsed rows of the table. `directories`, `files`, `globs` (rows with a `*`) and `paths` (rows
    with several names) map folded names to reasons. `spellings` are the first names of all rows without
    a wildcard, not folded.
    """

    def __init__(self, rows: Mapping[str, str]) -> None:
        self.directories: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.globs: dict[str, str] = {}
        self.paths: dict[NamePath, str] = {}
        spellings: list[str] = []
        for row, reason in rows.items():
            names = row.rstrip("/").split("/")
            whole = row.endswith("/")
            spellings.append(names[0])
            if len(names) > 1:
                self.paths[NamePath(tuple(map(fold_name, names)), whole)] = reason
            elif whole:
                self.directories[fold_name(names[0])] = reason
            else:
                (self.globs if "*" in row else self.files)[fold_name(row)] = reason
        self.spellings = tuple(dict.fromkeys(one for one in spellings if "*" not in one))
        self._path_starts = frozenset(path.names[0] for path in self.paths)
        # Why a path below a root is protected, None if it is not. Cached: every write is checked twice.
        self.reason = lru_cache(maxsize=4_096)(self._find_reason)

    def _find_reason(self, relative: str) -> str | None:
        parts = [fold_name(part) for part in relative.split("/") if part not in ("", ".")] or [""]
        for part in parts:
            if part in self.directories:
                return self.directories[part]
        found = self.files.get(parts[-1]) or self._path_reason(parts)
        if found is not None:
            return found
        return next((why for glob, why in self.globs.items() if fnmatchcase(parts[-1], glob)), None)

    def _path_reason(self, parts: list[str]) -> str | None:
        if self._path_starts.isdisjoint(parts):
            return None
        for path, why in self.paths.items():
            length = len(path.names)
            ends = range(length, len(parts) + 1) if path.whole else (len(parts),)
            if any(tuple(parts[max(end - length, 0) : end]) == path.names for end in ends):
                return why
        return None


def command_rows(rows: Mapping[str, str]) -> dict[str, str]:
    """The rows that apply to commands: in a directory of `WRITTEN_BY_PROGRAM`, only the listed parts
    are protected.
    """
    bound = {row: why for row, why in rows.items() if row not in WRITTEN_BY_PROGRAM}
    for row, parts in WRITTEN_BY_PROGRAM.items():
        if row in rows:
            bound.update({f"{row}{part}": rows[row] for part in parts})
    return bound


def row_globs(rows: Iterable[str]) -> tuple[str, ...]:
    """Globs, relative to a root, that match the names of the rows at any depth."""
    found: list[str] = []
    for row in rows:
        found.append(f"**/{row.rstrip('/')}")
        if row.endswith("/"):
            found.append(f"**/{row}**")
    return tuple(found)


PROTECTED_NAMES: Final = NameTable(EXECUTED)
OBEYED_NAMES: Final = NameTable(OBEYED)
COMMAND_NAMES: Final = NameTable(command_rows({**OBEYED, **EXECUTED}))
COMMAND_PROTECTED_NAMES: Final = NameTable(command_rows(EXECUTED))
