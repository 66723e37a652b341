"""Renders a question for a terminal.

Text from calls is shown behind a margin, so that it cannot imitate Handrail's own lines, and
passes through `safe_text`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from handrail.core.approval import ApprovalRequest
from handrail.core.text.columns import rows
from handrail.core.text.safe_text import safe_text

MARGIN: Final = "│ "
_NAME: Final = 60
# Rows of Handrail's own lines.
_OWN: Final = 12
_LEAST: Final = 2
_COLOURS: Final = {"+": "32", "-": "31", "@": "36"}


class Screen(NamedTuple):
    """The size of the screen, and whether to use colour."""

    width: int = 80
    height: int = 24
    colour: bool = False


class QuestionPart(NamedTuple):
    """One part of the question: a label (None: no label) and untrusted text."""

    label: str | None
    text: str
    share: int


class RenderedQuestion(NamedTuple):
    """The question as shown; `cut`: it was shortened."""

    text: str
    cut: bool


def render_question(request: ApprovalRequest, screen: Screen) -> RenderedQuestion:
    """The question, with every part cut to fit on one screen."""
    room = max(screen.height - _OWN, 9)
    lines, cut = [render_heading(request)], False
    for part in _parts(request):
        lines += [part.label] if part.label else []
        most = max(room * part.share // 6, _LEAST)
        # One row more fits in place of the note that it is missing.
        framed = list(islice(_framed(part.text, screen), most + 2))
        if len(framed) > most + 1:
            del framed[most:]
            left = sum(1 for _ in _framed(part.text, screen._replace(colour=False))) - len(framed)
            framed.append(f"[{left:,} more rows of this: v shows all]")
            cut = True
        lines += framed
    return RenderedQuestion("\n".join(["", *lines, ""]), cut)


def render_full_question(request: ApprovalRequest, screen: Screen) -> Iterator[str]:
    """Every row of the question, uncut."""
    yield render_heading(request)
    for part in _parts(request):
        if part.label:
            yield part.label
        yield from _framed(part.text, screen)


def render_heading(request: ApprovalRequest) -> str:
    """The tool, the caller, and the risk."""
    tool = safe_text(request.tool, one_line=True)[:_NAME]
    agent = "" if request.agent == "main" else safe_text(request.agent, one_line=True)[:_NAME]
    return f"── {tool} wants to run ({request.risk.word}{f', agent {agent}' if agent else ''}) ──"


def _parts(request: ApprovalRequest) -> Iterator[QuestionPart]:
    yield QuestionPart(None, request.action, 2)
    yield QuestionPart("why you are asked:", request.reason, 1)
    if request.model_says:
        yield QuestionPart("the model says (nobody has checked it):", request.model_says, 1)
    if request.preview:
        yield QuestionPart("what would happen:", request.preview, 4)


def _framed(text: str, screen: Screen) -> Iterator[str]:
    diff = False
    for row in rows(safe_text(text), max(screen.width - len(MARGIN), 20)):
        diff = diff or row.startswith(("--- a/", "--- /dev/null"))
        header = row.startswith(("--- ", "+++ "))
        colour = _COLOURS.get(row[:1]) if diff and screen.colour and not header else None
        yield f"{MARGIN}\x1b[{colour}m{row}\x1b[0m" if colour else f"{MARGIN}{row}"
