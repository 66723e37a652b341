"""Resolved paths: what a path below a root leads to, and the attributes of files."""

from __future__ import annotations

import stat
from enum import StrEnum
from typing import Final, NamedTuple

# The `root` of the session's plan file, which is not below any root. It is larger than any list of
# roots, so using it as an index fails.
PLAN_FILE_ROOT: Final = 1 << 20


def shown(path: str) -> str:
    """The path in a form that is safe in a line of text.

    A line break in a name would start a new line, and a name in quotes or brackets would look like a
    message of Handrail, so such names are written as Python literals.
    """
    plain = path.isprintable() and not path.startswith(("'", '"', "["))
    return path if plain else repr(path)


def is_utf8(path: str) -> bool:
    """Whether the bytes of a name are valid UTF-8; invalid bytes are represented as lone surrogates."""
    return path.isascii() or not any("\udc80" <= one <= "\udcff" for one in path)


def folders_above(path: str) -> list[str]:
    """The folders above a path, lowest first; "" is the root of an absolute path."""
    found = []
    while "/" in path:
        path = path.rpartition("/")[0]
        found.append(path)
    return found


class Kind(StrEnum):
    """What exists at a resolved path."""

    FILE = "file"
    DIRECTORY = "directory"
    SPECIAL = "special"
    MISSING = "missing"


class Form(StrEnum):
    """What an entry of a directory is, without following links."""

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

    `settled`: the last change was so long ago that equal stats prove equal content; otherwise only the
    hash of the content proves it.
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
    """A path inside a root with all symlinks resolved.

    `root` is the index of the root, `rel` the path from it ("" is the root itself), `kind` what existed
    there when the path was resolved. `path` is the path as it is shown: relative for the workspace,
    absolute elsewhere. `via` are the other absolute names of the path: as it was written, and each
    symlink on the way with the rest of the path; empty if there was no link. `missing_above` counts the
    directories above the path that do not exist. Opening a place never follows a symlink, so a directory
    that was exchanged in between cannot redirect it.
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
        """The path in a form that is safe in a line of text."""
        return shown(self.path)

    @property
    def key(self) -> str:
        """The footprint key of this file."""
        return f"file:{self.absolute}"


class Entry(NamedTuple):
    """One name in a directory."""

    name: str
    kind: Kind
    is_link: bool
