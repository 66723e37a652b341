"""Which paths are protected or obeyed, for policy and sandbox alike: spelling and matching.

The rows are in `protected_table`. Names are compared as the most lenient file systems do.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

from handrail.core.names.protected_table import EXECUTED, OBEYED, WRITTEN_BY_PROGRAM
from handrail.core.text.invisible import IGNORABLE

# ext4 and f2fs with case folding, HFS+ and others drop these from names, so that `.g<ZWNJ>it` is
# `.git` there.
_IGNORABLE: Final = dict.fromkeys(IGNORABLE)


@lru_cache(maxsize=4_096)
def fold_name(name: str) -> str:
    """The name as names are compared: without case, ignorable characters and trailing dots."""
    if name.isascii():
        return name.lower().rstrip(". ")
    visible = name.translate(_IGNORABLE)
    return unicodedata.normalize("NFC", visible.casefold()).translate(_IGNORABLE).rstrip(". ")


class NamePath(NamedTuple):
    """A row with several names: `names` folded, `whole` if everything below counts as well."""

    names: tuple[str, ...]
    whole: bool


class NameTable:
    """Rows of the table, parsed. `directories` and `files` map folded names to their reasons,
    `globs` hold a `*`, `paths` more than one name. `spellings` are the names of single rows as
    programs look for them, and the first names of paths.
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
        # Why a path below a root is in the table, None if it is not. Every write is judged twice.
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
    """The rows as they bind commands: of what a program writes all the time, only some parts."""
    bound = {row: why for row, why in rows.items() if row not in WRITTEN_BY_PROGRAM}
    for row, parts in WRITTEN_BY_PROGRAM.items():
        if row in rows:
            bound.update({f"{row}{part}": rows[row] for part in parts})
    return bound


def row_globs(rows: Iterable[str]) -> tuple[str, ...]:
    """Globs from a root that match what the rows name, at any depth."""
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
