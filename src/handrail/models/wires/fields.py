"""Reading fields of what a provider sends: dictionaries or the objects of its SDK."""

from __future__ import annotations

from typing import Any

from handrail.core.finish_words import get
from handrail.core.ports.models import ModelFailed


def get_text(thing: Any, name: str) -> str:
    """The text of a field, "" if there is none; raises `ModelFailed` for another type."""
    value = get(thing, name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise malformed(f"{name} is not text")
    return value


def get_list(thing: Any, name: str) -> list[Any]:
    """The items of a field, none if there is none; raises `ModelFailed` for another type."""
    value = get(thing, name)
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise malformed(f"{name} is not a list")
    return list(value)


def malformed(what: str) -> ModelFailed:
    """The failure of a stream that does not follow its format."""
    return ModelFailed("cut", f"the stream is malformed: {what}", retryable=True)
