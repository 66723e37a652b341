"""A subagent at work: its agent, its state, and how the record shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from handrail.agent.agent import Agent
from handrail.agent.budget import Budget, BudgetMeter
from handrail.agent.conversation import Conversation, load_conversation
from handrail.core.agent_results import AgentReport, AgentResult, AgentStatus, Usage
from handrail.core.events import Listener
from handrail.core.ports.agents import ResolvedModel
from handrail.core.ports.records import SUBAGENT_PREFIX
from handrail.core.ports.subagents import AgentLineage, SubagentState, SubagentStatus
from handrail.core.problems import Problem
from handrail.engine.runtime import Runtime
from handrail.subagents import messages
from handrail.subagents.places import WorkingPlace


class ChildAgent(Agent):
    """An agent that another agent started: it has its place in a chain and a share of a budget."""

    def __init__(
        self, rt: Runtime, lineage: AgentLineage, parent: BudgetMeter | None, **options: Any
    ) -> None:
        super().__init__(rt, **options)
        self._lineage = lineage
        self._parent = parent
        self.meter: BudgetMeter | None = None
        # What the ids of its calls begin with from now on; None: as before.
        self.call_prefix: str | None = None

    @property
    def lineage(self) -> AgentLineage:
        """The agents above this one, and its type."""
        return self._lineage

    @property
    def open_jobs(self) -> tuple[str, ...]:
        """The background jobs that the agent has started and not seen the end of."""
        return tuple(self._jobs)

    async def has_unfinished_task(self) -> bool:
        """Whether its conversation has a task to go on with."""
        kept = await load_conversation(self.session, self._rt.store)
        return bool(kept.state.get("unfinished"))

    def _meter(self, resolved: ResolvedModel) -> BudgetMeter:
        clock, calls = self._rt.agent_services.clock, self._rt.model_calls
        budget = self._options.budget
        if budget is None:
            default = self._rt.agent_services.defaults.budget
            budget = Budget() if self._parent is not None else Budget(**default)
        self.meter = BudgetMeter(
            budget, resolved.price, lambda: clock.monotonic() - calls.user_wait_s, self._parent
        )
        return self.meter

    async def _open_conversation(self, model: str, emit: Listener) -> Conversation:
        conversation = await super()._open_conversation(model, emit)
        # Lists of sessions leave it out: it is a part of another one.
        conversation.update(parent=self._lineage.parent)
        if self.call_prefix is not None:
            conversation.continue_under(self.call_prefix)
        return conversation


@dataclass(slots=True)
class Subagent:
    """What is known of one subagent. `agent` and `work` are None if another process started it."""

    id: str
    lineage: AgentLineage
    task: str
    conversation: str
    # The agent, the conversation and the call that started it.
    parent_conversation: str
    call_id: str
    background: bool = False
    # The tools that it was limited to when it was started; None: by its type and its parent alone.
    tools: tuple[str, ...] | None = None
    status: SubagentStatus = "running"
    started: float = 0.0
    text: str = ""
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    report: AgentReport = field(default_factory=AgentReport)
    problem: Problem | None = None
    agent: ChildAgent | None = None
    work: asyncio.Task[None] | None = None
    # Where it works; None before its first step in this process.
    place: WorkingPlace | None = None
    # Whether its parent knows that it has ended, and has its report.
    announced: bool = False
    reported: bool = False
    # Whether it goes on with an earlier conversation.
    resumed: bool = False
    # What the agent that started it told it beside the task.
    context: str | None = None
    # The session whose record keeps it; empty: that of the process.
    session: str = ""

    @property
    def parent(self) -> str:
        """The id of the agent that started it."""
        return self.lineage.chain[-2]

    @property
    def running(self) -> bool:
        """Whether it is at work in this process."""
        return self.work is not None and not self.work.done()

    def belongs_to(self, agent: str, conversation: str) -> bool:
        """Whether the agent started it in this conversation."""
        return self.parent == agent and self.parent_conversation in (conversation, "")

    @contextmanager
    def abort_if_cancelled(self) -> Iterator[None]:
        """It has been aborted if its start is cancelled."""
        try:
            yield
        except asyncio.CancelledError:
            self.status, self.problem = "aborted", messages.STOPPED.fill()
            raise

    @property
    def first_message(self) -> str:
        """What it is told first."""
        if not self.context:
            return self.task
        return f"{self.task}\n\nWhat the agent that asks you knows:\n{self.context}"

    def continue_under(self, prefix: str) -> None:
        """Let the ids of its calls begin with `prefix` from its next task on."""
        if self.agent is not None:
            self.agent.call_prefix = prefix

    def begin(self) -> None:
        """Start with a new task."""
        self.status, self.text, self.problem = "running", "", None
        self.announced = self.reported = False

    def finish(self, result: AgentResult) -> None:
        """Keep what the agent returned."""
        self.status, self.text, self.turns = result.status, result.text, result.turns
        self.problem = result.problem

    def state(self) -> SubagentState:
        """The subagent as others see it."""
        used = None if self.agent is None else self.agent.meter
        return SubagentState(
            self.id,
            self.lineage.agent_type,
            self.status,
            self.lineage.chain,
            self.task,
            self.conversation,
            self.background,
            self.turns,
            self.text,
            self.usage if used is None or not self.running else used.usage,
            self.report,
            self.problem,
            self.call_id,
        )

    def result(self) -> AgentResult:
        """What the subagent returned, for Python."""
        status: AgentStatus = "aborted"
        if self.status != "running" and self.status != "interrupted":
            status = self.status
        return AgentResult(
            self.text,
            status,
            self.conversation,
            self.turns,
            self.usage,
            self.report,
            problem=self.problem,
        )

    def to_record(self) -> dict[str, Any]:
        """What the store keeps, as JSON."""
        return {
            "type": self.lineage.agent_type,
            "chain": list(self.lineage.chain),
            "task": self.task,
            "context": self.context,
            "conversation": self.conversation,
            "parent_conversation": self.parent_conversation,
            "call_id": self.call_id,
            "background": self.background,
            "tools": self.tools,
            "status": self.status,
            "text": self.text,
            "turns": self.turns,
            "usage": self.usage.to_dict(),
            "problem": None if self.problem is None else self.problem.to_dict(),
        }


def select_started(found: Iterable[Subagent], conversation: str) -> list[Subagent]:
    """Those of the subagents that a conversation has started, and all below them."""
    conversations, selected = {conversation}, []
    for child in sorted(found, key=lambda one: one.lineage.depth):
        if child.parent_conversation in conversations:
            conversations.add(child.conversation)
            selected.append(child)
    return selected


def read_record(key: str, session: str, kept: Mapping[str, Any]) -> Subagent:
    """The subagent that another process of a session has left in the store; one that ran is
    interrupted.
    """
    problem = kept["problem"]
    status = kept["status"]
    return Subagent(
        key.removeprefix(SUBAGENT_PREFIX),
        AgentLineage(kept["type"], tuple(kept["chain"])),
        kept["task"],
        kept["conversation"],
        kept["parent_conversation"],
        kept["call_id"],
        kept["background"],
        None if kept["tools"] is None else tuple(kept["tools"]),
        "interrupted" if status == "running" else status,
        text=kept["text"],
        turns=kept["turns"],
        usage=Usage.from_dict(kept["usage"]),
        problem=None if problem is None else Problem(**problem),
        announced=True,
        reported=True,
        context=kept.get("context"),
        session=session,
    )
