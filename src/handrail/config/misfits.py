"""What is wrong with a value, in words for whoever wrote it: the checker's own name its types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_KINDS: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_BOUNDS: Final = {
    "greater_than_equal": "it must be at least {ge}",
    "greater_than": "it must be more than {gt}",
    "less_than_equal": "it must be at most {le}",
    "string_too_short": "it must not be empty",
    "string_too_long": "it may have at most {max_length} letters",
    "missing": "it is missing",
    "extra_forbidden": "there is no such key",
    "literal_error": "it must be {expected}",
}


def told(error: Mapping[str, Any]) -> str:
    """One error of a validation as a clause."""
    kind, limits = str(error["type"]), error.get("ctx", {})
    if kind in _KINDS:
        return f"it must be {_KINDS[kind]}, and is {_is(error['input'])}"
    if kind in _BOUNDS:
        return _BOUNDS[kind].format_map(limits)
    return str(limits["error"]) if kind == "value_error" else str(error["msg"])


def _is(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, float):
        return "a number with a point"
    if isinstance(value, int):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"
