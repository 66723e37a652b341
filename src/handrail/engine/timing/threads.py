"""Blocking work beside the event loop that is never left half done."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class ValueWithheld(Exception):
    """What a thread waited for will not come; whoever withheld it tells why."""


class HandedValue(Generic[T]):
    """A value that a thread waits for and another gives, once or again."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._value: list[T] = []

    def give(self, value: T) -> None:
        """Let the thread go on."""
        self._value.append(value)
        self._ready.set()

    def fail(self) -> None:
        """Let the thread give up."""
        self._ready.set()

    def wait(self) -> T:
        """The value, as soon as it is there; may be asked again."""
        self._ready.wait()
        if not self._value:
            raise ValueWithheld
        return self._value[0]


async def run_in_thread_uncancellable(work: Callable[[], None]) -> None:
    """Run blocking work in a thread and wait until it is over, even when cancelled: what it
    changes must be known before anybody goes on. A cancellation is raised afterwards.
    """
    await join_uncancellable(asyncio.get_running_loop().run_in_executor(None, work))


def start_in_thread(work: Callable[[Callable[[], None]], None]) -> asyncio.Future[None]:
    """Run blocking work in a thread. It is told how to say that it is done: whoever waits for
    it goes on then, while the work may clear up still.
    """
    loop = asyncio.get_running_loop()
    told: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if told.done():
            return
        if error is None:
            told.set_result(None)
        else:
            told.set_exception(error)

    def tell(error: BaseException | None = None) -> None:
        # A loop that was closed meanwhile has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, error)

    def run() -> None:
        try:
            work(tell)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            tell(error)
        else:
            tell()

    loop.run_in_executor(None, run)
    return told


async def join_uncancellable(work: asyncio.Future[None]) -> None:
    """Wait for work in a thread, however often we are cancelled meanwhile."""
    cancelled = await wait_uncancellable(work)
    if cancelled is not None and work.exception() is None:
        raise cancelled
    work.result()


async def wait_uncancellable(work: asyncio.Future[None]) -> asyncio.CancelledError | None:
    """The same, but without a word on how it ended; returns a cancellation that came."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:  # noqa: BLE001, S110 - told by `join_uncancellable`, or not to be told
            pass
    if not work.cancelled():
        # Looked at: asyncio complains of a failure that nobody asks for.
        work.exception()
    return cancelled
