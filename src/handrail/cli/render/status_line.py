"""A status line on standard error while a call runs: elapsed time and the latest output.

The line is shown only on a terminal, and is cleared before anything else is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from handrail.cli.render.screen import one_line, terminal_width, truncate, use_colour
from handrail.core.events import CallEnded, CallHeartbeat, CallOutput, CallProgress

if TYPE_CHECKING:
    from handrail.core.events import Event


class StatusLine:
    """Shows the progress of one call."""

    def __init__(self) -> None:
        self._wanted = use_colour(sys.stderr)
        self._shown = False
        self._latest = ""

    def on_event(self, event: Event) -> None:
        """Redraw or clear the line."""
        if not self._wanted:
            return
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
        wanted, self._wanted = self._wanted, False
        try:
            yield
        finally:
            self._wanted = wanted

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
        if isinstance(event, CallProgress):
            self._latest = event.text
            self._draw(f"{self._what}: {one_line(event.text)}")
        elif isinstance(event, CallHeartbeat):
            self._draw(f"{self._what}: {self._latest or f'{event.elapsed_s:.0f} s'}")
