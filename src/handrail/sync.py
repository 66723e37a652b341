"""The synchronous API: the same runtime, called from any thread.

The runtime lives on an event loop in a thread of its own, so this also works where a loop
is already running (Jupyter). Ctrl-C cancels the call and leaves the runtime usable. What has
no method here is reached as in the runtime, and blocks as well.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import (
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from handrail.assembly import runtime_opener
from handrail.core.events import Listener
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.core.tool import Tool
from handrail.engine.batch.scheduler import Ordering
from handrail.engine.call_state import current_call
from handrail.engine.providers.provider_messages import Provider
from handrail.engine.runtime import Runtime
from handrail.history.recovered_call import RecoveredCall

if TYPE_CHECKING:
    from handrail.agent.sync_agent import SyncAgent
    from handrail.engine.providers.streamed_turn import StreamedTurn

T = TypeVar("T")
_PATIENCE_S = 10.0
# Parts of the runtime with methods that belong to its loop; the others are plain values.
_PARTS: Final = frozenset(
    {"dead_letters", "grants", "jobs", "plan_queue", "planning", "registry", "store", "todos"}
)


def open(root: str | Path = ".", **settings: Any) -> SyncRuntime:
    """Open a runtime; takes what `handrail.open` takes. Use it with `with`."""
    return SyncRuntime(root, settings)


class SyncRuntime:
    """A `Runtime` whose methods block; safe to use from many threads at once."""

    def __init__(self, root: str | Path, settings: Mapping[str, Any]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="handrail-loop", daemon=True)
        self._thread.start()
        try:
            self._runtime: Runtime = self.wait(_opened(root, settings))
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        id: str | None = None,
        on_event: Listener | None = None,
        agent: str = "main",
    ) -> ToolResult:
        """Run one tool; see `Runtime.call`."""
        return self.wait(self._runtime.call(name, arguments, id=id, on_event=on_event, agent=agent))

    def batch(
        self,
        calls: Iterable[Mapping[str, Any]],
        *,
        on_event: Listener | None = None,
        agent: str = "main",
    ) -> list[ToolResult]:
        """Run several calls as one turn; see `Runtime.batch`."""
        return self.wait(self._runtime.batch(calls, on_event=on_event, agent=agent))

    def plan(self, calls: Iterable[Mapping[str, Any]]) -> Ordering:
        """How a batch would be ordered; see `Runtime.plan`."""
        return self.wait(_value(lambda: self._runtime.plan(calls)))

    @contextmanager
    def turn(self) -> Iterator[int]:
        """Group the calls of this thread made inside as one turn."""
        with self._runtime.same_turn() as number:
            yield number

    def declare(self, provider: str, **chosen: Any) -> list[Any]:
        """The tools as a provider wants them declared; see `Runtime.declare`."""
        return self._runtime.declare(provider, **chosen)

    def answer(
        self, response: Any, *, on_event: Listener | None = None, agent: str = "main"
    ) -> list[Any]:
        """Run the tool calls in a provider's response; see `Runtime.answer`."""
        return self.wait(self._runtime.answer(response, on_event=on_event, agent=agent))

    def stream(
        self,
        events: Iterable[Any],
        provider: str | None = None,
        agent: str = "main",
        on_event: Listener | None = None,
    ) -> SyncTurn:
        """Run the calls of a response while it is streamed: `with rt.stream(events) as turn`; see
        `Runtime.stream`. The events are read in the calling thread.
        """
        made = self.wait(_value(lambda: self._runtime.stream((), provider, agent, on_event)))
        return SyncTurn(events, made, self)

    def agent(self, **options: Any) -> SyncAgent:
        """An agent whose methods block; takes the options of `handrail.Agent`."""
        from handrail.agent.sync_agent import SyncAgent

        return SyncAgent(self._runtime.agent(**options), self.wait)

    def tool_messages(self, results: Sequence[ToolResult], provider: Provider) -> list[Any]:
        """Results as the messages of a provider."""
        return self._runtime.tool_messages(results, provider)

    def undo(self, call: str | None = None, **named: Any) -> ToolResult:
        """Undo changes; see `Runtime.undo`."""
        return self.wait(self._runtime.undo(call, **named))

    def redo(self, call: str | None = None, **named: Any) -> ToolResult:
        """Redo what was undone; see `Runtime.redo`."""
        return self.wait(self._runtime.redo(call, **named))

    def cancel(self, id: str) -> bool:
        """End a running call; see `Runtime.cancel`."""
        return self.wait(self._runtime.cancel(id))

    def register(self, tool: Tool[Any], *, allow_override: bool = False) -> None:
        """Add a tool of your own."""
        self.wait(_value(lambda: self._runtime.register(tool, allow_override=allow_override)))

    @property
    def aborted(self) -> bool:
        """Whether the user has ended everything; see `Runtime.aborted`."""
        return self._runtime.aborted

    @property
    def recovered(self) -> Sequence[RecoveredCall]:
        """What a crash had left; see `Runtime.recovered`."""
        return self._runtime.recovered

    def subscribe(self, listener: Listener) -> None:
        """Call the listener for every event, in the runtime's own thread."""
        self._runtime.subscribe(listener)

    @property
    def runtime(self) -> Runtime:
        """The runtime of this object; its coroutines belong to its own loop."""
        return self._runtime

    def __getattr__(self, name: str) -> Any:
        """What else the runtime has: its methods and those of its parts block."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._runtime, name)
        if name in _PARTS:
            return _Part(found, self)
        return _blocking(found, self) if inspect.ismethod(found) else found

    def __dir__(self) -> list[str]:
        """Its own names and those of the runtime."""
        return sorted({*super().__dir__(), *dir(self._runtime)})

    def close(self) -> None:
        """Close the runtime and its loop. Safe to repeat."""
        if self._loop.is_closed():
            return
        try:
            self.wait(self._runtime.aclose())
        finally:
            self._stop()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the runtime of this object and wait for it."""
        if self._loop.is_closed():
            work.close()
            raise ProblemRaised("unavailable", "this runtime is closed", hint="open a new one")
        if threading.current_thread() is self._thread or self._inside_own_call():
            work.close()
            raise RuntimeError(
                "the synchronous API was used inside a tool call of the same runtime: it would "
                "wait for itself; make the tool async and await the runtime instead"
            )
        done: Future[T] = Future()
        tasks: list[asyncio.Task[None]] = []

        def begin() -> None:
            tasks.append(self._loop.create_task(_drive(work, done)))

        def cancel() -> None:
            if tasks:
                # After its first step: a task that never began would not say how it ended.
                self._loop.call_soon(tasks[0].cancel)
            else:
                work.close()
                done.cancel()

        try:
            # Inside the block: Ctrl-C may come before the work was handed over, or right after.
            self._loop.call_soon_threadsafe(begin)
            return done.result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(cancel)
            # Until the interruption is on record.
            wait_for_futures([done], timeout=_PATIENCE_S)
            raise

    def _inside_own_call(self) -> bool:
        call = current_call.get()
        return call is not None and hasattr(self, "_runtime") and call[0] is self._runtime.session

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


class SyncTurn:
    """A `StreamedTurn` that is read in the calling thread; iterate over it for the events."""

    def __init__(self, events: Iterable[Any], turn: StreamedTurn, owner: SyncRuntime) -> None:
        self._events = events
        self._iterator = iter(events)
        self._turn = turn
        self._owner = owner
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._owner.wait(self._turn.__aexit__(kind, error, trace))
        finally:
            close = getattr(self._events, "close", None)
            if callable(close):
                close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        try:
            event = next(self._iterator)
        except StopIteration:
            self._ended = True
            self._owner.wait(self._turn.end())
            raise
        self._owner.wait(self._turn.feed(event))
        return event

    def drain(self) -> Self:
        """Read the rest of the events."""
        for _ in self:
            pass
        return self

    def __getattr__(self, name: str) -> Any:
        """`finish`, `assistant`, `answers`, `messages` and `results` of the turn."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._turn, name)


class _Part:
    """A part of the runtime whose methods block."""

    def __init__(self, part: Any, owner: SyncRuntime) -> None:
        self._part = part
        self._owner = owner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._part, name)
        return _blocking(found, self._owner) if inspect.ismethod(found) else found

    def __dir__(self) -> list[str]:
        return dir(self._part)

    def __repr__(self) -> str:
        return f"<{type(self._part).__name__} of a synchronous runtime>"


def _blocking(method: Callable[..., Any], owner: SyncRuntime) -> Callable[..., Any]:
    """The method, run in the thread of the runtime, and waited for."""

    async def run(call: Callable[[], Any]) -> Any:
        value = call()
        return await value if inspect.isawaitable(value) else value

    @functools.wraps(method)
    def wait(*args: Any, **named: Any) -> Any:
        return owner.wait(run(functools.partial(method, *args, **named)))

    return wait


async def _opened(root: str | Path, settings: Mapping[str, Any]) -> Runtime:
    return await runtime_opener.open(root, **settings)


async def _value(make: Callable[[], T]) -> T:
    return make()


async def _drive(work: Coroutine[Any, Any, T], done: Future[T]) -> None:
    try:
        done.set_result(await work)
    except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
        done.set_exception(error)
