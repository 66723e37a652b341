"""Resolves paths as a model wrote them.

The common case costs one openat2. Links, `..` and unusual spellings are resolved name by name. The
result is not trusted: every later open checks again that the path stays beneath its root.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import Final, NoReturn

from handrail.core.places import Form, Kind, Place, is_utf8
from handrail.core.ports.machine import PathEntry
from handrail.core.text.content import Content
from handrail.host.files.errors import problem_from_oserror, quoted
from handrail.host.files.messages import (
    INVALID_PATH,
    LINK_LOOP,
    LINK_OUTSIDE_WORKSPACE,
    NAME_NOT_UTF8,
    NOT_A_DIRECTORY_NAME,
    OUTSIDE_WORKSPACE,
    PARENT_NOT_A_DIRECTORY,
    RUNTIME_PATH,
    UP_FROM_MISSING,
)
from handrail.host.files.reading import make_stat
from handrail.host.files.roots import LOOK, LOOK_IN, PathInRoot, Roots

# An empty, `.` or `..` name anywhere, which includes a slash at either end; or a NUL.
_ODD: Final = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)|\0")
# Links and special files are resolved name by name.
_KINDS: Final = {stat.S_IFREG: Kind.FILE, stat.S_IFDIR: Kind.DIRECTORY}
# A global, because an access through the class takes long in Python 3.11.
_MISSING: Final = Kind.MISSING
_MAX_PATH: Final = 4095
_MAX_NAME: Final = 255


class Locator:
    """Resolves paths beneath the roots."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def locate(self, path: str) -> Place:
        """Resolve a path to a place; see `Files.locate`."""
        roots = self._roots
        root, rel = 0, path
        if path.startswith("/"):
            for prefix in roots.spellings:
                if path.startswith(prefix.text):
                    root, rel = prefix.root, path[len(prefix.text) :]
                    break
        if _ODD.search(rel) is not None:
            return self._locate_by_name(path)
        try:
            # A single name has no parent directory that could be a link.
            if "/" not in rel:
                mode = os.stat(rel, dir_fd=roots.handles[root], follow_symlinks=False).st_mode
            else:
                mode = self._mode(root, rel)
        except (OSError, UnicodeEncodeError) as error:
            # No part of the path is a link, so the file is missing under exactly this name.
            if isinstance(error, FileNotFoundError) and _has_valid_length(rel):
                return self._place(root, rel, Kind.MISSING)
            return self._locate_by_name(path)
        kind = _KINDS.get(stat.S_IFMT(mode))
        return self._locate_by_name(path) if kind is None else self._place(root, rel, kind)

    def below(self, folder: Place, name: str) -> Place:
        """Return the place of a missing name inside a place; raises `outside_workspace` if it
        belongs to the runtime.
        """
        rel = f"{folder.rel}/{name}" if folder.rel else name
        via = tuple(f"{one.rstrip('/')}/{name}" for one in folder.via)
        return self._place(folder.root, rel, Kind.MISSING)._replace(via=via)

    def _mode(self, root: int, rel: str) -> int:
        descriptor = self._roots.opener(self._roots.handles[root], os.fsencode(rel), LOOK)
        try:
            return os.fstat(descriptor).st_mode
        finally:
            os.close(descriptor)

    def _locate_by_name(self, path: str) -> Place:
        check(path)
        walk = PathResolver(self._roots, path)
        try:
            found = walk.run()
        except OSError as error:
            raise problem_from_oserror(error, path) from error
        finally:
            walk.close()
        if is_utf8(path) and not is_utf8(found.rel):
            # A path with an invalid name cannot be reached through a link either.
            raise NAME_NOT_UTF8.error(path=quoted(path))
        place = self._place(found.root, found.rel, walk.kind)
        ways = dict.fromkeys([*self._written(path), *walk.passed])
        ways.pop(place.absolute, None)
        return place._replace(via=tuple(ways))

    def _written(self, path: str) -> list[str]:
        """Return the path as written, with `..` removed textually, if it lies in a root."""
        full = path if path.startswith("/") else self._roots.tops[0] + path
        # normpath keeps two slashes at the start.
        plain = "/" + os.path.normpath(full).lstrip("/")
        for prefix in self._roots.spellings:
            if plain.startswith(prefix.text):
                return [self._roots.absolute(prefix.root, plain[len(prefix.text) :])]
        return []

    def _place(self, root: int, rel: str, kind: Kind) -> Place:
        roots = self._roots
        absolute = roots.tops[root] + rel if rel else roots.paths[root]
        if roots.hidden and roots.hides(absolute):
            raise RUNTIME_PATH.error(absolute=quoted(absolute), root=roots.paths[0])
        missing = self._missing_above(root, rel) if kind is _MISSING else 0
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
    wrong = _path_error(path)
    if wrong:
        raise INVALID_PATH.error(path=quoted(path), reason=wrong)


def _path_error(path: str) -> str | None:
    if not path:
        return "it is empty"
    if "\0" in path:
        return "it contains a NUL character"
    try:
        # Names with any bytes have a text form, which the record can store.
        os.fsencode(path)
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    return None if _has_valid_length(path) else "it, or a name in it, is too long"


def _has_valid_length(path: str) -> bool:
    encoded = os.fsencode(path)
    return len(encoded) <= _MAX_PATH and all(len(name) <= _MAX_NAME for name in encoded.split(b"/"))


_MAX_LINKS: Final = 40


class PathResolver:
    """One resolution: the remaining names, and the current directory.

    `_names` are canonical: beneath root `_root`, or from `/` while `_root` is None.
    """

    def __init__(self, roots: Roots, path: str) -> None:
        self._roots = roots
        self._path = path
        self._root: int | None = 0
        self._names: list[str] = []
        self._pending: list[str] = []
        self._links = 0
        self._handle: int | None = None
        self.kind = Kind.DIRECTORY
        # The links passed, as absolute paths with the remaining names.
        self.passed: list[str] = []

    def run(self) -> PathInRoot:
        """Return the place that the path leads to. Raises a problem or OSError."""
        self._follow(self._path)
        while self._pending:
            name = self._pending.pop()
            if name == "..":
                self._up()
            elif name == ".":
                self._check_directory()
            elif self.kind is Kind.MISSING:
                self._names.append(name)
            elif self._root is None:
                self._down_from_above(name)
            else:
                self._down(name)
        if self._root is None:
            return self._enter()
        # Roots can be nested; a file must get the same name on every way to it.
        absolute = self._roots.absolute(self._root, "/".join(self._names))
        return self._roots.owner(absolute) or self._refuse_outside()

    def close(self) -> None:
        """Close the current directory."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _follow(self, path: str) -> None:
        rest = path
        if path.startswith("/"):
            self._set_position(None, [])
            for prefix in self._roots.spellings:
                if f"{path}/".startswith(prefix.text):
                    rest = path[len(prefix.text) :]
                    self._set_position(prefix.root, [])
                    break
        # A trailing slash requires a directory; an added `.` is resolved as a step that checks for
        # one.
        names = [name for name in rest.split("/") if name]
        self._pending += ["."] if path.endswith("/") else []
        self._pending += reversed(names)

    def _up(self) -> None:
        if self.kind is Kind.MISSING:
            raise UP_FROM_MISSING.error(path=quoted(self._path))
        if self._root is not None and not self._names:
            top = self._roots.paths[self._root]
            self._set_position(None, [name for name in top.split("/") if name])
        self._set_position(self._root, self._names[:-1])

    def _check_directory(self) -> None:
        if self.kind is Kind.MISSING and not self._pending:
            raise NOT_A_DIRECTORY_NAME.error(path=quoted(self._path))

    def _down_from_above(self, name: str) -> None:
        below = f"/{'/'.join([*self._names, name])}"
        if any(f"{top}/".startswith(f"{below}/") for top in self._roots.paths):
            self._names.append(name)
            return
        at = self._enter()
        self._set_position(at.root, at.rel.split("/") if at.rel else [])
        self._down(name)

    def _enter(self) -> PathInRoot:
        return self._roots.owner(f"/{'/'.join(self._names)}") or self._refuse_outside()

    def _down(self, name: str) -> None:
        handle = self._here_handle()
        try:
            mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
        except FileNotFoundError:
            self._names.append(name)
            self.kind = Kind.MISSING
            return
        try:
            self._follow_entry(handle, name, mode)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTDIR):
                raise
            # The entry changed after it was stat'ed: try again, a limited number of times.
            self._count_link()
            self._pending.append(name)

    def _follow_entry(self, handle: int, name: str, mode: int) -> None:
        if stat.S_ISLNK(mode):
            target = os.readlink(name, dir_fd=handle)
            self._count_link()
            self._note_link(name)
            self._follow(target)
        elif stat.S_ISDIR(mode):
            self._step_into(handle, name)
        elif self._pending:
            where = quoted("/".join([*self._names, name]))
            raise PARENT_NOT_A_DIRECTORY.error(path=quoted(self._path), where=where)
        else:
            self._names.append(name)
            self.kind = Kind.FILE if stat.S_ISREG(mode) else Kind.SPECIAL

    def _note_link(self, name: str) -> None:
        rest = [] if ".." in self._pending else [one for one in self._pending if one != "."]
        below = "/".join([*self._names, name, *reversed(rest)])
        self.passed.append(self._roots.absolute(self._root or 0, below))

    def _count_link(self) -> None:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise LINK_LOOP.error(path=quoted(self._path))

    def _step_into(self, handle: int, name: str) -> None:
        below = os.open(name, LOOK_IN | os.O_NOFOLLOW, dir_fd=handle) if self._pending else None
        self.close()
        self._handle = below
        self._names.append(name)

    def _here_handle(self) -> int:
        if self._root is None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        if self._handle is None:
            path = os.fsencode("/".join(self._names)) or b"."
            self._handle = self._roots.opener(self._roots.handles[self._root], path, LOOK_IN)
        return self._handle

    def _set_position(self, root: int | None, names: list[str]) -> None:
        self.close()
        self._root = root
        self._names = names
        self.kind = Kind.DIRECTORY

    def _refuse_outside(self) -> NoReturn:
        template = LINK_OUTSIDE_WORKSPACE if self._links else OUTSIDE_WORKSPACE
        others = self._roots.paths[1:]
        also = f" (also open: {', '.join(map(repr, others))})" if others else ""
        raise template.error(path=quoted(self._path), root=self._roots.paths[0], also=also)


_FORM_KINDS = {Form.FILE: Kind.FILE, Form.FOLDER: Kind.DIRECTORY, None: Kind.MISSING}


def find_entry(roots: Roots, locator: Locator, path: str) -> PathEntry:
    """Return the entry that the last name of a path refers to; see `Files.named`."""
    check(path)
    above, _, name = path.rpartition("/")
    if name in ("", ".", ".."):
        # The path has no last name, so it cannot be a link.
        place = locator.locate(path)
        return PathEntry(place, Form.FOLDER if place.kind is Kind.DIRECTORY else Form.SPECIAL)
    folder = locator.locate(above or ("/" if path.startswith("/") else "."))
    place = locator.below(folder, name)
    if folder.kind is Kind.MISSING:
        return PathEntry(place)
    if folder.kind is not Kind.DIRECTORY:
        return PathEntry(place._replace(kind=Kind.SPECIAL), Form.SPECIAL)
    try:
        return _read_entry(roots, folder, place, name)
    except FileNotFoundError:
        return PathEntry(place)
    except OSError as error:
        raise problem_from_oserror(error, path) from error


def read_link_target(handle: int, name: str) -> bytes:
    """Return the target of a link in a directory; raises OSError."""
    return os.fsencode(os.readlink(name, dir_fd=handle))


def _read_entry(roots: Roots, folder: Place, place: Place, name: str) -> PathEntry:
    handle = roots.open(folder, LOOK_IN)
    try:
        info = os.stat(name, dir_fd=handle, follow_symlinks=False)
        form = Form.of(info.st_mode)
        content = Content(read_link_target(handle, name)) if form is Form.LINK else None
    finally:
        os.close(handle)
    if form is Form.FOLDER:
        content = Content(b"")
    return PathEntry(
        place._replace(kind=_FORM_KINDS.get(form, Kind.SPECIAL)), form, content, make_stat(info)
    )
