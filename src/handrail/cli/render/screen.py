"""Making text fit and stand out on a terminal: colour, width, tables, sizes, times.

Colour only where a person looks at it: a terminal, and no NO_COLOR in the environment.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, TextIO

from handrail.core.columns import cells, cells_of
from handrail.core.safe_text import safe_text

_NOT_A_TERMINAL: Final = 120
_NARROWEST: Final = 40


class TextStyle(StrEnum):
    """What a piece of text is, as its ANSI code."""

    HEADING = "1"
    FAINT = "2"
    GOOD = "32"
    BAD = "31"
    CAUTION = "33"
    PLACE = "36"


def use_colour(stream: TextIO | None = None) -> bool:
    """Whether colour is wanted on this stream (standard output if not given)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return (stream or sys.stdout).isatty()


def paint(text: str, style: TextStyle) -> str:
    """The text in a style, on a terminal that wants it; unchanged elsewhere."""
    return f"\x1b[{style}m{text}\x1b[0m" if text and use_colour() else text


def terminal_width() -> int:
    """How many columns a line may use."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return max(shutil.get_terminal_size().columns, _NARROWEST)
    return _NOT_A_TERMINAL


def one_line(text: object) -> str:
    """Foreign text made safe, on one line."""
    return safe_text(str(text), one_line=True)


def truncate(text: str, room: int) -> str:
    """The text in at most `room` columns, with an ellipsis where something is missing."""
    if cells(text) <= room:
        return text
    kept, used = "", 0
    for char in text:
        used += cells_of(char)
        if used > room - 1:
            break
        kept += char
    return kept + "…"


def table(
    rows: Sequence[Sequence[str]],
    heads: Sequence[str],
    styles: Mapping[str, TextStyle] | None = None,
) -> Iterator[str]:
    """Aligned lines below their heads; the last column takes what is left of the width.

    The cells are plain text that is safe already; `styles` paints cells of exactly that text.
    """
    columns = list(zip(heads, *rows, strict=True))
    widths = [max(cells(cell) for cell in column) for column in columns]
    widths[-1] = max(terminal_width() - sum(widths[:-1]) - 2 * (len(widths) - 1), 12)
    yield paint(_row(heads, widths, {}), TextStyle.HEADING)
    for row in rows:
        yield _row(row, widths, styles or {})


def colour_diff(text: str) -> Iterator[str]:
    """Safe lines of a text, coloured from its first diff header on."""
    inside = False
    for line in safe_text(text).split("\n"):
        inside = inside or line.startswith(("--- a/", "--- /dev/null"))
        yield _diff_line(line) if inside else line


def format_size(count: int) -> str:
    """A number of bytes in words."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def count_noun(count: int, thing: str) -> str:
    """A number and its noun."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def format_time(at_ns: int) -> str:
    """A moment in the person's own time zone."""
    return _moment(at_ns).strftime("%Y-%m-%d %H:%M:%S")


def format_times(moments: Sequence[int]) -> list[str]:
    """Moments for a column: without the day if all of them are today's."""
    today = datetime.now().astimezone().date()
    if all(_moment(at_ns).date() == today for at_ns in moments):
        return [format_time(at_ns)[11:] for at_ns in moments]
    return [format_time(at_ns) for at_ns in moments]


def wrap(text: str, indent: str) -> Iterator[str]:
    """Safe text folded into the width, every line behind the indent."""
    import textwrap

    for line in safe_text(text).split("\n"):
        yield from textwrap.wrap(
            line,
            terminal_width(),
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [indent]


def _moment(at_ns: int) -> datetime:
    return datetime.fromtimestamp(at_ns / 1e9).astimezone()


def _row(texts: Sequence[str], widths: Sequence[int], styles: Mapping[str, TextStyle]) -> str:
    parts = []
    for text, room in zip(texts, widths, strict=True):
        shown = truncate(text, room)
        padding = " " * (room - cells(shown))
        parts.append((paint(shown, styles[text]) if text in styles else shown) + padding)
    return "  ".join(parts).rstrip()


def _diff_line(line: str) -> str:
    if line.startswith(("+++", "---")):
        return paint(line, TextStyle.HEADING)
    styles = {"+": TextStyle.GOOD, "-": TextStyle.BAD, "@": TextStyle.PLACE}
    style = styles.get(line[:1])
    return paint(line, style) if style else line
