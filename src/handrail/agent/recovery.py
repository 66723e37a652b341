"""Answers calls that have no result because a process ended or a task was cancelled."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.agent import messages
from handrail.agent.conversation import Conversation, ConversationEntry
from handrail.agent.turns import TurnRunner, result_message
from handrail.core.results import Status, ToolResult
from handrail.engine.providers.model_calls import RecordedCall


async def answer_dangling_calls(conversation: Conversation, turns: TurnRunner) -> None:
    """Append the results of the last assistant message if they are missing.

    A call that completed has its result on record, which is read under the rules of now. A call that
    only reads runs again. Any other call is not run again: its result says so.
    """
    if not conversation.entries or not conversation.entries[-1].message.calls:
        return
    entry = conversation.entries[-1]
    results = await _results(entry, turns)
    conversation.append(result_message(entry.message.calls, results), entry.turn)


async def _results(entry: ConversationEntry, turns: TurnRunner) -> Sequence[ToolResult]:
    found = []
    for call, (_, own) in zip(entry.message.calls, entry.call_ids, strict=True):
        asked = RecordedCall(own, call.name, call.arguments_json)
        again = await turns.rt.model_calls.repeat(asked, agent=turns.agent)
        found.append(_not_run(own) if again is None else again)
    return found


def _not_run(call_id: str) -> ToolResult:
    problem = messages.CALL_NOT_RUN.fill()
    return ToolResult(call_id, Status.INTERRUPTED, str(problem), problem=problem)
