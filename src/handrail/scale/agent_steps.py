"""Runs the agent of a task, continues it after another process ended, or only reads its state."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Final, NamedTuple

from handrail.agent.agent import Agent
from handrail.agent.budget import Budget, current_meter
from handrail.agent.conversation import Conversation
from handrail.core.agent_results import AgentResult, Usage
from handrail.core.events import Event
from handrail.core.ports.subagents import DefinedAgent
from handrail.core.problems import Problem
from handrail.engine.runtime import Runtime
from handrail.models.scripted.script_model import ScriptModel
from handrail.scale import messages
from handrail.scale.state import TaskPlace
from handrail.scale.tasks import FleetTask

_MAIN: Final = "main"
# Offered in addition to the default tools; there is no user to ask.
_TOOLS: Final = ("todo_write", "skill", "subagent")


class AgentOutcome(NamedTuple):
    """How the agent of a task ended."""

    status: str
    text: str
    problem: Problem | None
    turns: int
    usage: Usage
    # The ids of all calls that the model has made.
    call_ids: tuple[str, ...]


class UsageNotes:
    """Saves what a task has used after each response, for the process that continues it."""

    def __init__(self, place: TaskPlace) -> None:
        self._place = place
        stored = place.read("usage")
        self.before = Usage() if stored is None else Usage.from_dict(stored)
        self._requests = 0

    def on_event(self, _: Event) -> None:
        """Read the meter of the task: a request is charged before its calls begin."""
        meter = current_meter.get()
        if meter is None:
            return
        used = list(meter.line())[-1].usage
        if used.requests > self._requests:
            self._requests = used.requests
            self._place.write("usage", (self.before + used).to_dict())

    def add(self, usage: Usage) -> Usage:
        """Return what the task has used in total, with the exact usage of this process."""
        total = self.before + usage
        self._place.write("usage", total.to_dict())
        return total


async def work_on_task(
    rt: Runtime,
    session: str,
    task: FleetTask,
    budget: Budget,
    place: TaskPlace,
    *,
    settle: bool,
) -> AgentOutcome:
    """Run, continue or settle the task of a session. Raises `ProblemRaised` if it cannot start."""
    notes = UsageNotes(place)
    agent = _make_agent(rt, session, task, budget)
    conversation = await agent.load()
    begun, unfinished = bool(conversation.entries), conversation.state.get("unfinished")
    if settle or (begun and unfinished is False):
        return _read_outcome(conversation, notes.before, done=unfinished is False)
    if begun and unfinished:
        _skip_given_responses(rt, conversation)
        # The conversation records what it has spent.
        result = await agent.resume(on_event=notes.on_event)
    else:
        agent = _make_agent(rt, session, task, _remaining_budget(budget, notes.before))
        result = await agent.run(task.prompt, on_event=notes.on_event)
    return _outcome(result, notes.add(result.usage), await agent.load())


def _make_agent(rt: Runtime, session: str, task: FleetTask, budget: Budget) -> Agent:
    defined = _agent_definition(rt, task.agent)
    limits = {name: value for name, value in (defined.budget or {}).items() if value is not None}
    limits |= {name: value for name, value in asdict(budget).items() if value is not None}
    offered = [tool["name"] for tool in rt.declare("mcp", agent=task.agent)]
    return Agent(
        rt,
        model=defined.model if task.model is None else None,
        name=task.agent,
        instructions=defined.instructions or None,
        allowed=list(dict.fromkeys([*offered, *_TOOLS, *task.tools])),
        # Without limits of the task, those of the settings apply.
        budget=Budget(**limits) if limits else None,
        max_steps=task.max_steps or defined.max_steps,
        session=session,
    )


def _agent_definition(rt: Runtime, name: str) -> DefinedAgent:
    if name == _MAIN:
        return DefinedAgent("")
    subagents = rt.agent_services.subagents.value
    definition = subagents.become(name)
    if definition is None and name not in [
        agent_type.name for agent_type in subagents.list_types()
    ]:
        raise messages.UNKNOWN_AGENT_TYPE.error(name=name, field="agent")
    return definition or DefinedAgent("")


def _remaining_budget(budget: Budget, used: Usage) -> Budget:
    """Return what earlier processes have left of a budget."""
    tokens = None if budget.tokens is None else max(budget.tokens - used.tokens, 0)
    usd = None if budget.usd is None else max(budget.usd - (used.usd or 0.0), 0.0)
    steps = None if budget.steps is None else max(budget.steps - used.requests, 0)
    return replace(budget, tokens=tokens, usd=usd, steps=steps)


def _skip_given_responses(rt: Runtime, conversation: Conversation) -> None:
    """Skip the responses that a script has already given: a script starts again in each process."""
    model = rt.agent_services.resolve_model(None).model
    if isinstance(model, ScriptModel):
        responses = sum(message.role == "assistant" for message in conversation.messages)
        model.skip_messages(responses)


def _read_outcome(conversation: Conversation, usage: Usage, *, done: bool) -> AgentOutcome:
    """The outcome of a task whose process ended after its agent, or that is not continued."""
    texts = [message.text for message in conversation.messages if message.role == "assistant"]
    return AgentOutcome(
        "done" if done else "unknown",
        texts[-1] if texts else "",
        None,
        conversation.turn_count,
        usage,
        _call_ids(conversation),
    )


def _outcome(result: AgentResult, usage: Usage, conversation: Conversation) -> AgentOutcome:
    ids = _call_ids(conversation)
    return AgentOutcome(result.status, result.text, result.problem, result.turns, usage, ids)


def _call_ids(conversation: Conversation) -> tuple[str, ...]:
    return tuple(call_id for entry in conversation.entries for _, call_id in entry.call_ids)
