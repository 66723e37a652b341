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

# "running" includes waiting for a free place; "interrupted": its process ended before the task.
SubagentStatus = Literal["running", "interrupted"] | AgentStatus


class AgentSummary(NamedTuple):
    """A type of agent as lists show it. `source` is "built-in", "settings", "user" or "project";
    `problem` says why it cannot be used, None if it can. `ignored` are fields of its file that have no
    meaning here.
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
    """How a main agent works that a definition of the user describes."""

    instructions: str
    model: str | None = None
    # By the names of the fields of `handrail.Budget`.
    budget: Mapping[str, Any] | None = None
    max_steps: int | None = None


class SubagentRequest(NamedTuple):
    """What a call asks of a subagent; None: as the type of the agent says."""

    task: str
    agent: str = DEFAULT_TYPE
    context: str | None = None
    description: str | None = None
    model: str | None = None
    # The id of a subagent whose conversation goes on.
    resume: str | None = None
    background: bool = False
    max_steps: int | None = None
    tools: tuple[str, ...] | None = None
    # Refuse a task that is similar to a recent one, not only an equal one.
    refuse_similar: bool = False


class AgentLineage(NamedTuple):
    """Where an agent stands: the ids from the main agent down to it, and its type."""

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
    """A subagent and what came of it so far. `text` is its final message."""

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
        """Whether the subagent is still at work."""
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
        """Start a subagent for the agent that makes `call`, or continue one. Returns when it has ended,
        at once if it runs in the background, and with the status "running" after the longest wait.
        Raises `denied`, `not_found`, `conflict`, `invalid_arguments`, `budget_exceeded`.
        """

    def knows(self, agent_id: str) -> bool:
        """Whether a subagent of this session has the id."""

    async def output(self, agent_id: str, call: ToolCall, wait_s: float) -> SubagentState:
        """The subagent, after waiting up to `wait_s` for its end; raises `not_found`, `denied`."""

    async def cancel(self, agent_id: str, call: ToolCall) -> SubagentState:
        """End a subagent and all below it; raises `not_found`, `denied`, `conflict` if it has ended."""

    async def load(self) -> None:
        """Read what earlier processes of the session have left; done once."""

    async def adopt(self, conversation: str, sessions: Collection[str]) -> None:
        """Read what a conversation has left in other sessions: subagents keep their states and can
        be resumed.
        """

    def states(self) -> Sequence[SubagentState]:
        """The subagents of this session, oldest first."""

    async def current(self, agent_id: str) -> SubagentState:
        """A subagent with its report so far; raises `not_found`."""

    async def result(self, agent_id: str) -> AgentResult:
        """What a subagent returned, once it has ended; raises `not_found`."""

    async def announcements(self, agent: str, conversation: str, jobs: set[str]) -> list[str]:
        """What the agent has not been told yet: subagents, and these jobs, that have ended. Jobs that
        have ended are removed from the set. Waits until the agent may go on.
        """

    def take_reports(self, agent: str, conversation: str) -> list[AgentReport]:
        """The reports of subagents of a conversation that have ended, each once."""

    async def find_reported(self, calls: Collection[str]) -> Sequence[AgentReport]:
        """The reports of subagents that these calls have started, if `take_reports` has given them
        already, also to an earlier process.
        """

    async def find_interrupted(self, conversation: str) -> Sequence[SubagentState]:
        """The subagents that a conversation started and whose process ended before they did."""

    def list_types(self) -> Sequence[AgentSummary]:
        """The types of agents in a fixed order, with definitions that cannot be used."""

    def become(self, name: str) -> DefinedAgent | None:
        """Limit the agent of this name as the user's definition of the same name says, and return how
        it works; None if there is none. Raises `untrusted`, or `invalid_arguments` if the definition
        cannot be used.
        """

    async def end_started(self, is_cut: Callable[[str], bool]) -> None:
        """End the subagents that cut calls have started or continued, and all below them; those that
        were interrupted do not go on any more.
        """

    async def cut_continued(self, is_cut: Callable[[str], bool]) -> None:
        """Take subagents that have ended back to where they were before a cut call continued them."""

    async def aclose(self) -> None:
        """End all subagents."""
