"""Read a file or a range of its lines; any size, because only the range is read.

The read state records what was shown, so that a later edit can check whether the model knows the
file. A small file is read without a task or a thread.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import Field, field_validator

from handrail.core.arguments.params import Params
from handrail.core.context import ReadRecord, ToolContext
from handrail.core.effects import Effects
from handrail.core.lazy import Lazy
from handrail.core.names.caller_words import arg_name
from handrail.core.outputs import Outputs, output_call_id
from handrail.core.paths import ReadPath
from handrail.core.places import Kind, Place, Stat
from handrail.core.ports.machine import Files, Window
from handrail.core.problems import ProblemRaised
from handrail.core.results import FileRead, Output
from handrail.core.text.encoding import TextForm, detect
from handrail.core.tool import Group
from handrail.core.traits import READ_ONLY_PROFILES, RuleFamily, ToolTraits
from handrail.tools._lib.diff import split_lines
from handrail.tools._lib.stored_output import (
    PAGE_LINES,
    ROOM_FOR_NOTES,
    OutputRange,
    how_many_fit,
    how_to_continue,
    read_output,
)
from handrail.tools._lib.tool_base import (
    INTEGER,
    INTEGER_OR_NULL,
    MAX_LINE,
    STRING,
    Builtin,
    append_content_notes,
    clip,
    format_count,
    number_lines,
    object_schema,
    require_file,
    run_sized,
)

if TYPE_CHECKING:
    from handrail.core.ports.media import MediaReader

# Extensions of files that are not shown as text; the first bytes decide.
_MEDIA_NAMES: Final = frozenset(
    ("png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "ico", "avif", "pdf", "ipynb")
)
_ESCAPED: Final = re.compile(r"[^\t\n\x20-\x7e]|\\")
_LONGEST_ESCAPE: Final = 4


class FileStart(NamedTuple):
    """The beginning of a file and how it is shown; `form` is None for binary content."""

    data: bytes
    stat: Stat
    form: TextForm | None
    text: str

    @property
    def whole(self) -> bool:
        """Whether these are all bytes of the file."""
        return len(self.data) >= self.stat.size

    @property
    def encoding(self) -> str:
        """The name of the encoding, `binary` if there is none."""
        return self.form.name if self.form else "binary"

    @property
    def lines(self) -> int:
        """The number of lines that are shown, the last one possibly in part."""
        return len(split_lines(self.text))

    @property
    def notes(self) -> list[str]:
        """Return the notes about the text."""
        notes = []
        if not self.data:
            notes.append("the file exists but is empty")
        elif not self.whole:
            notes.append(f"the first {len(self.data):,} of {self.stat.size:,} bytes")
        elif self.form is not None and not self.text.endswith("\n"):
            notes.append(NO_FINAL_NEWLINE)
        if self.form is None:
            notes.append("binary content; bytes that are not plain text are shown as \\xNN")
        elif self.form.note:
            notes.append(self.form.note)
        return notes

    def record(self, read_at: float) -> ReadRecord:
        """Return the record of what the model has seen."""
        digest = hashlib.sha256(self.data).hexdigest() if self.whole else None
        return ReadRecord(read_at, 1, self.lines, self.stat, self.whole, digest)


def read_first_bytes(files: Files, place: Place, count: int, max_chars: int) -> FileStart:
    """Return up to `count` bytes; fewer if their text would not fit."""
    room = max_chars - ROOM_FOR_NOTES
    data = files.read_part(place, 0, min(count, room))
    stat = files.stat(place)
    if stat is None:
        raise ProblemRaised("not_found", f"{place.path!r} has just disappeared", field="path")
    form = detect(data, partial=len(data) < stat.size)
    if form is None:
        data = data[: room // _LONGEST_ESCAPE]
        return FileStart(data, stat, None, _ESCAPED.sub(_escape, data.decode("latin-1")))
    decoder = codecs.getincrementaldecoder(form.encoding)(form.errors)
    text = decoder.decode(data.removeprefix(form.bom), len(data) >= stat.size)
    return FileStart(data, stat, form, form.show(text))


def _escape(match: re.Match[str]) -> str:
    return "\\\\" if match[0] == "\\" else f"\\x{ord(match[0]):02x}"


LIMIT: Final = PAGE_LINES
NO_FINAL_NEWLINE: Final = "the last line has no newline at its end"
_FILE: Final = Kind.FILE
_RANGE: Final = re.compile(r"\s*(\d{1,15})\s*(?:-\s*(\d{1,15})\s*)?\Z")


class ReadFileParams(Params):
    path: ReadPath = Field(description="The file.")
    offset: int = Field(1, ge=0, description="First line to show, from 1.")
    limit: int = Field(LIMIT, ge=1, description="How many lines.")
    line_range: list[int] | str | None = Field(
        None, description='Instead of [[offset]] and [[limit]]: "10-20", inclusive.'
    )
    max_bytes: int | None = Field(
        None, ge=1, description="Only this many bytes; the way to look into a binary file."
    )
    number_lines: bool = Field(False, description="Put the line number before each line.")

    @field_validator("line_range")
    @classmethod
    def _a_range(cls, value: list[int] | str | None) -> list[int] | str | None:
        if value is not None:
            parse_range(value)
        return value


class ReadFile(Builtin[ReadFileParams]):
    name = "read_file"
    summary = "Read a text file, or some of its lines."
    params = ReadFileParams
    effects = Effects.READS_PATHS
    traits = ToolTraits(family=RuleFamily.READ, agent_profiles=READ_ONLY_PROFILES)
    group = Group.SEARCH
    idempotent = True
    max_chars = 100_000
    keep = "start"
    reads_outputs = True
    output_schema = object_schema(
        path=STRING,
        first=INTEGER,
        last=INTEGER,
        total=INTEGER_OR_NULL,
        encoding=STRING,
        size=INTEGER,
    )

    def __init__(
        self,
        files: Files,
        outputs: Outputs | None = None,
        media: Lazy[MediaReader] | None = None,
    ) -> None:
        self._files = files
        self._outputs = outputs
        self._media = media

    async def run(self, args: ReadFileParams, ctx: ToolContext) -> Output:
        """Show the lines, or the content of a file that is not text. Raises `not_found`,
        `not_text`, or `invalid_arguments` for a line past the end.
        """
        place = ctx.places.get("path")
        if place is None:
            return await self._read_output(args, ctx)
        if place.kind is not _FILE:
            require_file(place, "{tool_name[find_files]} finds the files in it")
        lines = parse_wanted_lines(args)
        if args.max_bytes is None and place.path.rpartition(".")[2].lower() in _MEDIA_NAMES:
            shown = await self._show_media(place, lines, args, ctx)
            if shown is not None:
                return shown
        try:
            return await self._read_lines(place, lines, args, ctx)
        except ProblemRaised as raised:
            # The extension does not decide about the content, and the bytes of a picture are not
            # text.
            if raised.problem.code != "not_text" or args.max_bytes is not None:
                raise
            shown = await self._show_media(place, lines, args, ctx)
            if shown is None:
                raise
            return shown

    async def _show_media(
        self, place: Place, lines: WantedLines, args: ReadFileParams, ctx: ToolContext
    ) -> Output | None:
        """Return a picture, pages of a PDF file or cells of a notebook; None for any other file,
        and for lines of a notebook.
        """
        from handrail.tools._lib.media_files import read_media

        by_lines = args.line_range is not None and place.path.lower().endswith(".ipynb")
        if self._media is None or by_lines:
            return None
        count = None if lines.lines == LIMIT else lines.lines
        return await read_media(self._files, self._media, place, (lines.first, count), ctx)

    async def _read_lines(
        self, place: Place, lines: WantedLines, args: ReadFileParams, ctx: ToolContext
    ) -> Output:
        if args.max_bytes is not None and lines == _EVERYTHING:
            return self._first_bytes(place, args.max_bytes, ctx)
        room = self.max_chars
        if args.max_bytes is not None:
            room = min(room, args.max_bytes + ROOM_FOR_NOTES)
        if lines.first == 1:
            # From the start at most 1 MB is read; only skipping lines can take long.
            view = self._view(place, lines, room, args)
        else:
            stat = self._files.stat(place)
            size = 0 if stat is None else stat.size
            view = await run_sized(size, self._view, place, lines, room, args)
        if view.text.startswith("%PDF-") and lines.first == 1 and args.max_bytes is None:
            shown = await self._show_media(place, lines, args, ctx)
            if shown is not None:
                return shown
        output = _output(place, view, args)
        _remember(ctx, place, view.window)
        return output

    async def _read_output(self, args: ReadFileParams, ctx: ToolContext) -> Output:
        call_id = output_call_id(args.path)
        if call_id is None:
            raise KeyError("path")
        requested, room = parse_wanted_lines(args), self.max_chars
        if args.max_bytes is not None:
            room = min(room, args.max_bytes + ROOM_FOR_NOTES)
        lines = OutputRange(requested.first, requested.lines, room, args.number_lines)
        return await read_output(self._outputs, call_id, lines, ctx)

    def _first_bytes(self, place: Place, count: int, ctx: ToolContext) -> Output:
        start = read_first_bytes(self._files, place, count, self.max_chars)
        ctx.reads.record_read(place.absolute, start.record(ctx.session.now_ns() / 1e9))
        return Output(
            append_content_notes(start.text, start.notes),
            data={
                "path": place.path,
                "first": 1,
                "last": start.lines,
                "total": start.lines if start.whole else None,
                "encoding": start.encoding,
                "size": start.stat.size,
            },
            modifiers=(FileRead(place.path, start.text),),
        )

    def _view(self, place: Place, lines: WantedLines, room: int, args: ReadFileParams) -> FileView:
        window = self._files.window(place, lines.first, lines.lines)
        if not window.number and lines.first > 1:
            raise _past_the_end(place, lines.first, window.total, args)
        text = _format_window(window, args)
        if len(text) <= room - ROOM_FOR_NOTES:
            return FileView(window, text, cut=False)
        fitting = how_many_fit(text.split("\n"), room)
        # Read again, so that the read state has exactly what is shown.
        window = self._files.window(place, lines.first, fitting)
        return FileView(window, _format_window(window, args)[: room - ROOM_FOR_NOTES], cut=True)


class WantedLines(NamedTuple):
    """The requested lines."""

    first: int
    lines: int


class FileView(NamedTuple):
    """The lines to show of a file; `cut`: fewer lines fit than were requested."""

    window: Window
    text: str
    cut: bool


_EVERYTHING: Final = WantedLines(1, LIMIT)


def parse_wanted_lines(args: ReadFileParams) -> WantedLines:
    """Return the lines that the arguments name, as offset and limit or as a range."""
    first = args.offset or 1
    if args.line_range is None:
        everything = first == 1 and args.limit == LIMIT
        return _EVERYTHING if everything else WantedLines(first, args.limit)
    start, end = parse_range(args.line_range)
    count = end - start + 1
    # A default value counts as omitted: some models send every argument.
    if first not in (1, start) or args.limit not in (LIMIT, count):
        raise ProblemRaised(
            "invalid_arguments",
            f"{arg_name('line_range')} {args.line_range!r} and offset/limit name different lines",
            hint=f"give either {arg_name('line_range')}, or offset and limit",
            field="line_range",
        )
    return WantedLines(start, count)


def parse_range(value: list[int] | str) -> tuple[int, int]:
    """Return the first and last line of `"10-20"`, `"10"` or `[10, 20]`; raises ValueError for
    anything else.
    """
    if isinstance(value, str):
        match = _RANGE.match(value)
        value = [int(match[1]), int(match[2] or match[1])] if match else []
    if len(value) != 2 or not 1 <= value[0] <= value[1]:
        raise ValueError('expected "FIRST-LAST" or [first, last] with 1 <= first <= last')
    return value[0], value[1]


def _format_window(window: Window, args: ReadFileParams) -> str:
    if len(window.text) <= MAX_LINE and not args.number_lines:
        return window.text
    lines = [clip(line) if len(line) > MAX_LINE else line for line in window.lines]
    return "\n".join(number_lines(lines, window.first) if args.number_lines else lines)


def _remember(ctx: ToolContext, place: Place, window: Window) -> None:
    record = ReadRecord(
        ctx.session.now_ns() / 1e9,
        window.first,
        window.number,
        window.stat,
        window.whole,
        window.digest,
        window.shown_digest,
    )
    ctx.reads.record_read(place.absolute, record, window.text)


def _output(place: Place, view: FileView, args: ReadFileParams) -> Output:
    window = view.window
    content = window.text if args.number_lines else view.text
    last = window.first + window.number - 1
    data = {
        "path": place.path,
        "first": window.first,
        "last": last,
        "total": window.total,
        "encoding": window.encoding,
        "size": window.stat.size,
    }
    text = append_content_notes(view.text, _notes(place, view, last))
    return Output(text, None, data, (FileRead(place.path, content),))


def _notes(place: Place, view: FileView, last: int) -> list[str]:
    window = view.window
    notes = []
    if not window.number:
        notes.append(f"{place.shown} exists but is empty")
    elif window.more:
        of = f" of {window.total:,}" if window.total is not None else ""
        why = "; no more fitted" if view.cut else ""
        notes.append(f"lines {window.first}-{last}{of}{why}; {how_to_continue(last + 1)}")
    elif window.first > 1:
        notes.append(f"lines {window.first}-{last}, the end of the file")
    if window.unterminated:
        notes.append(NO_FINAL_NEWLINE)
    if window.note:
        notes.append(window.note)
    return notes


def _past_the_end(
    place: Place, first: int, total: int | None, args: ReadFileParams
) -> ProblemRaised:
    length = "fewer lines" if total is None else f"only {format_count(total, 'line')}"
    return ProblemRaised(
        "invalid_arguments",
        f"line {first} is past the end: {place.path!r} has {length}",
        hint="ask for lines that exist",
        field="offset" if args.line_range is None else "line_range",
    )
