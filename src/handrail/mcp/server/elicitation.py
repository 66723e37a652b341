"""Asks the user for approval through the MCP client, with a fallback approver.

A client without elicitation, or one that repeatedly declines faster than a user could read, is
not asked again. Without a fallback the call is refused, and the problem names the rule to add.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

import anyio
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from pydantic import ValidationError

from handrail.core.approval import Answer, ApprovalRequest, Reply, caller_config_line
from handrail.core.names.caller_words import tool_name
from handrail.core.ports.machine import Approver
from handrail.core.ports.questions import (
    MAX_ANSWER_CHARS,
    QuestionReply,
    QuestionRequest,
    parse_answers,
)
from handrail.core.problems import ProblemRaised
from handrail.core.text.safe_text import safe_text
from handrail.mcp.server import messages

FIELD: Final = "answer"
REASON: Final = "reason"
_VIA: Final = "elicitation"
_CHOICES: Final = "yes: it happens once, exactly as shown; no: nothing happens"
# A longer preview would push the question out of the dialog; the cut is marked.
MAX_PREVIEW: Final = 8_000

# Faster than a user can read and decline.
INSTANT_S: Final = 0.25
MAX_INSTANT: Final = 2

# Timeout of the fallback; clients rarely wait longer for a call.
QUEUE_S: Final = 120.0


class Elicitation(NamedTuple):
    """The client's response to an elicitation form."""

    action: str
    content: dict[str, object] | None


class ElicitationChannel(Protocol):
    """Sends elicitation forms for one call to its client."""

    @property
    def can_ask(self) -> bool:
        """Whether the client declares form elicitation."""

    @property
    def concurrent(self) -> bool:
        """Whether several questions may be open at the same time."""

    async def elicit(self, form: ApprovalForm) -> Elicitation | None:
        """Send the form; None if the client failed to show it."""


class ClientApprover:
    """Asks through the client that made the call, else through `fallback`.

    The first call of a client that cannot ask is refused with instructions for the user.
    """

    def __init__(
        self,
        fallback: Approver | None,
        *,
        queue_s: float = QUEUE_S,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._fallback = fallback
        self._queue_s = queue_s
        self._clock = clock
        self._channels: dict[str, ElicitationChannel] = {}
        self._instant = 0
        self._broken = False
        self._waiting: set[str] = set()  # calls whose question is open elsewhere
        self._listeners: dict[str, Callable[[], None]] = {}
        self._instructed = False  # whether a refusal has told the user about the fallback

    def connect(
        self,
        call_id: str,
        channel: ElicitationChannel,
        on_wait: Callable[[], None] = lambda: None,
    ) -> None:
        """Use this channel for questions about the call, unless it already has one.

        `on_wait` is called when the question can only be answered elsewhere.
        """
        self._channels.setdefault(call_id, channel)
        self._listeners.setdefault(call_id, on_wait)

    def disconnect(self, call_id: str, channel: ElicitationChannel) -> None:
        """Remove the channel of a finished call."""
        if self._channels.get(call_id) is channel:
            del self._channels[call_id]
            self._listeners.pop(call_id, None)

    def is_waiting(self, call_id: str) -> bool:
        """Return whether the call waits for an answer that the user gives elsewhere."""
        return call_id in self._waiting

    def _on_wait(self, request: ApprovalRequest) -> None:
        listener = self._listeners.get(request.call_id)
        if listener is not None:
            listener()

    def asks_apart(self, request: ApprovalRequest | QuestionRequest) -> bool:
        """Return whether the question may be asked while another one is open."""
        channel = self._reachable(request)
        return channel is not None and channel.concurrent

    async def ask(self, request: ApprovalRequest) -> bool | Answer | Reply:
        """Return the user's answer; raises `needs_approval` if no approver is available."""
        response = await self._through_client(request, approval_form(request))
        if response is not None:
            return parse_answer(request, response.action, response.content)
        instructed, self._instructed = self._instructed, True
        if self._fallback is not None and instructed:
            self._waiting.add(request.call_id)
            self._on_wait(request)
            try:
                with anyio.move_on_after(self._queue_s):
                    return await self._fallback.ask(request)
            finally:
                self._waiting.discard(request.call_id)
        raise no_approver(request, elsewhere=self._fallback is not None)

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply | None:
        """Return the user's answers to questions of the model; None if the client cannot ask."""
        response = await self._through_client(request, question_form(request))
        if response is None:
            return None
        return parse_form_answers(request, response.action, response.content)

    async def _through_client(
        self, request: ApprovalRequest | QuestionRequest, form: ApprovalForm
    ) -> Elicitation | None:
        """Return the client's response; None if no user can have seen the question."""
        channel = self._reachable(request)
        if channel is None:
            return None
        clock = self._clock or asyncio.get_running_loop().time
        asked_at = clock()
        response = await channel.elicit(form)
        if response is None:
            self._broken = True
            return None
        if response.action != "accept" and clock() - asked_at < INSTANT_S:
            self._instant += 1
            self._broken = self._instant >= MAX_INSTANT
            return None
        self._instant = 0
        return response

    def _reachable(self, request: ApprovalRequest | QuestionRequest) -> ElicitationChannel | None:
        channel = self._channels.get(request.call_id)
        return channel if channel is not None and channel.can_ask and not self._broken else None


def no_approver(request: ApprovalRequest, *, elsewhere: bool) -> ProblemRaised:
    """Return a refusal that says how the call could be allowed."""
    hints = []
    if elsewhere:
        hints.append(
            "ask the user to run `handrail approvals` in another terminal, then call again"
        )
    if request.always is not None:
        rule = caller_config_line(request.always)
        hints.append(f"the user can allow exactly this call in their configuration: {rule}")
    return messages.CLIENT_CANNOT_ASK.error(
        tool=tool_name(request.tool),
        reason=request.reason,
        ways="; or ".join(hints) or "nothing can allow this call here; use another approach",
    )


def supports_elicitation(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client declares form elicitation."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return False
    # Early versions of the protocol declare forms with an empty object.
    form, url = capabilities.elicitation.form, capabilities.elicitation.url
    return form is not None or url is None


class HandshakeChannel:
    """Sends the form while the request is open (protocol versions with a handshake)."""

    concurrent = False

    def __init__(self, ctx: ServerRequestContext[Any, Any], *, can_ask: bool) -> None:
        self._ctx = ctx
        self.can_ask = can_ask and ctx.session.can_send_request

    async def elicit(self, form: ApprovalForm) -> Elicitation | None:
        """Send the form; None if the client failed to show it."""
        try:
            response = await self._ctx.session.elicit_form(
                form.message, dict(form.schema), related_request_id=self._ctx.request_id
            )
        except (MCPError, ValidationError):
            return None
        content = response.content
        return Elicitation(response.action, None if content is None else dict(content))


class ApprovalForm(NamedTuple):
    """The text above the form, and the JSON Schema of its fields."""

    message: str
    schema: Mapping[str, Any]


def approval_form(request: ApprovalRequest) -> ApprovalForm:
    """Return the form for a request."""
    answers, choices = ["no", "yes"], _CHOICES
    if request.always is not None:
        rule = safe_text(request.always, one_line=True)
        answers.append(Answer.ALWAYS.value)
        choices += (
            f"; always: it happens, and until the session ends so does all that {rule} covers"
        )
    answer = {
        "type": "string",
        "title": "Allow this call?",
        "description": choices,
        "enum": answers,
    }
    reason = {
        "type": "string",
        "title": "If no: why?",
        "description": "optional; passed on to the model",
        "maxLength": 1000,
    }
    schema = {
        "type": "object",
        "properties": {FIELD: answer, REASON: reason},
        "required": [FIELD],
    }
    return ApprovalForm(approval_message(request), schema)


def approval_message(request: ApprovalRequest) -> str:
    """Return the text above the form."""
    lines = [
        f"Handrail asks: may the model call {safe_text(request.tool, one_line=True)}?",
        f"It would: {safe_text(request.action)}",
        f"Risk: {request.risk.word}. Asked because {safe_text(request.reason)}.",
    ]
    if request.model_says:
        lines.append(f"The model says: {safe_text(request.model_says, one_line=True)}")
    if request.preview:
        lines += ["", _truncate_preview(safe_text(request.preview))]
    return "\n".join(lines)


def parse_answer(request: ApprovalRequest, action: str, content: Mapping[str, Any] | None) -> Reply:
    """Return a yes only for an accepted form with an answer that the form offered."""
    if action != "accept" or content is None:
        return Reply(Answer.NO, _VIA)
    answer, reason = content.get(FIELD), content.get(REASON)
    if answer == "yes":
        return Reply(Answer.YES, _VIA)
    if answer == Answer.ALWAYS.value and request.always is not None:
        return Reply(Answer.ALWAYS, _VIA)
    return Reply(Answer.NO, _VIA, reason=reason if isinstance(reason, str) else None)


def question_form(request: QuestionRequest) -> ApprovalForm:
    """Return the form for questions of the model: a choice and a free answer for each."""
    properties: dict[str, Any] = {}
    lines = ["The model asks. An answer allows nothing; it goes to the model and into the record."]
    for number, question in enumerate(request.questions, 1):
        labels = [option.label for option in question.options]
        options = "; ".join(
            f"{option.label}: {option.description}" if option.description else option.label
            for option in question.options
        )
        lines.append(f"{number}. {safe_text(question.question, one_line=True)} ({options})")
        choice: dict[str, Any] = {"type": "string", "enum": labels}
        if question.multi_select:
            choice = {"type": "array", "items": choice}
        properties[f"choice_{number}"] = {
            **choice,
            "title": question.header,
            "description": question.question,
        }
        properties[f"text_{number}"] = {
            "type": "string",
            "title": f"{question.header}: in your own words",
            "maxLength": MAX_ANSWER_CHARS,
        }
    return ApprovalForm("\n".join(lines), {"type": "object", "properties": properties})


def parse_form_answers(
    request: QuestionRequest, action: str, content: Mapping[str, Any] | None
) -> QuestionReply:
    """Return the answers of an accepted form; own words count before a choice."""
    if action != "accept" or content is None:
        return QuestionReply(None, _VIA)
    answers = {
        question.question: content.get(f"text_{number}") or content.get(f"choice_{number}")
        for number, question in enumerate(request.questions, 1)
    }
    return QuestionReply(parse_answers(request, answers), _VIA)


def _truncate_preview(preview: str) -> str:
    if len(preview) <= MAX_PREVIEW:
        return preview
    half = MAX_PREVIEW // 2
    left_out = len(preview) - 2 * half
    return f"{preview[:half]}\n[… {left_out:,} characters left out …]\n{preview[-half:]}"
