"""The elicitation form for approvals: a fixed schema with the answers yes and no.

There is no free text and no "always". Text from the model is escaped by `safe_text` and always
follows a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handrail.core.approval import Answer, ApprovalRequest
from handrail.core.text.safe_text import safe_text

FIELD: Final = "answer"
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        FIELD: {
            "type": "string",
            "title": "Allow this one call?",
            "description": "yes: it happens once, exactly as shown; no: nothing happens",
            "enum": ["no", "yes"],
        }
    },
    "required": [FIELD],
}
# A longer preview would push the question out of the dialog; the cut is marked.
MAX_PREVIEW: Final = 8_000


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


def parse_answer(action: str, content: Mapping[str, Any] | None) -> Answer:
    """Return YES only for an accepted form with the answer "yes", else NO."""
    if action == "accept" and content is not None and content.get(FIELD) == "yes":
        return Answer.YES
    return Answer.NO


def _truncate_preview(preview: str) -> str:
    if len(preview) <= MAX_PREVIEW:
        return preview
    half = MAX_PREVIEW // 2
    left_out = len(preview) - 2 * half
    return f"{preview[:half]}\n[… {left_out:,} characters left out …]\n{preview[-half:]}"
