"""Approvals as interrupts of LangGraph: the graph stops with the question, and the call is made
with the answer when the graph is resumed.

LangGraph runs a stopped task from its start and gives `interrupt` the earlier answers in order. An
answer counts only for a question that this process has asked: after a restart it is asked again.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from handrail.adapters.approvals import FrameworkAnswer, fingerprint
from handrail.adapters.binding import AdapterCall, RuntimeBinding, missing_framework
from handrail.core.approval import ApprovalRequest

try:
    from langchain_core.runnables.config import ensure_config
    from langgraph.types import interrupt
except ImportError as error:
    raise missing_framework(error, "LangChain", "langchain") from error

_MOST_PENDING: Final = 1_000
_APPROVE: Final = "approve"


class GraphApprovals:
    """Makes calls, and asks about them by interrupts."""

    def __init__(self, binding: RuntimeBinding) -> None:
        self._binding = binding
        # The questions that were asked, in order, by task and call.
        self._asked: OrderedDict[str, list[ApprovalRequest]] = OrderedDict()

    async def call(
        self, name: str, arguments: Mapping[str, Any], call_id: str | None = None
    ) -> AdapterCall:
        """Make the call. Interrupts the graph if the user has to be asked; outside a graph the
        question is returned.
        """
        key = _task_key(name, arguments, call_id)
        asked = self._asked.get(key, [])
        answer = None
        for question in asked:
            answer = _parse_answer(interrupt(_request(question, arguments)), question)
        while True:
            made = await self._binding.call(name, arguments, answer)
            if made.question is None or not _in_graph():
                self._asked.pop(key, None)
                return made
            asked.append(made.question)
            self._asked[key] = asked
            while len(self._asked) > _MOST_PENDING:
                self._asked.popitem(last=False)
            given = interrupt(_request(made.question, arguments))
            # The graph has an answer to a question of another process; only a refusal counts.
            answer = _parse_answer(given, made.question)
            if answer.approved:
                answer = None

    def call_blocking(
        self, name: str, arguments: Mapping[str, Any], call_id: str | None = None
    ) -> AdapterCall:
        """Do what `call` does, from a thread that may block."""
        return self._binding.run_blocking(self.call(name, arguments, call_id))


def _request(question: ApprovalRequest, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question in the form of LangChain's human-in-the-loop middleware."""
    description = "\n".join(one for one in (question.reason, question.preview) if one)
    action = {"name": question.tool, "args": dict(arguments), "description": description}
    review = {"action_name": question.tool, "allowed_decisions": [_APPROVE, "reject"]}
    return {
        "action_requests": [action],
        "review_configs": [review],
        "handrail": question.to_dict(),
    }


def _parse_answer(given: Any, question: ApprovalRequest) -> FrameworkAnswer:
    """Return the user's decision; anything but a clear approval is a refusal."""
    decision = given
    if isinstance(given, Mapping) and isinstance(given.get("decisions"), list):
        decisions = given["decisions"]
        decision = decisions[0] if len(decisions) == 1 else None
    if decision is True:
        return FrameworkAnswer(approved=True, shown=fingerprint(question))
    if isinstance(decision, Mapping):
        if decision.get("type") == _APPROVE:
            return FrameworkAnswer(approved=True, shown=fingerprint(question))
        message = decision.get("message")
        return FrameworkAnswer(approved=False, reason=message if isinstance(message, str) else None)
    return FrameworkAnswer(approved=False)


def _task_key(name: str, arguments: Mapping[str, Any], call_id: str | None) -> str:
    """Return a name of the call in its conversation, equal when its task runs again."""
    configurable = ensure_config().get("configurable") or {}
    task = [str(configurable.get(one)) for one in ("thread_id", "checkpoint_ns")]
    call = call_id or json.dumps(arguments, sort_keys=True, default=repr)
    return json.dumps([*task, name, call])


def _in_graph() -> bool:
    """Return whether this code runs in a graph, which can be interrupted."""
    return any(key.startswith("__pregel") for key in ensure_config().get("configurable") or {})
