"""Events of agents and models, of the same union as the events of calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from handrail.core.events import Event


@dataclass(frozen=True, slots=True)
class AgentStarted(Event):
    """An agent begins to work on a task."""

    type: ClassVar[str] = "agent_start"
    agent: str
    parent: str | None
    chain: tuple[str, ...]
    depth: int
    agent_type: str
    model: str
    task: str
    session: str


@dataclass(frozen=True, slots=True)
class AgentEnded(Event):
    """An agent has ended its task; `result` is the JSON form of the whole result."""

    type: ClassVar[str] = "agent_end"
    agent: str
    status: str
    turns: int
    usage: Mapping[str, Any]
    report: Mapping[str, Any]
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequested(Event):
    """A request is about to be sent."""

    type: ClassVar[str] = "model_request"
    agent: str
    step: int
    messages: int
    input_tokens_estimate: int


@dataclass(frozen=True, slots=True)
class ModelText(Event):
    """The model wrote a piece of text."""

    type: ClassVar[str] = "model_text"
    agent: str
    step: int
    text: str


@dataclass(frozen=True, slots=True)
class ModelThinking(Event):
    """The model wrote a piece of its reasoning."""

    type: ClassVar[str] = "model_thinking"
    agent: str
    step: int
    text: str


@dataclass(frozen=True, slots=True)
class ModelCall(Event):
    """The model makes a call; `complete` once all its arguments have arrived."""

    type: ClassVar[str] = "model_call"
    agent: str
    step: int
    call_id: str
    tool: str
    complete: bool


@dataclass(frozen=True, slots=True)
class ModelResponded(Event):
    """The model's message is complete."""

    type: ClassVar[str] = "model_response"
    agent: str
    step: int
    finish: str
    usage: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRetried(Event):
    """A request failed and is sent again after `wait_s`."""

    type: ClassVar[str] = "model_retry"
    agent: str
    step: int
    attempt: int
    code: str
    wait_s: float


@dataclass(frozen=True, slots=True)
class BudgetWarning(Event):
    """Most of a limit is used."""

    type: ClassVar[str] = "budget_warning"
    agent: str
    kind: str
    used: float
    limit: float


@dataclass(frozen=True, slots=True)
class ContextCompressed(Event):
    """The conversation is sent in a shorter form from now on; the token counts are estimates."""

    type: ClassVar[str] = "context_compress"
    agent: str
    before_tokens: int
    after_tokens: int
    calls_replaced: int
    folded: int
    summarised: bool


@dataclass(frozen=True, slots=True)
class Notification(Event):
    """Something that the user should know, such as a server that truncates prompts."""

    type: ClassVar[str] = "notification"
    kind: str
    text: str


async def stream_events(
    run: Callable[..., Coroutine[Any, Any, object]],
) -> AsyncGenerator[Event, None]:
    """Run a task with a listener as `on_event` and yield its events. Leaving the loop early cancels
    the task.
    """
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    work = asyncio.ensure_future(run(on_event=events.put_nowait))
    work.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        await work
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait([work])
