"""The roots: a handle, a canonical path and an opener for each.

Every place is opened here, beneath a handle, never by absolute path.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.places import Place
from handrail.core.problems import ProblemRaised
from handrail.host.files.errors import problem_from_oserror, quoted
from handrail.host.files.messages import (
    ROOT_HAS_NUL,
    ROOT_KEEPS_CHANGING,
    ROOT_MISSING,
    ROOT_NOT_A_DIRECTORY,
    ROOT_NOT_UTF8,
)
from handrail.host.files.paths.openat2 import Opener, choose_opener, open_canonical
from handrail.host.files.paths.real_path import real_path

# A directory on the way may be exchanged for a link between stat and open.
_TRIES: Final = 8


class RootPrefix(NamedTuple):
    """A spelling of a root at the start of an absolute path, ending in a slash."""

    text: str
    root: int


class PathInRoot(NamedTuple):
    """A root and a path beneath it."""

    root: int
    rel: str


class Roots:
    """Open handles of the workspace (first) and the additional directories."""

    def __init__(self, given: Sequence[str | Path], hidden: Sequence[str]) -> None:
        self.opener = choose_opener()
        opened = _open_all(self.opener, given)
        named = [(str(path), root.path) for path, root in zip(given, opened, strict=True)]
        handles = {root.path: root.handle for root in opened}
        self.paths = tuple(handles)
        self.handles = tuple(handles.values())
        self.tops = tuple(map(_with_slash, self.paths))
        self.hidden = tuple(os.path.realpath(path) for path in hidden)
        self.canonical = _ordered((path, at) for at, path in enumerate(self.paths))
        # A root reached through a link may also be named by the link.
        self.spellings = _ordered(
            (str(Path(path).absolute()), self.paths.index(real))
            for path, real in (*zip(self.paths, self.paths, strict=True), *named)
            if ".." not in Path(path).parts
        )

    @property
    def aliases(self) -> tuple[tuple[str, str], ...]:
        """The non-canonical spellings, each with the path of its root."""
        named = ((prefix.text.rstrip("/"), self.paths[prefix.root]) for prefix in self.spellings)
        return tuple((alias, path) for alias, path in named if alias != path.rstrip("/"))

    def open(self, place: Place, flags: int) -> int:
        """Open a place; raises OSError, never follows a link."""
        if self.hidden and self.hides(self.absolute(place.root, place.rel)):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return self.opener(self.handles[place.root], os.fsencode(place.rel) or b".", flags)

    def hides(self, absolute: str) -> bool:
        """Whether a path lies in a directory that tools may not see."""
        return any(absolute == top or absolute.startswith(f"{top}/") for top in self.hidden)

    def absolute(self, root: int, rel: str) -> str:
        """The absolute path of a path beneath a root."""
        return self.tops[root] + rel if rel else self.paths[root]

    def owner(self, absolute: str) -> PathInRoot | None:
        """The root of a canonical absolute path and the path beneath it; None if outside.

        Of nested roots the workspace comes first, then the deepest, so each file has one name.
        """
        for prefix in self.canonical:
            if f"{absolute}/".startswith(prefix.text):
                return PathInRoot(prefix.root, absolute[len(prefix.text) :])
        return None

    def close(self) -> None:
        """Close the handles; may be called twice."""
        handles, self.handles = self.handles, ()
        for handle in handles:
            os.close(handle)


class _OpenRoot(NamedTuple):
    path: str
    handle: int


def _open_all(opener: Opener, given: Sequence[str | Path]) -> list[_OpenRoot]:
    """The canonical path and a handle of each; equal paths share a handle."""
    opened: list[_OpenRoot] = []
    try:
        for path in given:
            found = _open_root(opener, str(path))
            known = next((one for one in opened if one.path == found.path), None)
            if known is not None:
                os.close(found.handle)
            opened.append(known or found)
    except ProblemRaised:
        for handle in {one.handle for one in opened}:
            os.close(handle)
        raise
    return opened


def _open_root(opener: Opener, given: str) -> _OpenRoot:
    if "\0" in given:
        raise ROOT_HAS_NUL.error(given=quoted(given))
    for _ in range(_TRIES):
        path = real_path(given)
        try:
            return _OpenRoot(path, open_canonical(opener, path))
        except UnicodeEncodeError:
            raise ROOT_NOT_UTF8.error(path=path) from None
        except FileNotFoundError:
            raise ROOT_MISSING.error(path=quoted(path)) from None
        except NotADirectoryError:
            raise ROOT_NOT_A_DIRECTORY.error(path=quoted(path)) from None
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise problem_from_oserror(error, path) from error
    raise ROOT_KEEPS_CHANGING.error(given=quoted(given))


def _ordered(named: Iterable[tuple[str, int]]) -> tuple[RootPrefix, ...]:
    found = {RootPrefix(_with_slash(path), root) for path, root in named}
    return tuple(sorted(found, key=lambda prefix: (prefix.root != 0, -len(prefix.text))))


def _with_slash(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
