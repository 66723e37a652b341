"""Paths that an agent has reserved for a limited time. The store keeps them, so that all agents and
processes that share it see the same leases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from handrail.core.text.globs import fits, split_glob


class Lease(NamedTuple):
    """A glob over absolute paths that is reserved for one owner until it expires.

    The lease of a directory covers its content. `fence` grows with every lease, so that a late writer
    can be distinguished from the current owner. `process` is the process with whose end the lease ends;
    empty if it ends with none.
    """

    token: str
    owner: str
    glob: str
    until_ns: int
    fence: int
    process: str

    def covers(self, path: str) -> bool:
        """Whether the lease covers an absolute path or a directory above it."""
        parts, glob = split_glob(path), split_glob(self.glob)
        return any(fits(parts[:length], glob) for length in range(1, len(parts) + 1))


class Reservation(NamedTuple):
    """The result of a request for leases; `denied` are globs with the lease of another owner."""

    acquired: Sequence[Lease]
    denied: Sequence[tuple[str, Lease]]


class Leases(Protocol):
    """Grants leases; expired leases are ignored."""

    async def reserve(
        self, owner: str, globs: Sequence[str], ttl_ns: int, process: str
    ) -> Reservation:
        """Reserve each glob that overlaps no lease of another owner; the owner's own leases are renewed."""

    async def release(self, owner: str, tokens: Sequence[str]) -> Sequence[str]:
        """Release leases of an owner; returns the tokens that existed."""

    async def leases(self) -> Sequence[Lease]:
        """All leases that have not expired."""


def overlap(one: str, other: str) -> bool:
    """Whether two globs can match the same path, or one a path below a match of the other."""
    # A directory covers its content, so two globs overlap as soon as one of them ends.
    return _meet(split_glob(one), split_glob(other), "**", _names_meet, inside=True)


def _names_meet(one: str, other: str) -> bool:
    """Whether a name can match both patterns; a character set is treated as any character."""
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
    """Whether two sequences, in which `many` stands for any number of items, can be equal.

    Works backwards from the ends: `below[j]` is the answer for `first[i + 1:]` and `second[j:]`.
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
        """Reserve paths; returns `acquired` with tokens and `denied` with the owners."""

    async def unlock(self, agent: str, tokens: Sequence[str]) -> Sequence[str]:
        """Release locks of an agent; returns the tokens that existed."""
