"""Shows the events of an agent as they come, as plain lines.

Text of the model keeps a margin, and lines of commands another one, so that neither can be taken
for a line of Handrail. All of it is escaped character by character, so chunks need no state.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, TextIO

from handrail.cli.render.screen import (
    TextStyle,
    count_noun,
    one_line,
    paint,
    terminal_width,
    truncate,
)
from handrail.core.text.columns import most_columns, rows
from handrail.core.text.safe_text import safe_text

if TYPE_CHECKING:
    from handrail.core.agent_results import AgentResult
    from handrail.core.events import Event

MODEL_MARGIN: Final = "│ "
_OUTPUT_MARGIN: Final = "  ┆ "
_MOST_OUTPUT_LINES: Final = 20
_MOST_CHANGES: Final = 6
# The width of the first column of a receipt.
_LABEL: Final = 10
_TAB: Final = 8


class RunView:
    """Prints what happens in a run."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._at_line_start = True
        # The column of the next character of the model's text.
        self._column = 0
        self._output_lines = 0
        # The first call of the task that changed a file.
        self._first_change: str | None = None

    def on_event(self, event: Event) -> None:
        """Print an event; unknown ones are ignored."""
        show = getattr(self, f"_on_{event.type}", None)
        if show is not None:
            show(event)
            self._stream.flush()

    def line(self, text: str = "") -> None:
        """Print a line of Handrail."""
        self._end_line()
        print(text, file=self._stream, flush=True)

    def receipt(self, result: AgentResult, session: str) -> None:
        """Print what a task has done: files, verification, usage, how to undo it."""
        undo = f"handrail undo --since {self._first_change or 'start'} --session {session}"
        for line in receipt_lines(result, undo):
            first, *rest = rows(line, terminal_width() - _LABEL) if self._folds() else [line]
            self.line(first)
            for more in rest:
                self.line(" " * _LABEL + more)

    def _on_agent_start(self, event: Event) -> None:
        self._first_change = None

    def _on_file_changed(self, event: Event) -> None:
        self._first_change = self._first_change or str(event.to_dict()["call_id"])

    def _on_model_text(self, event: Event) -> None:
        for piece in safe_text(str(event.to_dict()["text"])).splitlines(keepends=True):
            if self._at_line_start:
                self._stream.write(MODEL_MARGIN)
                self._column = len(MODEL_MARGIN)
            self._stream.write(self._fold(piece) if self._folds() else piece)
            self._at_line_start = piece.endswith("\n")

    def _on_model_retry(self, event: Event) -> None:
        facts = event.to_dict()
        wait = f"{facts['wait_s']:.1f} s"
        self.line(paint(f"the request failed ({facts['code']}); trying again in {wait}", _FAINT))

    def _on_notification(self, event: Event) -> None:
        self.line(paint(f"note: {one_line(event.to_dict()['text'])}", TextStyle.CAUTION))

    def _on_budget_warning(self, event: Event) -> None:
        facts = event.to_dict()
        text = f"budget: {facts['used']:,.6g} of {facts['limit']:,.6g} {facts['kind']} used"
        self.line(paint(text, TextStyle.CAUTION))

    def _on_tool_call_start(self, event: Event) -> None:
        self._output_lines = 0
        text = f"• {one_line(event.to_dict()['summary'])}"
        self.line(paint(truncate(text, terminal_width()), TextStyle.PLACE))

    def _on_tool_call_output(self, event: Event) -> None:
        for text in str(event.to_dict()["text"]).splitlines():
            self._output_lines += 1
            if self._output_lines <= _MOST_OUTPUT_LINES:
                shown = f"{_OUTPUT_MARGIN}{one_line(text)}"
                self.line(paint(truncate(shown, terminal_width()), _FAINT))

    def _on_tool_call_end(self, event: Event) -> None:
        facts = event.to_dict()
        hidden = self._output_lines - _MOST_OUTPUT_LINES
        if hidden > 0:
            self.line(paint(f"{_OUTPUT_MARGIN}… {count_noun(hidden, 'more line')}", _FAINT))
        if facts["status"] not in ("ok", "planned"):
            reason = facts["code"] or facts["status"]
            self.line(paint(f"  {facts['tool']}: {reason}", TextStyle.BAD))

    def _folds(self) -> bool:
        return self._stream.isatty()

    def _fold(self, text: str) -> str:
        """The text with a margin wherever the terminal would begin a new row by itself: there it
        could be taken for a line of Handrail.
        """
        width, folded = terminal_width(), ""
        for char in text:
            if char == "\t":
                self._column += _TAB - self._column % _TAB
            else:
                self._column += most_columns(char)
            if self._column > width and char != "\n":
                folded += f"\n{MODEL_MARGIN}"
                self._column = _TAB if char == "\t" else len(MODEL_MARGIN) + most_columns(char)
            folded += char
        return folded

    def _end_line(self) -> None:
        if not self._at_line_start:
            self._stream.write("\n")
            self._at_line_start = True


_FAINT: Final = TextStyle.FAINT


def receipt_lines(result: AgentResult, undo: str) -> list[str]:
    """The receipt of a task, in at most four lines."""
    report, usage = result.report, result.usage
    lines = []
    if report.changes:
        shown = [one_line(path) for path in report.changes[:_MOST_CHANGES]]
        more = len(report.changes) - len(shown)
        listed = ", ".join(shown) + (f" and {more} more" if more else "")
        lines.append(f"changed   {listed}")
    else:
        lines.append("changed   nothing")
    lines.append(f"verified  {_verified(result)}")
    money = "" if usage.usd is None else f", {usage.usd:.4f} USD"
    about = "about " if usage.estimated else ""
    lines.append(
        f"used      {about}{usage.tokens:,} tokens, {count_noun(usage.requests, 'request')}, "
        f"{count_noun(usage.calls, 'call')}{money}"
    )
    if report.changes:
        lines.append(f"undo      {undo}")
    return lines


def _verified(result: AgentResult) -> str:
    runs = result.report.verified
    if not runs:
        return "no tests were run"
    last = runs[-1]
    command = one_line(last.command)
    if last.is_current:
        return f"{command} passed"
    return f"not since the last change: {command} passed, {last.state}"
