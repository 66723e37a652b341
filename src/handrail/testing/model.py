"""A scripted model, with responses in the shape of a provider, and a scripted user."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.ports.questions import QuestionReply, QuestionRequest
from handrail.core.problems import ProblemRaised
from handrail.engine.providers.provider_messages import Provider


class ScriptedResponse(NamedTuple):
    """One response: some text, and tool calls as (name, arguments)."""

    text: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()


def says(text: str) -> ScriptedResponse:
    """A response without a tool call."""
    return ScriptedResponse(text)


def calls(name: str, /, **arguments: Any) -> ScriptedResponse:
    """A response with one tool call; `together` makes one response of several."""
    return ScriptedResponse("", ((name, arguments),))


def together(*said: ScriptedResponse) -> ScriptedResponse:
    """Join several responses into one: their texts, and all their calls."""
    text = "\n".join(one.text for one in said if one.text)
    return ScriptedResponse(text, tuple(call for one in said for call in one.calls))


class ScriptedModel:
    """Gives its script, one response per request, in the shape of `provider` ("openai",
    "openai-responses" or "anthropic"); raises `unavailable` when the script has ended.

    `asked` has the messages of each request, as they were then.
    """

    def __init__(self, script: Iterable[ScriptedResponse], provider: Provider = "openai") -> None:
        if provider not in _SHAPES:
            raise ValueError(f"provider is one of {', '.join(_SHAPES)}, not {provider!r}")
        self._script = list(script)
        self._provider = provider
        self._calls = 0
        self.asked: list[Sequence[Any]] = []

    async def respond(self, messages: Sequence[Any]) -> dict[str, Any]:
        """Return the next response, for `Runtime.answer` and for your loop."""
        self.asked.append(copy.deepcopy(messages))
        if len(self.asked) > len(self._script):
            raise ProblemRaised(
                "unavailable",
                f"the model was asked {len(self.asked)} times and has {len(self._script)} answers",
                hint="add one to its script, or let the loop end",
            )
        said = self._script[len(self.asked) - 1]
        ids = [f"call_{self._calls + number}" for number in range(1, len(said.calls) + 1)]
        self._calls += len(ids)
        return shape_response(self._provider, said, ids, f"response_{len(self.asked)}")


def shape_response(
    provider: str, said: ScriptedResponse, ids: Sequence[str], id: str
) -> dict[str, Any]:
    """Return a whole response in the shape of a provider ("openai", "openai-responses",
    "anthropic", "gemini").
    """
    return {_ID_FIELDS.get(provider, "id"): id, **_SHAPES[provider](said, ids)}


def _chat(said: ScriptedResponse, ids: Sequence[str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if ids:
        message["tool_calls"] = [
            {
                "id": one,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for one, (name, arguments) in zip(ids, said.calls, strict=True)
        ]
    reason = "tool_calls" if ids else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"object": "chat.completion", "choices": [choice]}


def _responses(said: ScriptedResponse, ids: Sequence[str]) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if said.text:
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        output.append({"type": "message", "role": "assistant", "content": content})
    output += [
        {
            "type": "function_call",
            "call_id": one,
            "name": name,
            "arguments": json.dumps(arguments),
        }
        for one, (name, arguments) in zip(ids, said.calls, strict=True)
    ]
    return {"object": "response", "status": "completed", "output": output}


def _anthropic(said: ScriptedResponse, ids: Sequence[str]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
    content += [
        {"type": "tool_use", "id": one, "name": name, "input": dict(arguments)}
        for one, (name, arguments) in zip(ids, said.calls, strict=True)
    ]
    reason = "tool_use" if ids else "end_turn"
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": reason}


def _gemini(said: ScriptedResponse, ids: Sequence[str]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": said.text}] if said.text else []
    parts += [
        {"functionCall": {"id": one, "name": name, "args": dict(arguments)}}
        for one, (name, arguments) in zip(ids, said.calls, strict=True)
    ]
    content = {"role": "model", "parts": parts}
    return {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}]}


_ID_FIELDS = {"gemini": "responseId"}
_SHAPES: Final[Mapping[str, Callable[[ScriptedResponse, Sequence[str]], dict[str, Any]]]] = {
    "openai": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


class ScriptedUser:
    """An approver for `handrail.open` that gives its answers in order, one per question (`True`,
    `False` or an `Answer`; for `ask_user` a mapping from questions to answers), and then answers
    no. `asked` has the questions.
    """

    via = "script"

    def __init__(self, answers: Iterable[bool | Answer | Mapping[str, Any]] = ()) -> None:
        self._answers = list(answers)
        self.asked: list[ApprovalRequest | QuestionRequest] = []

    @property
    def left(self) -> int:
        """The number of answers that are left."""
        return len(self._answers)

    async def ask(self, request: ApprovalRequest) -> Reply:
        """The next answer."""
        self.asked.append(request)
        answer = self._answers.pop(0) if self._answers else Answer.NO
        if isinstance(answer, Mapping):
            answer = Answer.NO
        if isinstance(answer, bool):
            answer = Answer.YES if answer else Answer.NO
        return Reply(answer, self.via)

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply:
        """Return the next answer; anything but a mapping declines."""
        self.asked.append(request)
        answer = self._answers.pop(0) if self._answers else None
        return QuestionReply(answer if isinstance(answer, Mapping) else None, self.via)
