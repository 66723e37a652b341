"""Recovery after a process ended or a task was cancelled: answers calls without a result, and
reports what was done.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Final
from uuid import uuid4

from handrail.agent import messages
from handrail.agent.budget import BudgetMeter
from handrail.agent.completion import count_unasked
from handrail.agent.conversation import Conversation
from handrail.agent.loop import StepLoop
from handrail.agent.projection import ConversationEntry
from handrail.agent.report import ReportBuilder
from handrail.agent.rewind import load_calls_after
from handrail.agent.turns import TurnRunner
from handrail.core.agent_results import AgentResult
from handrail.core.ports.subagents import SubagentState
from handrail.core.results import Status, ToolResult
from handrail.engine.providers.message_calls import RecordedCall

_SUBAGENT: Final = "subagent"


def keep_spending(conversation: Conversation, meter: BudgetMeter, *, resumed: bool) -> None:
    """Store what the task of the conversation spends of its budget; a `resumed` task starts with
    what it has spent before.
    """
    if resumed:
        meter.restore(conversation.state.get("spent"))
    meter.on_change = lambda: conversation.update(spent=meter.spent())
    meter.keep()


async def answer_dangling_calls(
    conversation: Conversation, turns: TurnRunner, *, resumed: bool = False
) -> None:
    """Append the results of the last assistant message if they are missing.

    A completed call has a recorded result, which is read under the current rules. A call that only
    reads runs again, unless the user stopped its turn. Any other call is not run again: its result
    says so. In a `resumed` task, subagents whose process ended continue.
    """
    agents = turns.rt.agent_services.subagents
    if earlier_sessions := conversation.note_session(turns.rt.session.id):
        await agents.value.adopt(conversation.id, earlier_sessions)
    cut_off = await _interrupted(conversation, turns) if resumed else []
    turn = conversation.turn
    if not conversation.entries or not conversation.entries[-1].message.calls:
        await _continue_background(cut_off, turns, turn)
        return
    entry = conversation.entries[-1]
    stopped = conversation.state.get("stopped_turn") == entry.turn
    results = await _results(entry, turns, stopped=stopped)
    ids = [call_id for _, call_id in entry.call_ids]
    waited = {
        agent.call_id: agent for agent in cut_off if agent.call_id in ids and not agent.background
    }
    await _continue_background(cut_off, turns, turn)
    continued = await asyncio.gather(*(_continue(agent, turns, turn) for agent in waited.values()))
    answers = dict(zip(waited, continued, strict=True))
    results = [answers.get(result.call_id) or result for result in results]
    turns.append_results(conversation, results)


async def report_earlier_calls(
    conversation: Conversation, turns: TurnRunner, report: ReportBuilder
) -> int:
    """Add the calls of the task before it was resumed to the report; return how many of them were
    refused because no user could be asked. Subagents that continue report themselves.
    """
    turn = conversation.task_turns[-1] if conversation.task_turns else 0
    records = await load_calls_after(conversation, turns.rt.store, turn)
    for record in records:
        report.add_recorded(record)
    calls = {record.call_id for record in records}
    agents = turns.rt.agent_services.subagents.value
    for child in await agents.find_reported(calls):
        report.add_child(child)
    return count_unasked(report.build())


async def describe_stopped(loop: StepLoop) -> AgentResult:
    """Return the result of a cancelled task, with the status "aborted". The calls of its last turn
    were stopped before they were reported: the record has what they did.
    """
    conversation = loop.conversation
    # If a task was stopped before its first response, the last turn belongs to another task.
    before = max(conversation.turn - 1, *conversation.task_turns[-1:], 0)
    calls = await load_calls_after(conversation, loop.turns.rt.store, before)
    for record in calls:
        if not loop.report.has_call(record.call_id):
            loop.report.add_recorded(record)
    if (agents := loop.subagents.built) is not None:
        for child in await agents.find_reported({call.call_id for call in calls}):
            loop.report.add_child(child)
    return AgentResult(
        "",
        "aborted",
        conversation.id,
        conversation.turn_count,
        loop.meter.usage,
        loop.report.build(),
    )


async def _interrupted(conversation: Conversation, turns: TurnRunner) -> Sequence[SubagentState]:
    """Return the subagents of the conversation whose process ended before they did."""
    if conversation.turn == 0:
        return []
    return await turns.rt.agent_services.subagents.value.find_interrupted(conversation.id)


async def _continue_background(
    agents: Sequence[SubagentState], turns: TurnRunner, turn: int
) -> None:
    for agent in agents:
        if agent.background:
            await _continue(agent, turns, turn)


async def _continue(agent: SubagentState, turns: TurnRunner, turn: int) -> ToolResult | None:
    """Continue a subagent whose process ended, by a new call."""
    arguments = {"task": agent.task, "resume": agent.id, "background": agent.background}
    call = RecordedCall(f"{agent.call_id}-{uuid4().hex[:6]}", _SUBAGENT, json.dumps(arguments))
    return await turns.rt.model_calls.repeat(
        call,
        turn=turn,
        agent=turns.agent,
        conversation=turns.conversation,
        anew=True,
        on_event=turns.listener,
    )


async def _results(
    entry: ConversationEntry, turns: TurnRunner, *, stopped: bool
) -> Sequence[ToolResult]:
    results = []
    for call, (_, call_id) in zip(entry.message.calls, entry.call_ids, strict=True):
        recorded = RecordedCall(call_id, call.name, call.arguments_json)
        result = await turns.rt.model_calls.repeat(
            recorded,
            turn=entry.turn,
            agent=turns.agent,
            conversation=turns.conversation,
            stopped=stopped,
        )
        results.append(_not_run(call_id, stopped=stopped) if result is None else result)
    return results


def _not_run(call_id: str, *, stopped: bool) -> ToolResult:
    problem = (messages.CALL_STOPPED if stopped else messages.CALL_NOT_RUN).fill()
    return ToolResult(call_id, Status.INTERRUPTED, str(problem), problem=problem)
