"""The question that a client puts to the person: a fixed form with two answers.

Never free text, never "always": what comes back is yes, or it is no. Everything that the
model wrote passes `safe_text` and stands behind words of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handrail.core.approval import Answer, ApprovalRequest
from handrail.core.safe_text import safe_text

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
# Longer previews would push the question itself out of a dialog; how much is missing is said.
MAX_PREVIEW: Final = 8_000


def message_of(request: ApprovalRequest) -> str:
    """What the person reads above the form."""
    lines = [
        f"Handrail asks: may the model call {safe_text(request.tool, one_line=True)}?",
        f"It would: {safe_text(request.action)}",
        f"Risk: {request.risk.word}. Asked because {safe_text(request.reason)}.",
    ]
    if request.model_says:
        lines.append(f"The model says: {safe_text(request.model_says, one_line=True)}")
    if request.preview:
        lines += ["", _window(safe_text(request.preview))]
    return "\n".join(lines)


def answer_of(action: str, content: Mapping[str, Any] | None) -> Answer:
    """YES for exactly the form's own yes; anything else is NO."""
    if action == "accept" and content is not None and content.get(FIELD) == "yes":
        return Answer.YES
    return Answer.NO


def _window(preview: str) -> str:
    if len(preview) <= MAX_PREVIEW:
        return preview
    half = MAX_PREVIEW // 2
    left_out = len(preview) - 2 * half
    return f"{preview[:half]}\n[… {left_out:,} characters left out …]\n{preview[-half:]}"
