"""Fields of a provider's response, which may be an SDK's object or a dict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def get(thing: Any, name: str) -> Any:
    """The field of that name, None if there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
