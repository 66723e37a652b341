"""Counts what a session has changed and run, and compares it with the limits.

An allowed call reserves its share until it ends, so that parallel calls cannot exceed a limit together;
the share of a call without effect is released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from posixpath import dirname
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.core.footprint import Access
from handrail.core.verdicts import Effect, Verdict
from handrail.policy import messages
from handrail.policy.guardrails.settings import Limits
from handrail.policy.policy_input import PolicyInput

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalysis

_GLOB: Final = frozenset("*?[")
# Programs that change files that their arguments do not name.
_EDITORS: Final = frozenset(("patch", "ed", "ex"))
_APPLIES: Final = frozenset(("apply", "am"))
_PATCHERS: Final = _EDITORS | {"git"}
_NONE: Final = frozenset[str]()


class QuotaOutcome(Enum):
    """How an allowed call ended: without an effect, partly, or successfully."""

    NOTHING = 0
    FAILED = 1
    DONE = 2


class Share(NamedTuple):
    """What one call changes and runs. `tests`: if it succeeds, tests have passed."""

    files: frozenset[str] = _NONE
    lines: int = 0
    commands: int = 0
    edits: frozenset[str] = _NONE
    tests: bool = False


class Ledger:
    """The counts of a session and their limits. Only changes below `roots` are counted."""

    def __init__(
        self, limits: Limits, roots: tuple[str, ...], resolve: Callable[[str], str] | None = None
    ) -> None:
        self._limits = limits
        self._limited = any(one is not None for one in limits)
        self._tops = tuple(f"{root.rstrip('/')}/" for root in roots)
        self._resolve = resolve or str
        self._done = Share()
        self._held: dict[str, Share] = {}

    @property
    def untested(self) -> frozenset[str]:
        """The files changed since tests last ran with success."""
        return self._done.edits

    def check(self, subject: PolicyInput) -> Verdict | None:
        """DENY if the call would exceed a limit, ASK if what the call changes cannot be counted."""
        if not self._limited:
            return None
        return self._passes(self._share(subject), self._all()) or self._uncounted(subject)

    def reserve(
        self, call_id: str, subject: PolicyInput, *, counted: bool = True
    ) -> Verdict | None:
        """Reserve the share of a call until `settle`; DENY, without a reservation, if a limit would
        be exceeded. `counted` False: only test runs are recorded.
        """
        self._held.pop(call_id, None)
        tests = subject.footprint.command is not None and _is_test(
            subject, subject.footprint.command
        )
        share = self._share(subject)._replace(tests=tests) if counted else Share(tests=tests)
        verdict = self._passes(share, self._all()) if counted else None
        if verdict is None and share != Share():
            self._held[call_id] = share
        return verdict

    def settle(self, call_id: str, ended: QuotaOutcome) -> None:
        """Release the reservation of a finished call and count what happened."""
        share = self._held.pop(call_id, None)
        if share is None or ended is QuotaOutcome.NOTHING:
            return
        done = self._done
        tested = share.tests and ended is QuotaOutcome.DONE
        self._done = Share(
            done.files | share.files,
            done.lines + share.lines,
            done.commands + share.commands,
            frozenset() if tested else done.edits | share.edits,
        )

    def save(self) -> dict[str, Any]:
        """The counts, for `restore` in a later process."""
        done = self._done
        return {
            "files": sorted(done.files),
            "lines": done.lines,
            "commands": done.commands,
            "edits": sorted(done.edits),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue with the counts of an earlier process of the session."""
        self._done = Share(
            frozenset(saved["files"]), saved["lines"], saved["commands"], frozenset(saved["edits"])
        )

    # --- counting -----------------------------------------------------------------------

    def _all(self) -> Share:
        """The sum of what was done and what is reserved."""
        if not self._held:
            return self._done
        shares = [self._done, *self._held.values()]
        return Share(
            frozenset().union(*(one.files for one in shares)),
            sum(one.lines for one in shares),
            sum(one.commands for one in shares),
        )

    def _passes(self, share: Share, so_far: Share) -> Verdict | None:
        limits = self._limits
        files = len(so_far.files | share.files) if share.files else 0
        if limits.files is not None and files > limits.files:
            return _over("max_files_modified", limits.files, files, "modified files")
        lines = so_far.lines + share.lines if share.lines else 0
        if limits.lines is not None and lines > limits.lines:
            return _over("max_lines_changed", limits.lines, lines, "changed lines")
        commands = so_far.commands + share.commands if share.commands else 0
        if limits.commands is not None and commands > limits.commands:
            return _over("max_commands_executed", limits.commands, commands, "commands")
        return None

    def _share(self, subject: PolicyInput) -> Share:
        from handrail.policy.guardrails.line_diff import lines_changed

        analysis, plan = subject.footprint.command, subject.plan
        if analysis is not None:
            written = frozenset(self._written(analysis)) if analysis.effects.writes else _NONE
            return Share(written, 0, 1, written)
        if plan is None:
            # What a file tool changes is known only from its plan.
            paths = () if subject.edits_files else subject.written_paths()
            return Share(frozenset(map(self._resolve, paths)))
        files = frozenset(change.place.absolute for change in plan.changes)
        counts = self._limits.lines is not None
        lines = sum(map(lines_changed, plan.changes)) if counts else 0
        return Share(files, lines, 0, files)

    def _written(self, analysis: CommandAnalysis) -> Iterator[str]:
        """Yield the files of the workspace that a command is known to write, each under one name."""
        named = {self._resolve(path.rstrip("/")) for path in self._below(analysis)}
        # `cp a b` writes either `b` or `b/a`, which is one file.
        yield from (path for path in named if dirname(path) not in named)

    def _below(self, analysis: CommandAnalysis) -> Iterator[str]:
        for path in analysis.effects.writes:
            if path.startswith(self._tops) and "/.git/" not in f"{path}/":
                yield path

    def _uncounted(self, subject: PolicyInput) -> Verdict | None:
        analysis = subject.footprint.command
        if analysis is None:
            return None
        effects = analysis.effects
        if not effects.writes and _PATCHERS.isdisjoint(effects.programs):
            return None
        limits, paths = self._limits, list(self._below(analysis))
        if limits.lines is not None and (paths or _applies_patches(analysis)):
            return _unknown("max_lines_changed", "lines")
        many = any(path.endswith("/") or not _GLOB.isdisjoint(path) for path in paths)
        if limits.files is not None and (many or _applies_patches(analysis)):
            return _unknown("max_files_modified", "files")
        return None


def _is_test(subject: PolicyInput, analysis: CommandAnalysis) -> bool:
    from handrail.policy.guardrails.test_commands import runs_tests

    touches = subject.footprint.touches
    job = any(one.key == "session:jobs" and one.access is Access.WRITE for one in touches)
    return not job and runs_tests(analysis)


def _applies_patches(analysis: CommandAnalysis) -> bool:
    return any(_applies(part.words) for part in analysis.parts)


def _applies(words: tuple[str | None, ...]) -> bool:
    program = words[0] if words else None
    return program in _EDITORS or (program == "git" and not _APPLIES.isdisjoint(words))


def _over(key: str, limit: int, count: int, what: str) -> Verdict:
    return Verdict.from_template(
        Effect.DENY,
        messages.LIMIT_EXCEEDED,
        f"guardrail:{key}:{limit}",
        what=what,
        count=count,
        key=key,
        limit=limit,
    )


def _unknown(key: str, what: str) -> Verdict:
    template = messages.LIMIT_UNKNOWN
    return Verdict.from_template(
        Effect.ASK, template, f"guardrail:{key}:uncounted", what=what, key=key
    )
