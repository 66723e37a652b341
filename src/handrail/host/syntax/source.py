"""A file's content for the checkers, and the type of their results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self, TypeAlias

from handrail.core.ports.syntax import SyntaxFault
from handrail.core.text.encoding import detect

_WIDEST: Final = 200

# None: could not be checked, in contrast to no errors.
Faults: TypeAlias = list[SyntaxFault] | None


@dataclass(frozen=True)
class SourceText:
    """The bytes of a file and their text."""

    data: bytes
    text: str

    @classmethod
    def of(cls, data: bytes) -> Self | None:
        """The source; None if the bytes are not text."""
        form = detect(data)
        return None if form is None else cls(data, form.show(form.decode(data)))

    @cached_property
    def lines(self) -> list[str]:
        """The lines; only a line feed ends one."""
        return self.text.split("\n")

    def fault(self, line: int, column: int, message: str) -> SyntaxFault:
        """Return an error at a position, which is moved into the file if it lies outside."""
        line = min(max(line, 1), len(self.lines))
        return SyntaxFault(line, max(column, 1), message, self.line(line))

    def line(self, number: int) -> str:
        """A line, trimmed and cut; empty outside the file."""
        if not 1 <= number <= len(self.lines):
            return ""
        return self.lines[number - 1][: 4 * _WIDEST].strip()[:_WIDEST]
