"""Parses a Jupyter notebook with the positions of its cells, and finds the cell that a caller
names.

The position of each part is kept, so that one part can be replaced without changing any other byte.
Only the outermost levels are parsed here; values are read by `json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from handrail.core.problems import ProblemRaised, ProblemTemplate
from handrail.core.text.encoding import TextForm, detect
from handrail.core.text.nesting import nested_deeper
from handrail.tools._lib.tool_base import clip, format_count

_SPACE: Final = re.compile(r"[ \t\n\r]*")
# Numbers become floats: `int` refuses valid integers of more than 4,300 digits.
_DECODER: Final = json.JSONDecoder(parse_int=float)


class SpannedValue(NamedTuple):
    """A value and its span; for `read_object` and `read_array`, `value` holds the parts."""

    start: int
    end: int
    value: Any


class Member(NamedTuple):
    """A key of an object, with the span of the key and its value."""

    key_start: int
    key_end: int
    of: SpannedValue


Reader = Callable[[str, int], SpannedValue]
_NO_READERS: Final[Mapping[str, Reader]] = MappingProxyType({})


def read_document(text: str, readers: Mapping[str, Reader]) -> SpannedValue:
    """Parse a text that is one JSON object; raises `json.JSONDecodeError` or RecursionError."""
    document = read_object(text, skip_space(text, 0), readers)
    if skip_space(text, document.end) != len(text):
        raise json.JSONDecodeError("Extra data", text, skip_space(text, document.end))
    return document


def read_object(text: str, start: int, readers: Mapping[str, Reader] = _NO_READERS) -> SpannedValue:
    """Parse an object as `dict[str, Member]`; `readers` parse the values of some keys."""
    _expect(text, start, "{")
    members: dict[str, Member] = {}
    at = skip_space(text, start + 1)
    while text[at : at + 1] != "}" or members:
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError("Expecting a name in double quotes", text, at)
        key = read_value(text, at)
        colon = skip_space(text, key.end)
        _expect(text, colon, ":")
        reader = readers.get(key.value, read_value)
        value = reader(text, skip_space(text, colon + 1))
        members[key.value] = Member(key.start, key.end, value)
        at, closed = _after_item(text, value.end, "}")
        if closed:
            break
    return SpannedValue(start, at + 1, members)


def read_array(text: str, start: int, reader: Reader) -> SpannedValue:
    """Parse an array as `list[SpannedValue]`, each item by `reader`; any other value as it is."""
    if text[start : start + 1] != "[":
        return read_value(text, start)
    items: list[SpannedValue] = []
    at = skip_space(text, start + 1)
    while text[at : at + 1] != "]" or items:
        items.append(reader(text, at))
        at, closed = _after_item(text, items[-1].end, "]")
        if closed:
            break
    return SpannedValue(start, at + 1, items)


def read_value(text: str, start: int) -> SpannedValue:
    """Parse any value to Python objects."""
    value, end = _DECODER.raw_decode(text, start)
    return SpannedValue(start, end, value)


def skip_space(text: str, at: int) -> int:
    """Return the position of the next character that is not white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _after_item(text: str, end: int, closer: str) -> tuple[int, bool]:
    at = skip_space(text, end)
    if text[at : at + 1] == closer:
        return at, True
    _expect(text, at, ",")
    return skip_space(text, at + 1), False


def _expect(text: str, at: int, char: str) -> None:
    if text[at : at + 1] != char:
        raise json.JSONDecodeError(f"Expecting {char!r}", text, at)


_MAX_DEPTH: Final = 200
_TOO_DEEP: Final = f"its JSON is nested more than {_MAX_DEPTH} levels deep"
_NO_NOTEBOOK: Final = ProblemTemplate(
    "not_text",
    "{path!r} cannot be edited as a notebook: {why}",
    hint="look at it with {tool_name[read_file]}; text that is no notebook is changed with"
    " {tool_name[edit_file]}",
)
_LISTED: Final = 10
_FIRST_LINE: Final = 60
# The limit of the format; longer ids are not compared.
_LONGEST_ID: Final = 64
_NUMBERED: Final = re.compile(r"(?:cell-)?([0-9]{1,9})", re.ASCII)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its span and its parts by name."""

    index: int
    span: SpannedValue

    @property
    def members(self) -> Mapping[str, Member]:
        """The parts in the order of the file."""
        members: Mapping[str, Member] = self.span.value
        return members

    def part(self, name: str) -> Any:
        """Return the value of a part, None if it is missing."""
        member = self.members.get(name)
        return None if member is None else member.of.value

    @property
    def id(self) -> str | None:
        """The id, which notebooks before format 4.5 do not have."""
        value = self.part("id")
        return value if isinstance(value, str) else None

    @property
    def type(self) -> str:
        """code, markdown or raw."""
        return str(self.part("cell_type"))

    @property
    def source(self) -> str | None:
        """The text of the cell; None if the file has something other than text there."""
        value = self.part("source")
        if isinstance(value, list):
            lines = [line.value for line in value]
            return "".join(lines) if all(isinstance(line, str) for line in lines) else None
        return value if isinstance(value, str) else None

    @property
    def label(self) -> str:
        """How messages call the cell."""
        return f"cell {self.index}" + (
            f" (id {clip(show_cell(self.id), _LONGEST_ID)})" if self.id else ""
        )


@dataclass(frozen=True, slots=True)
class Notebook:
    """A whole notebook; `format` is its version, (4, 5) being the first with ids."""

    text: str
    form: TextForm
    root: SpannedValue
    array: SpannedValue
    cells: tuple[Cell, ...]
    format: tuple[int, int]


def parse_notebook(path: str, data: bytes) -> Notebook:
    """Parse the bytes of a notebook; raises `not_text` if they are not one."""
    form = detect(data)
    if form is None or form.encoding != "utf-8" or form.errors != "strict":
        raise _not_a_notebook(path, "its bytes are not UTF-8 text")
    text = form.decode(data)
    root = _read(path, text)
    array: Member | None = root.value.get("cells")
    version = _version(root)
    if version is None or array is None or not isinstance(array.of.value, list):
        raise _not_a_notebook(path, "it has no list of `cells` or no `nbformat`")
    if version[0] < 4:
        raise _not_a_notebook(
            path, f"its format {version[0]} is too old; Jupyter can convert it to format 4"
        )
    cells = tuple([Cell(index, span) for index, span in enumerate(array.of.value)])
    return Notebook(text, form, root, array.of, cells, version)


def find_cell(notebook: Notebook, name: str) -> Cell:
    """Return the cell with this id, or else at this index; raises `ambiguous` or `no_match`."""
    matching = [cell for cell in notebook.cells if cell.id == name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise ProblemRaised(
            "ambiguous",
            f"{len(matching)} cells have the id {name!r}:\n{list_cells(matching)}",
            hint="give the index instead, as `cell-3`",
            field="cell",
        )
    number = _NUMBERED.fullmatch(name.strip())
    if number and int(number[1]) < len(notebook.cells):
        return notebook.cells[int(number[1])]
    raise _unknown_cell_problem(notebook, name)


def list_cells(cells: Sequence[Cell]) -> str:
    """Cells with index, id, type and first line, one per line."""
    return "\n".join(
        f"{cell.index:4}  {clip(show_cell(cell.id or '-'), _LONGEST_ID)}  "
        f"{clip(show_cell(cell.type), _LONGEST_ID)}  {_first_line(cell)}"
        for cell in cells[:_LISTED]
    )


def show_cell(text: str) -> str:
    """Return text from a notebook for display; JSON can contain halves of characters."""
    return _SURROGATE.sub("\ufffd", text)


def _read(path: str, text: str) -> SpannedValue:
    source = partial(read_array, reader=read_value)
    cell = partial(read_object, readers={"source": source})
    try:
        if not nested_deeper(text, _MAX_DEPTH):
            return read_document(text, {"cells": partial(read_array, reader=cell)})
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _not_a_notebook(path, f"{error.msg} at {where}") from error
    except RecursionError as error:
        raise _not_a_notebook(path, _TOO_DEEP) from error
    raise _not_a_notebook(path, _TOO_DEEP)


def _not_a_notebook(path: str, why: str) -> ProblemRaised:
    return _NO_NOTEBOOK.error(path=path, why=why, field="path")


def _version(root: SpannedValue) -> tuple[int, int] | None:
    numbers: list[int] = []
    for key in ("nbformat", "nbformat_minor"):
        member: Member | None = root.value.get(key)
        number = member.of.value if member is not None else 0.0
        if not isinstance(number, float) or not number.is_integer():
            return None
        numbers.append(int(number))
    return (numbers[0], numbers[1]) if numbers[0] else None


def _unknown_cell_problem(notebook: Notebook, name: str) -> ProblemRaised:
    count = format_count(len(notebook.cells), "cell")
    ids = {cell.id: cell for cell in notebook.cells if cell.id and len(cell.id) <= _LONGEST_ID}
    near = [
        ids[match] for match in get_close_matches(name[:_LONGEST_ID], ids, n=_LISTED, cutoff=0.5)
    ]
    what = "the nearest ids are" if near else "its cells begin with"
    listed = list_cells(near or notebook.cells)
    message = f"no cell has the id or index {name!r}; the notebook has {count}"
    return ProblemRaised(
        "no_match",
        f"{message}, {what}\n{listed}" if listed else message,
        hint="give an id from the notebook, or an index from 0 on",
        field="cell",
    )


def _first_line(cell: Cell) -> str:
    lines = (cell.source or "").strip().splitlines()
    return clip(show_cell(lines[0]), _FIRST_LINE) if lines else ""
