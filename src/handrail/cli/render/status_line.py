"""One line at the foot of a terminal while a call runs: how long, and what it said last.

It is never there when something else is written, and nobody but a person at a terminal sees it.
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
    """Follows the events of one call on standard error."""

    def __init__(self) -> None:
        self._wanted = use_colour(sys.stderr)
        self._shown = False
        self._said = ""

    def on_event(self, event: Event) -> None:
        """Draw the line anew, or take it away."""
        if not self._wanted:
            return
        if isinstance(event, CallOutput):
            self._said = ([self._said, *filter(str.strip, event.text.splitlines())])[-1]
        elif isinstance(event, CallProgress):
            self._said = event.text
        elif isinstance(event, CallHeartbeat):
            said = f": {one_line(self._said.strip())}" if self._said else ""
            self._draw(f"{event.tool}, {event.elapsed_s:.0f} s{said}")
        elif isinstance(event, CallEnded):
            self.clear()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """While somebody is asked, the terminal is theirs."""
        self.clear()
        wanted, self._wanted = self._wanted, False
        try:
            yield
        finally:
            self._wanted = wanted

    def clear(self) -> None:
        """Leave nothing on the screen."""
        if self._shown:
            self._shown = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _draw(self, text: str) -> None:
        self._shown = True
        print(
            f"\r\x1b[K{truncate(text, terminal_width() - 1)}", end="", file=sys.stderr, flush=True
        )


class ProgressLine(StatusLine):
    """Follows a change of many files, which is carried out in several calls."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def on_event(self, event: Event) -> None:
        """Draw the line anew; the end of one part is not the end."""
        if not self._wanted:
            return
        if isinstance(event, CallProgress):
            self._said = event.text
            self._draw(f"{self._what}: {one_line(event.text)}")
        elif isinstance(event, CallHeartbeat):
            self._draw(f"{self._what}: {self._said or f'{event.elapsed_s:.0f} s'}")
