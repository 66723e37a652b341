"""What a terminal shows while a call runs: the elapsed time, and the output of a command.

The status line is on standard error, only on a terminal, and is cleared before anything else is
printed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TextIO

from handrail.cli.render.screen import one_line, terminal_width, truncate, use_colour
from handrail.core.text.safe_text import safe_text

if TYPE_CHECKING:
    from handrail.core.events import CallOutput, Event
    from handrail.core.results import ToolResult

_EXIT_CODE: Final = re.compile(r"^exit_code: ", re.MULTILINE)
_LEFT_OUT: Final = " bytes left out of the live view]"


class StatusLine:
    """Shows the progress of one call."""

    def __init__(self) -> None:
        self._wanted = use_colour(sys.stderr)
        self._shown = False
        self._latest = ""

    @property
    def active(self) -> bool:
        """Whether events would be shown."""
        return self._wanted

    def on_event(self, event: Event) -> None:
        """Redraw or clear the line."""
        if not self._wanted:
            return
        from handrail.core.events import CallEnded, CallHeartbeat, CallOutput, CallProgress

        if isinstance(event, CallOutput):
            self._latest = ([self._latest, *filter(str.strip, event.text.splitlines())])[-1]
        elif isinstance(event, CallProgress):
            self._latest = event.text
        elif isinstance(event, CallHeartbeat):
            latest = f": {one_line(self._latest.strip())}" if self._latest else ""
            self._draw(f"{event.tool}, {event.elapsed_s:.0f} s{latest}")
        elif isinstance(event, CallEnded):
            self.clear()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the line while the user is asked a question."""
        self.clear()
        was_wanted, self._wanted = self._wanted, False
        try:
            yield
        finally:
            self._wanted = was_wanted

    def clear(self) -> None:
        """Clear the line."""
        if self._shown:
            self._shown = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _draw(self, text: str) -> None:
        self._shown = True
        print(
            f"\r\x1b[K{truncate(text, terminal_width() - 1)}", end="", file=sys.stderr, flush=True
        )


class ProgressLine(StatusLine):
    """Shows the progress of a change that consists of several calls."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def on_event(self, event: Event) -> None:
        """Redraw the line; the end of one call does not clear it."""
        if not self._wanted:
            return
        from handrail.core.events import CallHeartbeat, CallProgress

        if isinstance(event, CallProgress):
            self._latest = event.text
            self._draw(f"{self._what}: {one_line(event.text)}")
        elif isinstance(event, CallHeartbeat):
            self._draw(f"{self._what}: {self._latest or f'{event.elapsed_s:.0f} s'}")


class LiveOutputPrinter(StatusLine):
    """Also prints the output of a command as it comes, if standard output is a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self._live = sys.stdout.isatty()
        self._printed = False
        self._complete = True
        self._line_ended = True

    @property
    def active(self) -> bool:
        """Whether events would be shown."""
        return self._live or self._wanted

    def on_event(self, event: Event) -> None:
        """Print output; draw the status line only below a finished line of output."""
        from handrail.core.events import CallHeartbeat, CallOutput

        if self._live and isinstance(event, CallOutput):
            self._print(event)
        elif self._line_ended or not isinstance(event, CallHeartbeat):
            super().on_event(event)

    def unprinted(self, result: ToolResult) -> ToolResult:
        """Return the result without the output that was printed; all of it if some was left out."""
        match = _EXIT_CODE.search(result.text)
        if not self._printed:
            return result
        if not self._line_ended:
            print()
        if match is None or not self._complete:
            return result
        return replace(result, text=result.text[match.start() :])

    def _print(self, event: CallOutput) -> None:
        from handrail.tools._lib.running_commands import quote_imitations

        self.clear()
        text = quote_imitations(event.text).replace("\r", "\n")
        print(safe_text(text), end="", file=_stream(event), flush=True)
        self._printed = True
        self._complete = self._complete and _LEFT_OUT not in event.text
        self._line_ended = text.endswith("\n")


def _stream(event: CallOutput) -> TextIO:
    return sys.stderr if event.stream == "stderr" and sys.stderr.isatty() else sys.stdout
