"""Change one cell of a Jupyter notebook; the bytes of all other cells stay the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.paths import WritePath
from handrail.core.places import Place
from handrail.core.plan import Change, Plan
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised, ProblemTemplate
from handrail.core.text.content import Content
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.tools._lib.diff import DiffHunk, render_diff, split_lines
from handrail.tools._lib.notebook import (
    Cell,
    Notebook,
    find_cell,
    list_cells,
    parse_notebook,
    show_cell,
)
from handrail.tools._lib.notebook_cells import (
    Piece,
    apply_pieces,
    delete_cell,
    find_lost_parts,
    insert_cell,
    replace_cell,
)
from handrail.tools._lib.tool_base import (
    INTEGER,
    STRING,
    Builtin,
    format_count,
    object_schema,
    require_file,
    run_sized,
    size_to_change,
)

# Cost factor: the JSON is parsed, per byte that could be scanned instead.
_WORK_PER_BYTE: Final = 10
_NO_SOURCE: Final = ProblemTemplate(
    "not_text",
    "{cell} has no source that is text or a list of lines",
    hint="the notebook is damaged there; repair it with {tool_name[edit_file]}, or delete the cell",
)


class NotebookEditParams(Params):
    path: WritePath = Field(description="The .ipynb file.")
    cell: str | None = Field(None, description="Id or index of a cell.")
    new_source: str | None = Field(None, description="The whole new source; not for delete.")
    cell_type: Literal["code", "markdown"] | None = Field(
        None, description="By default as it is, or code for a new cell."
    )
    edit_mode: Literal["replace", "insert", "delete"] = Field("replace", description="What to do.")


class _Edit(NamedTuple):
    """The pieces of the change and its description; `cell_id` is None if the cell has none."""

    pieces: list[Piece]
    what: str
    at: int
    cell_id: str | None
    before: str
    after: str
    by_id: bool = True


class NotebookEdit(Builtin[NotebookEditParams]):
    name = "notebook_edit"
    summary = "Replace, insert or delete a cell of a Jupyter notebook."
    params = NotebookEditParams
    effects = Effects.WRITES_PATHS
    traits = ToolTraits(family=RuleFamily.WRITE, quotes_content=True)
    group = Group.EDIT
    output_schema = object_schema(
        path=STRING, edit_mode=STRING, cell=INTEGER, cell_id={"type": ["string", "null"]}
    )

    def __init__(self, files: Files) -> None:
        self._files = files

    async def plan(self, args: NotebookEditParams, ctx: ToolContext) -> Plan:
        """Return the edit; raises `no_match`, `ambiguous`, `not_found`, or `not_text` if the file
        is not a notebook.
        """
        place = ctx.places["path"]
        require_file(place, "{tool_name[notebook_edit]} changes one notebook; name the .ipynb file")
        size = size_to_change(place, self._files.stat(place))
        return await run_sized(size * _WORK_PER_BYTE, self._edit, place, args)

    def _edit(self, place: Place, args: NotebookEditParams) -> Plan:
        file = self._files.read(place)
        notebook = parse_notebook(place.path, file.content.tobytes())
        edit = _EDITS[args.edit_mode](notebook, args)
        data: dict[str, object] = {"path": place.path, "edit_mode": args.edit_mode}
        data |= {"cell": edit.at, "cell_id": edit.cell_id}
        if not edit.pieces:
            return Plan((), f"{place.shown} is unchanged: {edit.what}", "", data)
        after = Content(notebook.form.encode(apply_pieces(notebook.text, edit.pieces)))
        change = Change(place, file.content, after, file.stat)
        text = f"{place.shown}: {edit.what}\n{_diff(place, args.edit_mode, edit)}".rstrip()
        # An id finds its cell wherever it is now; an index, or replacing a source that was not
        # quoted, needs the notebook to be unchanged since it was read.
        by_id = args.edit_mode == "insert" and edit.by_id
        return Plan((change,), text, text, data, "part" if by_id else "all")


def _replace(notebook: Notebook, args: NotebookEditParams) -> _Edit:
    cell, new = _find_named_cell(notebook, args), _new_source(args)
    old, kind = _source(cell), args.cell_type or cell.type
    if kind == cell.type and old == new:
        return _Edit([], f"{cell.label} has this source already", cell.index, cell.id, old, new)
    description = f"replaced the source of {cell.label}"
    if kind != cell.type:
        description = f"made {cell.label} a {kind} cell, it was {show_cell(cell.type)}"
    lost = _describe_lost_parts(cell, find_lost_parts(cell, kind))
    return _Edit(
        replace_cell(notebook, cell, new, kind), description + lost, cell.index, cell.id, old, new
    )


def _insert(notebook: Notebook, args: NotebookEditParams) -> _Edit:
    before = None if args.cell is None else find_cell(notebook, args.cell)
    new, kind = _new_source(args), args.cell_type or "code"
    inserted = insert_cell(notebook, before, new, kind)
    index = 0 if before is None else before.index + 1
    where = "at the start" if before is None else f"after {before.label}"
    id_note = f" (id {inserted.id})" if inserted.id is not None else ""
    description = f"inserted {kind} cell {index}{id_note} {where}"
    by_id = before is None or before.id == args.cell
    return _Edit([inserted.piece], description, index, inserted.id, "", new, by_id)


def _delete(notebook: Notebook, args: NotebookEditParams) -> _Edit:
    cell = _find_named_cell(notebook, args)
    description = f"deleted {cell.label}{_describe_lost_parts(cell, tuple(cell.members))}"
    return _Edit(
        [delete_cell(notebook, cell)], description, cell.index, cell.id, cell.source or "", ""
    )


_EDITS: Final = {"replace": _replace, "insert": _insert, "delete": _delete}


def _find_named_cell(notebook: Notebook, args: NotebookEditParams) -> Cell:
    if args.cell is None:
        raise ProblemRaised(
            "invalid_arguments",
            f"{args.edit_mode} needs to know the cell",
            hint=f"its id, or its index from 0 on; the cells begin with\n{list_cells(notebook.cells)}",
            field="cell",
        )
    return find_cell(notebook, args.cell)


def _new_source(args: NotebookEditParams) -> str:
    if args.new_source is None:
        raise ProblemRaised(
            "invalid_arguments",
            f"{args.edit_mode} needs the whole new source of the cell",
            hint='give it as one text; for an empty cell it is ""',
            field="new_source",
        )
    return args.new_source


def _source(cell: Cell) -> str:
    if cell.source is None:
        raise _NO_SOURCE.error(cell=cell.label, field="cell")
    return cell.source


def _describe_lost_parts(cell: Cell, parts: Sequence[str]) -> str:
    lost = [
        format_count(len(cell.part(name)), word)
        for name, word in (("outputs", "output"), ("attachments", "attachment"))
        if name in parts and cell.part(name)
    ]
    return f"; {' and '.join(lost)} went with it" if lost else ""


def _diff(place: Place, mode: str, edit: _Edit) -> str:
    before, after = show_cell(edit.before), show_cell(edit.after)
    # The last line of a cell rarely ends in a newline; that difference is not shown.
    if not before.endswith("\n") and not after.endswith("\n"):
        before, after = (f"{text}\n" if text else "" for text in (before, after))
    hunk = DiffHunk(split_lines(before), split_lines(after))
    label = f"{place.shown} [cell {edit.at}]"
    return render_diff(label, [hunk], created=mode == "insert")
