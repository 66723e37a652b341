"""Replace, insert and delete cells: which pieces of the notebook's text become what.

Only the named cell's own pieces are touched; every other byte of the file stays.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Sequence
from itertools import count
from typing import Final, NamedTuple

from handrail.tools._lib.notebook import Cell, Notebook
from handrail.tools._lib.notebook_style import Style, layout_of, ordered, style_of

_HEX: Final = re.compile(r"[0-9a-f]{8,32}")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID_CHARS: Final = 8
_FIRST_WITH_IDS: Final = (4, 5)
# What only cells of these types may have.
_OF_CODE: Final = {"execution_count": "null", "outputs": "[]"}
_OF_TEXT: Final = ("attachments",)


class Piece(NamedTuple):
    """Characters `start` to `end` of the text become `new`."""

    start: int
    end: int
    new: str


class Inserted(NamedTuple):
    """A new cell and its id, None where the format has none."""

    piece: Piece
    id: str | None


def applied(text: str, pieces: Sequence[Piece]) -> str:
    """The text with the pieces put in; they do not overlap."""
    parts: list[str] = []
    at = 0
    for piece in sorted(pieces):
        parts += (text[at : piece.start], piece.new)
        at = piece.end
    return "".join([*parts, text[at:]])


def replaced(notebook: Notebook, cell: Cell, source: str, cell_type: str) -> list[Piece]:
    """The cell with another source or type; a code cell that changes loses its outputs."""
    style = style_of(notebook)
    span = cell.members["source"].of
    listed = isinstance(span.value, list)
    layout = layout_of(notebook.text, span, style.lines)
    new = {"source": style.source(source, layout, listed=listed)}
    if cell_type != cell.type:
        return [_converted(notebook, cell, new["source"], cell_type, style)]
    if cell_type == "code":
        new |= _OF_CODE
    spans = {name: cell.members[name].of for name in new if name in cell.members}
    return [Piece(span.start, span.end, new[name]) for name, span in spans.items()]


def lost_parts(cell: Cell, cell_type: str) -> tuple[str, ...]:
    """The parts whose content is gone once the cell has another source, or this other type."""
    if cell_type != cell.type:
        return _OF_TEXT if cell_type == "code" else tuple(_OF_CODE)
    return tuple(_OF_CODE) if cell_type == "code" else ()


def inserted(notebook: Notebook, after: Cell | None, source: str, cell_type: str) -> Inserted:
    """A new cell behind `after`, or before all others."""
    style = style_of(notebook)
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
    written = style.object(ordered(parts, alike))
    return Inserted(_place(notebook, after, written, style), cell_id)


def deleted(notebook: Notebook, cell: Cell) -> Piece:
    """The cell taken out, together with one of the commas beside it."""
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
    unwanted = lost_parts(cell, cell_type)
    parts = {
        name: notebook.text[member.of.start : member.of.end]
        for name, member in cell.members.items()
        if name not in unwanted
    }
    parts |= {"cell_type": style.string(cell_type), "source": source}
    if cell_type == "code":
        parts |= _OF_CODE
    alike = [one for one in notebook.cells if one.type == cell_type]
    layout = layout_of(notebook.text, cell.span, style.cell)
    written = style.object(ordered(parts, [*alike, cell]), layout)
    return Piece(cell.span.start, cell.span.end, written)


def _new_id(notebook: Notebook, source: str) -> str:
    # Worked out, not drawn: the same call on the same notebook must be the same plan.
    taken = [cell.id for cell in notebook.cells if cell.id is not None]
    seeds = (f"{attempt} {source}".encode("utf-8", "replace") for attempt in count())
    made = (_like(taken, hashlib.sha256(seed).digest()) for seed in seeds)
    return next(one for one in made if one not in taken)


def _like(taken: Sequence[str], digest: bytes) -> str:
    last = taken[-1] if taken else ""
    if _UUID.fullmatch(last):
        return str(uuid.UUID(bytes=digest[:16], version=4))
    return digest.hex()[: len(last) if _HEX.fullmatch(last) else _ID_CHARS]
