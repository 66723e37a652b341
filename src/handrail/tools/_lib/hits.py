"""Matching lines and their context, as `grep` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.core.places import shown
from handrail.core.ports.machine import Hit
from handrail.tools._lib.lines import clip

MAX_HIT: Final = 500


def select(hits: Sequence[Hit], matches: Sequence[int], before: int, after: int) -> Sequence[Hit]:
    """The hits at neighbouring indexes `matches`, and the context that belongs to them."""
    if not matches:
        return ()
    low, high = matches[0], matches[-1]
    first, last = hits[low], hits[high]
    while low > 0 and _belongs(hits[low - 1], first, first.line - before):
        low -= 1
    while high + 1 < len(hits) and _belongs(hits[high + 1], last, last.line + after):
        high += 1
    return hits[low : high + 1]


def render(hits: Sequence[Hit], *, grouped: bool, line_numbers: bool) -> str:
    """`path:line:text` for matches, `path-line-text` for context, `--` between groups."""
    lines: list[str] = []
    previous: Hit | None = None
    path = ""
    for hit in hits:
        if grouped and previous is not None and not _adjacent(previous, hit):
            lines.append("--")
        sign = ":" if hit.matched else "-"
        number = f"{hit.line}{sign}" if line_numbers else ""
        if previous is None or hit.path != previous.path:
            path = _shown(hit.path)
        lines.append(f"{path}{sign}{number}{clip(hit.text, MAX_HIT)}")
        previous = hit
    return "\n".join(lines)


def _shown(path: str) -> str:
    # A colon in a name would look like the end of it.
    return repr(path) if ":" in path else shown(path)


def _belongs(context: Hit, match: Hit, edge: int) -> bool:
    if context.matched or context.path != match.path:
        return False
    return min(edge, match.line) <= context.line <= max(edge, match.line)


def _adjacent(one: Hit, two: Hit) -> bool:
    return one.path == two.path and two.line == one.line + 1
