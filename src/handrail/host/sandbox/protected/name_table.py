"""Which names are protected, and which of them the user allowed for one command.

The table is the one in `core/protected_names`; nothing is added here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import translate
from typing import Final, NamedTuple

from handrail.core.names.protected_names import NamePath, NameTable, fold_name
from handrail.core.text.globs import fits, reaches, split_glob

# Kinds of protected names, as bits: one name may have several.
WHOLE: Final = 1  # a directory whose whole content counts
FILE: Final = 2  # a file
GIT: Final = 4  # git's own directory, or the file that points to it
FIRST: Final = 8  # an upper name of a path; on its own it counts only as a link
BARE: Final = 16  # a directory that is a repository to git by what it holds

_WILD: Final = frozenset("*?[")


class ProtectedNameTable:
    """Classifies names. It is called for every entry of a workspace, so most names are excluded by
    their first and last characters.
    """

    def __init__(self, table: NameTable) -> None:
        self._paths = tuple(table.paths)
        self._literal: dict[str, int] = {}
        for names, bit in (
            (table.directories, WHOLE),
            (table.files, FILE),
            ((name for path in self._paths for name in path.names[:-1]), FIRST),
        ):
            for name in names:
                self._literal[name] = self._literal.get(name, 0) | bit
        self._literal[".git"] = GIT
        globs = list(table.globs)
        self._glob = re.compile("|".join(map(translate, globs)) or "(?!)").match
        # Folding removes trailing dots and spaces, so such names are looked up.
        self._tails = (".", " ", *(glob.rpartition("*")[2] for glob in globs if glob[0] == "*"))
        self._heads = tuple(glob.partition("*")[0] for glob in globs if glob[0] != "*")

    def mark(self, name: str) -> int:
        """Return the bits of a name; 0 if it is not protected."""
        lowered = name.lower()
        if (
            lowered not in self._literal
            and not lowered.endswith(self._tails)
            and not lowered.startswith(self._heads)
            and lowered.isascii()
        ):
            return 0
        folded = fold_name(name)
        return self._literal.get(folded) or (FILE if self._glob(folded) else 0)

    def marks_below(self, rel: str) -> Mapping[str, int]:
        """The bits of each folded name that is protected in this directory because of its path."""
        return {
            rest[0]: WHOLE if path.whole else FILE
            for path, rest in self._path_rests(rel)
            if len(rest) == 1
        }

    def rests(self, rel: str) -> list[tuple[str, int]]:
        """The rest of each path of the table that begins with the end of `rel`, with its bits."""
        return [
            ("/".join(rest), WHOLE if path.whole else FILE) for path, rest in self._path_rests(rel)
        ]

    def _path_rests(self, rel: str) -> Iterator[tuple[NamePath, tuple[str, ...]]]:
        parts = tuple(map(fold_name, rel.split("/")))
        for path in self._paths:
            for length in range(1, len(path.names)):
                if parts[-length:] == path.names[:length]:
                    yield path, path.names[length:]


class AllowedPaths:
    """Protected names that the user allowed for one command.

    A plain path allows itself and everything below; a glob allows what it matches.
    """

    def __init__(self, given: Sequence[str]) -> None:
        split = [split_glob(one) for one in given if one.strip("/")]
        self._globs = [one for one in split if _WILD.intersection("".join(one))]
        self._plain = ["/".join(one) for one in split if one not in self._globs]

    def with_path(self, path: str) -> AllowedPaths:
        """Return a copy with one more path, taken literally."""
        more = AllowedPaths(())
        more._globs, more._plain = self._globs, [*self._plain, path]
        return more

    def covers(self, rel: str) -> bool:
        """Whether the path is allowed."""
        if any(rel == plain or rel.startswith(f"{plain}/") for plain in self._plain):
            return True
        return any(fits(rel.split("/"), glob) for glob in self._globs)

    def reaches(self, rel: str) -> bool:
        """Return whether something below the path is or may be allowed."""
        if any(plain.startswith(f"{rel}/") for plain in self._plain):
            return True
        return any(reaches(rel.split("/"), glob) for glob in self._globs)


class CommandAllowances(NamedTuple):
    """What the user allowed for one command; see `ProtectedState.take`."""

    lifted: AllowedPaths
    git_writable: bool
    sequences: bool = False
    repositories: bool = False
