"""What a patch says, whichever format it was written in; nothing here knows about files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from handrail.core.problems import ProblemRaised

Sign = Literal[" ", "-", "+"]
NO_NEWLINE: Final = "\\ No newline at end of file"


class Line(NamedTuple):
    """One line of a hunk without its ending, which is CRLF, a line feed, or (None) missing.

    `bare` if it stood there without the blank that marks context.
    """

    sign: Sign
    text: str
    bare: bool = False
    crlf: bool | None = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change and what was said about where it belongs.

    `number` counts hunks within their file from 1. `line` is the first line in the old
    file. `anchors` must be found above the hunk; `heading` (what diff tools print after the
    second `@@`) only helps to choose. `old_ends` and `new_ends` say that the old or new
    file ends here without a newline; `at_end` that the old file ends here. `counted`: it
    has as many lines as its `@@` line says, so that no mark was lost or added. `numbered`: it
    only adds lines, has no context, and its counts say so (`-9,0 +10,2`): its lines follow
    line `line`, which is all that tells where they belong.
    """

    lines: tuple[Line, ...]
    number: int = 1
    line: int | None = None
    anchors: tuple[str, ...] = ()
    heading: str = ""
    at_end: bool = False
    old_ends: bool = False
    new_ends: bool = False
    counted: bool = False
    numbered: bool = False

    @property
    def old(self) -> list[str]:
        """The lines before the change."""
        return [line.text for line in self.lines if line.sign != "+"]

    @property
    def new(self) -> list[str]:
        """The lines after the change."""
        return [line.text for line in self.lines if line.sign != "-"]

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.old != self.new or self.old_ends != self.new_ends or self.changes_endings

    @property
    def changes_endings(self) -> bool:
        """Whether a line goes and comes back with another ending and nothing else."""
        ended = [line for line in self.lines if line.crlf is not None]
        gone = {line.text: line.crlf for line in ended if line.sign == "-"}
        new = [line for line in ended if line.sign == "+"]
        return any(line.crlf != gone.get(line.text, line.crlf) for line in new)


class Action(StrEnum):
    """What a patch does to one file."""

    UPDATE = "update"
    CREATE = "create"
    DELETE = "delete"
    RENAME = "rename"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The part of a patch about one file; `old` and `new` are the names as written.

    `prefixed`: a diff tool may have put `a/` and `b/` before them. A name is empty if the
    patch gives none. `executable` is what the mode becomes, None if the patch leaves it.
    """

    action: Action
    old: str
    new: str
    hunks: tuple[Hunk, ...] = ()
    prefixed: bool = False
    executable: bool | None = None

    @property
    def name(self) -> str:
        """How to speak of it before it is known where it leads."""
        return self.new or self.old


def malformed(message: str, hint: str | None = None) -> ProblemRaised:
    """The patch cannot be understood."""
    return ProblemRaised(
        "invalid_arguments",
        message,
        hint=hint or "send a unified diff, or the *** Begin Patch format",
        field="patch",
    )


def numbered_hunks(hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
    """The hunks that change something, counted from 1 over all of them."""
    counted = [replace(hunk, number=number) for number, hunk in enumerate(hunks, 1)]
    return tuple([hunk for hunk in counted if hunk.changes])


def new_text(hunks: Sequence[Hunk]) -> str:
    """The text of a file that only additions make."""
    lines = [line for hunk in hunks for line in hunk.lines if line.sign != "-"]
    if not lines:
        return ""
    ended = [line.text + ("\r\n" if line.crlf else "\n") for line in lines[:-1]]
    last = lines[-1].text
    if not hunks[-1].new_ends:
        last += "\r\n" if lines[-1].crlf else "\n"
    return "".join([*ended, last])
