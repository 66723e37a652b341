"""Why a call failed: a code, a message and a hint for the caller.

`Problem` is the value; `ProblemRaised` carries it through our own code to the one place
(the pipeline, the command line) that turns it back into a value. Anything else that is
raised inside Handrail is a bug of ours. The list of codes is closed: it is public API.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

Code = Literal[
    "unknown_tool",
    "invalid_arguments",
    "not_found",
    "outside_workspace",
    "protected",
    "denied",
    "needs_approval",
    "ambiguous",
    "no_match",
    "already_applied",
    "stale",
    "conflict",
    "exists",
    "too_large",
    "not_text",
    "timeout",
    "cancelled",
    "blocked",
    "tampered",
    "command_failed",
    "unavailable",
    "duplicate_id",
    "store_unavailable",
    "needs_answer",
    "budget_exceeded",
    "untrusted",
    "internal",
]
CODES: Final[tuple[str, ...]] = get_args(Code)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a call failed or was refused, for the model and the user."""

    code: Code
    message: str
    hint: str | None = None
    field: str | None = None
    retryable: bool = False

    def __str__(self) -> str:
        return f"{self.message}\nHint: {self.hint}" if self.hint else self.message

    def to_dict(self) -> dict[str, Any]:
        """The shape that `--json` output and audit rows carry."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "field": self.field,
            "retryable": self.retryable,
        }


@dataclass(frozen=True, slots=True)
class ProblemTemplate:
    """The wording of one problem, kept in the `messages.py` of its area.

    `{name}` in the message or the hint stands for a value that is given when the problem occurs.
    """

    code: Code
    message: str
    hint: str | None = None
    retryable: bool = False

    def fill(self, *, field: str | None = None, **values: object) -> Problem:
        """Return the problem with these values; raises KeyError if one is missing."""
        hint = None if self.hint is None else self.hint.format_map(values)
        return Problem(self.code, self.message.format_map(values), hint, field, self.retryable)

    def error(self, *, field: str | None = None, **values: object) -> ProblemRaised:
        """Return the exception that carries the problem with these values."""
        return ProblemRaised.of(self.fill(field=field, **values))


class ProblemRaised(Exception):
    """An exception that carries a `Problem` to the result of the call."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        hint: str | None = None,
        field: str | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.problem = Problem(code, message, hint, field, retryable)

    def __str__(self) -> str:
        # With the hint, because logs and tracebacks are read by users who can fix the cause.
        return str(self.problem)

    @classmethod
    def of(cls, problem: Problem) -> ProblemRaised:
        """A problem that was kept as a value, to be raised again."""
        raised = cls(problem.code, problem.message, hint=problem.hint)
        raised.problem = problem
        return raised
