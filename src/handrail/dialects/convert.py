"""Conversions of values between dialects; a value of the wrong type is left to validation.

Numbers that were given as text are parsed here, because validation does not know their unit.
"""

from __future__ import annotations

import shlex
from typing import Any, Final

from handrail.core.arguments.numbers import read_number
from handrail.dialects.base import Arg

_WORDS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
ALL: Final = 1_000_000
_SHELLS: Final = ("bash", "sh", "/bin/bash", "/bin/sh")


def inverted(value: Any) -> Any:
    """The opposite of a flag, which may be given as text or number."""
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower(), value)
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return not value
    return value


def zero_for_all(value: Any) -> Any:
    """Convert a limit for which 0 means no limit."""
    return ALL if (number := _number(value)) is not None and number == 0 else value


def any_file(value: Any) -> Any:
    """Convert a file pattern for which `*` means every file; the canonical value is then None."""
    return None if value == "*" else value


def more_than_one(value: Any) -> Any:
    """Whether a number, such as a depth or a count of replacements, is more than one."""
    return value if (number := _number(value)) is None else number > 1


def from_ms(value: Any) -> Any:
    """Convert milliseconds to seconds."""
    return value if (number := _number(value)) is None else number / 1000


def to_ms(value: Any) -> Any:
    """Convert seconds to milliseconds."""
    return round(value * 1000) if isinstance(value, int | float) else value


def _number(value: Any) -> int | float | None:
    if isinstance(value, str):
        return read_number(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def from_words(value: Any) -> Any:
    """Convert a list of words to a command; a leading `bash -lc` is removed."""
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        return value
    if len(value) == 3 and value[0] in _SHELLS and value[1] in ("-c", "-lc"):
        return value[2]
    return shlex.join(value)


def to_words(value: Any) -> Any:
    """Convert a command to the list of words that runs it."""
    return ["bash", "-lc", value] if isinstance(value, str) else value


def without_ids(value: Any) -> Any:
    """A list of questions without the ids that some callers give them."""
    if not isinstance(value, list):
        return value
    return [
        {key: part for key, part in one.items() if key != "id"} if isinstance(one, dict) else one
        for one in value
    ]


def milliseconds(name: str, default: int, *, minimum: int = 1) -> Arg:
    """The argument of a time limit in milliseconds."""
    schema = {
        "description": "Milliseconds.",
        "type": "integer",
        "default": default,
        "minimum": minimum,
        "maximum": 600_000,
    }
    return Arg(name, "timeout_s", schema, from_ms, to_ms)
