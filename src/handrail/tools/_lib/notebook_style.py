"""How a notebook is written: indentation, separators, escapes and the order of keys, learnt
from the notebook itself so that what is put in looks like what stands around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from handrail.tools._lib.diff import split_lines
from handrail.tools._lib.jsonspans import Member, Value
from handrail.tools._lib.notebook import Cell, Notebook

_NON_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_ESCAPED: Final = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")


class Layout(NamedTuple):
    """White space in an array or object: before the first item, after a comma, at the end."""

    lead: str
    gap: str
    close: str

    def joined(self, brackets: str, items: Sequence[str]) -> str:
        """The items between these two brackets."""
        if not items:
            return brackets
        inside = f",{self.gap}".join(items)
        return f"{brackets[0]}{self.lead}{inside}{self.close}{brackets[1]}"

    def inner(self, unit: str) -> Layout:
        """The layout one level deeper."""
        if "\n" not in self.lead:
            return Layout("", self.gap, "")
        return Layout(self.lead + unit, self.lead + unit, self.lead)


@dataclass(frozen=True, slots=True)
class Style:
    """What writing a cell needs; `listed` says that sources are lists of lines."""

    cells: Layout
    cell: Layout
    lines: Layout
    colon: str
    ascii_only: bool
    listed: bool

    def string(self, text: str) -> str:
        """A text as JSON, escaped as the notebook does it."""
        return json.dumps(text, ensure_ascii=self.ascii_only)

    def source(self, text: str, layout: Layout | None = None, *, listed: bool) -> str:
        """The source of a cell as JSON."""
        if not listed:
            return self.string(text)
        lines = [self.string(line) for line in split_lines(text)]
        return (layout or self.lines).joined("[]", lines)

    def object(self, parts: Mapping[str, str], layout: Layout | None = None) -> str:
        """An object whose values are JSON already."""
        items = [f"{self.string(key)}{self.colon}{value}" for key, value in parts.items()]
        return (layout or self.cell).joined("{}", items)


def style_of(notebook: Notebook) -> Style:
    """The style of a notebook; what it does not show is taken from the levels around it."""
    text, root = notebook.text, notebook.root
    top = layout_of(text, root, Layout("", " ", ""))
    unit = top.lead.rpartition("\n")[2]
    cells = layout_of(text, notebook.array, top.inner(unit))
    filled = max(notebook.cells, key=lambda cell: len(cell.members), default=None)
    cell = cells.inner(unit)
    if filled is not None:
        cell = layout_of(text, filled.span, cell)
    sources = [one.members["source"].of for one in notebook.cells if "source" in one.members]
    lists = [source for source in sources if isinstance(source.value, list)]
    longest = max(lists, key=lambda source: len(source.value), default=None)
    lines = cell.inner(unit)
    if longest is not None:
        lines = layout_of(text, longest, lines)
    first: Member = next(iter(root.value.values()))
    return Style(
        cells,
        cell,
        lines,
        text[first.key_end : first.of.start],
        _escapes(text),
        2 * len(lists) >= len(sources),
    )


def layout_of(text: str, whole: Value, otherwise: Layout) -> Layout:
    """How this array or object is laid out; an empty one, or one value, as `otherwise`."""
    spans = _spans(whole.value)
    if not spans:
        return otherwise
    lead = text[whole.start + 1 : spans[0][0]]
    close = text[spans[-1][1] : whole.end - 1]
    if len(spans) > 1:
        gap = text[spans[0][1] : spans[1][0]].partition(",")[2]
    else:
        gap = lead if "\n" in lead else otherwise.gap
    return Layout(lead, gap, close)


def ordered(parts: Mapping[str, str], cells: Iterable[Cell]) -> dict[str, str]:
    """The parts in the order that these cells have theirs in, the first cells first."""
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
    # A writer that leaves one such character alone leaves all of them alone.
    return _NON_ASCII.search(text) is None and _ESCAPED.search(text) is not None
