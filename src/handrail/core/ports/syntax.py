"""The port that finds syntax errors which a change introduced."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from handrail.core.text.content import Content


class SyntaxFault(NamedTuple):
    """One place where a file cannot be read; counted from 1, `text` is that line, trimmed.

    `reader` says who could not read it (Python 3.11), since another might.
    """

    line: int
    column: int
    message: str
    text: str
    reader: str = ""


class SyntaxCheck(Protocol):
    """Looks at a file after a change. Never refuses, never raises, always comes back."""

    def can_check(self, path: str) -> bool:
        """Whether files of this name are checked at all."""

    async def new_errors(
        self, path: str, before: Content | None, after: Content
    ) -> tuple[SyntaxFault, ...]:
        """Errors that the file has now and did not have before (None: there was no file).

        Empty also for files that cannot be checked: other types, templates, large files.
        """
