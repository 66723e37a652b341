"""Turns whatever a call raises into its outcome: problems, aborts, deadlines, defects."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final

from handrail.core.problems import Code, Problem, ProblemRaised
from handrail.core.results import Status
from handrail.engine import messages
from handrail.engine.approval import RunAborted
from handrail.engine.call_state import CallState, Outcome
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.visibility import ToolVisibility
from handrail.engine.timing import DeadlineTimer

_log = logging.getLogger("handrail")
# Errors of a disk, which are no defect of the tool.
_DISK_ERRORS: Final = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS})
# Errors about a path that the call itself names.
_PATH_ERRORS: Final[dict[int | None, Code]] = {
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "not_found",
    errno.EISDIR: "not_text",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
}


@dataclass(frozen=True, slots=True)
class FailureTranslator:
    """The one place where exceptions of a call are caught."""

    visibility: ToolVisibility
    timers: DeadlineTimer

    async def capture(self, state: CallState, attempt: Awaitable[Outcome]) -> Outcome:
        """The outcome of the attempt; raises only if the caller cancelled the call."""
        cancellation = state.timer.cancellation
        try:
            return await attempt
        except RunAborted as aborted:
            self.timers.end_others(state.timer)
            return Outcome.from_problem(aborted.problem)
        except ProblemRaised as raised:
            return self._from_problem(state, raised.problem)
        except asyncio.CancelledError as cancelled:
            cancellation.uncancel()
            if cancellation.by_caller:
                raise
            if not cancellation.ended:
                return Outcome.from_problem(internal_problem(state.prepared, cancelled))
            return Outcome.from_problem(ended_problem(state))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a defect of a tool becomes a result
            problem = problem_from_oserror(state.prepared, error)
            if problem is None:
                _log.exception("%s failed in a way that it should not", state.prepared.name)
                problem = internal_problem(state.prepared, error)
            return Outcome.from_problem(problem)

    def _from_problem(self, state: CallState, problem: Problem) -> Outcome:
        prepared, residue = state.prepared, state.effects.residue
        problem = self.visibility.without_hidden_names(prepared, problem)
        outcome = Outcome.from_problem(problem, prepared.parsed.caller_names)
        if residue is not None and residue.partially_applied:
            outcome.status = Status.UNKNOWN
        return outcome


def ended_problem(state: CallState) -> Problem:
    """The problem of a call that reached its deadline or was cancelled."""
    prepared = state.prepared
    happened = "; its changes had happened already" if state.effects.changes else ""
    if state.timer.cancellation.expired:
        message = f"{prepared.name} did not finish within {prepared.tool.timeout_s:g} s{happened}"
        return Problem("timeout", message, retryable=not state.effects.changes)
    return messages.CALL_CANCELLED.fill(tool=prepared.name, happened=happened)


def internal_problem(prepared: PreparedCall, error: BaseException) -> Problem:
    """The problem of a defect in a tool, or of a failing disk."""
    if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
        message = f"{prepared.name} failed: the disk reported {error.strerror!r}"
        return Problem("unavailable", message)
    return messages.TOOL_DEFECT.fill(tool=prepared.name, kind=type(error).__name__, error=error)


def problem_from_oserror(prepared: PreparedCall, error: BaseException) -> Problem | None:
    """The problem of an OSError about one of the call's own paths; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _PATH_ERRORS:
        return None
    for name, place in prepared.places.items():
        if error.filename in (place.absolute, place.path, place.rel, prepared.arguments.get(name)):
            said = (error.strerror or "it cannot be opened").lower()
            return Problem(_PATH_ERRORS[error.errno], f"{place.path!r}: {said}", field=name)
    return None
