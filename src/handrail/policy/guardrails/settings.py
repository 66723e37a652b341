"""The guardrails as values: what a person's `guardrails` section says, once it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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
    """What written code must not hold; `files`: only in these, none: in all."""

    expression: Expression
    message: str
    blocks: bool
    files: tuple[str, ...] = ()


class Gate(NamedTuple):
    """A command that must succeed before the work counts as done."""

    name: str
    command: str
    required: bool = True
    timeout_s: float = 60


class Limits(NamedTuple):
    """The most that a session may do; None: no limit, 0: nothing at all."""

    files: int | None = None
    lines: int | None = None
    commands: int | None = None


@dataclass(frozen=True, slots=True)
class CommandRails:
    """What holds for commands. `tested`: changes must be tested before they are committed."""

    blocked: tuple[Expression, ...] = ()
    git_safety: bool = False
    tested: bool = False


@dataclass(frozen=True, slots=True)
class GuardrailSettings:
    """All guardrails of a session; those that were not set hold nothing back, except that
    placeholders for left-out code are refused.
    """

    protected: tuple[FilePattern, ...] = ()
    sensitive: tuple[FilePattern, ...] = ()
    commands: CommandRails = CommandRails()
    limits: Limits = Limits()  # noqa: RUF009 - an immutable value
    code: tuple[CodeRule, ...] = ()
    omissions: Omissions = "block"
    gates: tuple[Gate, ...] = ()


OFF = GuardrailSettings(omissions="off")
