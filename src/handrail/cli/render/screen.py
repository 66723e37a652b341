"""Formats text for a terminal: colour, width, tables, sizes and times.

Colour is used only on a terminal, and not if NO_COLOR is set.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TextIO

from handrail.core.text.columns import cells, character_width
from handrail.core.text.safe_text import safe_text

_NOT_A_TERMINAL: Final = 120
_NARROWEST: Final = 40


class TextStyle(StrEnum):
    """The role of a piece of text, as its ANSI code."""

    HEADING = "1"
    FAINT = "2"
    GOOD = "32"
    BAD = "31"
    CAUTION = "33"
    PLACE = "36"


def use_colour(stream: TextIO | None = None) -> bool:
    """Return whether to use colour on this stream (default: standard output)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return (stream or sys.stdout).isatty()


def paint(text: str, style: TextStyle) -> str:
    """Return the text with colour codes, or unchanged where colour is not used."""
    return f"\x1b[{style}m{text}\x1b[0m" if text and use_colour() else text


def terminal_width() -> int:
    """Return the number of columns."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return max(shutil.get_terminal_size().columns, _NARROWEST)
    return _NOT_A_TERMINAL


def one_line(text: object) -> str:
    """Escape untrusted text and join its lines."""
    return safe_text(str(text), one_line=True)


def truncate(text: str, room: int) -> str:
    """Shorten text to `room` columns, with an ellipsis."""
    if cells(text) <= room:
        return text
    kept, used = "", 0
    for char in text:
        used += character_width(char)
        if used > room - 1:
            break
        kept += char
    return kept + "…"


def table(
    rows: Sequence[Sequence[str]],
    heads: Sequence[str],
    styles: Mapping[str, TextStyle] | None = None,
) -> Iterator[str]:
    """Format rows as an aligned table; the last column takes the remaining width.

    Cells must be escaped already. `styles` maps the text of a cell to its style.
    """
    columns = list(zip(heads, *rows, strict=True))
    widths = [max(cells(cell) for cell in column) for column in columns]
    widths[-1] = max(terminal_width() - sum(widths[:-1]) - 2 * (len(widths) - 1), 12)
    yield paint(_row(heads, widths, {}), TextStyle.HEADING)
    for row in rows:
        yield _row(row, widths, styles or {})


def colour_diff(text: str) -> Iterator[str]:
    """Escape text and colour the lines from its first diff header on."""
    inside = False
    for line in safe_text(text).split("\n"):
        inside = inside or line.startswith(("--- a/", "--- /dev/null"))
        yield _diff_line(line) if inside else line


def format_size(count: int) -> str:
    """Format a number of bytes, such as `1.5 MB`."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def count_noun(count: int, thing: str) -> str:
    """Format a number with its noun, such as `2 calls`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def format_time(at_ns: int) -> str:
    """Format a time in the local time zone, as ISO 8601 without an offset."""
    return _moment(at_ns).strftime("%Y-%m-%dT%H:%M:%S")


def iso_utc(at_ns: int) -> str:
    """Format a time as ISO 8601 in UTC, with milliseconds."""
    moment = datetime.fromtimestamp(at_ns / 1e9, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def format_times(moments: Sequence[int]) -> list[str]:
    """Format times for a column, without the date if all are today."""
    today = datetime.now().astimezone().date()
    if all(_moment(at_ns).date() == today for at_ns in moments):
        return [format_time(at_ns)[11:] for at_ns in moments]
    return [format_time(at_ns) for at_ns in moments]


def wrap(text: str, indent: str) -> Iterator[str]:
    """Escape text and wrap it to the terminal width with an indent."""
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
