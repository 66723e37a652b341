"""Locks between processes: one flock per bucket of keys, first come, first served.

Buckets are locked in order, so two processes cannot deadlock. The kernel releases the locks of a
process that ends. `_Bucket` describes how processes wait.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from handrail.host.messages import LOCKS_UNAVAILABLE

_BUCKETS: Final = 1024
_WAIT_FILES: Final = 64
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
# Linux only; elsewhere waiting processes try again after a pause, in no order.
_OFD_SET: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)
_OFD_GET: Final[int | None] = getattr(fcntl, "F_OFD_GETLK", None)
# struct flock: type, whence, start, length, pid.
_RANGE: Final = struct.Struct("@hhqqi4x")
_TO_THE_END: Final = 0
# A lock file with more used numbers than this starts at zero again while no process waits.
_MOST_NUMBERS: Final = 64 * 1024

_IN_CLOSE_WRITE: Final = 0x8
_EVENT_BYTES: Final = 64 * 1024
# Handles of inotify kept for the next wait.
_MOST_IDLE: Final = 4
# When a process is killed, its file is closed a moment before its locks are released.
_RELEASE_DELAY_S: Final = 0.005
# A limit for each wait, in case an event is lost.
_LONGEST_WAIT_S: Final = 0.25
_WAIT_WITHOUT_EVENTS_S: Final = 0.01


class BucketLocks:
    """Held locks; the kernel releases them too when the process ends."""

    def __init__(self, buckets: list[_Bucket]) -> None:
        self._buckets = buckets

    def release(self) -> None:
        """Release the locks; may be called twice."""
        while self._buckets:
            self._buckets.pop().close()


class FileLocks:
    """Exclusive locks by key, shared by all processes that use this directory.

    Keys may share a bucket, which only causes unneeded waiting.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def acquire(self, keys: Sequence[str]) -> BucketLocks:
        """Wait for all keys, behind the processes that asked earlier; when cancelled, no lock is
        held. Raises `unavailable` if the lock directory cannot be used.
        """
        held = self.try_acquire(keys)
        if held is not None:
            return held
        buckets: list[_Bucket] = []
        try:
            for number in _bucket_numbers(keys):
                buckets.append(self._open(number))
                await buckets[-1].wait()
        except OSError as error:
            BucketLocks(buckets).release()
            raise self._unavailable(error) from error
        except BaseException:
            BucketLocks(buckets).release()
            raise
        return BucketLocks(buckets)

    def try_acquire(self, keys: Sequence[str]) -> BucketLocks | None:
        """Lock all keys without waiting; return None if another process holds or awaits one of
        them.

        Raises `unavailable` if the lock directory cannot be used.
        """
        buckets: list[_Bucket] = []
        try:
            for number in _bucket_numbers(keys):
                buckets.append(self._open(number))
                if buckets[-1].is_awaited() or not buckets[-1].try_lock():
                    BucketLocks(buckets).release()
                    return None
        except OSError as error:
            BucketLocks(buckets).release()
            raise self._unavailable(error) from error
        return BucketLocks(buckets)

    def _open(self, number: int) -> _Bucket:
        return _Bucket(str(self._directory), number)

    def _unavailable(self, error: OSError) -> Exception:
        return LOCKS_UNAVAILABLE.error(directory=str(self._directory), reason=error.strerror)


class _Bucket:
    """An open lock file, and the position of this process in its queue.

    To wait, a process appends a byte to the file and locks it; the position of the byte is its
    number. It then waits for its predecessor to close its wait file. All processes share a few wait
    files, because new directory entries would make every sync of the file system slower.
    """

    __slots__ = ("_bucket", "_directory", "_handle", "_number", "_path", "_wait_file")

    def __init__(self, directory: str, bucket: int) -> None:
        """Open the file; raises OSError."""
        self._directory = directory
        self._bucket = bucket
        self._path = f"{directory}/{bucket:04d}.lock"
        self._handle = os.open(self._path, _FLAGS | os.O_APPEND, 0o600)
        self._number = 0
        self._wait_file = -1

    def try_lock(self) -> bool:
        """Lock the bucket; return False if another process holds it."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def is_awaited(self) -> bool:
        """Return whether another process has a number."""
        return self._find_number(1, _TO_THE_END) is not None

    async def wait(self) -> None:
        """Lock the bucket after the processes that asked for it before. Raises OSError."""
        self._take_number()
        # `woken`: an event arrived, so a release that is not visible yet will be in a moment.
        events, woken = _idle_events.pop() if _idle_events else _CloseEvents(), False
        try:
            while True:
                before = self._predecessor()
                watched = self._path if before is None else self._wait_path(before)
                # Watch first and check afterwards, so that no release is missed.
                events.watch(watched)
                if self._predecessor() is None and self.try_lock():
                    return
                woken = await events.wait(_RELEASE_DELAY_S if woken else _LONGEST_WAIT_S)
        finally:
            events.put_back()

    def close(self) -> None:
        """Release the locks, then close the wait file, which wakes the next process."""
        try:
            if self._number:
                self._lock_range(fcntl.F_UNLCK, self._number, 1)
            fcntl.flock(self._handle, fcntl.LOCK_UN)
            if self._wait_file >= 0:
                os.close(self._wait_file)
        finally:
            os.close(self._handle)

    def _take_number(self) -> None:
        """Enter the queue, if the system supports one."""
        if _OFD_SET is None:
            return
        if os.fstat(self._handle).st_size > _MOST_NUMBERS and not self.is_awaited():
            os.ftruncate(self._handle, 0)
        while not self._number:
            os.write(self._handle, b".")
            number = os.lseek(self._handle, 0, os.SEEK_CUR)
            # Another process can hold this number only if the file was truncated at this moment.
            if self._lock_range(fcntl.F_WRLCK, number, 1):
                self._number = number
        self._wait_file = os.open(self._wait_path(self._number), _FLAGS, 0o600)

    def _predecessor(self) -> int | None:
        """The number of a process that is served earlier, the last of them where possible."""
        last = self._number - 1
        if last < 1:
            return None
        return self._find_number(last, 1) or self._find_number(1, last)

    def _wait_path(self, number: int) -> str:
        return f"{self._directory}/wait-{(self._bucket + number) % _WAIT_FILES:02d}.lock"

    def _find_number(self, start: int, length: int) -> int | None:
        """Return a number in this range that another process holds."""
        if _OFD_GET is None:
            return None
        asked = _RANGE.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
        kind, _, found, *_ = _RANGE.unpack(fcntl.fcntl(self._handle, _OFD_GET, asked))
        return None if kind == fcntl.F_UNLCK else int(found)

    def _lock_range(self, kind: int, start: int, length: int) -> bool:
        """Lock or unlock a range; return False if another process has locked it."""
        if _OFD_SET is None:
            return True
        try:
            fcntl.fcntl(self._handle, _OFD_SET, _RANGE.pack(kind, os.SEEK_SET, start, length, 0))
        except BlockingIOError:
            return False
        return True


class _CloseEvents:
    """Waits until a process closes a file that it had open for writing. Without inotify, or if the
    user's inotify instances are used up, waits for a fixed time.
    """

    def __init__(self) -> None:
        self._libc = _inotify()
        self._path = ""
        self._watch = -1
        self._handle = -1
        if self._libc is not None:
            self._handle = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)

    def watch(self, path: str) -> None:
        """Watch this file instead of the last one."""
        if self._handle < 0 or path == self._path:
            return
        if self._watch >= 0:
            self._libc.inotify_rm_watch(self._handle, self._watch)
        self._path, self._watch = path, -1
        if path:
            name = os.fsencode(path)
            self._watch = self._libc.inotify_add_watch(self._handle, name, _IN_CLOSE_WRITE)

    async def wait(self, limit_s: float) -> bool:
        """Wait for the next event; return False if there was none in this time."""
        import anyio

        if self._handle < 0 or self._watch < 0:
            await anyio.sleep(_WAIT_WITHOUT_EVENTS_S)
            return False
        with anyio.move_on_after(limit_s):
            await anyio.wait_readable(self._handle)
            os.read(self._handle, _EVENT_BYTES)
            return True
        return False

    def put_back(self) -> None:
        """Stop watching; keep the handle for the next wait, because closing it takes
        milliseconds.
        """
        self.watch("")
        if self._handle < 0:
            return
        with suppress(BlockingIOError):
            os.read(self._handle, _EVENT_BYTES)
        if len(_idle_events) < _MOST_IDLE:
            _idle_events.append(self)
        else:
            os.close(self._handle)


_idle_events: Final[list[_CloseEvents]] = []
os.register_at_fork(after_in_child=_idle_events.clear)


@cache
def _inotify() -> Any:
    """The C library; None if it has no inotify."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc if hasattr(libc, "inotify_init1") else None


def _bucket_numbers(keys: Sequence[str]) -> list[int]:
    return sorted({_bucket_number(key) for key in keys})


def _bucket_number(key: str) -> int:
    digest = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=4).digest()
    return int.from_bytes(digest) % _BUCKETS
