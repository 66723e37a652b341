"""Replace text in a file: exactly what the call means, or nothing.

Every byte outside of the changed lines stays the same, for all encodings and line endings. Several
edits of one call are made together or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, NoReturn

from pydantic import Field, model_validator

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.names.caller_words import arg_name
from handrail.core.paths import WritePath
from handrail.core.places import Kind, Place
from handrail.core.plan import Change, Plan
from handrail.core.ports.machine import FileContent, Files
from handrail.core.problems import ProblemRaised, ProblemTemplate
from handrail.core.text.content import Content
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.tools._lib.byte_text import (
    ByteText,
    Splice,
    apply_splices,
    compose_all,
    detect_form,
    splice_parts,
)
from handrail.tools._lib.diff import MAX_SHOWN, make_hunks, plan_creation, render_diff
from handrail.tools._lib.matching.exact import (
    FoundEdit,
    already_applied_problem,
    ambiguous_text_problem,
    find_exact,
    keep_mark,
    replace_everywhere,
)
from handrail.tools._lib.matching.omission import find_omission, omission_problem
from handrail.tools._lib.matching.pair import find_similar
from handrail.tools._lib.matching.pattern import find_pattern
from handrail.tools._lib.new_text.earlier_edits import refuse_cut_words
from handrail.tools._lib.new_text.lost_depth import refuse_lost_depth
from handrail.tools._lib.new_text.marks import SUSPECT, refuse_marked
from handrail.tools._lib.tool_base import (
    INLINE_BYTES,
    INTEGER,
    STRING,
    Builtin,
    format_count,
    object_schema,
    require_file,
    run_sized,
    size_to_change,
)

# Up to this many splices of an edit are composed with those of other edits of the call.
_MOST_COMPOSED: Final = 100_000
# Cost per byte of a search for similar text, and of a pattern, in bytes that could be scanned
# instead.
_SIMILAR_WORK: Final = 100
_PATTERN_WORK: Final = 250
_BOTH: Final = ("old_string", "new_string")
_FILE_EXISTS: Final = ProblemTemplate(
    "exists",
    "{arg[old_string]} is empty, which creates a file, but {path!r} exists",
    hint="give the text to replace, or overwrite the file with {tool_name[write_file]}",
)


class OneEdit(Params):
    old_string: str
    new_string: str
    replace_all: bool = False


class EditFileParams(Params):
    path: WritePath = Field(description="The file.")
    old_string: str = Field(description="Text to replace.")
    new_string: str = Field(description="Text to put in its place, taken literally.")
    replace_all: bool = Field(False, description="Replace every exact occurrence.")
    regex: bool = Field(
        False, description=r"[[old_string]] is an RE2 pattern; \g<1> in [[new_string]] is a group."
    )
    edits: list[OneEdit] = Field(
        default_factory=list, description="More replacements, made in order; all or none."
    )

    @model_validator(mode="before")
    @classmethod
    def _only_listed_edits(cls, arguments: Any) -> Any:
        """Allow omitting both texts if the call gives all its edits in the list."""
        if not isinstance(arguments, dict) or not arguments.get("edits"):
            return arguments
        return arguments if arguments.keys() & _BOTH else {**arguments, **dict.fromkeys(_BOTH, "")}


class EditFile(Builtin[EditFileParams]):
    name = "edit_file"
    summary = "Replace text in a file."
    params = EditFileParams
    effects = Effects.WRITES_PATHS
    traits = ToolTraits(family=RuleFamily.WRITE, quotes_content=True)
    group = Group.EDIT
    output_schema = object_schema(path=STRING, replacements=INTEGER, line=INTEGER, tier=STRING)

    def __init__(self, files: Files) -> None:
        self._files = files

    async def plan(self, args: EditFileParams, ctx: ToolContext) -> Plan:
        """The edit; raises `no_match`, `already_applied`, `ambiguous`, `exists` or `not_found`."""
        place = ctx.places["path"]
        require_file(place, "{tool_name[edit_file]} changes one file; name the file in it")
        edits = _edits(args)
        if not edits[0].old_string and not args.regex:
            return _create(place, edits)
        content = await self._read(place)
        data = content.content.tobytes()
        work = _work(data, edits, regex=args.regex)
        return await run_sized(work, _edit, place, content, data, edits, args.regex)

    async def _read(self, place: Place) -> FileContent:
        try:
            content = self._files.read(place, max_bytes=INLINE_BYTES)
        except ProblemRaised as raised:
            if raised.problem.code != "too_large":
                raise
            size = size_to_change(place, self._files.stat(place))
            return await run_sized(size, self._files.read, place)
        size_to_change(place, content.stat)
        return content


def _work(data: bytes, edits: Sequence[OneEdit], *, regex: bool) -> int:
    """Estimate the work of some edits, in bytes that could be scanned in that time."""
    if regex or len(data) > INLINE_BYTES:
        return len(data) * _PATTERN_WORK
    exact = sum(edit.old_string.encode("utf-8", "replace") in data for edit in edits)
    mixed = b"\r" in data and any(edit.replace_all for edit in edits)
    inexact = len(edits) if mixed else len(edits) - exact
    return len(data) * (len(edits) + _SIMILAR_WORK * inexact)


def _edit(
    place: Place, content: FileContent, data: bytes, edits: Sequence[OneEdit], regex: bool
) -> Plan:
    texts = [text for edit in edits for text in (edit.old_string, edit.new_string)]
    file = current = ByteText(data, detect_form(data, *texts))
    steps: list[FoundEdit] = []
    for index, edit in enumerate(edits):
        most = MAX_SHOWN if len(edits) == 1 else _MOST_COMPOSED
        try:
            step = _find_edit(current, place.path, edit, most, regex=regex)
            if index and step.tier == "exact":
                refuse_cut_words(file, current, place.path, edit.old_string)
            if step.result is not None and len(edits) > 1:
                raise _too_many(place.path, step.replacements)
        except ProblemRaised as raised:
            raise _add_edit_number(raised, index, edits) from raised
        steps.append(step)
        if index + 1 < len(edits):
            current = ByteText(apply_splices(current.data, step.splices).tobytes(), file.form)
    composed = _compose(steps)
    if all(file.data[splice.start : splice.end] == splice.new for splice in composed.splices):
        raise ProblemRaised(
            "invalid_arguments",
            f"the edits undo each other, so {place.path!r} would not change",
            field="edits",
        )
    return _plan(place, content, file, composed)


class ComposedEdits(NamedTuple):
    """All edits of a call, as splices of the original file; see `FoundEdit.result`."""

    splices: Sequence[Splice]
    replacements: int
    tiers: Sequence[str]
    notes: Sequence[str]
    result: bytes | None


def _compose(steps: Sequence[FoundEdit]) -> ComposedEdits:
    return ComposedEdits(
        compose_all([step.splices for step in steps]),
        sum([step.replacements for step in steps]),
        [step.tier for step in steps],
        [step.how for step in steps if step.how],
        steps[0].result,
    )


def _edits(args: EditFileParams) -> list[OneEdit]:
    has_own_pair = args.old_string or args.new_string or not args.edits
    first = [OneEdit.model_construct(**_pair(args))] if has_own_pair else []
    edits = [*first, *args.edits]
    for index, edit in enumerate(edits):
        if edit.old_string == edit.new_string:
            raise _add_edit_number(_no_change_problem(), index, edits)
        if not edit.old_string and index:
            raise _add_edit_number(_no_old_text_problem(), index, edits)
    return edits


def _pair(args: EditFileParams) -> dict[str, Any]:
    return {
        "old_string": args.old_string,
        "new_string": args.new_string,
        "replace_all": args.replace_all,
    }


def _no_change_problem() -> ProblemRaised:
    return ProblemRaised(
        "invalid_arguments",
        f"{arg_name('old_string')} and {arg_name('new_string')} are the same, so nothing would change",
        field="new_string",
    )


def _no_old_text_problem() -> ProblemRaised:
    return ProblemRaised(
        "invalid_arguments",
        f"{arg_name('old_string')} is empty, so there is nothing to replace",
        field="old_string",
    )


def _add_edit_number(raised: ProblemRaised, index: int, edits: Sequence[OneEdit]) -> ProblemRaised:
    """Return the problem with the number of its edit, if there are several."""
    if len(edits) == 1:
        return raised
    problem = raised.problem
    message = f"edit {index + 1} of {len(edits)}: {problem.message}; none of them was made"
    return ProblemRaised.of(replace(problem, message=message))


def _create(place: Place, edits: Sequence[OneEdit]) -> Plan:
    if place.kind is not Kind.MISSING:
        raise _FILE_EXISTS.error(path=place.path, field="old_string")
    if len(edits) > 1:
        raise _add_edit_number(_no_old_text_problem(), 0, edits)
    created = plan_creation(place, edits[0].new_string)
    data = {"path": place.path, "replacements": 1, "line": 1, "tier": "created"}
    return Plan(created.changes, created.text, created.preview, data)


def _find_edit(file: ByteText, path: str, edit: OneEdit, most: int, *, regex: bool) -> FoundEdit:
    old, new = edit.old_string, edit.new_string
    if regex:
        splices = find_pattern(file, path, old, new)
        if len(splices) > 1 and not edit.replace_all:
            raise ambiguous_text_problem(
                file, path, [splice.start for splice in splices], "the pattern"
            )
        edit_found = FoundEdit(tuple(splices), "regex", "matched by pattern", len(splices))
    # Only lines can be left out.
    elif "\n" in old and (comment := find_omission(old, new, path)) is not None:
        raise omission_problem(comment, arg_name("old_string"))
    elif edit.replace_all:
        edit_found = replace_everywhere(file, path, old, new, most) or _refuse_similar(
            file, path, edit
        )
    else:
        edit_found = find_exact(file, path, old, new) or find_similar(file, path, old, new)
    if not edit_found.how:
        if SUSPECT.search(new):
            refuse_marked(file, edit_found.splices[0], old, new, path)
        if old[0].isspace() and not new[:1].isspace():
            refuse_lost_depth(file, edit_found.splices[0], old, new, path)
    edit_found = keep_mark(file, edit_found)
    if all(file.data[splice.start : splice.end] == splice.new for splice in edit_found.splices):
        raise already_applied_problem(path)
    return edit_found


def _refuse_similar(file: ByteText, path: str, edit: OneEdit) -> NoReturn:
    """Raise `no_match` with the nearest text: `replace_all` replaces only exact text."""
    near = find_similar(file, path, edit.old_string, edit.new_string)
    line = file.lines_between(0, near.splices[0].start) + 1
    raise ProblemRaised(
        "no_match",
        f"{arg_name('old_string')} is not in {path!r} exactly; only line {line} is like it ({near.how})",
        hint=f"{arg_name('replace_all')} needs the exact text; leave it out to change that one place",
        field="old_string",
    )


def _too_many(path: str, count: int) -> ProblemRaised:
    return ProblemRaised(
        "too_large",
        f"{arg_name('old_string')} occurs {count:,} times in {path!r}; in a call with several edits at most "
        f"{_MOST_COMPOSED:,} places are replaced",
        hint="make this replacement in a separate call",
        field="old_string",
    )


def _plan(place: Place, content: FileContent, file: ByteText, edits: ComposedEdits) -> Plan:
    parts = [edits.result] if edits.result is not None else splice_parts(file.data, edits.splices)
    line = file.lines_between(0, edits.splices[0].start) + 1
    where = f"at line {line}" if edits.replacements == 1 else f"from line {line} on"
    how = f" ({'; '.join(edits.notes)})" if edits.notes else ""
    count = format_count(edits.replacements, "replacement")
    data = {
        "path": place.path,
        "replacements": edits.replacements,
        "line": line,
        "tier": _loosest(edits.tiers),
    }
    diff = render_diff(place.path, make_hunks(file, edits.splices, line))
    places = len(edits.splices) if edits.result is None else edits.replacements
    if places > MAX_SHOWN:
        diff += f"\n[{places - MAX_SHOWN:,} more replacements are not shown]"
    change = Change(place, content.content, Content(*parts), content.stat)
    text = f"{place.shown}: {count} {where}{how}\n{diff}"
    return Plan((change,), text, diff, data)


def _loosest(tiers: Sequence[str]) -> str:
    return next((tier for tier in tiers if tier != "exact"), "exact")
