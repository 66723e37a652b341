"""One page of a list of findings, and the words that lead to the next.

A page never holds more than fits into the tool's result, so that the note at its end, which
says how to go on, is not what gets cut off.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from handrail.tools._lib.lines import counted

ROOM_FOR_NOTES: Final = 500


@dataclass(frozen=True, slots=True)
class Page:
    """`shown` findings from number `offset` (from 0) on, of `total`."""

    offset: int
    shown: int
    total: int

    @property
    def end(self) -> int:
        """The number of the first finding after the page."""
        return self.offset + self.shown

    @property
    def next_offset(self) -> int | None:
        """Where the next page begins, None after the last."""
        return self.end if self.shown and self.end < self.total else None

    def notes(self, word: str, *, complete: bool = True) -> list[str]:
        """What the model must know if this page is not everything."""
        in_all = "in all" if complete else "found before the search was stopped"
        everything = f"{counted(self.total, word)} {in_all}"
        if not self.shown:
            return [f"offset {self.offset} is past the end: {everything}"]
        if self.next_offset is not None:
            shown = f"{self.offset + 1}-{self.end}"
            return [f"{everything}, shown: {shown}; go on with offset={self.end}"]
        return [f"the last of {everything}"] if self.offset else []


def how_many_fit(lines: Iterable[str], max_chars: int) -> int:
    """How many lines from the start fit into a result of this size; at least one."""
    room = max_chars - ROOM_FOR_NOTES
    count = 0
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return max(count, 1)
        count += 1
    return count
