"""One turn: the stream of a model's message, its calls, and their results in the conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from handrail.agent.conversation import Conversation
from handrail.agent.report import CommandFacts
from handrail.core.commands import CommandAnalysis
from handrail.core.events import Listener
from handrail.core.ports.models import (
    CallBlock,
    CallClosed,
    CallOpened,
    Finish,
    Message,
    MessageDone,
    ModelEvent,
    ModelFailed,
    Picture,
    ResultBlock,
    TextBlock,
    TextDelta,
    ThinkingDelta,
)
from handrail.core.problems import Problem
from handrail.core.results import ToolResult
from handrail.engine.providers.response_end import ResponseEnd
from handrail.engine.providers.streamed_calls import StreamedCalls
from handrail.engine.runtime import Runtime
from handrail.policy.guardrails.test_commands import runs_tests


class ExecutedTurn(NamedTuple):
    """A model's message with the results of its calls, in call order."""

    message: Message
    finish: Finish
    reason: str = ""
    results: tuple[ToolResult, ...] = ()
    commands: tuple[CommandFacts | None, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnRunner:
    """Runs the turns of one agent in its runtime."""

    rt: Runtime
    agent: str
    charge_call: Callable[[], Problem | None]
    listener: Listener | None = None

    @property
    def aborted(self) -> bool:
        """Whether the user has aborted the run."""
        return self.rt.aborted

    async def run(
        self,
        events: AsyncIterator[ModelEvent],
        conversation: Conversation,
        turn: int,
        report: Callable[[ModelEvent], None],
    ) -> ExecutedTurn:
        """Read a message, keep it, run its calls, keep their results. Calls that only read begin
        while the message is read; all others after the message is on disk. Raises `ModelFailed`.
        """
        streamed = self.rt.model_calls.stream(self.agent, self.listener, self.charge_call)
        try:
            done = await self._read(events, streamed, f"{conversation.id}.{turn}", report)
            message = done.message
            ids = call_ids(f"{conversation.id}.{turn}", message.calls)
            conversation.append(message, turn, ids)
            if not message.calls:
                return ExecutedTurn(message, done.finish, done.reason)
            await conversation.flush()
            asked = [_asked(own, call) for (_, own), call in zip(ids, message.calls, strict=True)]
            results = await streamed.finish(asked, ResponseEnd(done.finish, done.reason))
        except BaseException:
            await streamed.settle()
            raise
        conversation.append(result_message(message.calls, results), turn)
        commands = tuple(map(_command_facts, streamed.commands))
        return ExecutedTurn(message, done.finish, done.reason, tuple(results), commands)

    async def _read(
        self,
        events: AsyncIterator[ModelEvent],
        streamed: StreamedCalls,
        prefix: str,
        report: Callable[[ModelEvent], None],
    ) -> MessageDone:
        async for event in events:
            report(event)
            match event:
                case MessageDone():
                    return event
                case CallOpened() | TextDelta() | ThinkingDelta():
                    streamed.advance()
                case CallClosed(index, id, name, arguments_json):
                    call = CallBlock(id, name, arguments_json)
                    streamed.add(_asked(f"{prefix}.{index + 1}", call))
        raise ModelFailed("cut", "the stream ended without its finish", retryable=True)


def _asked(own: str, call: CallBlock) -> dict[str, str]:
    return {"id": own, "name": call.name, "arguments": call.arguments_json}


def call_ids(prefix: str, calls: Sequence[CallBlock]) -> tuple[tuple[str, str], ...]:
    """The provider's id of each call and the id under which it is recorded. The latter is unique
    in the store: providers number their calls anew in each response.
    """
    return tuple((call.id, f"{prefix}.{n}") for n, call in enumerate(calls, 1))


def result_message(calls: Sequence[CallBlock], results: Sequence[ToolResult]) -> Message:
    """The message that answers the calls of an assistant message."""
    return Message("tool", tuple(map(_result_block, calls, results)))


def _result_block(call: CallBlock, result: ToolResult) -> ResultBlock:
    pictures = tuple(Picture(one.media_type, one.data) for one in result.images)
    return ResultBlock(call.id, (TextBlock(result.text), *pictures), is_error=result.is_error)


def _command_facts(analysis: CommandAnalysis | None) -> CommandFacts | None:
    if analysis is None:
        return None
    return CommandFacts(analysis.text, runs_tests(analysis))
