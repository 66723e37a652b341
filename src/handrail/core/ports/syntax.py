"""The protocol for finding syntax errors that a change introduced."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from handrail.core.text.content import Content


class SyntaxFault(NamedTuple):
    """One syntax error. `line` and `column` count from 1; `text` is the line, trimmed. `reader` is the
    parser, such as Python 3.11, because another version might accept the file.
    """

    line: int
    column: int
    message: str
    text: str
    reader: str = ""


class SyntaxCheck(Protocol):
    """Checks a file after a change. Never refuses a change, never raises, and always ends."""

    def can_check(self, path: str) -> bool:
        """Whether files of this name are checked at all."""

    async def new_errors(
        self, path: str, before: Content | None, after: Content
    ) -> tuple[SyntaxFault, ...]:
        """Errors that the file has now and did not have before (None: there was no file).

        Empty also for files that cannot be checked: other types, templates, large files.
        """
