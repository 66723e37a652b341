"""Subagents: agents that another agent starts for a part of its task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Protocol

from handrail.core.agent_results import AgentReport, AgentResult, AgentStatus, Usage
from handrail.core.call import ToolCall
from handrail.core.problems import Problem

MAX_DEPTH: Final = 3
WAIT_S: Final = 300.0
AT_ONCE: Final = 6
READ_ONLY_STEPS: Final = 15
DEFAULT_TYPE: Final = "explore"

# "running" includes waiting for a free slot; "interrupted": the process ended before the task did.
SubagentStatus = Literal["running", "interrupted"] | AgentStatus


class AgentSummary(NamedTuple):
    """A type of agent as lists show it. `source` is "built-in", "settings", "user" or "project";
    `problem` says why the type cannot be used, None if it can. `ignored` are fields of its file that
    Handrail does not use.
    """

    name: str
    description: str
    source: str
    path: str = ""
    digest: str = ""
    trusted: bool = True
    problem: str | None = None
    ignored: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the definition is valid and trusted."""
        return self.problem is None and self.trusted


class DefinedAgent(NamedTuple):
    """The options of a main agent, from a definition of the user."""

    instructions: str
    model: str | None = None
    # By the names of the fields of `handrail.Budget`.
    budget: Mapping[str, Any] | None = None
    max_steps: int | None = None


class SubagentRequest(NamedTuple):
    """A request to start or continue a subagent; None stands for the value of the agent's type."""

    task: str
    agent: str = DEFAULT_TYPE
    context: str | None = None
    description: str | None = None
    model: str | None = None
    # The id of the subagent to continue.
    resume: str | None = None
    background: bool = False
    max_steps: int | None = None
    tools: tuple[str, ...] | None = None
    # Refuse a task that is similar to a recent one, not only an equal one.
    refuse_similar: bool = False


class AgentLineage(NamedTuple):
    """The ids from the main agent down to an agent, and the type of that agent."""

    agent_type: str
    chain: tuple[str, ...]

    @property
    def parent(self) -> str | None:
        """The id of the agent that started this one; None for a main agent."""
        return self.chain[-2] if len(self.chain) > 1 else None

    @property
    def depth(self) -> int:
        """How many agents are above this one."""
        return len(self.chain) - 1


@dataclass(frozen=True, slots=True)
class SubagentState:
    """A subagent and its results so far. `text` is its final message."""

    id: str
    agent: str
    status: SubagentStatus
    chain: tuple[str, ...]
    task: str
    conversation: str
    background: bool = False
    turns: int = 0
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    report: AgentReport = field(default_factory=AgentReport)
    problem: Problem | None = None
    # The call that started it.
    call_id: str = ""

    @property
    def depth(self) -> int:
        """How many agents are above this one."""
        return len(self.chain) - 1

    @property
    def running(self) -> bool:
        """Whether the subagent is still working."""
        return self.status == "running"

    def to_dict(self) -> dict[str, Any]:
        """The `data` of a result."""
        return {
            "agent_id": self.id,
            "agent": self.agent,
            "status": self.status,
            "chain": list(self.chain),
            "depth": self.depth,
            "report": self.report.to_dict(),
            "usage": self.usage.to_dict(),
        }


class Subagents(Protocol):
    """The subagents of one runtime."""

    async def run(self, request: SubagentRequest, call: ToolCall) -> SubagentState:
        """Start or continue a subagent for the agent that makes `call`. Returns when the subagent has
        ended, immediately if it runs in the background, or with the status "running" after `WAIT_S`.
        Raises `denied`, `not_found`, `conflict`, `invalid_arguments`, `budget_exceeded`.
        """

    def knows(self, agent_id: str) -> bool:
        """Whether a subagent of this session has the id."""

    async def output(self, agent_id: str, call: ToolCall, wait_s: float) -> SubagentState:
        """The state of a subagent after waiting up to `wait_s` for its end; raises `not_found`,
        `denied`.
        """

    async def cancel(self, agent_id: str, call: ToolCall) -> SubagentState:
        """End a subagent and its subagents; raises `not_found`, `denied`, `conflict` if it has ended."""

    async def load(self) -> None:
        """Load the subagents of earlier processes of the session; a second call does nothing."""

    async def adopt(self, conversation: str, sessions: Collection[str]) -> None:
        """Load the subagents that a conversation has started in other sessions: they keep their states
        and can be resumed.
        """

    def states(self) -> Sequence[SubagentState]:
        """The subagents of this session, oldest first."""

    async def current(self, agent_id: str) -> SubagentState:
        """The state of a subagent with its report so far; raises `not_found`."""

    async def result(self, agent_id: str) -> AgentResult:
        """Wait for a subagent to end and return its result; raises `not_found`."""

    async def announcements(self, agent: str, conversation: str, jobs: set[str]) -> list[str]:
        """Messages for the agent about subagents and `jobs` that have ended since the last call. Jobs
        that have ended are removed from the set. Waits until the agent may continue.
        """

    def take_reports(self, agent: str, conversation: str) -> list[AgentReport]:
        """The reports of a conversation's subagents that have ended; each is returned once."""

    async def find_reported(self, calls: Collection[str]) -> Sequence[AgentReport]:
        """The reports of subagents that these calls have started, if `take_reports` has already returned
        them to this or an earlier process.
        """

    async def find_interrupted(self, conversation: str) -> Sequence[SubagentState]:
        """The subagents of a conversation whose process ended before they did."""

    def list_types(self) -> Sequence[AgentSummary]:
        """The types of agents in a fixed order, including definitions that cannot be used."""

    def become(self, name: str) -> DefinedAgent | None:
        """Apply the permissions of the user's definition of this name to the agent of the same name, and
        return its options; None if there is no definition. Raises `untrusted`, or `invalid_arguments` if
        the definition cannot be used.
        """

    async def end_started(self, is_cut: Callable[[str], bool]) -> None:
        """End the subagents, with their subagents, that were started or continued by calls for which
        `is_cut` is true; such subagents that were interrupted can no longer be resumed.
        """

    async def cut_continued(self, is_cut: Callable[[str], bool]) -> None:
        """Restore subagents that have ended as they were before a call for which `is_cut` is true
        continued them.
        """

    async def aclose(self) -> None:
        """End all subagents."""
