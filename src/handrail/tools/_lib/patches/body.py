"""The lines below an `@@` line: which of them belong to the hunk, and what each one means.

Counts are believed only if they fit what is there; otherwise the hunk goes on until
something begins that cannot be part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from handrail.tools._lib.patches.model import Hunk, Line
from handrail.tools._lib.patches.text import names_one_file
from handrail.tools._lib.patches.where import Where

_VERSION: Final = re.compile(r"\d+\.\d+[\w.() -]*")
Ends = Callable[[Sequence[str], int], bool]


@dataclass(slots=True)
class Body:
    """A hunk while it is read; `end` is the first line after it."""

    lines: list[Line] = field(default_factory=list)
    end: int = 0
    old_ends: bool = False
    new_ends: bool = False
    counted: bool = False

    def hunk(self, where: Where, *, at_end: bool = False) -> Hunk:
        """The finished hunk."""
        added = len(self.lines) if all(line.sign == "+" for line in self.lines) else None
        return Hunk(
            tuple(self.lines),
            line=where.line,
            anchors=where.anchors,
            heading=where.heading,
            at_end=at_end or self.old_ends,
            old_ends=self.old_ends,
            new_ends=self.new_ends,
            counted=self.counted,
            numbered=where.old_count == 0 and where.new_count == added,
        )

    def take(self, text: str) -> Line | None:
        """Add one line of the patch; None if it is the mark for a missing newline."""
        if is_no_newline(text):
            self._mark()
            return None
        line = read_line(text)
        self.lines.append(line)
        return line

    def trim(self) -> None:
        """Drop empty lines at the end that nobody marked: they only part hunks."""
        while self.lines and self.lines[-1].bare and not self.lines[-1].text:
            self.lines.pop()

    def _mark(self) -> None:
        if not self.lines:
            return
        last = self.lines[-1] = self.lines[-1]._replace(crlf=None)
        self.old_ends |= last.sign != "+"
        self.new_ends |= last.sign != "-"


def read_line(text: str) -> Line:
    """A line by its first character; one without a known mark is context that lost it."""
    crlf = text.endswith("\r")
    text = text.removesuffix("\r")
    match text[:1]:
        case "+":
            return Line("+", text[1:], crlf=crlf)
        case "-":
            return Line("-", text[1:], crlf=crlf)
        case " ":
            return Line(" ", text[1:], crlf=crlf)
        case _:
            return Line(" ", text, bare=True, crlf=crlf)


def is_no_newline(text: str) -> bool:
    """Whether this is diff's mark, in any language, for a last line without newline."""
    return text.startswith("\\ ") and (len(text) > 10 or "newline" in text.lower())


def read_body(lines: Sequence[str], at: int, where: Where, ends: Ends) -> Body:
    """The body that begins at line `at`; `ends` tells where another part of the patch begins."""
    counted = _by_counts(lines, at, where, ends)
    if counted is not None:
        return counted
    body = Body()
    while at < len(lines) and not ends(lines, at) and not _is_signature(lines, at):
        body.take(lines[at])
        at += 1
    body.trim()
    body.end = at
    return body


def _by_counts(lines: Sequence[str], at: int, where: Where, ends: Ends) -> Body | None:
    if where.old_count is None or where.new_count is None:
        return None
    body = Body()
    old, new = where.old_count, where.new_count
    while old > 0 or new > 0 or (at < len(lines) and is_no_newline(lines[at])):
        if at >= len(lines) or names_one_file(lines, at):
            return None
        line = body.take(lines[at])
        at += 1
        if line is None:
            continue
        if line.bare and line.text:
            return None
        old -= line.sign != "+"
        new -= line.sign != "-"
    body.end, body.counted = at, True
    return body if (old, new) == (0, 0) and _is_over(lines, at, ends) else None


def _is_over(lines: Sequence[str], at: int, ends: Ends) -> bool:
    """Whether nothing that could belong to a hunk stands before the next part of the patch."""
    while at < len(lines) and not ends(lines, at) and not _is_signature(lines, at):
        if lines[at].strip() and not lines[at][0].isalnum():
            return False
        at += 1
    return True


def _is_signature(lines: Sequence[str], at: int) -> bool:
    """Whether a mail's signature begins here, as `git format-patch` adds it."""
    return (
        lines[at] in ("-- ", "--")
        and at + 1 < len(lines)
        and _VERSION.fullmatch(lines[at + 1]) is not None
        and not any(line.strip() for line in lines[at + 2 :])
    )
