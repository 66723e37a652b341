"""Carries out calls that change files: the plan is committed once its intent is on disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple, Protocol

import anyio

from handrail.core.places import Form
from handrail.core.plan import Change, Plan
from handrail.core.ports.machine import Blobs, Files
from handrail.core.ports.syntax import SyntaxCheck, SyntaxFault
from handrail.core.problems import ProblemRaised
from handrail.core.results import ChangeRecord, Output, Status
from handrail.core.text.content import Content
from handrail.core.text.safe_text import safe_text
from handrail.engine.batch.locks import written_files
from handrail.engine.call_state import CallState, Outcome
from handrail.engine.planning.planner import CallPlanner
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.recording.recorder import Recorder
from handrail.engine.timing import (
    HandedValue,
    ValueWithheld,
    join_uncancellable,
    run_in_thread_uncancellable,
    start_in_thread,
    wait_uncancellable,
)
from handrail.history.before_images import INLINE_BYTES, describe_changes, not_kept
from handrail.history.commit import BlobRetention, CommitResidue, commit

_MOST: Final = 10
# If more files than this are removed, the origin of a new file is not searched among them.
_MOST_ALIKE: Final = 100
# The time limit for all files of one change; files not checked by then are not reported.
_MAX_S: Final = 10.0


class SyntaxReport(NamedTuple):
    """`text` is added for the model (empty: no errors); `faults` is `meta["syntax"]`."""

    text: str
    faults: list[dict[str, Any]]


async def syntax_report(plan: Plan, check: SyntaxCheck) -> SyntaxReport:
    """Return the errors that these changes introduced; called after the commit."""
    texts: list[str] = []
    faults: list[dict[str, Any]] = []
    written = [one for one in plan.changes if _is_checked(one, check)]
    if not written:
        return SyntaxReport("", faults)
    with anyio.move_on_after(_MAX_S):
        removed = _removed_files(plan)
        for change in written:
            if change.after is None or len(faults) >= _MOST:
                continue
            before, path = change.before, change.place.path
            if before is None or not before.size:
                before = _moved_content(change, removed)
            found = await check.new_errors(path, before, change.after)
            shown = found[: _MOST - len(faults)]
            if shown:
                texts.append(_note(path, shown))
                faults += [{"path": path, **fault._asdict()} for fault in shown]
    return SyntaxReport("\n".join(texts), faults)


def _is_checked(change: Change, check: SyntaxCheck) -> bool:
    return change.after_form is Form.FILE and check.can_check(change.place.path)


def _removed_files(plan: Plan) -> dict[str, list[Change]]:
    """Return the files that a plan removes, by file extension."""
    found: dict[str, list[Change]] = {}
    for change in plan.changes:
        if change.after is None and change.before_form is Form.FILE:
            found.setdefault(PurePosixPath(change.path).suffix, []).append(change)
    return found


def _moved_content(change: Change, removed: dict[str, list[Change]]) -> Content | None:
    """Return the content of the removed file that a new file may have been moved from."""
    name = PurePosixPath(change.path)
    alike = removed.get(name.suffix, [])
    if len(alike) > _MOST_ALIKE:
        return None
    same = [one for one in alike if PurePosixPath(one.path).name == name.name]
    found = same or alike
    return found[0].before if len(found) == 1 else None


def _note(path: str, faults: tuple[SyntaxFault, ...]) -> str:
    many = (
        f"{len(faults)} syntax errors that were" if len(faults) > 1 else "a syntax error that was"
    )
    lines = [
        f"[{path} now has {many} not there before, says {faults[0].reader}; the change stands]"
    ]
    for fault in faults:
        lines.append(f"  line {fault.line}, column {fault.column}: {_safe_line(fault.message)}")
        if fault.text:
            lines.append(f"    {_safe_line(fault.text)}")
    return "\n".join(lines)


def _safe_line(text: str) -> str:
    return safe_text(text, one_line=True)


@dataclass(frozen=True, slots=True)
class PlanCommitter:
    """Commits plans with a write-ahead intent."""

    files: Files
    # Where old contents are kept for undo; None if they are not kept.
    blobs: Blobs | None
    recorder: Recorder
    # Whether changes must survive a power failure.
    durable: bool

    async def commit(self, state: CallState, plan: Plan) -> None:
        """Commit the plan. Temporary files are written while the intent is being written; no file
        of the workspace changes before the intent is on disk.
        """
        token = os.urandom(8).hex()
        intent: HandedValue[BlobRetention | None] = HandedValue()
        state.effects.residue = residue = CommitResidue()

        def work(tell: Callable[[], None]) -> None:
            def done(changes: tuple[ChangeRecord, ...]) -> None:
                state.effects.changes = changes
                if plan.size > INLINE_BYTES:
                    # Freeing the space of replaced files takes longer than waking the event loop.
                    tell()

            commit(
                plan,
                self.files,
                durable=self.durable,
                token=token,
                wait_for_intent=intent.wait,
                residue=residue,
                done=done,
            )

        writing = start_in_thread(work)
        try:
            await self._write_intent(state, plan, token, intent)
        except BaseException:
            intent.fail()
            await wait_uncancellable(writing)
            failure = writing.exception()
            if failure is not None and not isinstance(failure, ValueWithheld):
                # The intent was written before the commit failed.
                raise failure from None
            raise
        await join_uncancellable(writing)

    async def _write_intent(
        self,
        state: CallState,
        plan: Plan,
        token: str,
        on_disk: HandedValue[BlobRetention | None],
    ) -> None:
        """Write the intent row; pass on which old contents to keep once the row is on disk."""
        described: list[dict[str, object]] = []
        if state.effects.hashing:
            await asyncio.wait(state.effects.hashing)
        if self.blobs is None or plan.size <= INLINE_BYTES or state.effects.hashing:
            described = describe_changes(plan, self.blobs)
        else:
            await run_in_thread_uncancellable(
                lambda: described.extend(describe_changes(plan, self.blobs))
            )
        retention: BlobRetention | None = None
        if self.blobs is not None:
            state.notes.user_notes = [
                f"{one['path']} cannot be undone: {why}"
                for one in described
                if one["image"] == "none" and (why := not_kept(one)) is not None
            ]
            kept = (number for number, one in enumerate(described) if one["image"] == "blob")
            retention = BlobRetention(self.blobs, frozenset(kept))
        text = self.recorder.cut("\n".join([plan.text, *_model_notes(state)]), state)
        intent: dict[str, Any] = {
            "changes": described,
            "token": token,
            "data": plan.data,
            "text": text,
        }
        if state.prepared.principal.reader is not None:
            intent["relies_on"] = plan.relies_on
        await self.recorder.write_intent(state, intent, partial(on_disk.give, retention))
        # For a store that does not call back.
        on_disk.give(retention)


class ProtectionBaseline(Protocol):
    """The names that background jobs must not change. `in_use`: a command ran, so jobs may
    exist.
    """

    in_use: bool

    def accept_plan(self, plan: Plan) -> None:
        """Accept the protected names that a committed plan changed, because no job changed them."""


@dataclass(frozen=True, slots=True)
class PlanExecutor:
    """Commits the plan of a call; makes it again if the files have changed since."""

    planner: CallPlanner
    committer: PlanCommitter
    preparer: Preparer
    syntax: SyntaxCheck
    # The commands of the session; None if no commands can run.
    commands: ProtectionBaseline | None = None

    async def execute(self, state: CallState, plan: Plan | None) -> Outcome | None:
        """Commit the plan; None if it had to be made again and needs a new approval or more locks."""
        if plan is None:
            raise TypeError(f"{state.timer.tool} has no plan")
        if not self._is_current(plan):
            locked = written_files(state.prepared.scope.footprint, plan)
            plan = await self._make_plan_again(state)
            # A link may lead to another file now.
            written = written_files(state.prepared.scope.footprint, plan)
            if not set(written).issubset(locked):
                return None
            if not state.prepared.principal.policy.recheck_plan(state, plan):
                return None
        outcome = Outcome(Status.OK, Output(plan.text, plan.preview or None, plan.data))
        if plan.changes:
            await state.prepared.principal.policy.check_leases(state, plan)
            try:
                await self.committer.commit(state, plan)
            finally:
                # A call that is cancelled once its intent is on disk makes its changes nevertheless.
                if state.effects.changes:
                    self._note_committed(state, plan)
            await self._append_warnings(state, plan, outcome)
        return outcome

    def _note_committed(self, state: CallState, plan: Plan) -> None:
        """Note that the agent knows the new contents, and that no background job made them."""
        if state.prepared.principal.reader is not None:
            self.planner.freshness.mark_written(plan, state.prepared.principal.reader)
        if self.commands is not None and self.commands.in_use:
            self.commands.accept_plan(plan)

    def _is_current(self, plan: Plan) -> bool:
        """Return whether no file has changed since the plan was made."""
        unchanged = self.committer.files.unchanged
        # A loop instead of `all`, because a generator costs more than most plans.
        for change in plan.changes:  # noqa: SIM110
            if not unchanged(change):
                return False
        return True

    async def _make_plan_again(self, state: CallState) -> Plan:
        prepared = state.prepared
        self.preparer.re_resolve_paths(prepared)
        if prepared.problem is not None:
            raise ProblemRaised.of(prepared.problem)
        state.context.places = prepared.places
        return await self.planner.make_plan(state)

    async def _append_warnings(self, state: CallState, plan: Plan, outcome: Outcome) -> None:
        """Append what the model and the user should know about the committed changes."""
        warnings = (*state.notes.user_notes, *state.prepared.principal.policy.warnings(state, plan))
        remarks = [f"[{one}]" for one in warnings]
        report = await syntax_report(plan, self.syntax)
        if report.faults:
            remarks.append(report.text)
            outcome.add_meta({"syntax": report.faults})
        if remarks:
            outcome.add_meta({"remarks": remarks})
        if remarks or state.notes.model_notes:
            outcome.append(*_model_notes(state), *remarks)


def _model_notes(state: CallState) -> list[str]:
    return [f"[{note}]" for note in state.notes.model_notes]
