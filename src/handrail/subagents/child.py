"""A subagent: its agent, its state, its jobs and reports, and its form in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from handrail.agent.agent import Agent
from handrail.agent.budget import Budget, BudgetMeter
from handrail.agent.conversation import Conversation, load_conversation
from handrail.agent.report import ReportBuilder
from handrail.core.agent_results import AgentReport, AgentResult, AgentStatus, Usage
from handrail.core.events import Listener
from handrail.core.ports.agents import ResolvedModel
from handrail.core.ports.processes import JobState
from handrail.core.ports.records import SUBAGENT_PREFIX, Store
from handrail.core.ports.subagents import AgentLineage, SubagentState, SubagentStatus
from handrail.core.problems import Problem, ProblemRaised
from handrail.engine.runtime import Runtime
from handrail.subagents import messages
from handrail.subagents.ids import call_of_prefix
from handrail.subagents.places import WorkingPlace

# The most calls of an agent that are read from the record.
_MOST_CALLS: Final = 10_000


class ChildAgent(Agent):
    """An agent that another agent started: it has a position in a chain and shares a budget."""

    def __init__(
        self, rt: Runtime, lineage: AgentLineage, parent: BudgetMeter | None, **options: Any
    ) -> None:
        super().__init__(rt, **options)
        self._lineage = lineage
        self._parent = parent
        self.meter: BudgetMeter | None = None
        # The prefix of the ids of its calls from the next task on; None: the current one.
        self.call_prefix: str | None = None

    @property
    def lineage(self) -> AgentLineage:
        """The agents above this one, and its type."""
        return self._lineage

    @property
    def open_jobs(self) -> tuple[str, ...]:
        """The background jobs of the agent whose end was not reported to it."""
        return tuple(self._jobs)

    async def has_unfinished_task(self) -> bool:
        """Return whether its conversation has an unfinished task."""
        conversation = await load_conversation(self.session, self._rt.store)
        return bool(conversation.state.get("unfinished"))

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
        # Lists of sessions leave out conversations with a parent.
        conversation.update(parent=self._lineage.parent)
        if self.call_prefix is not None:
            conversation.continue_under(self.call_prefix)
        return conversation


@dataclass(slots=True)
class Subagent:
    """One subagent. `agent` and `work` are None if another process started it."""

    id: str
    lineage: AgentLineage
    task: str
    conversation: str
    # The conversation and the call that started it.
    parent_conversation: str
    call_id: str
    background: bool = False
    # The tools to which its calls have limited it; None: only its type and its parent limit it.
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
    # Its slot for work; None before its first step in this process.
    place: WorkingPlace | None = None
    # Whether its parent was informed of its end, and whether it has got the report.
    announced: bool = False
    reported: bool = False
    # Whether it continues an earlier conversation.
    resumed: bool = False
    # The context that the parent gave in addition to the task.
    context: str | None = None
    # The session in which it is stored; empty: the session of this process.
    session: str = ""

    @property
    def parent(self) -> str:
        """The id of the agent that started it."""
        return self.lineage.chain[-2]

    @property
    def running(self) -> bool:
        """Whether it is working in this process."""
        return self.work is not None and not self.work.done()

    def belongs_to(self, agent: str, conversation: str) -> bool:
        """Return whether the agent started it in this conversation."""
        return self.parent == agent and self.parent_conversation in (conversation, "")

    @contextmanager
    def abort_if_cancelled(self) -> Iterator[None]:
        """Mark the subagent as aborted if the block is cancelled."""
        try:
            yield
        except asyncio.CancelledError:
            self.status, self.problem = "aborted", messages.STOPPED.fill()
            raise

    @property
    def first_message(self) -> str:
        """The first message of its conversation: the task and its context."""
        if not self.context:
            return self.task
        return f"{self.task}\n\nWhat the agent that asks you knows:\n{self.context}"

    def continue_under(self, prefix: str) -> None:
        """Set the prefix of the ids of its calls, from its next task on."""
        if self.agent is not None:
            self.agent.call_prefix = prefix

    def begin(self) -> None:
        """Start with a new task."""
        self.status, self.text, self.problem = "running", "", None
        self.announced = self.reported = False

    def finish(self, result: AgentResult) -> None:
        """Store the result of the agent."""
        self.status, self.text, self.turns = result.status, result.text, result.turns
        self.problem = result.problem

    def state(self) -> SubagentState:
        """Return the public state of the subagent."""
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
        """Return the result of the subagent for the Python API."""
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
        """Return the JSON form in the store."""
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

    @classmethod
    def from_record(cls, key: str, session: str, record: Mapping[str, Any]) -> Subagent:
        """Parse a subagent of another process from the store; one that was running counts as interrupted."""
        problem = record["problem"]
        status = record["status"]
        return cls(
            key.removeprefix(SUBAGENT_PREFIX),
            AgentLineage(record["type"], tuple(record["chain"])),
            record["task"],
            record["conversation"],
            record["parent_conversation"],
            record["call_id"],
            record["background"],
            None if record["tools"] is None else tuple(record["tools"]),
            "interrupted" if status == "running" else status,
            text=record["text"],
            turns=record["turns"],
            usage=Usage.from_dict(record["usage"]),
            problem=None if problem is None else Problem(**problem),
            announced=True,
            reported=True,
            context=record.get("context"),
            session=session,
        )

    async def cut_continued(self, store: Store, is_cut: Callable[[str], bool]) -> bool:
        """Restore a subagent that has ended as it was before a call for which `is_cut` is true continued
        it; returns whether there was such a call.
        """
        conversation = await load_conversation(self.conversation, store)
        calls = [(turn, call_of_prefix(prefix, self.id)) for turn, prefix in conversation.prefixes]
        begun = next((turn for turn, call_id in calls if is_cut(call_id)), None)
        if begun is None:
            return False
        conversation.cut(begun)
        conversation.update(unfinished=False)
        await conversation.flush()
        owner = conversation.prefixes[-1][1] if conversation.prefixes else conversation.id
        answers = [message.text for message in conversation.messages if message.role == "assistant"]
        self.call_id = call_of_prefix(owner, self.id)
        self.task, self.context = (conversation.user_texts or (self.task,))[-1], None
        self.text, self.turns = (answers or [""])[-1], conversation.turn_count
        self.status, self.problem = "done", None
        return True


def select_started(subagents: Iterable[Subagent], conversation: str) -> list[Subagent]:
    """Return the subagents that a conversation has started, and all subagents below them."""
    conversations, selected = {conversation}, []
    for child in sorted(subagents, key=lambda one: one.lineage.depth):
        if child.parent_conversation in conversations:
            conversations.add(child.conversation)
            selected.append(child)
    return selected


async def end_jobs(rt: Runtime, agent: str, followed: Collection[str]) -> None:
    """End the running jobs that the calls of an agent have started, and the jobs `followed`."""
    # An agent that is ended during a step does not follow the jobs of that step yet.
    records = await rt.store.calls(session=rt.session.id, agent=agent, limit=_MOST_CALLS)
    calls = {record.call_id for record in records}
    if not calls and not followed:
        return
    for job in await rt.jobs.list():
        started_here = job.session == rt.session.id and (job.call_id in calls or job.id in followed)
        if started_here and job.state is JobState.RUNNING:
            # The job may have ended in the meantime.
            with suppress(ProblemRaised):
                await rt.jobs.kill(job.id)


async def report_agent(store: Store, agent: str, children: Iterable[AgentReport]) -> AgentReport:
    """Return the report of an agent and its subagents, from the record of its calls in all
    sessions. A call without a result is listed as unfinished.
    """
    builder = ReportBuilder()
    for record in reversed(await store.calls(agent=agent, limit=_MOST_CALLS)):
        builder.add_recorded(record)
    for child in children:
        builder.add_child(child)
    return builder.build()
