"""A pair of texts as it may have been before a slip of handing it over."""

from __future__ import annotations

from typing import NamedTuple


class Repair(NamedTuple):
    """The pair without the slip, and what the slip was.

    `line` is the line that its numbers speak of; `there` says that it must be found there,
    because a number or two prove nothing by themselves.
    """

    old: str
    new: str
    how: str = ""
    line: int | None = None
    there: bool = False
