"""Regular expressions that a person wrote, matched in time that follows the text: RE2."""

from __future__ import annotations

from typing import Any, Final

_MAX_MEM: Final = 8 << 20
_LINES: Final = "(?m)"


class BadExpression(Exception):
    """The expression cannot be used; the message says why."""


def compiled(pattern: str, *, ignore_case: bool = False) -> Any:
    """The expression over bytes, `^` and `$` at every line; raises `BadExpression`."""
    import re2  # noqa: PLC0415 - 5 ms, and only where somebody wrote an expression

    options = re2.Options()
    options.max_mem = _MAX_MEM
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(f"{_LINES}{pattern}".encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        # Whoever is told knows the expression, and not what was put before it.
        raise BadExpression(_reason(error).removesuffix(f": {_LINES}{pattern}")) from error


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(error)
