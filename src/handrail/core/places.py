"""Where a path leads: the result of resolving it once, beneath a root."""

from __future__ import annotations

import stat
from enum import StrEnum
from typing import Final, NamedTuple

# The root of a place that lies in no root: the session's own plan file. It is larger than any list
# of roots, so using it as an index fails.
ASIDE: Final = 1 << 20


def shown(path: str) -> str:
    """The path for a line of text; quoted and escaped where it could be taken for more.

    A line break in a name would forge a line, and a name in quotes or brackets would look like a
    message of Handrail, so such names are written as Python literals.
    """
    plain = path.isprintable() and not path.startswith(("'", '"', "["))
    return path if plain else repr(path)


def is_utf8(path: str) -> bool:
    """Whether the bytes of a name are valid UTF-8; others are held as lone surrogates."""
    return path.isascii() or not any("\udc80" <= one <= "\udcff" for one in path)


class Kind(StrEnum):
    """What exists at a place."""

    FILE = "file"
    DIRECTORY = "directory"
    SPECIAL = "special"
    MISSING = "missing"


class Form(StrEnum):
    """What an entry of a directory is itself, whatever it leads to."""

    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    SPECIAL = "special"

    @classmethod
    def of(cls, mode: int) -> Form:
        """The form of an entry with this `st_mode`."""
        if stat.S_ISREG(mode):
            return cls.FILE
        if stat.S_ISDIR(mode):
            return cls.FOLDER
        return cls.LINK if stat.S_ISLNK(mode) else cls.SPECIAL


class Stat(NamedTuple):
    """Identity and attributes of a file at one moment.

    `settled` says that the last change was long enough ago for the time stamps to prove that
    equal stats mean equal content; otherwise only the content's hash proves it.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    links: int
    settled: bool = True

    def same_as(self, other: Stat) -> bool:
        """Whether both describe the same unchanged file."""
        return self[:5] == other[:5]


class Place(NamedTuple):
    """A path inside a root with every symlink resolved; `kind` is as of resolving.

    `root` is the index of the root, `rel` the path from it ("" is the root itself).
    `path` is how the place is shown: relative for the workspace, absolute elsewhere.
    `via` holds the other absolute names it was reached by: as it was written, and each
    symlink on the way with the rest of the path; empty where no link was passed.
    `missing_above` counts the directories above it that do not exist either.
    Opening a place never follows a symlink, so a swapped directory cannot redirect it.
    """

    root: int
    rel: str
    path: str
    absolute: str
    kind: Kind
    via: tuple[str, ...] = ()
    missing_above: int = 0

    @property
    def shown(self) -> str:
        """The path as it may stand in a line of text."""
        return shown(self.path)

    @property
    def key(self) -> str:
        """The footprint key of this one file."""
        return f"file:{self.absolute}"


class Entry(NamedTuple):
    """One name in a directory."""

    name: str
    kind: Kind
    is_link: bool
