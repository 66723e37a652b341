"""The calls of a model's message, made ready to run: which of them may, under which ids.

The message comes from an endpoint that may be broken or hostile. Limits are applied before
anything is parsed, and every call gets exactly one result, so that the conversation stays
valid for the provider.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from handrail.core.call import is_call_id, safe_call_id
from handrail.core.events import Listener
from handrail.core.ports.models import Finish
from handrail.core.problems import Problem
from handrail.core.results import ToolResult
from handrail.engine import messages
from handrail.engine.batch.batch_runner import BegunCalls
from handrail.engine.prepare.arguments import exceeds_limit, too_large
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.preparer import CallIds, Preparer
from handrail.engine.providers.provider_messages import (
    ResponseEnd,
    read_calls,
    read_end,
    response_id,
    tool_messages,
)
from handrail.engine.providers.text_actions import (
    observations,
    parse_action,
    read_action,
    read_action_end,
)
from handrail.engine.recording.idempotency import IdempotentRunner, mark_replayed

if TYPE_CHECKING:
    from handrail.engine.providers.streamed_calls import StreamedCalls
    from handrail.engine.services import CallServices

# Runs prepared calls as one turn; some of them may have begun.
RunTurn = Callable[
    [list[PreparedCall], int, Listener | None, BegunCalls | None], Awaitable[list[ToolResult]]
]

# More calls than any model makes in one message, few enough to be run and recorded.
MAX_CALLS: Final = 128

_WHY: Final[Mapping[Finish, str]] = {
    Finish.END: "ended without saying that it calls tools",
    Finish.LENGTH: "was cut off at its length limit",
    Finish.REFUSED: "was cut off by a refusal or content filter",
    Finish.PAUSED: "was paused before it was complete",
    Finish.CUT: "was cut off before it was complete",
    Finish.UNKNOWN: "does not say why it ended",
}


@dataclass(frozen=True, slots=True)
class MessageCalls:
    """The calls of one message. `given_ids` are the provider's ids of all calls; beyond the
    limit the last of `prepared` stands for all further calls, which are refused alike.
    """

    prepared: Sequence[PreparedCall]
    given_ids: Sequence[Any]

    def answers(self, results: Sequence[ToolResult]) -> list[ToolResult]:
        """One result per call of the message, in order, under the ids that the provider gave."""
        further = len(self.given_ids) - len(results)
        spread = [*results, *[results[-1]] * further]
        return [
            result if result.call_id == given else replace(result, call_id=given)
            for given, result in zip(self.given_ids, spread, strict=True)
        ]


class MessageScope(NamedTuple):
    """What the calls of one message share."""

    response: str | None
    turn: int
    agent: str
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class MessagePreparer:
    """Prepares the calls of messages for one runtime."""

    preparer: Preparer
    ids: CallIds

    def prepare(
        self,
        asked: Sequence[Mapping[str, Any]],
        end: ResponseEnd,
        *,
        response: str | None,
        turn: int,
        agent: str,
    ) -> MessageCalls:
        """Every call of a message up to the limit, understood or refused."""
        scope = MessageScope(response, turn, agent)
        prepared = [
            self.prepare_one(call, position, end, scope, last=position == len(asked) - 1)
            for position, call in enumerate(asked[:MAX_CALLS])
        ]
        if len(asked) > MAX_CALLS:
            prepared.append(self.refuse(asked[MAX_CALLS], _too_many(len(asked)), scope))
        return MessageCalls(prepared, [call["id"] for call in asked])

    def prepare_one(
        self,
        call: Mapping[str, Any],
        position: int,
        end: ResponseEnd,
        scope: MessageScope,
        *,
        last: bool,
        understood: PreparedCall | None = None,
    ) -> PreparedCall:
        """One call of a message that has ended, understood or refused."""
        problem = _refusal(call, position, end, cut=end.cuts_last_call and last)
        if problem is not None:
            return self.refuse(call, problem, scope)
        one = understood or self.understand(call, position, scope)
        if hold_effects(one, end):
            # A call that is not run leaves its id free: nothing happened under it.
            one.origin.has_client_id = False
            one.call = one.call._replace(id=self.ids.fresh_id())
        return one

    def understand(
        self, call: Mapping[str, Any], position: int, scope: MessageScope
    ) -> PreparedCall:
        """One call, prepared as if its message ended with tool calls."""
        name = _internal_id(call["id"], position, scope.response)
        made = self.ids.make_call(name, call["name"], call["arguments"], scope.turn, scope.agent)
        made = made._replace(from_model=True, conversation=scope.conversation)
        prepared = self.preparer.prepare(made)
        prepared.origin.has_client_id = name is not None
        prepared.origin.response = scope.response
        return prepared

    def refuse(
        self, call: Mapping[str, Any], problem: Problem, scope: MessageScope
    ) -> PreparedCall:
        """The call with a problem; its arguments are not parsed."""
        made = self.ids.make_call(None, call["name"], None, scope.turn, scope.agent)
        made = made._replace(conversation=scope.conversation)
        refused = self.preparer.refuse(made, problem)
        refused.origin.response = scope.response
        return refused


def _internal_id(given: Any, position: int, response: str | None) -> str | None:
    """The id to run a call under; None if nothing identifies the call."""
    if is_call_id(given):
        return str(given)
    if isinstance(given, str) and given:
        return safe_call_id(given)
    # Not of the form of an id, so that it cannot be one that was given.
    return None if response is None else safe_call_id(f"{response}/{position}")


def _refusal(
    call: Mapping[str, Any], position: int, end: ResponseEnd, *, cut: bool
) -> Problem | None:
    """Why a call is refused before its arguments are looked at."""
    if cut or position in end.unfinished:
        why = _WHY[end.finish] if cut and end.finish is not None else "marks it as incomplete"
        return messages.CALL_INCOMPLETE.fill(why=_ended(why, end))
    if exceeds_limit(call["arguments"]):
        return too_large()
    return None


def hold_effects(prepared: PreparedCall, end: ResponseEnd) -> bool:
    """Restrict the call to reading if the message is incomplete; whether that refuses it."""
    if end.runs_effects or end.finish is None:
        return False
    problem = messages.MESSAGE_NOT_FINISHED.fill(why=_ended(_WHY[end.finish], end))
    prepared.origin.reads_only_because = problem
    if prepared.problem is not None or prepared.reads_only:
        return False
    prepared.problem = problem
    return True


def _ended(why: str, end: ResponseEnd) -> str:
    return f"{why} ({end.reason!r})" if end.reason else why


def _too_many(count: int) -> Problem:
    return messages.TOO_MANY_CALLS.fill(count=count, limit=MAX_CALLS)


class RecordedCall(NamedTuple):
    """A call as the model made it, with the id under which it is recorded."""

    id: str
    name: str
    arguments_json: str


class CallLimit(Protocol):
    """Counts calls against a limit."""

    def charge_call(self) -> Problem | None:
        """Count one call; the problem if it exceeds the limit."""

    def return_call(self) -> None:
        """A call that was counted never runs."""


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """Runs the calls of messages in one runtime."""

    preparer: Preparer
    services: CallServices
    run_turn: RunTurn

    @property
    def runner(self) -> IdempotentRunner:
        """What runs each call id once."""
        return self.services.runner

    @property
    def user_wait_s(self) -> float:
        """How long calls of this runtime have waited for answers of the user."""
        return self.services.policy.approval.waited_s

    def stream(
        self,
        agent: str,
        on_event: Listener | None = None,
        limit: CallLimit | None = None,
        conversation: str = "",
        turn: int | None = None,
    ) -> StreamedCalls:
        """What runs the calls of one message while the message is read. `limit` counts each
        call; its problem becomes the result. `conversation` is the one of the message: what
        was read in one conversation is not known in another. `turn` None: a new turn.
        """
        from handrail.engine.providers.streamed_calls import StreamedCalls

        number = self.runner.ids.turn() if turn is None else turn
        return StreamedCalls(self, agent, on_event, limit, conversation, number)

    def begin_turn(self, at_least: int) -> int:
        """The number of the next turn of a conversation, which is also that of its calls."""
        return self.runner.ids.begin_turn(at_least)

    async def answer(
        self, response: Any, *, agent: str, on_event: Listener | None
    ) -> list[dict[str, Any]]:
        """Run the calls of a provider's response; returns that provider's messages."""
        asked = read_calls(response)
        if asked.calls:
            results = await self._run(response, asked.calls, read_end(response), agent, on_event)
            return tool_messages(results, asked.provider, [call["name"] for call in asked.calls])
        action = read_action(response, self.preparer.actions)
        if action is None:
            return []
        end = read_action_end(response)
        results = await self._run(response, [action], end, agent, on_event)
        return observations(results, asked.provider)

    def read_action(self, text: str) -> tuple[str, str] | None:
        """The call that is the whole text of a reply: its tool and its arguments as JSON; None if the
        text is something else, or the dialect has no actions.
        """
        found = parse_action(text, self.preparer.actions)
        return None if found is None else (found["name"], json.dumps(found["arguments"]))

    async def _run(
        self,
        response: Any,
        calls: Sequence[Mapping[str, Any]],
        end: ResponseEnd,
        agent: str,
        on_event: Listener | None,
    ) -> list[ToolResult]:
        turn, name = self.runner.ids.turn(), response_id(response)
        message = MessagePreparer(self.preparer, self.runner.ids).prepare(
            calls, end, response=name, turn=turn, agent=agent
        )
        results = message.answers(await self.run_turn(list(message.prepared), turn, on_event, None))
        return [mark_replayed(one) for one in results] if name is None else results

    async def repeat(
        self,
        call: RecordedCall,
        *,
        turn: int,
        agent: str,
        conversation: str,
        stopped: bool = False,
        anew: bool = False,
        on_event: Listener | None = None,
    ) -> ToolResult | None:
        """The result of a call that may have run before: the recorded one, if the rules of now let
        the agent read it, or that of running it again if it only reads. None if it did not run, or
        if the user stopped it (`stopped`). `anew`: the call has not run before. It is recorded in
        `turn`, that of its message.
        """
        made = self.runner.ids.make_call(call.id, call.name, call.arguments_json, turn, agent)
        prepared = self.preparer.prepare(made._replace(from_model=True, conversation=conversation))
        prepared.origin.has_client_id = True
        recorded = not anew and await self.runner.ledger.is_recorded(call.id, conversation)
        runs_again = prepared.problem is not None or (prepared.scope.reads_only and not stopped)
        if not (recorded or runs_again or anew):
            return None
        return await self.runner.run(prepared, on_event)
