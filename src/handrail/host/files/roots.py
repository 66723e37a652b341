"""The roots, and how paths beneath their handles are opened without following any link.

Uses openat2 where the kernel has it; otherwise, and for a single name, each name is opened with
O_NOFOLLOW. A workspace path reaches the kernel only through this module, or as a single name
beneath an open handle.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.core.places import PLAN_FILE_ROOT, Place

if TYPE_CHECKING:
    from pathlib import Path

Opener = Callable[[int, bytes, int], int]

# Without O_PATH (macOS) a plain open is used; O_NONBLOCK keeps a FIFO from blocking it.
LOOK: Final = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC
LOOK_IN: Final = LOOK | os.O_DIRECTORY
READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_SYS_OPENAT2: Final = 437
_NO_MAGICLINKS: Final = 0x02
_NO_SYMLINKS: Final = 0x04
_BENEATH: Final = 0x08
_TRIES: Final = 100
_DOTS: Final = (b"", b".", b"..")
# With these flags, O_NOFOLLOW opens a final link itself, or reports ENOTDIR.
_ODD_WITH_NOFOLLOW: Final = LOOK_IN & ~os.O_CLOEXEC


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def choose_opener() -> Opener:
    """Return the best opener of this machine: `opener(handle, path, flags)` returns a descriptor.

    An opener raises OSError: ELOOP for any link in the path, EXDEV for a path that leads upwards.
    """
    return kernel_opener() if kernel_has_openat2() else walk_beneath


def kernel_has_openat2() -> bool:
    """Return whether openat2 works; old kernels and strict seccomp profiles lack it."""
    if not hasattr(os, "O_PATH"):
        return False
    handle = os.open("/", LOOK_IN)
    try:
        os.close(kernel_opener()(handle, b".", LOOK_IN))
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def kernel_opener() -> Opener:
    """Return an opener that makes the kernel stay beneath the handle."""
    call: Any = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_size_t,
    )
    size = ctypes.sizeof(_OpenHow)
    hows: dict[int, _OpenHow] = {}
    addresses: dict[int, int] = {}

    def remember(flags: int) -> int:
        hows[flags] = _OpenHow(flags, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
        addresses[flags] = ctypes.addressof(hows[flags])
        return addresses[flags]

    def open_beneath(handle: int, path: bytes, flags: int) -> int:
        # C would take a NUL for the end of the path.
        if b"\0" in path:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        if b"/" not in path and path not in _DOTS and not flags & _ODD_WITH_NOFOLLOW:
            # A single name has no parent directory that could be a link, and a plain open takes
            # half as long as a call through ctypes.
            return os.open(path, flags | os.O_NOFOLLOW, dir_fd=handle)
        how = addresses.get(flags) or remember(flags)
        descriptor: int = call(_SYS_OPENAT2, handle, path, how, size)
        tries = _TRIES
        while descriptor < 0:
            code, tries = ctypes.get_errno(), tries - 1
            if code not in (errno.EINTR, errno.EAGAIN) or not tries:
                raise OSError(code, os.strerror(code))
            descriptor = call(_SYS_OPENAT2, handle, path, how, size)
        return descriptor

    return open_beneath


def open_canonical(opener: Opener, path: str) -> int:
    """Open a directory by its canonical path, from `/`, without following links.

    Raises ELOOP if a directory in the path was replaced by a link.
    """
    top = os.open("/", LOOK_IN)
    try:
        return opener(top, path.strip("/").encode() or b".", LOOK_IN)
    finally:
        os.close(top)


def walk_beneath(handle: int, path: bytes, flags: int) -> int:
    """Open a path without openat2: one name at a time, each with O_NOFOLLOW."""
    names = path.split(b"/")
    if b".." in names:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    current = handle
    try:
        for name in names[:-1]:
            below = _open_name(current, name, LOOK_IN)
            if current != handle:
                os.close(current)
            current = below
        return _open_name(current, names[-1], flags)
    finally:
        if current != handle:
            os.close(current)


def _open_name(handle: int, name: bytes, flags: int) -> int:
    try:
        descriptor = os.open(name, flags | os.O_NOFOLLOW, dir_fd=handle)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
    # O_PATH | O_NOFOLLOW opens the link itself instead of failing.
    if stat.S_ISLNK(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return descriptor


def find_real_path(path: str | os.PathLike[str]) -> str | None:
    """Return the path with all links followed, missing parts unchanged; None if a name in the path
    is replaced again and again.

    `os.path.realpath` itself raises OSError if a link is replaced between its stat and readlink.
    """
    for _ in range(_TRIES):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
    return None


def real_path(path: str | os.PathLike[str]) -> str:
    """Return `find_real_path(path)`; raises `stale` instead of returning None."""
    found = find_real_path(path)
    if found is not None:
        return found
    from handrail.host.files.messages import LINKS_KEEP_CHANGING

    raise LINKS_KEEP_CHANGING.error(path=os.fspath(path))


# A directory in the path may be replaced by a link between stat and open.
_ROOT_TRIES: Final = 8


class RootPrefix(NamedTuple):
    """A spelling of a root at the start of an absolute path, ending in a slash."""

    text: str
    root: int


class PathInRoot(NamedTuple):
    """A root and a path beneath it."""

    root: int
    rel: str


class Roots:
    """Open handles of the workspace (first) and the additional directories.

    Places with the root `PLAN_FILE_ROOT` lie in `beside`, a directory of the runtime outside the roots.
    """

    def __init__(self, given: Sequence[str | Path], hidden: Sequence[str]) -> None:
        self.opener = choose_opener()
        self.beside: Roots | None = None
        opened = _open_all(self.opener, given)
        named = [(str(path), root.path) for path, root in zip(given, opened, strict=True)]
        handles = {root.path: root.handle for root in opened}
        self.paths = tuple(handles)
        self.handles = tuple(handles.values())
        self.tops = tuple(map(_with_slash, self.paths))
        self.hidden = tuple(os.path.realpath(path) for path in hidden)
        self.canonical = _ordered((path, at) for at, path in enumerate(self.paths))
        # Imported here: the process that starts programs imports this module too and does not need
        # it.
        from pathlib import Path

        # A root given as a link may also be named by that link.
        self.spellings = _ordered(
            (str(Path(path).absolute()), self.paths.index(real))
            for path, real in (*zip(self.paths, self.paths, strict=True), *named)
            if ".." not in Path(path).parts
        )

    @property
    def aliases(self) -> tuple[tuple[str, str], ...]:
        """The other spellings of the roots, each with the canonical path of its root."""
        named = ((prefix.text.rstrip("/"), self.paths[prefix.root]) for prefix in self.spellings)
        return tuple((alias, path) for alias, path in named if alias != path.rstrip("/"))

    def open(self, place: Place, flags: int) -> int:
        """Open a place; raises OSError, never follows a link."""
        return self.open_beneath(place.root, place.rel, flags)

    def open_beneath(self, root: int, rel: str, flags: int) -> int:
        """Open a path beneath a root; raises OSError, never follows a link."""
        if root == PLAN_FILE_ROOT:
            return self.opened_beside().open_beneath(0, rel, flags)
        if self.hidden and self.hides(self.absolute(root, rel)):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        # `os.fsencode` takes longer, and most names are ASCII, which every encoding writes alike.
        path = rel.encode() if rel.isascii() else os.fsencode(rel)
        return self.opener(self.handles[root], path or b".", flags)

    def opened_beside(self) -> Roots:
        """Return the directory outside the roots; raises OSError if it is not open."""
        if self.beside is None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return self.beside

    def hides(self, absolute: str) -> bool:
        """Return whether a path lies in a directory that tools may not see."""
        return any(absolute == top or absolute.startswith(f"{top}/") for top in self.hidden)

    def absolute(self, root: int, rel: str) -> str:
        """Return the absolute path of a path beneath a root."""
        if root == PLAN_FILE_ROOT:
            return self.opened_beside().absolute(0, rel)
        return self.tops[root] + rel if rel else self.paths[root]

    def owner(self, absolute: str) -> PathInRoot | None:
        """Return the root of a canonical absolute path and the path beneath it; None if outside.

        Of nested roots the workspace comes first, then the deepest root, so that each file has one
        name.
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
    """Return the canonical path and a handle of each directory; equal paths share a handle."""
    opened: list[_OpenRoot] = []
    try:
        for path in given:
            found = _open_root(opener, str(path))
            known = next((one for one in opened if one.path == found.path), None)
            if known is not None:
                os.close(found.handle)
            opened.append(known or found)
    except BaseException:
        for handle in {one.handle for one in opened}:
            os.close(handle)
        raise
    return opened


def _open_root(opener: Opener, given: str) -> _OpenRoot:
    # Imported here: the supervisor imports this module too and reports no problems.
    from handrail.host.files import messages
    from handrail.host.files.errors import problem_from_oserror, quoted

    if "\0" in given:
        raise messages.ROOT_HAS_NUL.error(given=quoted(given))
    for _ in range(_ROOT_TRIES):
        path = real_path(given)
        try:
            return _OpenRoot(path, open_canonical(opener, path))
        except UnicodeEncodeError:
            raise messages.ROOT_NOT_UTF8.error(path=path) from None
        except FileNotFoundError:
            raise messages.ROOT_MISSING.error(path=quoted(path)) from None
        except NotADirectoryError:
            raise messages.ROOT_NOT_A_DIRECTORY.error(path=quoted(path)) from None
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise problem_from_oserror(error, path) from error
    raise messages.ROOT_KEEPS_CHANGING.error(given=quoted(given))


def _ordered(named: Iterable[tuple[str, int]]) -> tuple[RootPrefix, ...]:
    found = {RootPrefix(_with_slash(path), root) for path, root in named}
    return tuple(sorted(found, key=lambda prefix: (prefix.root != 0, -len(prefix.text))))


def _with_slash(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
