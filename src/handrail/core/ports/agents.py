"""What an agent needs from outside the engine, and an agent as its users see it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from handrail.core.agent_results import AgentResult, Usage
from handrail.core.events import Event
from handrail.core.ports.machine import Clock
from handrail.core.ports.models import Block, Message, Model


class PricePerMillion(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class ResolvedModel(NamedTuple):
    """A model and what the user's settings say about it."""

    model: Model
    price: PricePerMillion | None = None
    # Whether the answers come from a script or a recording instead of a service.
    scripted: bool = False


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """A file of the workspace that tells agents how to work in it."""

    path: str
    text: str
    digest: str
    truncated: bool = False


# Answers whether the user trusts instruction files of the workspace.
TrustCheck = Callable[[Sequence[InstructionFile]], Awaitable[bool]]


class AgentProcess(NamedTuple):
    """How leases name this process, and whether the process of such a name may still run."""

    name: str
    is_alive: Callable[[str], bool]


class LifecycleOutcome(NamedTuple):
    """What the hooks of an agent's event decided: the reason if they block, and their text."""

    blocked: str | None = None
    message: str = ""


# Runs the hooks of an event ("pre_llm_call", …) with its facts.
RunLifecycleHooks = Callable[[str, Mapping[str, str]], Awaitable[LifecycleOutcome]]


@dataclass(frozen=True, slots=True)
class AgentServices:
    """What agents of one runtime share."""

    clock: Clock
    # Raises `invalid_arguments` if no such model is configured; None: the default model.
    resolve_model: Callable[[str | Model | None], ResolvedModel]
    process: AgentProcess
    trusts: TrustCheck
    run_hooks: RunLifecycleHooks
    # Which of these paths are files of the workspace.
    existing: Callable[[Sequence[str]], list[str]]
    # Makes an agent: takes the runtime, then the options of `handrail.Agent`.
    create: Callable[..., Any]


class RunningAgent(Protocol):
    """An agent with its conversation; `handrail.Agent` implements it."""

    @property
    def session(self) -> str:
        """The id of the conversation."""

    @property
    def turn(self) -> int:
        """The number of the last turn."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""

    @property
    def usage(self) -> Usage:
        """What the agent has used so far."""

    async def run(
        self,
        task: str | Sequence[Block],
        *,
        output: type | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> AgentResult:
        """Work on a task until it is done, and return the result."""

    def stream(
        self, task: str | Sequence[Block], *, output: type | None = None
    ) -> AsyncIterator[Event]:
        """Work on a task; yields its events, the last one is `agent_end`."""

    async def resume(self, *, on_event: Callable[[Event], None] | None = None) -> AgentResult:
        """Go on with the unfinished task of this session."""

    def steer(self, text: str) -> None:
        """Add a message of the user before the next step."""

    def new(self) -> RunningAgent:
        """An agent with the same options and an empty conversation."""
