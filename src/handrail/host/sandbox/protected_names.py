"""Which names count as protected, and which of them a person lifted for one command.

The table itself is policy's and is handed in; nothing here adds to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from fnmatch import translate
from typing import Final, NamedTuple

from handrail.core.globs import fits, reaches, split_glob

# What a name is, as bits: one name may be several.
WHOLE: Final = 1  # a directory whose whole content counts
FILE: Final = 2  # a file
GIT: Final = 4  # git's own directory, or the file that points to it
FIRST: Final = 8  # the upper name of a pair; on its own it counts only as a link

_WILD: Final = frozenset("*?[")


class Table(NamedTuple):
    """Protected names: whole directories, globs of files, pairs of a directory in a directory.

    `fold` makes names equal that some file system takes for the same; of ASCII names it
    changes no more than case and trailing dots and spaces.
    """

    directories: Collection[str]
    files: Collection[str]
    pairs: Collection[tuple[str, str]]
    fold: Callable[[str], str]


class Names:
    """Answers what a name is; asked for every entry of a workspace, so most are passed over
    by what they begin and end with.
    """

    def __init__(self, table: Table) -> None:
        self._fold = table.fold
        self._literal = dict.fromkeys(table.directories, WHOLE)
        self._literal |= {first: FIRST for first, _ in table.pairs}
        self._literal |= {name: FILE for name in table.files if "*" not in name}
        self._literal[".git"] = GIT
        globs = [name for name in table.files if "*" in name]
        self._glob = re.compile("|".join(map(translate, globs)) or "(?!)").match
        # Folding takes trailing dots and spaces away, so a name with some is looked at.
        self._tails = (".", " ", *(glob.rpartition("*")[2] for glob in globs if glob[0] == "*"))
        self._heads = tuple(glob.partition("*")[0] for glob in globs if glob[0] != "*")
        self._pairs = frozenset(table.pairs)

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
        folded = self._fold(name)
        return self._literal.get(folded) or (FILE if self._glob(folded) else 0)

    def seconds(self, first: str) -> frozenset[str]:
        """The lower names of the pairs whose upper name this is."""
        folded = self._fold(first)
        return frozenset(second for one, second in self._pairs if one == folded)

    def is_second(self, name: str, seconds: Collection[str]) -> bool:
        """Whether the name is one of these lower names."""
        return self._fold(name) in seconds


class Lifted:
    """What a person allowed for one command.

    A plain path lifts what it names with everything in it; a glob lifts what it matches.
    """

    def __init__(self, given: Sequence[str]) -> None:
        split = [split_glob(one) for one in given if one.strip("/")]
        self._globs = [one for one in split if _WILD.intersection("".join(one))]
        self._plain = ["/".join(one) for one in split if one not in self._globs]

    def with_path(self, path: str) -> Lifted:
        """The same with one more path, taken by the letter."""
        more = Lifted(())
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


class Allowed(NamedTuple):
    """What a person allowed for one command; `git_writable`: it may write in `.git`, except
    where git finds programs or its way. `sequences`: it may leave a rebase or the like there
    that is to be continued.
    """

    lifted: Lifted
    git_writable: bool
    sequences: bool = False
