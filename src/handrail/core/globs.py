"""Globs over the names of a path: `*` stays within one name, `**` crosses directories."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


def split_glob(glob: str) -> list[str]:
    """The parts of a glob or path, without slashes at its ends."""
    return glob.strip("/").split("/")


def fits(parts: Sequence[str], glob: Sequence[str]) -> bool:
    """Whether the glob matches the whole path."""
    if not glob:
        return not parts
    if glob[0] == "**":
        return any(fits(parts[skipped:], glob[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], glob[0]) and fits(parts[1:], glob[1:])


def reaches(parts: Sequence[str], glob: Sequence[str]) -> bool:
    """Whether the glob could match something below the path."""
    if not parts:
        return bool(glob)
    if not glob:
        return False
    return glob[0] == "**" or (fnmatchcase(parts[0], glob[0]) and reaches(parts[1:], glob[1:]))
