"""Write a whole file, or append to it."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.paths import WritePath
from handrail.core.places import Kind, Place
from handrail.core.plan import Change, Plan
from handrail.core.ports.machine import FileContent, Files
from handrail.core.text.content import Content
from handrail.core.text.encoding import UTF8, TextForm, detect
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.tools._lib.byte_text import ByteText, Splice, apply_splices, detect_form
from handrail.tools._lib.diff import (
    DiffHunk,
    count_lines,
    make_hunks,
    plan_creation,
    render_diff,
    split_lines,
)
from handrail.tools._lib.tool_base import (
    BOOLEAN,
    INTEGER,
    STRING,
    Builtin,
    format_count,
    object_schema,
    require_file,
    run_sized,
    size_to_change,
)

_MAX_DIFFED: Final = 2_000_000
# Cost factor: both contents are split and compared, per byte that could be scanned instead.
_OVERWRITE_WORK: Final = 5


class WriteFileParams(Params):
    path: WritePath = Field(description="The file; missing directories are made.")
    content: str = Field(description="The text to write.")
    mode: Literal["overwrite", "append"] = Field("overwrite", description="append adds to the end.")


class WriteFile(Builtin[WriteFileParams]):
    name = "write_file"
    summary = "Create or overwrite a file, or append to it."
    params = WriteFileParams
    effects = Effects.WRITES_PATHS
    traits = ToolTraits(family=RuleFamily.WRITE, writes_whole_files=True)
    group = Group.EDIT
    output_schema = object_schema(path=STRING, created=BOOLEAN, lines=INTEGER, bytes=INTEGER)

    def __init__(self, files: Files) -> None:
        self._files = files

    async def plan(self, args: WriteFileParams, ctx: ToolContext) -> Plan:
        """Return the write; raises `not_text` if the path is not a regular file."""
        place = ctx.places["path"]
        require_file(place, "name a file in it")
        if place.kind is Kind.MISSING:
            return await run_sized(len(args.content), plan_creation, place, args.content)
        size = size_to_change(place, self._files.stat(place)) + len(args.content)
        if args.mode == "append":
            return await run_sized(size, self._append, place, args.content)
        return await run_sized(size * _OVERWRITE_WORK, self._overwrite, place, args.content)

    def _append(self, place: Place, content: str) -> Plan:
        current = self._files.read(place)
        data = current.content.tobytes()
        file = ByteText(data, detect_form(data, content))
        text = _fitted(content, file)
        added = file.form.encode_part(text.text)
        if not added:
            return _unchanged(place, current, "nothing to append")
        splices = [Splice(len(data), len(data), added)]
        change = Change(place, current.content, apply_splices(data, splices), current.stat)
        last = file.lines_between(0, len(data)) + 1
        lines = count_lines(content)
        return _plan(
            "nothing",
            change,
            f"appended {format_count(lines, 'line')} to {place.shown}{text.note}",
            render_diff(place.path, make_hunks(file, splices, last)),
            lines,
        )

    def _overwrite(self, place: Place, content: str) -> Plan:
        current = self._files.read(place)
        data = current.content.tobytes()
        old = detect(data)
        form = old if old is not None and (old.bom or old.unit == 2) else UTF8
        text = _fitted(content, ByteText(data, form))
        after = Content(form.encode(text.text.removeprefix("\ufeff") if form.bom else text.text))
        if after.tobytes() == data:
            return _unchanged(place, current, "it has this content already")
        notes = text.note
        if old is not None and old.encoding != form.encoding:
            notes += f"; it was {old.name}, now it is {form.name}"
        lines = count_lines(content)
        size = f"{format_count(lines, 'line')}, {format_count(len(after), 'byte')}"
        return _plan(
            "all",
            Change(place, current.content, after, current.stat),
            f"overwrote {place.shown} ({size}){notes}",
            _preview(place, data, old, text.text),
            lines,
        )


class _FittedText(NamedTuple):
    text: str
    note: str


def _fitted(content: str, file: ByteText) -> _FittedText:
    endings = file.count(file.cr + file.lf)
    if endings and endings == file.count(file.lf) and "\n" in content and "\r" not in content:
        return _FittedText(content.replace("\n", "\r\n"), "; line endings are CRLF, as before")
    return _FittedText(content, "")


def _plan(
    relies_on: Literal["all", "nothing"], change: Change, text: str, preview: str, lines: int
) -> Plan:
    size = len(change.after) if change.after is not None else 0
    data = {"path": change.path, "created": False, "lines": lines, "bytes": size}
    return Plan((change,), text, preview, data, relies_on)


def _unchanged(place: Place, content: FileContent, why: str) -> Plan:
    data = {"path": place.path, "created": False, "lines": 0, "bytes": len(content.content)}
    return Plan((), f"{place.shown} is unchanged: {why}", "", data)


def _preview(place: Place, data: bytes, old: TextForm | None, after: str) -> str:
    if old is None:
        return f"{place.shown}: {format_count(len(data), 'byte')} of binary content are replaced"
    if len(data) + len(after) > _MAX_DIFFED:
        return f"{place.shown}: {format_count(len(data), 'byte')} are replaced, too many to compare"
    before = split_lines(old.show(old.decode(data)))
    return render_diff(place.path, [DiffHunk(before, split_lines(after))])
