"""What a command changed and how much of it undo takes back, in a line for people. The model is
not told: it pays for every word, and what it needs is in the result already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from handrail.core.places import shown
from handrail.core.results import ChangeRecord

_LISTED: Final = 4
_LEFT: Final = 2


def change_summary(
    changes: Sequence[ChangeRecord], meta: Mapping[str, Any], way: str = "undo takes it back"
) -> str | None:
    """The line for the result of a command; None if there is nothing to say. `way` is how the
    change is taken back.
    """
    undo, left = meta.get("undo"), meta.get("undo_left_out")
    if undo is None:
        return None
    reasons = dict(left) if isinstance(left, Mapping) else {}
    if not changes:
        # What is never looked at, such as a large folder, is no news where nothing changed.
        reasons = {path: why for path, why in reasons.items() if _is_news(path)}
        return f"undo: {_without(reasons, len(reasons))}" if reasons else None
    more = f" (+{len(changes) - _LISTED} more)" if len(changes) > _LISTED else ""
    told = f"changed: {', '.join(shown(one.path) for one in changes[:_LISTED])}{more}"
    if undo == "none":
        return f"{told}; undo cannot take it back, nothing was kept"
    if reasons:
        count = int(meta.get("undo_left_out_count", len(reasons)))
        return f"{told}; {way}, without {_without(reasons, count)}"
    return f"{told}; {way}"


def _is_news(path: str) -> bool:
    return path.startswith("job:") or path.rpartition("/")[2] == ".git"


def _without(reasons: Mapping[str, str], count: int) -> str:
    more = f" (+{count - _LEFT} more)" if count > _LEFT else ""
    return ", ".join(_parts(reasons)) + more


def _parts(reasons: Mapping[str, str]) -> Iterator[str]:
    for path, why in list(reasons.items())[:_LEFT]:
        yield why if path.startswith("job:") else f"{shown(path)} ({why})"
