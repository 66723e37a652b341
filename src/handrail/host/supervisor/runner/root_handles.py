"""Root descriptors in the process that starts programs.

A root that was moved or replaced is noticed here, immediately before a program starts, and mounts
for the program are bound by descriptor.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Final, NamedTuple

from handrail.host.files.root_identity import RootHandle, is_in_place
from handrail.host.files.roots import LOOK, LOOK_IN, Opener, choose_opener
from handrail.host.sandbox.backends.landlock_grants import inode_key, open_without_links
from handrail.host.sandbox.recipe import Recipe

# Bubblewrap's options for a mount by path and by descriptor.
_BY_HANDLE: Final = {"--bind-try": "--bind-fd", "--ro-bind-try": "--ro-bind-fd"}


class ResolvedLaunch(NamedTuple):
    """A recipe with opened paths: arguments, working directory, descriptors to pass on, and how
    many arguments after the first are read from a file.
    """

    argv: list[str]
    cwd: str
    handles: list[int]
    aside: int


class RootHandles:
    """The roots of one runtime; without any, every path is used by name."""

    def __init__(self, roots: Sequence[RootHandle] = ()) -> None:
        self._roots = sorted(roots, key=lambda root: -len(root.path))

    @contextmanager
    def open(self, recipe: Recipe) -> Iterator[ResolvedLaunch]:
        """Open what a program starts from. Raises OSError; ESTALE if a root was moved or replaced."""
        for root in self._roots:
            if not is_in_place(root):
                raise OSError(errno.ESTALE, "it was moved or replaced", root.path)
        handles: list[int] = []
        try:
            cwd = self._directory(recipe.cwd)
            if cwd is not None:
                handles.append(cwd)
            argv = self._bind(recipe, handles)
            yield ResolvedLaunch(
                argv,
                recipe.cwd if cwd is None else f"/proc/self/fd/{cwd}",
                handles[cwd is not None :],
                recipe.aside - (len(recipe.argv) - len(argv)),
            )
        finally:
            for handle in handles:
                os.close(handle)

    def open_top(self, path: str) -> int:
        """Open a path for stat only, without following links, beneath a root's handle if it lies
        in one. Raises OSError.
        """
        found = self._beneath(path, LOOK)
        return open_without_links(path) if found is None else found

    def _directory(self, path: str) -> int | None:
        """Open a directory in a root; None if it lies in no root."""
        try:
            return self._beneath(path, LOOK_IN)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise OSError(error.errno, error.strerror, path) from error
        # The path leads through a link, whose target must lie in a root too.
        found = self._beneath(os.path.realpath(path), LOOK_IN)
        if found is None:
            raise OSError(errno.EXDEV, "it leads out of the workspace", path)
        return found

    def _bind(self, recipe: Recipe, handles: list[int]) -> list[str]:
        """The arguments, with mounts by descriptor where possible; missing paths are left out."""
        if not self._roots or not recipe.binds:
            return list(recipe.argv)
        argv: list[str] = []
        last = 0
        for at in recipe.binds:
            argv += recipe.argv[last:at]
            last = at + 3
            how, source, target = recipe.argv[at:last]
            try:
                handle = self._beneath(source, LOOK)
            except OSError:
                continue
            if handle is None:
                argv += (how, source, target)
                continue
            handles.append(handle)
            if inode_key(os.fstat(handle)) not in recipe.closed:
                argv += (_BY_HANDLE[how], str(handle), target)
        return [*argv, *recipe.argv[last:]]

    def _beneath(self, path: str, flags: int) -> int | None:
        """Open a path in a root without following links; None if it lies in no root."""
        for root in self._roots:
            top = root.path.rstrip("/")
            if path == root.path or path.startswith(f"{top}/"):
                rel = os.fsencode(path[len(top) :].strip("/"))
                return self._opener(root.handle, rel or b".", flags)
        return None

    @cached_property
    def _opener(self) -> Opener:
        return choose_opener()
