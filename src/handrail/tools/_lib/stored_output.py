"""The full text of an earlier result, shown by lines like a file."""

from __future__ import annotations

from typing import NamedTuple

from handrail.core.context import ToolContext
from handrail.core.outputs import Outputs, StoredOutput, output_handle
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.tools._lib.builtin import sized
from handrail.tools._lib.commands.output import quote_imitations
from handrail.tools._lib.lines import MAX_LINE, clip, content_with_notes, counted, numbered
from handrail.tools._lib.paging import ROOM_FOR_NOTES, how_many_fit


class OutputRange(NamedTuple):
    """Which lines of an output are shown, and how; `room` is the most characters."""

    first: int
    lines: int
    room: int
    number_lines: bool


async def load_output(outputs: Outputs | None, call_id: str, ctx: ToolContext) -> str:
    """The text of a call's full output; raises `not_found` or `denied`."""
    if outputs is None:
        raise ProblemRaised("unavailable", "no earlier results can be read here", field="path")
    return _rendered(await outputs.load(call_id, ctx.call))


async def read_output(
    outputs: Outputs | None, call_id: str, wanted: OutputRange, ctx: ToolContext
) -> Output:
    """Some lines of a call's full output; raises `not_found`, `denied`, or
    `invalid_arguments` past the end.
    """
    text = await load_output(outputs, call_id, ctx)
    return await sized(len(text), _page, text, output_handle(call_id), wanted)


def _rendered(stored: StoredOutput) -> str:
    if not stored.streams:
        return stored.text
    blocks = [
        f"{stream.name}:\n{quote_imitations(stream.text.removesuffix(chr(10)))}"
        for stream in stored.streams
        if stream.text
    ]
    return "\n".join([*blocks, f"exit_code: {stored.exit_code}"])


def _page(text: str, handle: str, wanted: OutputRange) -> Output:
    lines = text.removesuffix("\n").split("\n") if text else []
    total, first = len(lines), wanted.first
    if first > max(total, 1):
        raise ProblemRaised(
            "invalid_arguments",
            f"line {first} is past the end: {handle!r} has only {counted(total, 'line')}",
            hint="ask for lines that exist",
            field="offset",
        )
    chosen = [
        clip(line) if len(line) > MAX_LINE else line for line in lines[first - 1 :][: wanted.lines]
    ]
    if wanted.number_lines:
        chosen = numbered(chosen, first)
    fitting = how_many_fit(chosen, wanted.room) if chosen else 0
    last = first + fitting - 1
    notes = []
    if last < total:
        notes.append(f"lines {first}-{last} of {total:,}; go on with offset={last + 1}")
    elif not total:
        notes.append(f"{handle} is empty")
    shown = "\n".join(chosen[:fitting])[: max(wanted.room - ROOM_FOR_NOTES, 1)]
    size = len(text.encode("utf-8", "surrogatepass"))
    data = {
        "path": handle,
        "first": first,
        "last": last,
        "total": total,
        "encoding": "utf-8",
        "size": size,
    }
    return Output(content_with_notes(shown, notes), data=data)
