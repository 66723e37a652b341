"""Long lists in messages: the first few items, and how many more there are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice


def first_few(items: Iterable[str], limit: int, count: int | None = None) -> str:
    """Join the first `limit` items with commas and count the others.

    `count` is the number of all items if `items` is only a part of them.
    """
    listed = list(items)
    left = (len(listed) if count is None else count) - limit
    return ", ".join(islice(listed, limit)) + (f" and {left} more" if left > 0 else "")
