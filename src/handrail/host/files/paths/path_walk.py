"""Resolves a path name by name, as the kernel would, but without leaving the roots.

`..` is physical (the parent of a link's target), an absolute link is followed if it points into a
root, and nothing outside the roots is accessed: above them only the names of their ancestors are
known.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final, NoReturn

from handrail.core.places import Kind
from handrail.host.files.errors import quoted
from handrail.host.files.messages import (
    LINK_LOOP,
    LINK_OUTSIDE_WORKSPACE,
    NOT_A_DIRECTORY_NAME,
    OUTSIDE_WORKSPACE,
    PARENT_NOT_A_DIRECTORY,
    UP_FROM_MISSING,
)
from handrail.host.files.paths.openat2 import LOOK_IN
from handrail.host.files.paths.roots import PathInRoot, Roots

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
        """The place the path leads to; raises a problem, or OSError from the operating system."""
        self._follow(self._path)
        while self._pending:
            name = self._pending.pop()
            if name == "..":
                self._up()
            elif name == ".":
                self._here()
            elif self.kind is Kind.MISSING:
                self._names.append(name)
            elif self._root is None:
                self._down_from_above(name)
            else:
                self._down(name)
        if self._root is None:
            return self._enter()
        # Nested roots: a file must get one name, however it was reached.
        absolute = self._roots.absolute(self._root, "/".join(self._names))
        return self._roots.owner(absolute) or self._outside()

    def close(self) -> None:
        """Close the current directory."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _follow(self, path: str) -> None:
        rest = path
        if path.startswith("/"):
            self._stand(None, [])
            for prefix in self._roots.spellings:
                if f"{path}/".startswith(prefix.text):
                    rest = path[len(prefix.text) :]
                    self._stand(prefix.root, [])
                    break
        # A trailing slash means a directory, which `.` makes a step of its own.
        names = [name for name in rest.split("/") if name]
        self._pending += ["."] if path.endswith("/") else []
        self._pending += reversed(names)

    def _up(self) -> None:
        if self.kind is Kind.MISSING:
            raise UP_FROM_MISSING.error(path=quoted(self._path))
        if self._root is not None and not self._names:
            top = self._roots.paths[self._root]
            self._stand(None, [name for name in top.split("/") if name])
        self._stand(self._root, self._names[:-1])

    def _here(self) -> None:
        if self.kind is Kind.MISSING and not self._pending:
            raise NOT_A_DIRECTORY_NAME.error(path=quoted(self._path))

    def _down_from_above(self, name: str) -> None:
        below = f"/{'/'.join([*self._names, name])}"
        if any(f"{top}/".startswith(f"{below}/") for top in self._roots.paths):
            self._names.append(name)
            return
        at = self._enter()
        self._stand(at.root, at.rel.split("/") if at.rel else [])
        self._down(name)

    def _enter(self) -> PathInRoot:
        return self._roots.owner(f"/{'/'.join(self._names)}") or self._outside()

    def _down(self, name: str) -> None:
        handle = self._here_handle()
        try:
            mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
        except FileNotFoundError:
            self._names.append(name)
            self.kind = Kind.MISSING
            return
        try:
            self._take(handle, name, mode)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTDIR):
                raise
            # It changed since it was stat'ed: try again, a limited number of times.
            self._count_link()
            self._pending.append(name)

    def _take(self, handle: int, name: str, mode: int) -> None:
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

    def _stand(self, root: int | None, names: list[str]) -> None:
        self.close()
        self._root = root
        self._names = names
        self.kind = Kind.DIRECTORY

    def _outside(self) -> NoReturn:
        template = LINK_OUTSIDE_WORKSPACE if self._links else OUTSIDE_WORKSPACE
        others = self._roots.paths[1:]
        also = f" (also open: {', '.join(map(repr, others))})" if others else ""
        raise template.error(path=quoted(self._path), root=self._roots.paths[0], also=also)
