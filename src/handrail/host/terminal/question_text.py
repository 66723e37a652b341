"""The questions at a terminal as text: untrusted parts behind a margin, cut to the screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from handrail.core.approval import ApprovalRequest
from handrail.core.ports.questions import QuestionRequest
from handrail.core.text.columns import cells, rows
from handrail.core.text.safe_text import safe_text

MARGIN: Final = "│ "
_NAME: Final = 60
_REST: Final = "    "
# The number of rows that Handrail's own lines take.
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
        # The last row fits in place of the note that it is missing.
        framed = list(islice(frame(part.text, screen), most + 2))
        if len(framed) > most + 1:
            del framed[most:]
            left = sum(1 for _ in frame(part.text, screen._replace(colour=False))) - len(framed)
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
        yield from frame(part.text, screen)


def render_heading(request: ApprovalRequest) -> str:
    """The tool, the caller, and the risk."""
    tool = safe_text(request.tool, one_line=True)[:_NAME]
    chain = request.chain or (request.agent,)
    names = [safe_text(one, one_line=True)[:_NAME] for one in chain]
    caller = "" if chain == ("main",) else f", agent {' > '.join(names)}"
    return f"── {tool} wants to run (risk: {request.risk.word}{caller}) ──"


def render_model_question(request: QuestionRequest, number: int, screen: Screen) -> str:
    """Render a question of a model, in another form than an approval: it allows nothing."""
    question = request.questions[number - 1]
    agents = " > ".join(safe_text(one, one_line=True)[:_NAME] for one in request.chain)
    who = "" if request.chain == ("main",) else f", agent {agents}"
    lines = ["", f"?? the model asks ({number} of {len(request.questions)}{who}) ??"]
    lines += frame(f"[{question.header}] {question.question}", screen)
    for place, option in enumerate(question.options, 1):
        about = f": {option.description}" if option.description else ""
        lines += frame(f"  {place}. {option.label}{about}", screen)
    several = "numbers of options" if question.multi_select else "the number of an option"
    note = (
        f"Type {several}, or your own words. What you type goes to the model and into the record: "
        "no passwords. Enter alone: no answer. An answer allows nothing. Ctrl-C: stop."
    )
    return "\n".join([*lines, *textwrap.wrap(note, max(screen.width, 20)), ""])


def _parts(request: ApprovalRequest) -> Iterator[QuestionPart]:
    yield QuestionPart(None, request.action, 2)
    yield QuestionPart("why you are asked:", request.reason, 1)
    if request.model_says:
        yield QuestionPart("the model says (not verified):", request.model_says, 1)
    if request.preview:
        yield QuestionPart("what would happen:", request.preview, 4)


def frame(text: str, screen: Screen) -> Iterator[str]:
    """Yield the rows of untrusted text, each behind the margin; changed lines of a diff in colour."""
    diff, width = False, max(screen.width - len(MARGIN), 20)
    for line in safe_text(text).split("\n"):
        diff = diff or line.startswith(("--- a/", "--- /dev/null"))
        header = line.startswith(("--- ", "+++ "))
        colour = _COLOURS.get(line[:1]) if diff and screen.colour and not header else None
        # The rest of a folded diff line is indented, because it is not a line of the diff.
        room = width - len(_REST) if diff and cells(line) > width else width
        for number, row in enumerate(rows(line, room)):
            whole = f"{_REST}{row}" if diff and number else row
            yield f"{MARGIN}\x1b[{colour}m{whole}\x1b[0m" if colour else f"{MARGIN}{whole}"
