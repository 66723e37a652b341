"""Values that dialects write differently; a value of the wrong type is left for validation."""

from __future__ import annotations

import shlex
from typing import Any, Final

_WORDS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_ALL: Final = 1_000_000
_SHELLS: Final = ("bash", "sh", "/bin/bash", "/bin/sh")


def inverted(value: Any) -> Any:
    """The opposite of a flag, in any spelling of a flag."""
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower(), value)
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return not value
    return value


def zero_for_all(value: Any) -> Any:
    """A limit where 0 means none."""
    return _ALL if value == 0 and not isinstance(value, bool) else value


def any_file(value: Any) -> Any:
    """A file pattern where `*` means every file, which is no pattern at all."""
    return None if value == "*" else value


def deeper_than_one(value: Any) -> Any:
    """A depth of listing as the question whether to look beneath the directory."""
    return value > 1 if isinstance(value, int) and not isinstance(value, bool) else value


def from_ms(value: Any) -> Any:
    """Milliseconds as seconds."""
    return value / 1000 if isinstance(value, int | float) and not isinstance(value, bool) else value


def to_ms(value: Any) -> Any:
    """Seconds as milliseconds."""
    return round(value * 1000) if isinstance(value, int | float) else value


def from_words(value: Any) -> Any:
    """A command as a list of words; the shell that usually stands in front is taken off."""
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        return value
    if len(value) == 3 and value[0] in _SHELLS and value[1] in ("-c", "-lc"):
        return value[2]
    return shlex.join(value)


def to_words(value: Any) -> Any:
    """A command as the list of words that runs it."""
    return ["bash", "-lc", value] if isinstance(value, str) else value
