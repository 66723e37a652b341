"""Runs the calls of models' messages: of a provider's response, or of an agent's turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from handrail.core.events import Listener
from handrail.core.problems import Problem
from handrail.core.results import ToolResult
from handrail.engine.batch.batch_runner import BegunCalls
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.providers.message_calls import MessagePreparer
from handrail.engine.providers.provider_messages import read_calls, response_id, tool_messages
from handrail.engine.providers.response_end import read_end
from handrail.engine.recording.idempotency import IdempotentRunner, mark_replayed

if TYPE_CHECKING:
    from handrail.engine.providers.streamed_calls import StreamedCalls
    from handrail.engine.services import CallServices

# Runs prepared calls as one turn; some of them may have begun.
RunTurn = Callable[
    [list[PreparedCall], int, Listener | None, BegunCalls | None], Awaitable[list[ToolResult]]
]


class RecordedCall(NamedTuple):
    """A call as the model made it, with the id under which it is recorded."""

    id: str
    name: str
    arguments_json: str


# Counts a call against a limit; the problem if the limit is exceeded.
CountCall = Callable[[], Problem | None]


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
        self, agent: str, on_event: Listener | None = None, refuse: CountCall = lambda: None
    ) -> StreamedCalls:
        """What runs the calls of one message while the message is read. `refuse` is asked once for
        each call; its problem becomes the result.
        """
        from handrail.engine.providers.streamed_calls import StreamedCalls

        return StreamedCalls(self, agent, on_event, refuse)

    async def answer(
        self, response: Any, *, agent: str, on_event: Listener | None
    ) -> list[dict[str, Any]]:
        """Run the calls of a provider's response; returns that provider's messages."""
        asked = read_calls(response)
        if not asked.calls:
            return []
        turn, name = self.runner.ids.turn(), response_id(response)
        message = MessagePreparer(self.preparer, self.runner.ids).prepare(
            asked.calls, read_end(response), response=name, turn=turn, agent=agent
        )
        results = message.answers(await self.run_turn(list(message.prepared), turn, on_event, None))
        if name is None:
            results = [mark_replayed(one) for one in results]
        return tool_messages(results, asked.provider)

    async def repeat(self, call: RecordedCall, *, agent: str) -> ToolResult | None:
        """The result of a call that may have run before: the recorded one, if the rules of now let
        the agent read it, or that of running it again if it only reads. None if it did not run.
        """
        ids = self.runner.ids
        made = ids.make_call(call.id, call.name, call.arguments_json, ids.turn(), agent)
        prepared = self.preparer.prepare(made._replace(from_model=True))
        prepared.origin.has_client_id = True
        runs_again = prepared.scope.reads_only or prepared.problem is not None
        if not runs_again and not await self.runner.ledger.is_recorded(call.id):
            return None
        return await self.runner.run(prepared, None)
