"""Names of cache folders, which their tools can recreate at any time."""

from __future__ import annotations

from typing import Final

_CACHE_FOLDERS: Final = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
)


def is_cache(path: str) -> bool:
    """Whether a path is a cache folder or lies in one."""
    return not _CACHE_FOLDERS.isdisjoint(path.split("/"))
