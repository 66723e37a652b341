"""Turns the exception of a call into its outcome: problems, aborts, deadlines, defects."""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import Final, NamedTuple

from handrail.core.names.caller_words import tool_name
from handrail.core.problems import Code, Problem, ProblemRaised
from handrail.core.results import Status
from handrail.engine import messages
from handrail.engine.approval import RunAborted
from handrail.engine.call_state import CallState, Outcome
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.visibility import ToolVisibility
from handrail.engine.timing import DeadlineTimer

_log = logging.getLogger("handrail")
# Errors of a disk, which are not a defect of the tool.
_DISK_ERRORS: Final = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_MAX_DEFECT: Final = 2_000
# Errors about a path that the call itself names.
_PATH_ERRORS: Final[dict[int | None, Code]] = {
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "not_found",
    errno.EISDIR: "not_text",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
}


class FailureTranslator(NamedTuple):
    """Turns the exceptions of calls into outcomes."""

    visibility: ToolVisibility
    timers: DeadlineTimer

    def translate(self, state: CallState, error: BaseException) -> Outcome:
        """Return the outcome of a call that raised `error`; raises it again if the caller cancelled
        the call. Must be called while the exception is handled.
        """
        match error:
            case RunAborted():
                self.timers.end_others(state.timer)
                return Outcome.from_problem(error.problem)
            case ProblemRaised():
                return self._from_problem(state, error.problem)
            case asyncio.CancelledError():
                return _from_cancellation(state, error)
            case KeyboardInterrupt() | GeneratorExit():
                raise error
        problem = problem_from_oserror(state.prepared, error)
        if problem is None:
            # The text of an exception may contain data that no model should read.
            call = state.prepared.call
            state.notes.defect = f"{type(error).__name__}: {error}"[:_MAX_DEFECT]
            _log.exception("%s failed (reference %s)", state.prepared.name, call.id)
            problem = internal_problem(state.prepared, error)
        return Outcome.from_problem(problem)

    def _from_problem(self, state: CallState, problem: Problem) -> Outcome:
        prepared, residue = state.prepared, state.effects.residue
        problem = self.visibility.without_hidden_names(prepared, problem)
        outcome = Outcome.from_problem(problem, prepared.parsed.caller_names)
        if residue is not None and residue.partially_applied:
            outcome.status = Status.UNKNOWN
        return outcome


def _from_cancellation(state: CallState, cancelled: asyncio.CancelledError) -> Outcome:
    cancellation = state.timer.cancellation
    cancellation.uncancel()
    if cancellation.by_caller:
        raise cancelled
    if not cancellation.ended:
        return Outcome.from_problem(internal_problem(state.prepared, cancelled))
    return Outcome.from_problem(ended_problem(state))


def ended_problem(state: CallState) -> Problem:
    """Return the problem of a call that reached its deadline or was cancelled."""
    prepared, name = state.prepared, tool_name(state.prepared.name)
    happened = "; its changes had happened already" if state.effects.changes else ""
    if state.timer.cancellation.expired:
        message = f"{name} did not finish within {prepared.tool.timeout_s:g} s{happened}"
        return Problem("timeout", message, retryable=not state.effects.changes)
    return messages.CALL_CANCELLED.fill(tool=name, happened=happened)


def internal_problem(prepared: PreparedCall, error: BaseException) -> Problem:
    """Return the problem of a defect in a tool, or of a failing disk."""
    if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
        message = f"{tool_name(prepared.name)} failed: the disk reported {error.strerror!r}"
        return Problem("unavailable", message)
    return messages.TOOL_DEFECT.fill(
        tool=tool_name(prepared.name), kind=type(error).__name__, reference=prepared.call.id
    )


def problem_from_oserror(prepared: PreparedCall, error: BaseException) -> Problem | None:
    """The problem of an OSError about one of the call's own paths; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _PATH_ERRORS:
        return None
    for name, place in prepared.places.items():
        if error.filename in (place.absolute, place.path, place.rel, prepared.arguments.get(name)):
            said = (error.strerror or "it cannot be opened").lower()
            return Problem(_PATH_ERRORS[error.errno], f"{place.path!r}: {said}", field=name)
    return None
