"""Replace a piece of a file: exactly the bytes that were named, or nothing.

Every byte outside the match stays what it was, whatever the encoding or line endings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from handrail.core.context import ToolContext
from handrail.core.paths import WritePath
from handrail.core.places import Kind, Place
from handrail.core.plan import Change, Plan
from handrail.core.ports import FileContent, Files
from handrail.core.problems import ProblemRaised
from handrail.core.tool import Group, Params
from handrail.tools._lib.builtin import (
    INTEGER,
    STRING,
    Builtin,
    object_schema,
    require_file,
    size_to_change,
    sized,
)
from handrail.tools._lib.bytetext import ByteText, form_of
from handrail.tools._lib.diff import MAX_SHOWN, render_diff
from handrail.tools._lib.lines import counted
from handrail.tools._lib.matching import Match, find_matches, replacement, without_overlaps
from handrail.tools._lib.nearest import nearest_lines
from handrail.tools._lib.newfile import creation
from handrail.tools._lib.splice import Splice, hunks_of, spliced

_MOST: Final = 1_000_000
_MOST_COUNTED: Final = 1_000
_LINES_NAMED: Final = 10


class EditFileParams(Params):
    path: WritePath = Field(description="The file.")
    old_string: str = Field(description="Text to replace, exactly as in the file.")
    new_string: str = Field(description="Text to put in its place, taken literally.")
    replace_all: bool = Field(False, description="Replace every occurrence.")


class EditFile(Builtin[EditFileParams]):
    name = "edit_file"
    summary = "Replace exact text in a file."
    params = EditFileParams
    group = Group.EDIT
    output_schema = object_schema(path=STRING, replacements=INTEGER, line=INTEGER)

    def __init__(self, files: Files) -> None:
        self._files = files

    async def plan(self, args: EditFileParams, ctx: ToolContext) -> Plan:
        """The edit; `no_match`, `already_applied`, `ambiguous`, `exists` or `not_found`."""
        place = ctx.places["path"]
        require_file(place, "edit_file changes one file; name the file in it")
        if args.old_string == args.new_string:
            raise ProblemRaised(
                "invalid_arguments",
                "old_string and new_string are the same, so nothing would change",
                field="new_string",
            )
        if not args.old_string:
            return _create(place, args)
        size = size_to_change(place, self._files.stat(place))
        return await sized(size, self._edit, place, args)

    def _edit(self, place: Place, args: EditFileParams) -> Plan:
        seen = self._files.read(place)
        data = seen.content.tobytes()
        file = ByteText(data, form_of(data, args.old_string, args.new_string))
        matches = _matches(file, args, place)
        splices = [
            Splice(match.start, match.end, replacement(file, match, args.new_string))
            for match in matches
        ]
        if all(data[one.start : one.end] == one.new for one in splices):
            raise ProblemRaised(
                "already_applied",
                f"{place.path!r} already has exactly this text, line endings included",
                hint="nothing is left to do",
            )
        return _plan(place, seen, file, splices)


def _create(place: Place, args: EditFileParams) -> Plan:
    if place.kind is not Kind.MISSING:
        raise ProblemRaised(
            "exists",
            f"old_string is empty, which creates a file, but {place.path!r} exists",
            hint="give the text to replace, or overwrite the file with write_file",
            field="old_string",
        )
    created = creation(place, args.new_string)
    data = {"path": place.path, "replacements": 1, "line": 1}
    return Plan(created.changes, created.text, created.preview, data)


def _plan(place: Place, seen: FileContent, file: ByteText, splices: Sequence[Splice]) -> Plan:
    change = Change(place, seen.content, spliced(file.data, splices), seen.stat)
    line = file.lines_between(0, splices[0].start) + 1
    diff = render_diff(place.path, hunks_of(file, splices, line))
    if len(splices) > MAX_SHOWN:
        diff += f"\n[{len(splices) - MAX_SHOWN:,} more replacements are not shown]"
    where = f"at line {line}" if len(splices) == 1 else f"from line {line} on"
    text = f"{place.shown}: {counted(len(splices), 'replacement')} {where}\n{diff}"
    data = {"path": place.path, "replacements": len(splices), "line": line}
    return Plan((change,), text, diff, data)


def _matches(file: ByteText, args: EditFileParams, place: Place) -> list[Match]:
    matches = _find(file, args.old_string, _MOST if args.replace_all else _MOST_COUNTED)
    if not matches:
        raise _not_there(file, args, place)
    if args.replace_all:
        return without_overlaps(matches)
    if len(matches) > 1:
        raise _ambiguous(file, matches, place)
    return matches


def _find(file: ByteText, text: str, most: int) -> list[Match]:
    try:
        return find_matches(file, text, most)
    except ProblemRaised:
        # The file's encoding has no such character, so the text cannot be in it.
        return []


def _not_there(file: ByteText, args: EditFileParams, place: Place) -> ProblemRaised:
    if args.new_string:
        done = _find(file, args.new_string, 2)
        if len(done) == 1:
            line = file.lines_between(0, done[0].start) + 1
            return ProblemRaised(
                "already_applied",
                f"old_string is not in {place.path!r}, but new_string is, at line {line}",
                hint="the edit seems to be done already; read the file if in doubt",
                field="old_string",
            )
    near = nearest_lines(file, args.old_string)
    message = f"old_string was not found in {place.path!r}"
    if near is None:
        hint = "nothing in the file is like it; read the file and copy the text exactly"
        return ProblemRaised("no_match", message, hint=hint, field="old_string")
    return ProblemRaised(
        "no_match",
        f"{message}; the nearest lines are\n{near}",
        hint="copy the text exactly, blanks and punctuation included, without line numbers",
        field="old_string",
    )


def _ambiguous(file: ByteText, matches: Sequence[Match], place: Place) -> ProblemRaised:
    numbers: list[int] = []
    line, at = 1, 0
    for match in matches[:_LINES_NAMED]:
        line += file.lines_between(at, match.start)
        at = match.start
        numbers.append(line)
    named = ", ".join(map(str, numbers))
    more = ", …" if len(matches) > _LINES_NAMED else ""
    least = "at least " if len(matches) == _MOST_COUNTED else ""
    return ProblemRaised(
        "ambiguous",
        f"old_string occurs {least}{len(matches)} times in {place.path!r}: lines {named}{more}",
        hint="include more surrounding lines so that it is unique, or set replace_all",
        field="old_string",
    )
