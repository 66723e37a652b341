"""Intercepts the calls to the operating system that touch files, and finds which paths each of them
touches. The original functions are restored afterwards.
"""

from __future__ import annotations

import fcntl
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple

from handrail.host.files import directory
from handrail.host.files.roots import Roots

Function = Callable[..., Any]

# The originals, which this module needs while those in `os` are replaced.
_readlink: Final = os.readlink
_write: Final = os.write
_pwrite: Final = os.pwrite

_READS: Final = "stat lstat listdir scandir readlink access getxattr listxattr"
_CHANGES: Final = (
    "mkdir rmdir unlink remove truncate chmod lchown chown utime setxattr removexattr mkfifo"
)
_READS_OPEN: Final = "read pread readv preadv fstat"
_CHANGES_OPEN: Final = "fsync fdatasync fchmod fchown ftruncate posix_fallocate"
_WRITES: Final = "write writev pwrite pwritev"
_MOVES: Final = "rename replace link"
_WRITABLE: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class OsCall(NamedTuple):
    """A call that is about to be made: its name, the absolute paths that it touches, whether it
    changes something, and how many bytes it would write.
    """

    name: str
    paths: tuple[str, ...]
    changes: bool
    size: int = 0


# Makes the call, or something else instead; `cut` makes it write only this many bytes.
Meet = Callable[[OsCall, Callable[[], Any], Callable[[int], int]], Any]


@contextmanager
def exchanged(meet: Meet) -> Iterator[None]:
    """Pass every call on files, in all threads, to `meet`, which decides what happens to it."""
    with ExitStack() as back:
        for name, wrap in _wrappers():
            function = getattr(os, name, None)
            if function is not None:
                back.enter_context(_set(os, name, wrap(name, function, meet)))
        back.enter_context(_set(io, "open", _open_file(io.open, meet)))
        rename = directory._renameat2  # noqa: SLF001 - the only caller of that system call
        back.enter_context(_set(directory, "_renameat2", _renameat2(rename, meet)))
        syncfs = directory._syncfs  # noqa: SLF001 - the only caller of that system call
        back.enter_context(_set(directory, "_syncfs", _changing("syncfs", syncfs, meet)))
        back.enter_context(_watched_openers(meet))
        yield


def _wrappers() -> Iterator[tuple[str, Callable[[str, Function, Meet], Function]]]:
    yield "open", _open
    yield "close", _close
    for name in _WRITES.split():
        yield name, _writing
    for name in _MOVES.split():
        yield name, _moving
    yield "symlink", _linking
    for name in (*_READS.split(), *_READS_OPEN.split()):
        yield name, _reading
    for name in (*_CHANGES.split(), *_CHANGES_OPEN.split()):
        yield name, _changing


@contextmanager
def _set(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def _watched_openers(meet: Meet) -> Iterator[None]:
    """Intercept openat2, the `opener` of each `Roots`: a property replaces that attribute."""

    def get(roots: Roots) -> Function:
        opener = vars(roots)["opener"]

        def open_beneath(handle: int, path: bytes, flags: int) -> Any:
            touched = (_join(handle, path),)
            call = OsCall("openat2", touched, bool(flags & _WRITABLE))
            return meet(call, lambda: opener(handle, path, flags), _whole)

        return open_beneath

    def keep(roots: Roots, opener: Function) -> None:
        vars(roots)["opener"] = opener

    # A property of the class takes precedence over attributes of its instances.
    owner: Any = Roots
    owner.opener = property(get, keep)
    try:
        yield
    finally:
        del owner.opener


def _reading(name: str, function: Function, meet: Meet) -> Function:
    return _one_path(name, function, meet, changes=False)


def _changing(name: str, function: Function, meet: Meet) -> Function:
    return _one_path(name, function, meet, changes=True)


def _one_path(name: str, function: Function, meet: Meet, *, changes: bool) -> Function:
    def call(path: Any = ".", *rest: Any, dir_fd: int | None = None, **more: Any) -> Any:
        if dir_fd is not None:
            more["dir_fd"] = dir_fd
        seen = OsCall(name, (_join(dir_fd, path),), changes)
        return meet(seen, lambda: function(path, *rest, **more), _whole)

    return call


def _open(name: str, function: Function, meet: Meet) -> Function:
    def call(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> Any:
        seen = OsCall(name, (_join(dir_fd, path),), bool(flags & _WRITABLE))
        return meet(seen, lambda: function(path, flags, mode, dir_fd=dir_fd), _whole)

    return call


def _open_file(function: Function, meet: Meet) -> Function:
    def call(file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if isinstance(file, int):
            return function(file, mode, *rest, **more)
        seen = OsCall("open", (_join(None, file),), bool(set(mode) & set("wax+")))
        return meet(seen, lambda: function(file, mode, *rest, **more), _whole)

    return call


def _close(name: str, function: Function, meet: Meet) -> Function:
    def call(descriptor: int) -> Any:
        if not _writable(descriptor):
            return function(descriptor)
        seen = OsCall(name, (_join(None, descriptor),), changes=True)
        # Whatever close reports, the descriptor is closed afterwards.
        function(descriptor)
        return meet(seen, lambda: None, _whole)

    return call


def _writing(name: str, function: Function, meet: Meet) -> Function:
    at_offset = name.startswith("p")

    def call(descriptor: int, data: Any, *rest: Any) -> Any:
        parts: Sequence[Any] = data if name.endswith("v") else (data,)
        whole = b"".join(bytes(part) for part in parts)

        def cut(size: int) -> int:
            if at_offset:
                return _pwrite(descriptor, whole[:size], rest[0])
            return _write(descriptor, whole[:size])

        seen = OsCall(name, (_join(None, descriptor),), changes=True, size=len(whole))
        return meet(seen, lambda: function(descriptor, data, *rest), cut)

    return call


def _moving(name: str, function: Function, meet: Meet) -> Function:
    def call(
        source: Any,
        target: Any,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        **more: Any,
    ) -> Any:
        paths = (_join(src_dir_fd, source), _join(dst_dir_fd, target))

        def make() -> Any:
            handles = {"src_dir_fd": src_dir_fd, "dst_dir_fd": dst_dir_fd}
            return function(source, target, **handles, **more)

        return meet(OsCall(name, paths, changes=True), make, _whole)

    return call


def _linking(name: str, function: Function, meet: Meet) -> Function:
    def call(to: Any, path: Any, *rest: Any, dir_fd: int | None = None) -> Any:
        seen = OsCall(name, (_join(dir_fd, path),), changes=True)
        return meet(seen, lambda: function(to, path, *rest, dir_fd=dir_fd), _whole)

    return call


def _renameat2(function: Function, meet: Meet) -> Function:
    def call(handle: int, source: str, target: str, flags: int) -> Any:
        paths = (_join(handle, source), _join(handle, target))
        seen = OsCall("renameat2", paths, changes=True)
        return meet(seen, lambda: function(handle, source, target, flags), _whole)

    return call


def _whole(size: int) -> int:
    raise AssertionError(f"only a write can be cut to {size} bytes")


def _join(directory: int | None, path: Any) -> str:
    if isinstance(path, int):
        return _handle_path(path)
    above = "" if directory is None else _handle_path(directory)
    return os.path.normpath(os.path.join(above or os.getcwd(), os.fsdecode(path)))  # noqa: PTH109, PTH118 - pathlib would call us again


def _handle_path(descriptor: int) -> str:
    """The path of an open descriptor; for a file without a name, its directory and a number."""
    ask: int | None = getattr(fcntl, "F_GETPATH", None)
    try:
        if ask is not None:
            return os.fsdecode(fcntl.fcntl(descriptor, ask, bytes(1024)).rstrip(b"\0"))
        return _readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def _writable(descriptor: int) -> bool:
    try:
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    except OSError:
        return False
    return bool(flags & (os.O_WRONLY | os.O_RDWR))
