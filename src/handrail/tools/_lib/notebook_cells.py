"""Replaces, inserts and deletes cells of a notebook, as replacements of pieces of its text.

Only the pieces of the named cell change. Indentation, separators, escapes and the order of keys are
learned from the notebook, so that inserted cells look like the others.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, NamedTuple

from handrail.tools._lib.diff import split_lines
from handrail.tools._lib.notebook import Cell, Member, Notebook, SpannedValue

_NON_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_ESCAPED: Final = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")


class Layout(NamedTuple):
    """White space in an array or object: before the first item, after a comma, at the end."""

    lead: str
    gap: str
    close: str

    def joined(self, brackets: str, items: Sequence[str]) -> str:
        """Return the items between these two brackets."""
        if not items:
            return brackets
        inside = f",{self.gap}".join(items)
        return f"{brackets[0]}{self.lead}{inside}{self.close}{brackets[1]}"

    def inner(self, unit: str) -> Layout:
        """Return the layout one level deeper."""
        if "\n" not in self.lead:
            return Layout("", self.gap, "")
        return Layout(self.lead + unit, self.lead + unit, self.lead)


@dataclass(frozen=True, slots=True)
class Style:
    """How to write a cell; `listed`: sources are lists of lines."""

    cells: Layout
    cell: Layout
    lines: Layout
    colon: str
    ascii_only: bool
    listed: bool

    def string(self, text: str) -> str:
        """Return a text as JSON, escaped as in the notebook."""
        return json.dumps(text, ensure_ascii=self.ascii_only)

    def source(self, text: str, layout: Layout | None = None, *, listed: bool) -> str:
        """Return the source of a cell as JSON."""
        if not listed:
            return self.string(text)
        lines = [self.string(line) for line in split_lines(text)]
        return (layout or self.lines).joined("[]", lines)

    def object(self, parts: Mapping[str, str], layout: Layout | None = None) -> str:
        """Return an object from values that are JSON already."""
        items = [f"{self.string(key)}{self.colon}{value}" for key, value in parts.items()]
        return (layout or self.cell).joined("{}", items)


def detect_style(notebook: Notebook) -> Style:
    """Return the style of a notebook; what it does not show is derived from the outer levels."""
    text, root = notebook.text, notebook.root
    top = detect_layout(text, root, Layout("", " ", ""))
    unit = top.lead.rpartition("\n")[2]
    cells = detect_layout(text, notebook.array, top.inner(unit))
    filled = max(notebook.cells, key=lambda cell: len(cell.members), default=None)
    cell = cells.inner(unit)
    if filled is not None:
        cell = detect_layout(text, filled.span, cell)
    sources = [other.members["source"].of for other in notebook.cells if "source" in other.members]
    lists = [source for source in sources if isinstance(source.value, list)]
    longest = max(lists, key=lambda source: len(source.value), default=None)
    lines = cell.inner(unit)
    if longest is not None:
        lines = detect_layout(text, longest, lines)
    first: Member = next(iter(root.value.values()))
    return Style(
        cells,
        cell,
        lines,
        text[first.key_end : first.of.start],
        _escapes(text),
        2 * len(lists) >= len(sources),
    )


def detect_layout(text: str, value: SpannedValue, otherwise: Layout) -> Layout:
    """Return the layout of an array or object; `otherwise` for an empty one or a plain value."""
    spans = _spans(value.value)
    if not spans:
        return otherwise
    lead = text[value.start + 1 : spans[0][0]]
    close = text[spans[-1][1] : value.end - 1]
    if len(spans) > 1:
        gap = text[spans[0][1] : spans[1][0]].partition(",")[2]
    else:
        gap = lead if "\n" in lead else otherwise.gap
    return Layout(lead, gap, close)


def order_keys(parts: Mapping[str, str], cells: Iterable[Cell]) -> dict[str, str]:
    """Return the parts in the order of the keys of these cells; earlier cells take precedence."""
    rank: dict[str, int] = {}
    for cell in cells:
        for name in cell.members:
            rank.setdefault(name, len(rank))
        if parts.keys() <= rank.keys():
            break
    names = sorted(parts, key=lambda name: (rank.get(name, len(rank)), name))
    return {name: parts[name] for name in names}


def _spans(value: Any) -> list[tuple[int, int]]:
    if isinstance(value, dict):
        return [(member.key_start, member.of.end) for member in value.values()]
    if isinstance(value, list):
        return [(item.start, item.end) for item in value]
    return []


def _escapes(text: str) -> bool:
    # A writer that leaves one such character unescaped leaves all of them unescaped.
    return _NON_ASCII.search(text) is None and _ESCAPED.search(text) is not None


_HEX: Final = re.compile(r"[0-9a-f]{8,32}")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID_CHARS: Final = 8
_FIRST_WITH_IDS: Final = (4, 5)
# Parts that only cells of these types may have.
_OF_CODE: Final = {"execution_count": "null", "outputs": "[]"}
_OF_TEXT: Final = ("attachments",)


class Piece(NamedTuple):
    """Characters `start` to `end` of the text become `new`."""

    start: int
    end: int
    new: str


class InsertedCell(NamedTuple):
    """A new cell and its id; None if the format has no ids."""

    piece: Piece
    id: str | None


def apply_pieces(text: str, pieces: Sequence[Piece]) -> str:
    """Return the text with the pieces replaced; they do not overlap."""
    parts: list[str] = []
    at = 0
    for piece in sorted(pieces):
        parts += (text[at : piece.start], piece.new)
        at = piece.end
    return "".join([*parts, text[at:]])


def replace_cell(notebook: Notebook, cell: Cell, source: str, cell_type: str) -> list[Piece]:
    """The pieces that give a cell another source or type; a changed code cell loses its outputs."""
    style = detect_style(notebook)
    span = cell.members["source"].of
    listed = isinstance(span.value, list)
    layout = detect_layout(notebook.text, span, style.lines)
    new = {"source": style.source(source, layout, listed=listed)}
    if cell_type != cell.type:
        return [_converted(notebook, cell, new["source"], cell_type, style)]
    if cell_type == "code":
        new |= _OF_CODE
    spans = {name: cell.members[name].of for name in new if name in cell.members}
    return [Piece(span.start, span.end, new[name]) for name, span in spans.items()]


def find_lost_parts(cell: Cell, cell_type: str) -> tuple[str, ...]:
    """Return the parts that are lost when the cell gets another source, or this other type."""
    if cell_type != cell.type:
        return _OF_TEXT if cell_type == "code" else tuple(_OF_CODE)
    return tuple(_OF_CODE) if cell_type == "code" else ()


def insert_cell(
    notebook: Notebook, after: Cell | None, source: str, cell_type: str
) -> InsertedCell:
    """Return a new cell after the cell `after`, or before all others."""
    style = detect_style(notebook)
    parts = {
        "cell_type": style.string(cell_type),
        "metadata": "{}",
        "source": style.source(source, listed=style.listed),
    }
    if cell_type == "code":
        parts |= _OF_CODE
    cell_id = _new_id(notebook, source) if notebook.format >= _FIRST_WITH_IDS else None
    if cell_id is not None:
        parts["id"] = style.string(cell_id)
    alike = sorted(notebook.cells, key=lambda cell: cell.type != cell_type)
    written = style.object(order_keys(parts, alike))
    return InsertedCell(_place(notebook, after, written, style), cell_id)


def delete_cell(notebook: Notebook, cell: Cell) -> Piece:
    """Return the piece that removes the cell and one of the commas beside it."""
    cells = notebook.cells
    if cell.index + 1 < len(cells):
        return Piece(cell.span.start, cells[cell.index + 1].span.start, "")
    if cell.index:
        return Piece(cells[cell.index - 1].span.end, cell.span.end, "")
    return Piece(notebook.array.start + 1, notebook.array.end - 1, "")


def _place(notebook: Notebook, after: Cell | None, written: str, style: Style) -> Piece:
    if not notebook.cells:
        array = notebook.array
        return Piece(array.start, array.end, style.cells.joined("[]", [written]))
    if after is None:
        at = notebook.cells[0].span.start
        return Piece(at, at, f"{written},{style.cells.gap}")
    return Piece(after.span.end, after.span.end, f",{style.cells.gap}{written}")


def _converted(notebook: Notebook, cell: Cell, source: str, cell_type: str, style: Style) -> Piece:
    unwanted = find_lost_parts(cell, cell_type)
    parts = {
        name: notebook.text[member.of.start : member.of.end]
        for name, member in cell.members.items()
        if name not in unwanted
    }
    parts |= {"cell_type": style.string(cell_type), "source": source}
    if cell_type == "code":
        parts |= _OF_CODE
    alike = [other for other in notebook.cells if other.type == cell_type]
    layout = detect_layout(notebook.text, cell.span, style.cell)
    written = style.object(order_keys(parts, [*alike, cell]), layout)
    return Piece(cell.span.start, cell.span.end, written)


def _new_id(notebook: Notebook, source: str) -> str:
    # Derived, not random: the same call on the same notebook must give the same plan.
    used = [cell.id for cell in notebook.cells if cell.id is not None]
    seeds = (f"{attempt} {source}".encode("utf-8", "replace") for attempt in count())
    candidates = (_id_like(used, hashlib.sha256(seed).digest()) for seed in seeds)
    return next(candidate for candidate in candidates if candidate not in used)


def _id_like(used: Sequence[str], digest: bytes) -> str:
    last = used[-1] if used else ""
    if _UUID.fullmatch(last):
        return str(uuid.UUID(bytes=digest[:16], version=4))
    return digest.hex()[: len(last) if _HEX.fullmatch(last) else _ID_CHARS]
