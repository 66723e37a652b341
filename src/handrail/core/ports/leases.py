"""Paths that an agent has reserved for a limited time. Kept by the store, so that agents, processes
and one day machines see the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from handrail.core.text.globs import fits, split_glob


class Lease(NamedTuple):
    """A glob over absolute paths that belongs to one owner until it runs out.

    A directory's lease covers what is in it. `fence` grows with every lease that is given, so
    that a late writer can be told from the present holder. `process` is the one that it ends
    with, empty if it is to outlive processes.
    """

    token: str
    owner: str
    glob: str
    until_ns: int
    fence: int
    process: str

    def covers(self, path: str) -> bool:
        """Whether an absolute path, or something above it, is reserved."""
        parts, glob = split_glob(path), split_glob(self.glob)
        return any(fits(parts[:length], glob) for length in range(1, len(parts) + 1))


class Reservation(NamedTuple):
    """What a request for leases came to; `denied` holds the leases of others in the way."""

    acquired: Sequence[Lease]
    denied: Sequence[tuple[str, Lease]]


class Leases(Protocol):
    """Gives out leases; what has run out counts for nothing."""

    async def reserve(
        self, owner: str, globs: Sequence[str], ttl_ns: int, process: str
    ) -> Reservation:
        """Reserve each glob that overlaps no other owner's; one's own is renewed."""

    async def release(self, owner: str, tokens: Sequence[str]) -> Sequence[str]:
        """Give back one's own leases; returns the tokens that there were."""

    async def leases(self) -> Sequence[Lease]:
        """All that hold now."""


def overlap(one: str, other: str) -> bool:
    """Whether two globs could speak of the same path, or one of something inside the other."""
    # A directory covers what is in it, so the end of either glob is a meeting.
    return _meet(split_glob(one), split_glob(other), "**", _names_meet, inside=True)


def _names_meet(one: str, other: str) -> bool:
    """Whether some name fits both patterns; a set of letters counts as any letter."""
    return _meet(
        _letters(one), _letters(other), "*", lambda a, b: a == b or "?" in (a, b), inside=False
    )


def _meet(
    first: Sequence[str],
    second: Sequence[str],
    many: str,
    same: Callable[[str, str], bool],
    *,
    inside: bool,
) -> bool:
    """Whether two sequences, in which `many` stands for any number of items, can be the same.
    From the end backwards: `below[j]` says so of the rests after the present item of `first`.
    """
    below = [inside or set(second[j:]) <= {many} for j in range(len(second) + 1)]
    for i in range(len(first) - 1, -1, -1):
        row = [inside or set(first[i:]) <= {many}] * (len(second) + 1)
        for j in range(len(second) - 1, -1, -1):
            if many in (first[i], second[j]):
                row[j] = below[j] or row[j + 1]
            else:
                row[j] = below[j + 1] and same(first[i], second[j])
        below = row
    return below[0]


def _letters(pattern: str) -> list[str]:
    letters: list[str] = []
    rest = pattern
    while rest:
        end = rest.find("]", 2) if rest[0] == "[" else -1
        letters.append("?" if end > 0 else rest[0])
        rest = rest[end + 1 :] if end > 0 else rest[1:]
    return letters


class PathReserver(Protocol):
    """Reserves paths for the agents of one session."""

    async def lock(self, agent: str, globs: Sequence[str], ttl_s: float) -> dict[str, Any]:
        """Reserve paths; `acquired` with tokens, `denied` with who has them."""

    async def unlock(self, agent: str, tokens: Sequence[str]) -> Sequence[str]:
        """Give back an agent's own locks; the tokens that there were."""
