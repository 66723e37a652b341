"""What a command said, as a model reads it: three blocks, cut in the middle where too long.

Nothing a command prints can pass for one of our own lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from handrail.core.ports.processes import Captured, Ended

# A line of the command's that looks like one of ours.
_IMITATION: Final = re.compile(r"^(?=(?:stdout|stderr|exit_code):|\[handrail[: ])", re.MULTILINE)
_QUOTE: Final = "> "
_LEAST_ERROR_LINES: Final = 10


class Shown(NamedTuple):
    """The text of a stream as it is shown, and how many lines of it are not."""

    text: str
    omitted: int


def streams_of(ended: Ended, max_lines: int) -> dict[str, Shown]:
    """Both streams by name, as they are shown."""
    return {
        "stdout": shown(ended.stdout, max_lines),
        "stderr": shown(ended.stderr, max(max_lines // 4, _LEAST_ERROR_LINES)),
    }


def told(streams: Mapping[str, Shown], exit_code: int) -> str:
    """The whole result: stdout, stderr, exit code. An empty stream is left out."""
    blocks = [f"{name}:\n{part.text}" for name, part in streams.items() if part.text]
    return "\n".join([*blocks, f"exit_code: {exit_code}"])


def shown(captured: Captured, max_lines: int) -> Shown:
    """The first half and the last quarter of the lines that may be shown (R-01)."""
    whole = len(captured.head) + len(captured.tail) == captured.total
    if whole:
        lines = _lines(captured.head + captured.tail)
        if len(lines) <= max_lines:
            return Shown("\n".join(lines), 0)
        head, tail = _ends(lines, lines, max_lines)
        omitted = len(lines) - len(head) - len(tail)
        return Shown(_joined(head, f"{omitted} lines", tail), omitted)
    first, last = _lines(captured.head), _lines(captured.tail)
    # The lines next to the gap are torn, unless one line is all there is.
    head, tail = _ends(first[:-1] or first, last[1:] or last, max_lines)
    between = captured.total - len(captured.head) - len(captured.tail)
    kept = f", {captured.dropped:,} of them kept nowhere" if captured.dropped else ""
    return Shown(_joined(head, f"more than {between:,} bytes{kept}", tail), -1)


def _ends(first: list[str], last: list[str], max_lines: int) -> tuple[list[str], list[str]]:
    return first[: max_lines // 2], last[-(max_lines // 4) :] if max_lines >= 4 else []


def _joined(head: list[str], what: str, tail: list[str]) -> str:
    return "\n".join([*head, f"[handrail: {what} left out here]", *tail])


def quote_imitations(text: str) -> str:
    """What a program printed, so that no line of it passes for one of ours."""
    return _IMITATION.sub(_QUOTE, text.replace("\r\n", "\n"))


def _lines(data: bytes) -> list[str]:
    text = quote_imitations(data.decode("utf-8", "replace"))
    return text.removesuffix("\n").split("\n") if text else []
