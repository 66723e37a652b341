"""A pair of texts as it may have been before a slip of handing it over."""

from __future__ import annotations

from typing import NamedTuple


class Repair(NamedTuple):
    """The pair without the slip, what the slip was, and the line its numbers speak of."""

    old: str
    new: str
    how: str = ""
    line: int | None = None
