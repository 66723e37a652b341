"""The directories that may be reached: a handle, a canonical name and an opener for each.

Everything that opens a place does it here, beneath a handle, never by an absolute path.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from handrail.core.places import Place
from handrail.core.problems import ProblemRaised
from handrail.host.files.errors import explain, quoted
from handrail.host.files.openat2 import LOOK_IN, choose_opener


class Prefix(NamedTuple):
    """How a root is spelled at the start of an absolute path, ending in a slash."""

    text: str
    root: int


class Beneath(NamedTuple):
    """A root and a path from it."""

    root: int
    rel: str


class Roots:
    """Open handles on the workspace (first) and the additional directories."""

    def __init__(self, given: Sequence[str | Path], hidden: Sequence[str]) -> None:
        self.opener = choose_opener()
        self.paths = tuple(dict.fromkeys(os.path.realpath(path) for path in given))
        self.tops = tuple(map(_with_slash, self.paths))
        self.hidden = tuple(os.path.realpath(path) for path in hidden)
        self.canonical = _ordered((path, at) for at, path in enumerate(self.paths))
        # A root reached through a symlink may also be named by the link.
        self.spellings = _ordered(
            (str(Path(path).absolute()), self.paths.index(os.path.realpath(path)))
            for path in (*self.paths, *given)
            if ".." not in Path(path).parts
        )
        self.handles = _open_all(self.paths)

    def open(self, place: Place, flags: int) -> int:
        """A descriptor of the place; raises OSError, never follows a symlink."""
        if self.hidden and self.hides(self.absolute(place.root, place.rel)):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return self.opener(self.handles[place.root], place.rel.encode() or b".", flags)

    def hides(self, absolute: str) -> bool:
        """Whether a path is, or lies in, a directory that tools may never see."""
        return any(absolute == top or absolute.startswith(f"{top}/") for top in self.hidden)

    def absolute(self, root: int, rel: str) -> str:
        """The absolute path of a path beneath a root."""
        return self.tops[root] + rel if rel else self.paths[root]

    def owner(self, absolute: str) -> Beneath | None:
        """Where a canonical absolute path belongs, None if outside.

        Of nested roots the workspace comes first, then the deepest: one file, one name.
        """
        for prefix in self.canonical:
            if f"{absolute}/".startswith(prefix.text):
                return Beneath(prefix.root, absolute[len(prefix.text) :])
        return None

    def close(self) -> None:
        """Let go of the handles; safe to call twice."""
        handles, self.handles = self.handles, ()
        for handle in handles:
            os.close(handle)


def _open_all(paths: Sequence[str]) -> tuple[int, ...]:
    handles: list[int] = []
    try:
        handles.extend(map(_open_root, paths))
    except ProblemRaised:
        for handle in handles:
            os.close(handle)
        raise
    return tuple(handles)


def _open_root(path: str) -> int:
    try:
        path.encode()
        return os.open(path, LOOK_IN | os.O_NOFOLLOW)
    except UnicodeEncodeError:
        raise ProblemRaised(
            "invalid_arguments", f"the directory {path!r} has a name that is not valid UTF-8"
        ) from None
    except FileNotFoundError:
        raise ProblemRaised(
            "not_found",
            f"the directory {quoted(path)} does not exist",
            hint="create it first, or open another directory as the workspace",
        ) from None
    except NotADirectoryError:
        raise ProblemRaised("not_found", f"{quoted(path)} is not a directory") from None
    except OSError as error:
        raise explain(error, path) from error


def _ordered(named: Iterable[tuple[str, int]]) -> tuple[Prefix, ...]:
    found = {Prefix(_with_slash(path), root) for path, root in named}
    return tuple(sorted(found, key=lambda prefix: (prefix.root != 0, -len(prefix.text))))


def _with_slash(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
