"""Formats text for a terminal: colour, width, tables, sizes and times.

Colour is used only on a terminal, and not if NO_COLOR is set.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TextIO

from handrail.core.text.columns import cells, character_width
from handrail.core.text.columns import rows as fold_text
from handrail.core.text.safe_text import safe_text

MARGIN: Final = "│ "
_NOT_A_TERMINAL: Final = 120
_NARROWEST: Final = 40
_NARROW: Final = 80
# The minimum width of the last column of a table, and its indentation on separate lines.
_LEAST: Final = 12
_INDENT: Final = "    "
_COLOUR: Final = re.compile(r"\x1b\[\d*m")
# The first of two columns.
_FIRST_COLUMN: Final = re.compile(r" *\S+(?: \S+)* {2,}(?=\S)")


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


def has_width(stream: TextIO | None = None) -> bool:
    """Return whether a stream (default: standard output) is read on a screen: it is a terminal, or
    COLUMNS is set.
    """
    return (stream or sys.stdout).isatty() or "COLUMNS" in os.environ


def terminal_width(stream: TextIO | None = None) -> int:
    """Return the number of columns of a stream, by default of standard output."""
    if not has_width(stream):
        return _NOT_A_TERMINAL
    columns = shutil.get_terminal_size().columns
    if stream is not None and "COLUMNS" not in os.environ:
        # A terminal of unknown size reports zero.
        columns = os.get_terminal_size(stream.fileno()).columns or columns
    return max(columns, _NARROWEST)


def is_narrow() -> bool:
    """Return whether standard output is too narrow for full times beside other columns."""
    return terminal_width() < _NARROW


def one_line(text: object) -> str:
    """Escape untrusted text and join its lines."""
    return safe_text(str(text), one_line=True)


def truncate(text: str, room: int) -> str:
    """Shorten text to `room` columns, with an ellipsis."""
    if cells(text) <= room:
        return text
    shown_text, used = "", 0
    for char in text:
        used += character_width(char)
        if used > room - 1:
            break
        shown_text += char
    return shown_text + "…"


def truncate_path(text: str, room: int) -> str:
    """Shorten text; of a path, the beginning is left out."""
    if "/" not in text or " " in text or "=" in text:
        return truncate(text, room)
    return truncate(text[::-1], room)[::-1]


def table(
    rows: Sequence[Sequence[str]],
    heads: Sequence[str],
    styles: Mapping[str, TextStyle] | None = None,
) -> Iterator[str]:
    """Format rows as an aligned table; the last column takes the remaining width.

    Cells must be escaped already. `styles` maps the text of a cell to its style. On a narrow
    terminal, columns that do not fit continue on indented lines.
    """
    columns = list(zip(heads, *rows, strict=True))
    groups = _group_columns([max(map(cells, column)) for column in columns])
    yield from (paint(line, TextStyle.HEADING) for line in _lines(heads, groups, {}))
    for row in rows:
        yield from _lines(row, groups, styles or {})


def _group_columns(widths: Sequence[int]) -> list[list[int]]:
    """Return the widths of the columns of each line of a row: one line, unless the screen is too
    narrow.
    """
    total, last = terminal_width(), len(widths) - 1
    groups: list[list[int]] = [[]]
    left = total
    for number, width in enumerate(widths):
        gap = 2 if groups[-1] else 0
        least = min(_LEAST, width) if number == last else width
        if groups[-1] and gap + least > left and has_width():
            groups.append([])
            left, gap = total - len(_INDENT), 0
        needed = max(left - gap, _LEAST) if number == last else width
        groups[-1].append(min(needed, total - len(_INDENT)) if len(groups) > 1 else needed)
        left -= gap + needed
    return groups


def _lines(
    row: Sequence[str], groups: Sequence[Sequence[int]], styles: Mapping[str, TextStyle]
) -> Iterator[str]:
    start = 0
    for number, widths in enumerate(groups):
        texts = row[start : start + len(widths)]
        start += len(widths)
        if number == 0:
            yield _row(texts, widths, styles)
        elif any(texts):
            yield _INDENT + _row(texts, widths, styles)


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


def column_times(moments: Sequence[int]) -> list[str]:
    """Format times for a column, in full unless the terminal is narrow."""
    if is_narrow():
        return format_times(moments)
    return [format_time(at_ns) for at_ns in moments]


def wrap(text: str, indent: str, width: int | None = None) -> Iterator[str]:
    """Escape text and wrap it to the width, by default that of the terminal, with an indent. A word
    that is too long is broken, so that no part of it begins before the indent.
    """
    room = max((width or terminal_width()) - cells(indent), 1)
    for line in fold_text(safe_text(text), room):
        yield f"{indent}{line}".rstrip(" ") or indent


def wrap_columns(line: str, width: int | None = None) -> list[str]:
    """Wrap a line of trusted text between words, by default at the width of the screen. The second
    of two columns keeps its indentation. Without a screen, the line stays unchanged.
    """
    if width is None and not has_width():
        return [line]
    room, plain = width or terminal_width(), _COLOUR.sub("", line)
    if cells(plain) <= room:
        return [line]
    column, indent = _FIRST_COLUMN.match(plain), len(plain) - len(plain.lstrip())
    hanging = max(4, indent) if indent else 0
    if column is not None and column.end() <= room * 2 // 3:
        hanging = column.end()
    elif column is not None and "\x1b" not in line[: column.end()]:
        # The second column has no room beside the first.
        rest = " " * max(4, 2 * indent) + line[column.end() :]
        return [*wrap_columns(line[: column.end()].rstrip(), room), *wrap_columns(rest, room)]
    rows, row, used = list[str](), "", 0
    for piece in re.split("( +)", line):
        size = cells(_COLOUR.sub("", piece))
        # A word that fits on no row stays in place.
        if used + size > room >= hanging + size and row.strip() and piece.strip():
            rows.append(row.rstrip(" "))
            row, used = " " * hanging, hanging
        if piece.strip() or not rows or row.strip():
            row, used = row + piece, used + size
    return [*rows, row]


def fold_line(line: str, width: int | None = None) -> list[str]:
    """Fold a line with untrusted text, by default at the width of the screen, so that no part of it
    begins in the first column: below a margin it keeps the margin, otherwise it is indented.
    Without a screen, the line stays unchanged.
    """
    if width is None and not has_width():
        return [line]
    room = width or terminal_width()
    if line.startswith(MARGIN):
        text = line.removeprefix(MARGIN)
        return [f"{MARGIN}{row}" for row in fold_text(text, room - len(MARGIN))]
    first, *rest = fold_text(line, room if cells(line) <= room else room - len(_INDENT))
    return [first.rstrip(" "), *(f"{_INDENT}{row}".rstrip(" ") for row in rest)]


def fold_coloured(line: str) -> list[str]:
    """Fold a line that may have colours like `fold_line`; a line that does not fit loses them."""
    plain = _COLOUR.sub("", line)
    return [line] if not has_width() or cells(plain) <= terminal_width() else fold_line(plain)


def _moment(at_ns: int) -> datetime:
    return datetime.fromtimestamp(at_ns / 1e9).astimezone()


def _row(texts: Sequence[str], widths: Sequence[int], styles: Mapping[str, TextStyle]) -> str:
    parts = []
    for text, room in zip(texts, widths, strict=True):
        shown = truncate_path(text, room)
        padding = " " * (room - cells(shown))
        parts.append((paint(shown, styles[text]) if text in styles else shown) + padding)
    return "  ".join(parts).rstrip()


def _diff_line(line: str) -> str:
    if line.startswith(("+++", "---")):
        return paint(line, TextStyle.HEADING)
    styles = {"+": TextStyle.GOOD, "-": TextStyle.BAD, "@": TextStyle.PLACE}
    style = styles.get(line[:1])
    return paint(line, style) if style else line
