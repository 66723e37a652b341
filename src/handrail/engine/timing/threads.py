"""Blocking work in threads that is always waited for, even when the waiting task is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class ValueWithheld(Exception):
    """The value of a `HandedValue` will never be set; the setter raises the cause."""


class HandedValue(Generic[T]):
    """A value that one thread waits for and another one sets."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._value: list[T] = []

    def give(self, value: T) -> None:
        """Set the value; setting it again has no effect."""
        self._value.append(value)
        self._ready.set()

    def fail(self) -> None:
        """Make `wait` raise, unless the value is set."""
        self._ready.set()

    def wait(self) -> T:
        """Block until the value is set and return it; raises `ValueWithheld` after `fail`."""
        self._ready.wait()
        if not self._value:
            raise ValueWithheld
        return self._value[0]


async def run_in_thread_uncancellable(work: Callable[[], T]) -> T:
    """Run blocking work in a thread and return its result. A cancellation is raised only after
    the work has ended, so that its effects are known.
    """
    return await join_uncancellable(asyncio.get_running_loop().run_in_executor(None, work))


def start_in_thread(work: Callable[[Callable[[], None]], None]) -> asyncio.Future[None]:
    """Start `work(done)` in a thread. The returned future resolves when `work` calls `done()` or
    returns; what `work` does after `done()`, such as cleaning up, runs on.
    """
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[None] = loop.create_future()

    def resolve(error: BaseException | None) -> None:
        if finished.done():
            return
        if error is None:
            finished.set_result(None)
        else:
            finished.set_exception(error)

    def done(error: BaseException | None = None) -> None:
        # A loop that was closed meanwhile has no waiting task.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(resolve, error)

    def run() -> None:
        try:
            work(done)
        except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
            done(error)
        else:
            done()

    loop.run_in_executor(None, run)
    return finished


async def join_uncancellable(work: asyncio.Future[T]) -> T:
    """Wait for work even if cancelled, and return its result. Raises the error of the work, or
    else the CancelledError if one arrived.
    """
    cancelled = await wait_uncancellable(work)
    if cancelled is not None and work.exception() is None:
        raise cancelled
    return work.result()


async def wait_uncancellable(work: asyncio.Future[T]) -> asyncio.CancelledError | None:
    """Wait for work even if cancelled. Never raises; returns the CancelledError if one arrived."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:  # noqa: BLE001, S110 - the caller looks at the future
            pass
    if not work.cancelled():
        # Marks the exception as retrieved, which asyncio would log otherwise.
        work.exception()
    return cancelled
