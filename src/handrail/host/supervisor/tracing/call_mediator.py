"""Makes system calls for a program that is confined by Landlock alone.

The program itself may not make these calls. The supervising process makes them, with no more rights
than the program has, on its own handles, which lie in the program's writable trees.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Final, NamedTuple

from handrail.host.files.roots import Opener, choose_opener
from handrail.host.sandbox.backends.landlock_grants import OpenTree, inode_key
from handrail.host.sandbox.recipe import LandlockRules
from handrail.host.supervisor.tracing.attribute_calls import (
    ATTRIBUTE_CALLS,
    AttributeCall,
    ChangeKind,
    ChangeReader,
)
from handrail.host.supervisor.tracing.process_memory import (
    PREFIX,
    SHARED_MEMORY_CALLS,
    PrivateSharedMemory,
    ProcessMemory,
)

LOOK_AT_NAME: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
# A file that is renamed meanwhile is looked up again, this often.
_TRIES: Final = 10

_HERE: Final = -100
_NOFOLLOW: Final = 0x100
_EMPTY_PATH: Final = 0x1000
_LOOK: Final = os.O_PATH | os.O_CLOEXEC
_CREATE: Final = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
# Without a path, these calls refer to the open file.
_TIMES: Final = (ChangeKind.MICROSECONDS, ChangeKind.NANOSECONDS)
# Paths whose meaning depends on the process that uses them.
_OWN: Final = (
    (b"/proc/self/", b"/proc/%d/"),
    (b"/proc/thread-self/", b"/proc/%d/"),
    (b"/dev/fd/", b"/proc/%d/fd/"),
)


class CallAnswer(NamedTuple):
    """The result of a call: an errno (0: success), or a handle that the process gets instead."""

    error: int = 0
    handle: int = -1
    close_on_exec: bool = False


class CallMediator:
    """Answers the calls of one program."""

    def __init__(self, trees: WritableTrees, memory: ProcessMemory) -> None:
        self._trees = trees
        self._memory = memory
        self._changes = ChangeReader(memory)
        self._calls = ATTRIBUTE_CALLS[os.uname().machine]
        self._shared_calls = SHARED_MEMORY_CALLS[os.uname().machine]
        self._shared = PrivateSharedMemory()

    def answer(
        self, pid: int, number: int, arguments: Sequence[int], waits: Callable[[], bool]
    ) -> CallAnswer | None:
        """Make a call; return None if the process may make it itself. `waits` returns whether the
        call is still waiting: after the process ended, its pid may belong to another.
        """
        try:
            call = self._calls.get(number)
            if call is None:
                return self._answer_shared(pid, number, arguments)
            self._change(pid, call, arguments, waits)
        except OSError as error:
            return CallAnswer(error.errno or errno.EPERM)
        except (ValueError, OverflowError):
            return CallAnswer(errno.EINVAL)
        return CallAnswer()

    def close(self) -> None:
        """Release the shared memory and the handles of the trees."""
        self._shared.close()
        self._trees.close()

    def _change(
        self,
        pid: int,
        call: AttributeCall,
        arguments: Sequence[int],
        waits: Callable[[], bool],
    ) -> None:
        change = self._changes.read(pid, call, arguments)
        named = self._open(pid, call, arguments)
        try:
            # Asked before `waits`, while the pid certainly is that of the program.
            own = _has_open(pid, named)
            if not waits():
                raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))
            target = self._trees.reach(named, own=own)
        finally:
            os.close(named)
        try:
            change(b"/proc/self/fd/%d" % target)
        finally:
            os.close(target)

    def _open(self, pid: int, call: AttributeCall, arguments: Sequence[int]) -> int:
        """Return a handle of the file that a call names, wherever it lies."""
        flags = arguments[call.flags] & 0xFFFFFFFF if call.flags >= 0 else 0
        if flags & ~(_NOFOLLOW | _EMPTY_PATH):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        start = _HERE if call.directory < 0 else signed(arguments[call.directory])
        folder = b"/proc/%d/cwd" % pid if start == _HERE else b"/proc/%d/fd/%d" % (pid, start)
        if call.path < 0:
            return _open_file(folder)
        text = self._memory.text(pid, arguments[call.path])
        if not text:
            nothing = text is None and not arguments[call.path]
            by_handle = nothing and call.kind in _TIMES and start != _HERE
            if by_handle or (flags & _EMPTY_PATH and (nothing or text is not None)):
                return _open_file(folder)
            code = errno.EFAULT if text is None else errno.ENOENT
            raise OSError(code, os.strerror(code))
        follows = call.follows and not flags & _NOFOLLOW
        path = _own_path(pid, text) if text.startswith(b"/") else folder + b"/" + text
        return os.open(path, _LOOK if follows else _LOOK | os.O_NOFOLLOW)

    def _answer_shared(self, pid: int, number: int, arguments: Sequence[int]) -> CallAnswer | None:
        """Make a call that names shared memory; return None if it names something else."""
        call = self._shared_calls.get(number)
        if call is None:
            return None
        paths = [self._memory.text(pid, arguments[index]) or b"" for index in call.paths]
        if not any(path.startswith(PREFIX) for path in paths):
            return None
        if len(paths) > 1:
            self._shared.link(paths[0], paths[1])
        elif call.mode < 0:
            self._shared.unlink(paths[0])
        else:
            flags = _CREATE if call.flags < 0 else arguments[call.flags]
            handle = self._shared.open(paths[0], flags, arguments[call.mode])
            return CallAnswer(handle=handle, close_on_exec=bool(flags & os.O_CLOEXEC))
        return CallAnswer()


def signed(argument: int) -> int:
    """Return an argument that is a descriptor."""
    number = argument & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


def _open_file(path: bytes) -> int:
    with suppress(FileNotFoundError):
        return os.open(path, _LOOK)
    raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def _has_open(pid: int, handle: int) -> bool:
    """Return whether a process has a file without a name open. It could have named that of another
    process instead, by `/proc/PID/fd`, which the service may follow and the program may not.
    """
    info = os.fstat(handle)
    if info.st_nlink:
        return False
    for opened in Path(f"/proc/{pid}/fd").iterdir():
        # Closed meanwhile.
        with suppress(FileNotFoundError):
            if os.path.samestat(opened.stat(), info):
                return True
    return False


def _own_path(pid: int, path: bytes) -> bytes:
    for prefix, own in _OWN:
        if path.startswith(prefix):
            return own % pid + path[len(prefix) :]
    return path


class _Tree(NamedTuple):
    path: bytes
    handle: int
    # Whether a denied inode lies in the tree.
    has_closed: bool


class WritableTrees:
    """The trees in which a program may change attributes, without the denied inodes in them."""

    def __init__(self, rules: LandlockRules, open_top: OpenTree) -> None:
        """Open the trees by `open_top`; one that cannot be opened is left out."""
        self._closed = frozenset(rules.denied)
        self._trees: list[_Tree] = []
        for path in sorted(rules.attributes, key=len, reverse=True):
            try:
                handle = open_top(path)
            except OSError:
                continue
            has_closed = inode_key(os.fstat(handle)) in rules.denied_parents
            self._trees.append(_Tree(os.fsencode(path.rstrip("/")), handle, has_closed))
        self._memory_device = _memory_device()

    def close(self) -> None:
        """Close the handles."""
        while self._trees:
            os.close(self._trees.pop().handle)

    def reach(self, handle: int, *, own: bool) -> int:
        """A new handle of the same file, beneath a tree. Raises OSError (EPERM: in no tree). `own`:
        the calling process has this file open; anonymous memory, which is in no tree, must be.
        """
        info = os.fstat(handle)
        if info.st_dev == self._memory_device and not info.st_nlink:
            if own:
                return os.dup(handle)
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        for _ in range(_TRIES):
            path = os.readlink(b"/proc/self/fd/%d" % handle)  # noqa: PTH115 - by handle
            found = self._open(path, deleted=not info.st_nlink, handle=handle)
            if found is None:
                continue
            if os.path.samestat(os.fstat(found), info):
                return found
            os.close(found)
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    def _open(self, path: bytes, *, deleted: bool, handle: int) -> int | None:
        tree = next((one for one in self._trees if _is_beneath(path, one.path)), None)
        if tree is None or (deleted and tree.has_closed):
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        if deleted:
            # The file has no name any more; the kernel still knows in which directory it was.
            return os.dup(handle)
        rel = path[len(tree.path) :].strip(b"/")
        if not rel:
            return os.dup(tree.handle)
        try:
            if tree.has_closed:
                return self._walk(tree.handle, rel.split(b"/"))
            return self._opener(tree.handle, rel, LOOK_AT_NAME)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM)) from error

    def _walk(self, root: int, names: Sequence[bytes]) -> int:
        """Open a path name by name; raises OSError if one of the inodes is denied."""
        current = os.dup(root)
        for name in names:
            try:
                below = os.open(name, LOOK_AT_NAME, dir_fd=current)
            finally:
                os.close(current)
            current = below
            if inode_key(os.fstat(current)) in self._closed:
                os.close(current)
                raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        return current

    @cached_property
    def _opener(self) -> Opener:
        return choose_opener()


def _is_beneath(path: bytes, top: bytes) -> bool:
    return path == (top or b"/") or path.startswith(top + b"/")


@cache
def _memory_device() -> int:
    """Return the device number of memory files."""
    handle = os.memfd_create("handrail-device", os.MFD_CLOEXEC)
    try:
        return os.fstat(handle).st_dev
    finally:
        os.close(handle)
