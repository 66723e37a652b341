"""Exit codes of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from handrail.core.problems import Problem
    from handrail.core.results import ToolResult


class ExitCode(IntEnum):
    """How a command ended."""

    DONE = 0
    FAILED = 1  # the tool, the gate or the check failed
    USAGE = 2  # the command line or the configuration is wrong
    USER_NEEDED = 3  # an approval is missing, and no user could be asked
    BUDGET = 4  # the budget or the steps of an agent are used up
    REFUSED = 5  # a rule, a limit or the user refused it
    RECORD_UNUSABLE = 6  # the record cannot be read or written
    ABORTED = 130  # the user ended the run


_CODES: Final[Mapping[str, ExitCode]] = {
    "invalid_arguments": ExitCode.USAGE,
    "unknown_tool": ExitCode.USAGE,
    "duplicate_id": ExitCode.USAGE,
    "needs_approval": ExitCode.USER_NEEDED,
    "needs_answer": ExitCode.USER_NEEDED,
    "budget_exceeded": ExitCode.BUDGET,
    "denied": ExitCode.REFUSED,
    "blocked": ExitCode.REFUSED,
    "protected": ExitCode.REFUSED,
    "outside_workspace": ExitCode.REFUSED,
    "store_unavailable": ExitCode.RECORD_UNUSABLE,
}
# If results end differently, the first of these decides: what the caller must act on first.
_ORDER: Final = (
    ExitCode.RECORD_UNUSABLE,
    ExitCode.USER_NEEDED,
    ExitCode.BUDGET,
    ExitCode.REFUSED,
    ExitCode.FAILED,
    ExitCode.USAGE,
)


def problem_exit_code(problem: Problem | None) -> ExitCode:
    """Return the exit code for a problem."""
    return ExitCode.FAILED if problem is None else _CODES.get(problem.code, ExitCode.FAILED)


def results_exit_code(results: Iterable[ToolResult]) -> ExitCode:
    """Return the exit code for the results of a command."""
    codes = {problem_exit_code(result.problem) for result in results if not result.ok}
    return next((code for code in _ORDER if code in codes), ExitCode.DONE)
