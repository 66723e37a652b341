"""Resolves a path as a model wrote it.

The common case costs one openat2. Links, `..` and unusual spellings are resolved name by name; the
result is only a claim, because every later open enforces containment again.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Final

from handrail.core.places import Kind, Place, is_utf8
from handrail.host.files.errors import problem_from_oserror, quoted
from handrail.host.files.messages import INVALID_PATH, NAME_NOT_UTF8, RUNTIME_PATH
from handrail.host.files.paths.openat2 import LOOK, LOOK_IN
from handrail.host.files.paths.path_walk import PathResolver
from handrail.host.files.paths.roots import Roots

# An empty, `.` or `..` name anywhere, which includes a slash at either end; or a NUL.
_ODD: Final = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)|\0")
# Links and special files take the slow path.
_KINDS: Final = {stat.S_IFREG: Kind.FILE, stat.S_IFDIR: Kind.DIRECTORY}
_MAX_PATH: Final = 4095
_MAX_NAME: Final = 255


class Locator:
    """Resolves paths beneath the roots."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def locate(self, path: str) -> Place:
        """The place of a path; see `Files.locate`."""
        roots = self._roots
        root, rel = 0, path
        if path.startswith("/"):
            for prefix in roots.spellings:
                if path.startswith(prefix.text):
                    root, rel = prefix.root, path[len(prefix.text) :]
                    break
        if _ODD.search(rel) is not None:
            return self._slowly(path)
        try:
            mode = self._mode(root, rel)
        except (OSError, UnicodeEncodeError) as error:
            # No link on the way: it is missing under exactly this name.
            if isinstance(error, FileNotFoundError) and _fits(rel):
                return self._place(root, rel, Kind.MISSING)
            return self._slowly(path)
        kind = _KINDS.get(stat.S_IFMT(mode))
        return self._slowly(path) if kind is None else self._place(root, rel, kind)

    def below(self, folder: Place, name: str) -> Place:
        """The place of a missing name in a place; raises `outside_workspace` if it belongs to the
        runtime.
        """
        rel = f"{folder.rel}/{name}" if folder.rel else name
        via = tuple(f"{one.rstrip('/')}/{name}" for one in folder.via)
        return self._place(folder.root, rel, Kind.MISSING)._replace(via=via)

    def _mode(self, root: int, rel: str) -> int:
        handle = self._roots.handles[root]
        # A single name has no directory on the way that could be a link.
        if "/" not in rel:
            return os.stat(rel, dir_fd=handle, follow_symlinks=False).st_mode
        descriptor = self._roots.opener(handle, os.fsencode(rel), LOOK)
        try:
            return os.fstat(descriptor).st_mode
        finally:
            os.close(descriptor)

    def _slowly(self, path: str) -> Place:
        check(path)
        walk = PathResolver(self._roots, path)
        try:
            found = walk.run()
        except OSError as error:
            raise problem_from_oserror(error, path) from error
        finally:
            walk.close()
        if is_utf8(path) and not is_utf8(found.rel):
            # A name that cannot be written cannot be reached through a link either.
            raise NAME_NOT_UTF8.error(path=quoted(path))
        place = self._place(found.root, found.rel, walk.kind)
        ways = dict.fromkeys([*self._written(path), *walk.passed])
        ways.pop(place.absolute, None)
        return place._replace(via=tuple(ways))

    def _written(self, path: str) -> list[str]:
        """The path as written, with `..` removed textually, if that lies in a root."""
        full = path if path.startswith("/") else self._roots.tops[0] + path
        # normpath keeps two slashes at the start.
        plain = "/" + os.path.normpath(full).lstrip("/")
        for prefix in self._roots.spellings:
            if plain.startswith(prefix.text):
                return [self._roots.absolute(prefix.root, plain[len(prefix.text) :])]
        return []

    def _place(self, root: int, rel: str, kind: Kind) -> Place:
        absolute = self._roots.absolute(root, rel)
        if self._roots.hidden and self._roots.hides(absolute):
            raise RUNTIME_PATH.error(absolute=quoted(absolute), root=self._roots.paths[0])
        missing = self._missing_above(root, rel) if kind is Kind.MISSING else 0
        path = absolute if root else rel or "."
        return Place(root, rel, path, absolute, kind, missing_above=missing)

    def _missing_above(self, root: int, rel: str) -> int:
        count = 0
        above = rel.rpartition("/")[0]
        while above:
            try:
                os.close(self._roots.opener(self._roots.handles[root], os.fsencode(above), LOOK_IN))
            except FileNotFoundError:
                count += 1
                above = above.rpartition("/")[0]
            except OSError:
                break
            else:
                break
        return count


def check(path: str) -> None:
    """Raise `invalid_arguments` for text that cannot be a path."""
    wrong = _wrong(path)
    if wrong:
        raise INVALID_PATH.error(path=quoted(path), reason=wrong)


def _wrong(path: str) -> str | None:
    if not path:
        return "it is empty"
    if "\0" in path:
        return "it contains a NUL character"
    try:
        # Names of any bytes have a text form, which the record stores.
        os.fsencode(path)
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    return None if _fits(path) else "it, or a name in it, is too long"


def _fits(path: str) -> bool:
    encoded = os.fsencode(path)
    return len(encoded) <= _MAX_PATH and all(len(name) <= _MAX_NAME for name in encoded.split(b"/"))
