"""Locks between processes: one flock per bucket of keys, all or none.

Buckets are locked in order, so two processes cannot deadlock.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import anyio

from handrail.host.state.messages import LOCKS_UNAVAILABLE

_BUCKETS: Final = 1024
_FIRST_WAIT_S: Final = 0.001
_LONGEST_WAIT_S: Final = 0.02


class BucketLocks:
    """Held locks; the kernel releases them too when the process ends."""

    def __init__(self, descriptors: list[int]) -> None:
        self._descriptors = descriptors

    def release(self) -> None:
        """Release the locks; may be called twice."""
        while self._descriptors:
            os.close(self._descriptors.pop())


class FileLocks:
    """Exclusive locks by key, shared by all processes that use this directory.

    Keys may share a bucket, which only causes unneeded waiting.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def acquire(self, keys: Sequence[str]) -> BucketLocks:
        """Wait for all keys; when cancelled, none is held."""
        wait = _FIRST_WAIT_S
        while (held := self.try_acquire(keys)) is None:
            await anyio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT_S)
        return held

    def try_acquire(self, keys: Sequence[str]) -> BucketLocks | None:
        """Lock all keys without waiting; None if another process holds one of them.

        Raises `unavailable` if the lock directory cannot be used.
        """
        descriptors: list[int] = []
        try:
            for bucket in sorted({_bucket(key) for key in keys}):
                descriptors.append(self._open(bucket))
                fcntl.flock(descriptors[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            BucketLocks(descriptors).release()
            return None
        except OSError as error:
            BucketLocks(descriptors).release()
            raise LOCKS_UNAVAILABLE.error(
                directory=str(self._directory), reason=error.strerror
            ) from error
        return BucketLocks(descriptors)

    def _open(self, bucket: int) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self._directory / f"{bucket:04d}.lock", flags, 0o600)


def _bucket(key: str) -> int:
    digest = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=4).digest()
    return int.from_bytes(digest) % _BUCKETS
