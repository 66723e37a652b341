"""Names of files that tools keep for themselves and make again at any time."""

from __future__ import annotations

from typing import Final

_CACHE_FOLDERS: Final = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
)


def is_cache(path: str) -> bool:
    """Whether a path is, or lies in, a cache folder of a tool."""
    return not _CACHE_FOLDERS.isdisjoint(path.split("/"))
