"""One turn: the stream of a model's message, its calls, and their results in the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
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
from handrail.core.results import ToolResult
from handrail.engine.providers.message_calls import CallLimit
from handrail.engine.providers.provider_messages import ResponseEnd
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
    conversation: str
    limit: CallLimit
    listener: Listener | None = None

    @property
    def aborted(self) -> bool:
        """Whether the user has aborted the run."""
        return self.rt.aborted

    async def run(
        self,
        events: AsyncGenerator[ModelEvent, None],
        conversation: Conversation,
        turn: int,
        prefix: str,
        report: Callable[[ModelEvent], None],
    ) -> ExecutedTurn:
        """Read a message, store it, run its calls and store their results. Calls that only read
        start while the message is read; others after the message is on disk. The ids of the calls
        begin with `prefix`. Raises `ModelFailed`.
        """
        streamed = self.rt.model_calls.stream(
            self.agent, self.listener, self.limit, self.conversation, turn
        )
        conversations = self.rt.session.conversations
        conversations[self.conversation] = lambda: conversation.messages
        try:
            read = await self._read(events, streamed, prefix, report)
            acted = self._read_action(read, conversation, turn)
            if acted is not None:
                read = acted
                streamed.add(_call_request(f"{prefix}.1", read.message.calls[0]))
            message = read.message
            ids = call_ids(prefix, message.calls)
            conversation.append(message, turn, ids)
            if not message.calls:
                return ExecutedTurn(message, read.finish, read.reason)
            if not streamed.reads_only:
                await conversation.flush()
            requests = [
                _call_request(call_id, call)
                for (_, call_id), call in zip(ids, message.calls, strict=True)
            ]
            results = await streamed.finish(requests, ResponseEnd(read.finish, read.reason))
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                conversation.update(stopped_turn=turn)
            await streamed.settle()
            raise
        finally:
            conversations.pop(self.conversation, None)
        self.append_results(conversation, results)
        if not streamed.reads_only:
            # These calls are not run again: after a crash the next request must have their results.
            await conversation.flush()
        commands = tuple(map(_command_facts, streamed.commands))
        return ExecutedTurn(message, read.finish, read.reason, tuple(results), commands)

    def append_results(self, conversation: Conversation, results: Sequence[ToolResult]) -> None:
        """Store the results of the calls of the last message."""
        if self.rt.session.secrets_shown:
            conversation.update(secrets_shown=True)
        last = conversation.entries[-1]
        conversation.append(result_message(last.message.calls, results), last.turn)

    async def _read(
        self,
        events: AsyncGenerator[ModelEvent, None],
        streamed: StreamedCalls,
        prefix: str,
        report: Callable[[ModelEvent], None],
    ) -> MessageDone:
        async with aclosing(events):
            async for event in events:
                report(event)
                match event:
                    case MessageDone():
                        return event
                    case CallOpened() | TextDelta() | ThinkingDelta():
                        streamed.advance()
                    case CallClosed(index, id, name, arguments_json):
                        call = CallBlock(id, name, arguments_json)
                        streamed.add(_call_request(f"{prefix}.{index + 1}", call))
        raise ModelFailed("cut", "the stream ended without its finish", retryable=True)

    def _read_action(
        self, done: MessageDone, conversation: Conversation, turn: int
    ) -> MessageDone | None:
        """Return the message with a call in place of its text, if the whole text is an action of
        the dialect and its tool was declared; else None.
        """
        message, setup = done.message, conversation.setup
        if message.calls or setup is None or done.finish not in (Finish.END, Finish.CALLS):
            return None
        action = self.rt.model_calls.read_action(message.text)
        if action is None or action[0] not in {tool["name"] for tool in setup.tools}:
            return None
        others = (block for block in message.blocks if not isinstance(block, TextBlock))
        call = CallBlock(f"action_{turn}", *action)
        return replace(done, finish=Finish.CALLS, message=Message(message.role, (*others, call)))


def _call_request(call_id: str, call: CallBlock) -> dict[str, str]:
    return {"id": call_id, "name": call.name, "arguments": call.arguments_json}


def call_ids(prefix: str, calls: Sequence[CallBlock]) -> tuple[tuple[str, str], ...]:
    """Return the provider's id of each call and the id under which it is recorded, which is unique
    in the store: providers number their calls from the start in each response.
    """
    return tuple((call.id, f"{prefix}.{n}") for n, call in enumerate(calls, 1))


def result_message(calls: Sequence[CallBlock], results: Sequence[ToolResult]) -> Message:
    """Return the message that answers the calls of an assistant message."""
    return Message("tool", tuple(map(_result_block, calls, results)))


def _result_block(call: CallBlock, result: ToolResult) -> ResultBlock:
    pictures = tuple(Picture(image.media_type, image.data) for image in result.images)
    return ResultBlock(call.id, (TextBlock(result.text), *pictures), is_error=result.is_error)


def _command_facts(analysis: CommandAnalysis | None) -> CommandFacts | None:
    if analysis is None:
        return None
    return CommandFacts(analysis.text, runs_tests(analysis))
