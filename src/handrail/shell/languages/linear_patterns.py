"""Regular expressions that a command brings along, matched in linear time."""

from __future__ import annotations

from typing import Any, Final

_LONGEST: Final = 500
_MEMORY_BYTES: Final = 1 << 20


def compile_pattern(pattern: str, *, ignore_case: bool = False) -> Any:
    """Return the compiled pattern, whose `search` and `fullmatch` take linear time.

    None if the pattern is too long, or of a syntax that RE2 does not read.
    """
    if len(pattern) > _LONGEST:
        return None
    import re2

    options = re2.Options()
    options.log_errors, options.max_mem = False, _MEMORY_BYTES
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError):
        return None
