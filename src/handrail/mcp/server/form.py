"""The elicitation form for approvals: yes or no, "always" where a narrow rule covers the call, and
an optional reason for a no.

Text from the model is escaped by `safe_text` and always follows a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.text.safe_text import safe_text

FIELD: Final = "answer"
REASON: Final = "reason"
_VIA: Final = "elicitation"
_CHOICES: Final = "yes: it happens once, exactly as shown; no: nothing happens"
# A longer preview would push the question out of the dialog; the cut is marked.
MAX_PREVIEW: Final = 8_000


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
        "description": "optional; the model is told",
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
    given, reason = content.get(FIELD), content.get(REASON)
    if given == "yes":
        return Reply(Answer.YES, _VIA)
    if given == Answer.ALWAYS.value and request.always is not None:
        return Reply(Answer.ALWAYS, _VIA)
    return Reply(Answer.NO, _VIA, reason=reason if isinstance(reason, str) else None)


def _truncate_preview(preview: str) -> str:
    if len(preview) <= MAX_PREVIEW:
        return preview
    half = MAX_PREVIEW // 2
    left_out = len(preview) - 2 * half
    return f"{preview[:half]}\n[… {left_out:,} characters left out …]\n{preview[-half:]}"
