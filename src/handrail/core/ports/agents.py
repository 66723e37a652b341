"""The services that an agent needs from outside the engine, and the protocol of an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple, Protocol

from handrail.core.agent_results import AgentResult, Usage
from handrail.core.events import Event
from handrail.core.lazy import Lazy
from handrail.core.ports.machine import Clock
from handrail.core.ports.models import Block, Message, Model
from handrail.core.ports.remote_tools import RemoteTools
from handrail.core.ports.skills import SkillLibrary
from handrail.core.ports.subagents import Subagents


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
    """What the hooks of an agent's event decided: why they block (None: they do not), and their text."""

    blocked: str | None = None
    message: str = ""


class AgentDefaults(NamedTuple):
    """What the settings say about agents: the limits of a task, and the model for summaries."""

    # By the names of the fields of `handrail.Budget`.
    budget: Mapping[str, Any]
    max_steps: int
    small_model: str | None = None
    # The models that a subagent may be given: those that the user's settings name.
    models: tuple[str, ...] = ()


class ForkedWorkspace(NamedTuple):
    """A copy of the workspace, and a runtime that is open there."""

    runtime: Any
    directory: str
    # Paths of the workspace that were not copied.
    left_out: tuple[str, ...] = ()
    # What could not be reverted in the copy.
    not_reverted: tuple[str, ...] = ()


# Copies the workspace to a directory, without the changes since a point (`OWNER>TURN`), and opens it
# for a session: takes the directory, the point and the name of the session.
OpenFork = Callable[[str | PathLike[str], str, str], Awaitable[ForkedWorkspace]]
# Runs the hooks of an event ("pre_llm_call", …) with the values that describe the event.
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
    # Ends the background hooks that run for the work of a subagent.
    end_hooks: Callable[[str], Awaitable[None]]
    # Returns those of the given paths that are files of the workspace.
    existing: Callable[[Sequence[str]], list[str]]
    # Makes an agent: takes the runtime, then the options of `handrail.Agent`.
    create: Callable[..., Any]
    open_fork: OpenFork
    defaults: AgentDefaults
    skills: Lazy[SkillLibrary]
    subagents: Lazy[Subagents]
    # None if there are no MCP servers.
    remote_tools: RemoteTools | None = None


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
        """Continue the unfinished task of this session."""

    async def stopped_result(self) -> AgentResult | None:
        """What the last task has done, if it was cancelled."""

    async def compact(self, *, on_event: Callable[[Event], None] | None = None) -> Any:
        """Send the conversation in a shorter form from now on."""

    async def rewind(self, turn: int, *, force: bool = False) -> Any:
        """Restore the conversation and the files as they were at the end of a turn."""

    async def undo_task(
        self, *, force: bool = False, on_event: Callable[[Event], None] | None = None
    ) -> Any:
        """Restore the conversation and the files as they were before the last task."""

    async def fork(
        self, turn: int | None = None, *, into: str | PathLike[str] | None = None
    ) -> RunningAgent:
        """An agent in a new session with the conversation up to the end of a turn, in this workspace
        or in a copy of it.
        """

    def steer(self, text: str) -> None:
        """Add a message of the user before the next step."""

    async def spawn(self, agent_type: str, task: str, **limits: Any) -> AgentResult:
        """Let a subagent of a type do a task, and return its result."""

    def new(self) -> RunningAgent:
        """An agent with the same options and an empty conversation."""
