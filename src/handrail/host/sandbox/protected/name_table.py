"""Which names count as protected, and which of them a person lifted for one command.

The table is the one of `core/protected_names`; nothing here adds to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import translate
from typing import Final, NamedTuple

from handrail.core.globs import fits, reaches, split_glob
from handrail.core.protected_names import NamePath, NameTable, fold_name

# What a name is, as bits: one name may be several.
WHOLE: Final = 1  # a directory whose whole content counts
FILE: Final = 2  # a file
GIT: Final = 4  # git's own directory, or the file that points to it
FIRST: Final = 8  # an upper name of a path; on its own it counts only as a link
BARE: Final = 16  # a directory that is a repository to git by what it holds

_WILD: Final = frozenset("*?[")


class ProtectedNameTable:
    """Answers what a name is; asked for every entry of a workspace, so most are passed over
    by what they begin and end with.
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
        # Folding takes trailing dots and spaces away, so a name with some is looked at.
        self._tails = (".", " ", *(glob.rpartition("*")[2] for glob in globs if glob[0] == "*"))
        self._heads = tuple(glob.partition("*")[0] for glob in globs if glob[0] != "*")

    def mark(self, name: str) -> int:
        """The bits of a name, 0 for an ordinary one."""
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
        """The folded names that count in a directory because of the path to it, with their bits."""
        return {
            rest[0]: WHOLE if path.whole else FILE
            for path, rest in self._continued(rel)
            if len(rest) == 1
        }

    def rests(self, rel: str) -> list[tuple[str, int]]:
        """What is left of each path of the table that the end of `rel` begins, with its bits."""
        return [
            ("/".join(rest), WHOLE if path.whole else FILE) for path, rest in self._continued(rel)
        ]

    def _continued(self, rel: str) -> Iterator[tuple[NamePath, tuple[str, ...]]]:
        parts = tuple(map(fold_name, rel.split("/")))
        for path in self._paths:
            for length in range(1, len(path.names)):
                if parts[-length:] == path.names[:length]:
                    yield path, path.names[length:]


class AllowedPaths:
    """What a person allowed for one command.

    A plain path lifts what it names with everything in it; a glob lifts what it matches.
    """

    def __init__(self, given: Sequence[str]) -> None:
        split = [split_glob(one) for one in given if one.strip("/")]
        self._globs = [one for one in split if _WILD.intersection("".join(one))]
        self._plain = ["/".join(one) for one in split if one not in self._globs]

    def with_path(self, path: str) -> AllowedPaths:
        """The same with one more path, taken by the letter."""
        more = AllowedPaths(())
        more._globs, more._plain = self._globs, [*self._plain, path]
        return more

    def covers(self, rel: str) -> bool:
        """Whether the path itself is lifted."""
        if any(rel == plain or rel.startswith(f"{plain}/") for plain in self._plain):
            return True
        return any(fits(rel.split("/"), glob) for glob in self._globs)

    def reaches(self, rel: str) -> bool:
        """Whether something below the path is, or may be, lifted."""
        if any(plain.startswith(f"{rel}/") for plain in self._plain):
            return True
        return any(reaches(rel.split("/"), glob) for glob in self._globs)


class CommandAllowances(NamedTuple):
    """What a person allowed for one command; `git_writable`: it may write in `.git`, except
    where git finds programs or its way. `sequences`: it may leave a rebase or the like there
    that is to be continued. `repositories`: it may make repositories where there were none.
    """

    lifted: AllowedPaths
    git_writable: bool
    sequences: bool = False
    repositories: bool = False
