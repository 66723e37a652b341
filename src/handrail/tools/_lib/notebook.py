"""A Jupyter notebook as its text and the spans of its cells; and which cell a caller means.

Nothing is written here: what changes is spliced into the text by `notebook_cells`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Final

from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import TextForm, detect
from handrail.core.text.nesting import nested_deeper
from handrail.tools._lib.jsonspans import (
    Member,
    Value,
    read_array,
    read_document,
    read_object,
    read_value,
)
from handrail.tools._lib.lines import clip, counted

_MAX_DEPTH: Final = 200
_TOO_DEEP: Final = f"its JSON is nested more than {_MAX_DEPTH} levels deep"
_LISTED: Final = 10
_FIRST_LINE: Final = 60
# What the format allows; comparing longer ones would cost more than it tells.
_LONGEST_ID: Final = 64
_NUMBERED: Final = re.compile(r"(?:cell-)?([0-9]{1,9})", re.ASCII)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its span, its parts by name, and what they say."""

    index: int
    span: Value

    @property
    def members(self) -> Mapping[str, Member]:
        """The parts in the order of the file."""
        members: Mapping[str, Member] = self.span.value
        return members

    def part(self, name: str) -> Any:
        """The value of a part, None if it is missing."""
        member = self.members.get(name)
        return None if member is None else member.of.value

    @property
    def id(self) -> str | None:
        """The id, which notebooks before format 4.5 do not have."""
        found = self.part("id")
        return found if isinstance(found, str) else None

    @property
    def type(self) -> str:
        """code, markdown or raw."""
        return str(self.part("cell_type"))

    @property
    def source(self) -> str | None:
        """The text of the cell; None if the file holds something that is no text."""
        found = self.part("source")
        if isinstance(found, list):
            lines = [line.value for line in found]
            return "".join(lines) if all(isinstance(line, str) for line in lines) else None
        return found if isinstance(found, str) else None

    @property
    def label(self) -> str:
        """How the cell is called when speaking of it."""
        return f"cell {self.index}" + (
            f" (id {clip(shown(self.id), _LONGEST_ID)})" if self.id else ""
        )


@dataclass(frozen=True, slots=True)
class Notebook:
    """A whole notebook; `format` is its version as a pair, (4, 5) being the first with ids."""

    text: str
    form: TextForm
    root: Value
    array: Value
    cells: tuple[Cell, ...]
    format: tuple[int, int]


def parse_notebook(path: str, data: bytes) -> Notebook:
    """The notebook that these bytes are; raises `not_text` where they are none."""
    form = detect(data)
    if form is None or form.encoding != "utf-8" or form.errors != "strict":
        raise _not_one(path, "its bytes are not UTF-8 text")
    text = form.decode(data)
    root = _read(path, text)
    array: Member | None = root.value.get("cells")
    version = _version(root)
    if version is None or array is None or not isinstance(array.of.value, list):
        raise _not_one(path, "it has no list of `cells` or no `nbformat`")
    if version[0] < 4:
        raise _not_one(
            path, f"its format {version[0]} is too old; Jupyter can convert it to format 4"
        )
    cells = tuple([Cell(index, span) for index, span in enumerate(array.of.value)])
    return Notebook(text, form, root, array.of, cells, version)


def find_cell(notebook: Notebook, name: str) -> Cell:
    """The cell with this id, else at this index; raises `ambiguous` or `no_match`."""
    named = [cell for cell in notebook.cells if cell.id == name]
    if len(named) == 1:
        return named[0]
    if named:
        raise ProblemRaised(
            "ambiguous",
            f"{len(named)} cells have the id {name!r}:\n{listing(named)}",
            hint="give the index instead, as `cell-3`",
            field="cell",
        )
    number = _NUMBERED.fullmatch(name.strip())
    if number and int(number[1]) < len(notebook.cells):
        return notebook.cells[int(number[1])]
    raise _unknown(notebook, name)


def listing(cells: Sequence[Cell]) -> str:
    """Cells with index, id, type and first line, one per line."""
    return "\n".join(
        f"{cell.index:4}  {clip(shown(cell.id or '-'), _LONGEST_ID)}  "
        f"{clip(shown(cell.type), _LONGEST_ID)}  {_first_line(cell)}"
        for cell in cells[:_LISTED]
    )


def shown(text: str) -> str:
    """Text from a notebook as it may be said: JSON can hold halves of characters."""
    return _SURROGATE.sub("\ufffd", text)


def _read(path: str, text: str) -> Value:
    source = partial(read_array, reader=read_value)
    cell = partial(read_object, readers={"source": source})
    try:
        if not nested_deeper(text, _MAX_DEPTH):
            return read_document(text, {"cells": partial(read_array, reader=cell)})
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _not_one(path, f"{error.msg} at {where}") from error
    except RecursionError as error:
        raise _not_one(path, _TOO_DEEP) from error
    raise _not_one(path, _TOO_DEEP)


def _not_one(path: str, why: str) -> ProblemRaised:
    return ProblemRaised(
        "not_text",
        f"{path!r} cannot be edited as a notebook: {why}",
        hint="look at it with read_file; text that is no notebook is changed with edit_file",
        field="path",
    )


def _version(root: Value) -> tuple[int, int] | None:
    numbers: list[int] = []
    for key in ("nbformat", "nbformat_minor"):
        member: Member | None = root.value.get(key)
        number = member.of.value if member is not None else 0.0
        if not isinstance(number, float) or not number.is_integer():
            return None
        numbers.append(int(number))
    return (numbers[0], numbers[1]) if numbers[0] else None


def _unknown(notebook: Notebook, name: str) -> ProblemRaised:
    count = counted(len(notebook.cells), "cell")
    ids = {cell.id: cell for cell in notebook.cells if cell.id and len(cell.id) <= _LONGEST_ID}
    near = [ids[one] for one in get_close_matches(name[:_LONGEST_ID], ids, n=_LISTED, cutoff=0.5)]
    what = "the nearest ids are" if near else "its cells begin with"
    found = listing(near or notebook.cells)
    message = f"no cell has the id or index {name!r}; the notebook has {count}"
    return ProblemRaised(
        "no_match",
        f"{message}, {what}\n{found}" if found else message,
        hint="give an id from the notebook, or an index from 0 on",
        field="cell",
    )


def _first_line(cell: Cell) -> str:
    lines = (cell.source or "").strip().splitlines()
    return clip(shown(lines[0]), _FIRST_LINE) if lines else ""
