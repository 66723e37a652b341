"""A Jupyter notebook as its text and the spans of its cells, and which cell a caller means.

The JSON is read with the position of each part, so that one part can be changed and every other byte
stays. Only the outermost levels are parsed here; values are read by `json`.
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
# Numbers become floats: an integer of 5,000 digits is valid, and `int` refuses it.
_DECODER: Final = json.JSONDecoder(parse_int=float)


class SpannedValue(NamedTuple):
    """A value and its span; `read_object` and `read_array` hold their parts in `value`."""

    start: int
    end: int
    value: Any


class Member(NamedTuple):
    """A key of an object, with the span of the key and the value behind it."""

    key_start: int
    key_end: int
    of: SpannedValue


Reader = Callable[[str, int], SpannedValue]
_NO_READERS: Final[Mapping[str, Reader]] = MappingProxyType({})


def read_document(text: str, readers: Mapping[str, Reader]) -> SpannedValue:
    """The one object that a text is; raises `json.JSONDecodeError`, or RecursionError."""
    document = read_object(text, skip_space(text, 0), readers)
    if skip_space(text, document.end) != len(text):
        raise json.JSONDecodeError("Extra data", text, skip_space(text, document.end))
    return document


def read_object(text: str, start: int, readers: Mapping[str, Reader] = _NO_READERS) -> SpannedValue:
    """An object as `dict[str, Member]`; `readers` say how the values of some keys are read."""
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
    """An array as `list[SpannedValue]`, each read by `reader`; any other value as it is."""
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
    """Any value, as Python has it."""
    value, end = _DECODER.raw_decode(text, start)
    return SpannedValue(start, end, value)


def skip_space(text: str, at: int) -> int:
    """The position of the next character that is not white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


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
# What the format allows; comparing longer ones would cost more than it tells.
_LONGEST_ID: Final = 64
_NUMBERED: Final = re.compile(r"(?:cell-)?([0-9]{1,9})", re.ASCII)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its span, its parts by name, and what they say."""

    index: int
    span: SpannedValue

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
            f" (id {clip(show_cell(self.id), _LONGEST_ID)})" if self.id else ""
        )


@dataclass(frozen=True, slots=True)
class Notebook:
    """A whole notebook; `format` is its version as a pair, (4, 5) being the first with ids."""

    text: str
    form: TextForm
    root: SpannedValue
    array: SpannedValue
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
            f"{len(named)} cells have the id {name!r}:\n{list_cells(named)}",
            hint="give the index instead, as `cell-3`",
            field="cell",
        )
    number = _NUMBERED.fullmatch(name.strip())
    if number and int(number[1]) < len(notebook.cells):
        return notebook.cells[int(number[1])]
    raise _unknown(notebook, name)


def list_cells(cells: Sequence[Cell]) -> str:
    """Cells with index, id, type and first line, one per line."""
    return "\n".join(
        f"{cell.index:4}  {clip(show_cell(cell.id or '-'), _LONGEST_ID)}  "
        f"{clip(show_cell(cell.type), _LONGEST_ID)}  {_first_line(cell)}"
        for cell in cells[:_LISTED]
    )


def show_cell(text: str) -> str:
    """Text from a notebook as it may be said: JSON can hold halves of characters."""
    return _SURROGATE.sub("\ufffd", text)


def _read(path: str, text: str) -> SpannedValue:
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


def _unknown(notebook: Notebook, name: str) -> ProblemRaised:
    count = format_count(len(notebook.cells), "cell")
    ids = {cell.id: cell for cell in notebook.cells if cell.id and len(cell.id) <= _LONGEST_ID}
    near = [ids[one] for one in get_close_matches(name[:_LONGEST_ID], ids, n=_LISTED, cutoff=0.5)]
    what = "the nearest ids are" if near else "its cells begin with"
    found = list_cells(near or notebook.cells)
    message = f"no cell has the id or index {name!r}; the notebook has {count}"
    return ProblemRaised(
        "no_match",
        f"{message}, {what}\n{found}" if found else message,
        hint="give an id from the notebook, or an index from 0 on",
        field="cell",
    )


def _first_line(cell: Cell) -> str:
    lines = (cell.source or "").strip().splitlines()
    return clip(show_cell(lines[0]), _FIRST_LINE) if lines else ""
