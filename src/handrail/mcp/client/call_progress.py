"""The time limit and the progress of a running call."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from handrail.core.context import ToolContext
from handrail.core.text.safe_text import safe_text

# The most progress messages of a call that are reported.
_MOST_REPORTS: Final = 200


class PausedLimit:
    """Pauses the time limit of a call while the user is asked; several questions may be open at once."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit
        self._left: float | None = None
        self._open = 0

    def __enter__(self) -> None:
        self._open += 1
        if self._open > 1:
            return
        until = self._limit.when()
        self._left = None if until is None else until - asyncio.get_running_loop().time()
        self._limit.reschedule(None)

    def __exit__(self, *exc: object) -> None:
        self._open -= 1
        if self._open == 0 and self._left is not None:
            # A call that has ended in the meantime has no limit any more.
            with suppress(RuntimeError):
                self._limit.reschedule(asyncio.get_running_loop().time() + self._left)


class ProgressReports:
    """Reports the progress messages of a server about a call, up to a limit."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._left = _MOST_REPORTS

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.pass_on(progress, total, message)

    def pass_on(self, progress: float, total: float | None, message: str | None) -> None:
        """Report one message as the progress of the call."""
        if self._left <= 0:
            return
        self._left -= 1
        of = "" if total is None else f" of {total:g}"
        suffix = f": {safe_text(message[:200], one_line=True)}" if message else ""
        self._ctx.report(f"{progress:g}{of}{suffix}")
