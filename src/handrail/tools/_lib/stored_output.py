"""Pages of search results, and the full text of an earlier result, shown by lines like a file.

A page always fits into the result of the tool, so that the note at its end, which names the next
page, is not cut off.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from handrail.core.context import ToolContext
from handrail.core.names.caller_words import shown_arg
from handrail.core.outputs import Outputs, StoredOutput, output_handle
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.tools._lib.tool_base import (
    MAX_LINE,
    append_content_notes,
    clip,
    format_count,
    number_lines,
    run_sized,
)

ROOM_FOR_NOTES: Final = 500
# The number of lines that are read unless a call gives another one.
PAGE_LINES: Final = 2_000


class Page(NamedTuple):
    """`shown` items from index `offset` on, of `total`."""

    offset: int
    shown: int
    total: int

    @property
    def end(self) -> int:
        """The index of the first item after the page."""
        return self.offset + self.shown

    @property
    def next_offset(self) -> int | None:
        """The offset of the next page, None after the last."""
        return self.end if self.shown and self.end < self.total else None

    def notes(self, word: str, *, complete: bool = True) -> list[str]:
        """Return the notes for the model if this page does not have everything."""
        in_all = "in all" if complete else "found before the search was stopped"
        everything = f"{format_count(self.total, word)} {in_all}"
        if not self.shown:
            return [f"offset {self.offset} is past the end: {everything}"]
        if self.next_offset is not None:
            shown = f"{self.offset + 1}-{self.end}"
            return [f"{everything}, shown: {shown}; {how_to_continue(self.end)}"]
        return [f"the last of {everything}"] if self.offset else []


def how_to_continue(offset: int) -> str:
    """Return how the caller gets the next part, as the end of a note."""
    if (word := shown_arg("offset")) is not None:
        return f"go on with {word}={offset}"
    if (word := shown_arg("line_range")) is not None:
        return f'go on with {word}="{offset}-{offset + PAGE_LINES - 1}"'
    if (word := shown_arg("limit")) is not None:
        return f"narrow it down, or raise {word}"
    return "narrow it down"


def how_many_fit(lines: Iterable[str], max_chars: int) -> int:
    """Return how many lines from the start fit into a result of this size; at least one."""
    room = max_chars - ROOM_FOR_NOTES
    count = 0
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return max(count, 1)
        count += 1
    return count


class OutputRange(NamedTuple):
    """Which lines of an output are shown, and how; `room` is the maximum of characters."""

    first: int
    lines: int
    room: int
    number_lines: bool


async def load_output(outputs: Outputs | None, call_id: str, ctx: ToolContext) -> str:
    """Return the full output of a call; raises `not_found` or `denied`."""
    if outputs is None:
        raise ProblemRaised("unavailable", "no earlier results can be read here", field="path")
    return _rendered(await outputs.load(call_id, ctx.call))


async def read_output(
    outputs: Outputs | None, call_id: str, selection: OutputRange, ctx: ToolContext
) -> Output:
    """Return some lines of the full output of a call; raises `not_found`, `denied` or
    `invalid_arguments`.
    """
    text = await load_output(outputs, call_id, ctx)
    return await run_sized(len(text), _page, text, output_handle(call_id), selection)


def _rendered(stored: StoredOutput) -> str:
    if not stored.streams:
        return stored.text
    from handrail.tools._lib.running_commands import quote_imitations

    blocks = [
        f"{stream.name}:\n{quote_imitations(stream.text.removesuffix(chr(10)))}"
        for stream in stored.streams
        if stream.text
    ]
    return "\n".join([*blocks, f"exit_code: {stored.exit_code}"])


def _page(text: str, handle: str, selection: OutputRange) -> Output:
    lines = text.removesuffix("\n").split("\n") if text else []
    total, first = len(lines), selection.first
    if first > max(total, 1):
        raise ProblemRaised(
            "invalid_arguments",
            f"line {first} is past the end: {handle!r} has only {format_count(total, 'line')}",
            hint="ask for lines that exist",
            field="offset",
        )
    chosen = [
        clip(line) if len(line) > MAX_LINE else line
        for line in lines[first - 1 :][: selection.lines]
    ]
    if selection.number_lines:
        chosen = number_lines(chosen, first)
    fitting = how_many_fit(chosen, selection.room) if chosen else 0
    last = first + fitting - 1
    notes = []
    if last < total:
        notes.append(f"lines {first}-{last} of {total:,}; {how_to_continue(last + 1)}")
    elif not total:
        notes.append(f"{handle} is empty")
    shown = "\n".join(chosen[:fitting])[: max(selection.room - ROOM_FOR_NOTES, 1)]
    size = len(text.encode("utf-8", "surrogatepass"))
    data = {
        "path": handle,
        "first": first,
        "last": last,
        "total": total,
        "encoding": "utf-8",
        "size": size,
    }
    return Output(append_content_notes(shown, notes), data=data)
