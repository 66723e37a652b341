"""What the ledger records besides sessions: purged rows, closed calls, values that changed."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


class RowRanges:
    """A set of row numbers, kept as ranges."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def add(self, ranges: list[tuple[int, int]]) -> None:
        """Add ranges (first, last) of numbers."""
        self._ranges = sorted([*self._ranges, *((int(one), int(last)) for one, last in ranges)])

    def __contains__(self, number: int) -> bool:
        # Ranges do not overlap, because a payload is purged once.
        at = bisect_right(self._ranges, (number, number)) - 1
        candidates = self._ranges[max(at, 0) : at + 2]
        return any(first <= number <= last for first, last in candidates)


@dataclass(slots=True)
class LedgerNotes:
    """The recorded purges, the hashes of values, and where the one chain begins."""

    purged: RowRanges = field(default_factory=RowRanges)
    missing: RowRanges = field(default_factory=RowRanges)
    values: dict[tuple[str, str], str] = field(default_factory=dict)
    # The last row that is not in the one chain; None if the store has no such chain.
    migrated_row: int | None = 0
    digest: str | None = None
    records_purges: bool = True

    def is_old(self, number: int) -> bool:
        """Return whether a row is only in the chain of its session."""
        return self.migrated_row is None or number <= self.migrated_row

    def is_purged(self, number: int) -> bool:
        """Return whether a purge of the row's payload is recorded."""
        return number in self.purged

    def was_missing(self, number: int) -> bool:
        """Return whether the row's payload was missing when the store was migrated."""
        return number in self.missing


def read_notes(notes: LedgerNotes, kind: str, info: str, after_row: int) -> bool:
    """Add what a `state`, `purge` or `migrate` line says; return False if it cannot be read."""
    try:
        said: dict[str, Any] = json.loads(info)
        notes.values.update({(session, key): own for session, key, own in said.get("state", ())})
        if kind == "purge":
            notes.purged.add(said["rows"])
        elif kind == "migrate":
            if notes.digest is not None:
                return False
            notes.missing.add(said["missing"])
            notes.digest, notes.migrated_row = str(said["digest"]), after_row
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    return True


def find_ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the numbers as ranges (first, last), in order."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges
