"""What the built-in tools are given when they are made."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.core.ports import Files, Past, Search


@dataclass(frozen=True, slots=True)
class Services:
    """The machine as tools see it; `allow_delete` is the person's setting."""

    files: Files
    search: Search
    past: Past
    allow_delete: bool = False
