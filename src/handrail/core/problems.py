"""Why a call failed: a code, a message and a hint for the caller.

`Problem` is the value; `ProblemRaised` carries it to the pipeline or the command line, which turn it
back into a value. Any other exception inside Handrail is a bug. The list of codes is closed and part of
the public API.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from handrail.core.names.caller_words import HINT_WORDS, TEMPLATE_WORDS, NotShownError

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
_NAMED_TOOL: Final = re.compile(r"\{tool_name\[(\w+)\]")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a call failed or was refused, for the model and the user."""

    code: Code
    message: str
    hint: str | None = None
    field: str | None = None
    retryable: bool = False
    # The canonical names of the tools in the hint; a caller that cannot use them gets no hint.
    hint_tools: frozenset[str] = dataclasses.field(default=frozenset(), repr=False, compare=False)

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

    `{name}` in the message or the hint stands for a value that is given when the problem occurs,
    `{arg[path]}` and `{tool_name[read_file]}` for the caller's names of an argument and a tool.
    """

    code: Code
    message: str
    hint: str | None = None
    retryable: bool = False

    def fill(self, *, field: str | None = None, **values: object) -> Problem:
        """Return the problem with these values; raises KeyError if one is missing. A hint that names
        an argument which the caller is not shown is left out.
        """
        message = self.message.format_map({**TEMPLATE_WORDS, **values})
        try:
            hint = None if self.hint is None else self.hint.format_map({**HINT_WORDS, **values})
        except NotShownError:
            hint = None
        tools = frozenset(_NAMED_TOOL.findall(self.hint or ""))
        return Problem(self.code, message, hint, field, self.retryable, tools)

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
        """The exception that carries an existing problem."""
        raised = cls(problem.code, problem.message, hint=problem.hint)
        raised.problem = problem
        return raised
