"""Reads fields of provider responses: dictionaries or objects of the provider's SDK."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from handrail.core.finish_words import get
from handrail.core.ports.models import ModelFailed
from handrail.core.text.nesting import parse_json

LONE_HALF: Final = "\ufffd"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def get_text(item: Any, name: str) -> str:
    """Return the text of a field, "" if it is missing; raises `ModelFailed` for another type."""
    value = get(item, name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise malformed(f"{name} is not text")
    return value


def get_list(item: Any, name: str) -> list[Any]:
    """Return the items of a field, [] if it is missing; raises `ModelFailed` for another type."""
    value = get(item, name)
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise malformed(f"{name} is not a list")
    return list(value)


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text, an empty one for no text; None for anything else."""
    if not text or text.isspace():
        return {}
    try:
        value = parse_json(text, strict=False)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def dump_json(value: Any) -> str:
    """JSON text without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def get_arguments(item: Any) -> str:
    """Return the argument text of a call. Some servers send an object instead of its text."""
    value = get(item, "arguments")
    return dump_json(value) if isinstance(value, Mapping) else get_text(item, "arguments")


def join_halves(text: str) -> tuple[str, str]:
    """Return the text with its surrogate pairs joined, and a half pair at its end that may continue
    in the next piece: servers that count UTF-16 units split pairs. A lone half becomes U+FFFD.
    """
    if text.isascii() or _SURROGATE.search(text) is None:
        return text, ""
    half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    encoded = text.removesuffix(half).encode("utf-16-le", "surrogatepass")
    return encoded.decode("utf-16-le", "replace"), half


def malformed(what: str) -> ModelFailed:
    """Return the failure of a stream that does not follow its format."""
    return ModelFailed("cut", f"the stream is malformed: {what}", retryable=True)
