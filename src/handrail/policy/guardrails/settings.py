"""The checked `guardrails` section as values, and the RE2 expressions in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

Omissions = Literal["off", "warn", "block"]


class FilePattern(NamedTuple):
    """A pattern for paths, and where it is written."""

    text: str
    place: str


class Expression(NamedTuple):
    """A regular expression over bytes, and where it is written."""

    text: str
    place: str
    regex: Any


class CodeRule(NamedTuple):
    """What written code must not contain; `files` are the patterns of the files to check, empty: all."""

    expression: Expression
    message: str
    blocks: bool
    files: tuple[str, ...] = ()


class QualityGate(NamedTuple):
    """A command that must succeed before the work counts as done."""

    name: str
    command: str
    required: bool = True
    timeout_s: float = 60


class Limits(NamedTuple):
    """The limits of a session; None: no limit, 0: nothing is allowed."""

    files: int | None = None
    lines: int | None = None
    commands: int | None = None


class CommandSettings(NamedTuple):
    """Guardrails for commands. `tested`: changes must be tested before they are committed."""

    blocked: tuple[Expression, ...] = ()
    git_safety: bool = False
    tested: bool = False


@dataclass(frozen=True, slots=True)
class GuardrailSettings:
    """All guardrails of a session; by default only placeholders for omitted code are refused."""

    protected: tuple[FilePattern, ...] = ()
    sensitive: tuple[FilePattern, ...] = ()
    commands: CommandSettings = field(default_factory=CommandSettings)
    limits: Limits = field(default_factory=Limits)
    code: tuple[CodeRule, ...] = ()
    omissions: Omissions = "block"
    gates: tuple[QualityGate, ...] = ()


OFF = GuardrailSettings(omissions="off")


_MAX_MEM: Final = 8 << 20
_LINES: Final = "(?m)"


class BadExpression(Exception):
    """The expression cannot be used; the message says why."""


def compiled(pattern: str, *, ignore_case: bool = False) -> Any:
    """Compile an expression over bytes; `^` and `$` match at every line. Raises `BadExpression`."""
    import re2

    options = re2.Options()
    options.max_mem = _MAX_MEM
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(f"{_LINES}{pattern}".encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        # The message is about the expression as written, without the added prefix.
        raise BadExpression(_reason(error).removesuffix(f": {_LINES}{pattern}")) from error


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(error)
