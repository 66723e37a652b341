"""Asks the user in the editor, by a permission request of the protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from acp import RequestError
from acp.schema import (
    AllowedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallProgress,
    ToolCallUpdate,
)
from pydantic import ValidationError

from handrail.acp.client import EditorClient
from handrail.acp.tool_cards import (
    CardContent,
    card_title,
    diff_content,
    fence,
    text_content,
    tool_kind,
    truncate,
)
from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.places import Form
from handrail.core.ports.questions import ModelQuestion, QuestionReply, QuestionRequest
from handrail.core.text.safe_text import safe_text

VIA: Final = "editor"
# The field of `_meta` in which an editor may send the reason of a refusal.
REASON: Final = "handrail/reason"
_MAX_REASON: Final = 1_000
_DECLINE: Final = "decline"
_ALLOWS_NOTHING: Final = "An answer allows nothing; it goes to the model and into the record."
_CANNOT_ASK: Final = "the editor could not ask the user"


class EditorApprover:
    """Sends each question to the editor. `before` waits until the card of the call was sent."""

    via = VIA

    def __init__(
        self,
        client: EditorClient,
        root: Path,
        who: str,
        before: Callable[[], Awaitable[None]],
    ) -> None:
        self._client = client
        self._root = root
        self._who = who
        self._before = before

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Return the user's answer; raises OSError if the editor has disconnected."""
        await self._before()
        call = ToolCallUpdate(
            tool_call_id=request.call_id,
            title=card_title(request.action),
            kind=tool_kind(request.tool),
            status="pending",
            content=list(_describe_request(request, self._root)),
        )
        try:
            answer = await self._client.ask(call, _options(request))
        except (RequestError, ValidationError):
            return Reply(Answer.NO, VIA, self._who, _CANNOT_ASK)
        reply = self._read_reply(request, answer)
        if not reply.refuses:
            running = ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=request.call_id,
                status="in_progress",
            )
            await self._client.update(running)
        return reply

    def _read_reply(self, request: ApprovalRequest, answer: RequestPermissionResponse) -> Reply:
        """Return yes only for an option that was offered; everything else is a refusal."""
        chosen = answer.outcome.option_id if isinstance(answer.outcome, AllowedOutcome) else None
        if chosen == Answer.YES.value:
            return Reply(Answer.YES, VIA, self._who)
        if chosen == Answer.ALWAYS.value and request.always is not None:
            return Reply(Answer.ALWAYS, VIA, self._who)
        reason = (answer.field_meta or {}).get(REASON)
        shown_reason = reason[:_MAX_REASON] if isinstance(reason, str) and reason.strip() else None
        return Reply(Answer.NO, VIA, self._who, shown_reason)

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply:
        """Return the chosen options, one question after the other; the user may decline."""
        await self._before()
        answers: dict[str, str | list[str]] = {}
        for question in request.questions:
            call = ToolCallUpdate(
                tool_call_id=request.call_id,
                title=card_title(f"The model asks: {question.question}"),
                status="pending",
                content=list(_describe_question(question)),
            )
            try:
                answer = await self._client.ask(call, _answer_options(question))
            except (RequestError, ValidationError):
                return QuestionReply(None, VIA, self._who)
            chosen = _chosen_label(question, answer)
            if chosen is None:
                return QuestionReply(None, VIA, self._who)
            answers[question.question] = [chosen] if question.multi_select else chosen
        return QuestionReply(answers, VIA, self._who)


def _describe_request(request: ApprovalRequest, root: Path) -> list[CardContent]:
    lines = [
        f"May the model call {safe_text(request.tool, one_line=True)}?",
        f"Risk: {request.risk.word}. Asked because {safe_text(request.reason, one_line=True)}.",
    ]
    if len(request.chain) > 1:
        lines.append(f"Asked for the agent {safe_text(request.agent, one_line=True)}.")
    if request.model_says:
        lines.append(f"The model says: {safe_text(request.model_says, one_line=True)}")
    content: list[CardContent] = [text_content("\n\n".join(lines))]
    if card_title(request.action) != request.action:
        content.append(text_content(fence(truncate(request.action))))
    diffs = _planned_diffs(request, root)
    if diffs:
        content += diffs
    elif request.preview:
        content.append(text_content(fence(truncate(request.preview), "diff")))
    return content


def _planned_diffs(request: ApprovalRequest, root: Path) -> list[CardContent]:
    """Return all changes of the call as diffs; empty if diffs do not show all of them."""
    plain = [
        change
        for change in request.changes
        if change.mode is None and change.before_form is change.after_form is Form.FILE
    ]
    shown = (diff_content(change.path, change.before, change.after, root) for change in plain)
    diffs: list[CardContent] = [diff for diff in shown if diff is not None]
    return diffs if len(diffs) == len(request.changes) else []


def _options(request: ApprovalRequest) -> list[PermissionOption]:
    options = [PermissionOption(option_id=Answer.YES.value, name="Allow once", kind="allow_once")]
    if request.always is not None:
        rule = card_title(request.always)
        options.append(
            PermissionOption(
                option_id=Answer.ALWAYS.value,
                name=f"Allow for this session: {rule}",
                kind="allow_always",
            )
        )
    refuse = PermissionOption(option_id=Answer.NO.value, name="Reject", kind="reject_once")
    return [*options, refuse]


def _describe_question(question: ModelQuestion) -> list[CardContent]:
    lines = [safe_text(question.question), "", _ALLOWS_NOTHING, ""]
    lines += [
        f"- {safe_text(option.label, one_line=True)}: {safe_text(option.description, one_line=True)}"
        for option in question.options
        if option.description
    ]
    return [text_content("\n".join(lines))]


def _answer_options(question: ModelQuestion) -> list[PermissionOption]:
    options = [
        PermissionOption(option_id=f"answer-{n}", name=card_title(option.label), kind="allow_once")
        for n, option in enumerate(question.options)
    ]
    refuse = PermissionOption(option_id=_DECLINE, name="Do not answer", kind="reject_once")
    return [*options, refuse]


def _chosen_label(question: ModelQuestion, answer: RequestPermissionResponse) -> str | None:
    if not isinstance(answer.outcome, AllowedOutcome):
        return None
    labels = {f"answer-{n}": option.label for n, option in enumerate(question.options)}
    return labels.get(answer.outcome.option_id)
