"""The way of a call, once, in order. Order is a security property: it is read in
`_carry_out` and assembled nowhere else. `finish` never raises, except cancellation, which
is recorded first; every exit passes through the recorder's `settle`.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from handrail.core.call import ToolCall
from handrail.core.context import Session, ToolContext, current_reads
from handrail.core.events import Listener
from handrail.core.plan import Plan
from handrail.core.ports import Blobs, Files
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import ChangeRecord, Output, Status, ToolResult
from handrail.core.syntax import SyntaxCheck
from handrail.core.verdicts import Effect
from handrail.engine.approval import RunAborted
from handrail.engine.batch.locks import Locks
from handrail.engine.batch.loop_counter import LoopCounter
from handrail.engine.batch.path_leases import PathLeases
from handrail.engine.call_state import (
    CallOutcome,
    CallState,
    current_session,
    of_output,
    of_problem,
)
from handrail.engine.executors.command_runner import CommandRunner
from handrail.engine.executors.freshness import Freshness
from handrail.engine.executors.os_errors import problem_from_oserror
from handrail.engine.executors.syntax_report import syntax_report
from handrail.engine.gate import Gate
from handrail.engine.hooking.callbacks import current_hook_failures
from handrail.engine.hooking.file_changes import HookFileTracker
from handrail.engine.modifiers import take_up
from handrail.engine.planning.mode import PlanMode
from handrail.engine.planning.preview import call_preview
from handrail.engine.prepare.preparer import PreparedCall, Preparer
from handrail.engine.recording.dead_letters import DeadLetters
from handrail.engine.recording.payloads import one_line
from handrail.engine.recording.recorder import Recorder
from handrail.engine.timing.deadlines import CallTimer, DeadlineTimer
from handrail.engine.timing.retry import retry
from handrail.engine.timing.threads import (
    HandedValue,
    ValueWithheld,
    join_uncancellable,
    run_in_thread_uncancellable,
    start_in_thread,
    wait_uncancellable,
)
from handrail.history.before_images import INLINE_BYTES, describe_changes, not_kept
from handrail.history.commit import BlobRetention, CommitResidue, commit
from handrail.history.hashing import hash_ahead

_log = logging.getLogger("handrail")
# What a disk says for itself, whoever asked it: no defect of the tool.
_DISK: Final = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS})


@dataclass(slots=True)
class Pipeline:
    """Carries out the calls of one session. `blobs` None: old contents are not kept."""

    session: Session
    files: Files
    blobs: Blobs | None
    preparer: Preparer
    gate: Gate
    locks: Locks
    ticker: DeadlineTimer
    recorder: Recorder
    freshness: Freshness
    syntax: SyntaxCheck
    dry_run: bool
    durable: bool
    loops: LoopCounter
    reserved: PathLeases
    plans: PlanMode
    commands: CommandRunner | None = None
    letters: DeadLetters | None = None
    # Keeps what a later run of the session goes on with, where there may be one.
    after_call: Callable[[], None] | None = None

    async def run(self, call: ToolCall, listener: Listener | None = None) -> ToolResult:
        """Both halves: understand the call, then carry it out."""
        return await self.finish(self.preparer.prepare(call), listener)

    async def finish(self, prepared: PreparedCall, listener: Listener | None = None) -> ToolResult:
        """The second half: clear, carry out, settle. A tool's failure is a result."""
        watch = self.ticker.watch(prepared.call.id, prepared.name, listener)
        running = CallState(prepared, watch, listener)
        inside, noting = current_session.set(self.session), current_reads.set(running.reads)
        noted = current_hook_failures.set(running.hook_failures)
        outcome: CallOutcome | None = None
        try:
            outcome = await self._outcome(running)
            if outcome.modifiers:
                take_up(running, outcome, self.gate.grants)
            self.loops.record_outcome(running, outcome)
            if self.gate.hooks:
                left = HookFileTracker(running, self.files, self.freshness)
                await self.gate.after_hooks(running, outcome, self.recorder, left)
            if watch.ended:
                await _absorb(watch)
        except BaseException:
            self.recorder.settle(running, outcome or of_problem(_ended(running)))
            raise
        else:
            result = self.recorder.settle(running, outcome)
            if result.problem is not None and self.letters is not None:
                await self.letters.note(running, result)
            return result
        finally:
            self.gate.settle(running, outcome)
            current_hook_failures.reset(noted)
            current_session.reset(inside)
            current_reads.reset(noting)
            if self.after_call is not None:
                self.after_call()
            self.ticker.forget(watch)

    async def _outcome(self, running: CallState) -> CallOutcome:
        """What came of it; raises only what the caller itself asked for: to be cancelled."""
        try:
            await self.recorder.begin(running)
            return await self._carry_out(running)
        except RunAborted as aborted:
            self.ticker.end_others(running.watch)
            return of_problem(aborted.problem)
        except ProblemRaised as raised:
            prepared = running.prepared
            problem = self.preparer.without_hidden_names(prepared.call, raised.problem)
            outcome = of_problem(problem, prepared.spelled)
            if running.mess is not None and running.mess.partially_applied:
                outcome.status = Status.UNKNOWN
            return outcome
        except asyncio.CancelledError as cancelled:
            running.watch.take_back()
            if running.watch.cancelled_by_caller:
                raise
            if not running.watch.ended:
                return of_problem(_bug(running.prepared, cancelled))
            return of_problem(_ended(running))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as bug:  # noqa: BLE001 - the one boundary: a bug becomes a result
            return of_problem(_unforeseen(running.prepared, bug))

    async def _carry_out(self, running: CallState) -> CallOutcome:
        self.gate.check(running)
        if running.prepared.problem is not None:
            raise ProblemRaised.of(running.prepared.problem)
        self.loops.check(running.prepared)
        looked_at = running.prepared.reads_only and running.prepared.footprint.command is None
        if not looked_at or self.gate.hooks:
            self.gate.refuse(running)
        if self.gate.hooks:
            await self.gate.before_hooks(running)
        self.gate.check_effects(running)
        prepared, tool, args = running.prepared, running.prepared.tool, running.prepared.args
        context = self._context(running)
        # What a user asks for themselves has no deadline: an undo of many files takes its time.
        by_user = prepared.call.by_person and tool.plans
        self.ticker.limit(running.watch, None if by_user else tool.timeout_s)
        if tool.has_preflight:
            await tool.preflight(args, context)
        while True:
            plan = await self._first_plan(running, context) if tool.plans else None
            cleared = await self.gate.clear(running, plan, ask=not self.dry_run)
            context.confirmed = running.approved
            if self.dry_run and (cleared is not Effect.ALLOW or not prepared.reads_only):
                self.plans.actions.note(prepared, plan)
                return _planned(running, plan)
            if cleared is Effect.DENY:
                return self.plans.queue.add(running, plan)
            async with self.locks.hold(prepared.footprint, plan):
                if plan is None:
                    return await self._execute(running, context)
                outcome = await self._commit(running, context, plan)
            if outcome is not None:
                return outcome

    async def _execute(self, running: CallState, context: ToolContext) -> CallOutcome:
        prepared, tool = running.prepared, running.prepared.tool
        analysis, commands = prepared.footprint.command, self.commands
        if not prepared.reads_only:
            await self.reserved.respect(running, None)
            held = (
                await commands.begin(running, analysis) if commands is not None and analysis else {}
            )
            await self.recorder.intent(running, {"runs": prepared.name, **held})
        self.ticker.limit(running.watch, tool.timeout_s)
        if commands is not None and analysis is not None:
            outcome = await commands.run(running, context)
            warned = [f"[{one}]" for one in self.gate.warnings(running, None)]
            outcome.text = "\n".join([outcome.text, *warned])
            return outcome
        if prepared.attempts == 1:
            return of_output(await tool.run(prepared.args, context))

        async def run() -> Output:
            running.attempts += 1
            self.ticker.limit(running.watch, tool.timeout_s)
            return await tool.run(prepared.args, context)

        return of_output(await retry(run, prepared.attempts, context.report))

    async def _commit(
        self, running: CallState, context: ToolContext, plan: Plan
    ) -> CallOutcome | None:
        """Commit the plan; None if it had to be made anew and the person must see that."""
        if not all(self.files.unchanged(change) for change in plan.changes):
            prepared = running.prepared
            self.preparer.resolve_again(prepared)
            if prepared.problem is not None:
                raise ProblemRaised.of(prepared.problem)
            context.places = prepared.places
            plan = await self._plan(running, context)
            if not self.gate.still_clear(running, plan):
                return None
        outcome = CallOutcome(Status.OK, plan.text, plan.preview or None, plan.data)
        if plan.changes:
            await self.reserved.respect(running, plan)
            await self._write(running, plan)
            if not running.prepared.call.by_person:
                self.freshness.renew(plan, running.prepared.call.agent)
            if self.commands is not None:
                self.commands.changed(plan)
            await self._remark(running, plan, outcome)
        return outcome

    async def _remark(self, running: CallState, plan: Plan, outcome: CallOutcome) -> None:
        """What else is to be said about a change that has happened."""
        remarks = [f"[{one}]" for one in (*running.remarks, *self.gate.warnings(running, plan))]
        broken = await syntax_report(plan, self.syntax)
        if broken.faults:
            remarks.append(broken.text)
            outcome.meta = {"syntax": broken.faults}
        if remarks:
            outcome.meta = {**outcome.meta, "remarks": remarks}
        outcome.text = "\n".join([plan.text, *_noted(running), *remarks])

    async def _first_plan(self, running: CallState, context: ToolContext) -> Plan | None:
        """The plan of a tool that makes one; None if only a queued call makes it possible."""
        prepared = running.prepared
        try:
            return await self._plan(running, context)
        except ProblemRaised:
            if prepared.promise is None and self.plans.depends_on_queued(prepared):
                return None
            raise

    async def _plan(self, running: CallState, context: ToolContext) -> Plan:
        """What the tool wants changed, if the model knows what it changes."""
        prepared = running.prepared
        try:
            plan = await prepared.tool.plan(prepared.args, context)
        except ProblemRaised as raised:
            places = list(prepared.places.values())
            problem = self.freshness.explain(raised.problem, places, prepared.call.agent)
            raise ProblemRaised.of(problem) from raised
        running.notes = self.freshness.check(plan, prepared.call.agent)
        if self.blobs is not None and not self.dry_run:
            running.hashing = hash_ahead(plan, self.blobs)
        return plan

    async def _write(self, running: CallState, plan: Plan) -> None:
        """Announce the plan and carry it out. Its contents are written while the intent is
        still on its way to the disk; nothing appears before it is there.
        """
        token = os.urandom(8).hex()
        intent = HandedValue[BlobRetention | None]()
        running.mess = mess = CommitResidue()
        power = self.durable

        def work(tell: Callable[[], None]) -> None:
            def done(changes: tuple[ChangeRecord, ...]) -> None:
                running.changes = changes
                tell()

            commit(
                plan,
                self.files,
                durable=power,
                token=token,
                announced=intent.wait,
                mess=mess,
                done=done,
            )

        writing = start_in_thread(work)
        try:
            await self._announce(running, plan, token, intent)
        except BaseException:
            intent.fail()
            await wait_uncancellable(writing)
            failure = writing.exception()
            if failure is not None and not isinstance(failure, ValueWithheld):
                # It had been told to go on, and what came of that counts.
                raise failure from None
            raise
        await join_uncancellable(writing)

    async def _announce(
        self, running: CallState, plan: Plan, token: str, on_disk: HandedValue[BlobRetention | None]
    ) -> None:
        """Put the intent on disk; tells the thread that writes so, and what it is to keep."""
        described: list[dict[str, object]] = []
        if running.hashing:
            await asyncio.wait(running.hashing)
        if self.blobs is None or plan.size <= INLINE_BYTES or running.hashing:
            described = describe_changes(plan, self.blobs)
        else:
            await run_in_thread_uncancellable(
                lambda: described.extend(describe_changes(plan, self.blobs))
            )
        keeping: BlobRetention | None = None
        if self.blobs is not None:
            running.remarks = [
                f"{one['path']} cannot be undone: {why}"
                for one in described
                if (why := not_kept(one)) is not None
            ]
            kept = (number for number, one in enumerate(described) if one["image"] == "blob")
            keeping = BlobRetention(self.blobs, frozenset(kept))
        text = self.recorder.cut("\n".join([plan.text, *_noted(running)]), running)
        intent = {"changes": described, "token": token, "data": plan.data, "text": text}
        if not running.prepared.call.by_person:
            intent["relies_on"] = plan.relies_on
        await self.recorder.intent(running, intent, partial(on_disk.give, keeping))
        # For a store that tells nobody at once.
        on_disk.give(keeping)

    def _context(self, running: CallState) -> ToolContext:
        return ToolContext(
            running.prepared.call,
            self.session,
            partial(self.recorder.report, running),
            running.watch.signal,
            running.prepared.places,
            on_output=self.recorder.listens(running),
        )


def _noted(running: CallState) -> list[str]:
    return [f"[{note}]" for note in running.notes]


async def _absorb(watch: CallTimer) -> None:
    """A tool that went on although it was ended leaves our request behind: take it back."""
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        watch.take_back()
        if watch.cancelled_by_caller:
            raise
    watch.take_back()


def _planned(running: CallState, plan: Plan | None) -> CallOutcome:
    preview = call_preview(running.prepared, plan)
    lines = [f"[DRY-RUN] Would execute: {one_line(running.prepared)}"]
    if running.verdict is not None and running.verdict.effect is Effect.ASK:
        lines.append(f"(a person would be asked first: {running.verdict.reason})")
    elif running.verdict is not None and running.verdict.effect is Effect.DENY:
        lines.append("(plan mode: it would be queued for the person instead)")
    if preview:
        lines.append(preview)
    return CallOutcome(Status.PLANNED, "\n".join(lines), preview or None)


def _ended(running: CallState) -> Problem:
    name, watch = running.prepared.name, running.watch
    happened = "; its changes had happened already" if running.changes else ""
    if watch.expired:
        limit = running.prepared.tool.timeout_s
        message = f"{name} did not finish within {limit:g} s{happened}"
        return Problem("timeout", message, retryable=not running.changes)
    return Problem("cancelled", f"{name} was cancelled{happened}")


def _unforeseen(prepared: PreparedCall, error: BaseException) -> Problem:
    said = problem_from_oserror(prepared, error)
    if said is not None:
        return said
    _log.exception("%s failed in a way that it should not", prepared.name)
    return _bug(prepared, error)


def _bug(prepared: PreparedCall, bug: BaseException) -> Problem:
    if isinstance(bug, OSError) and bug.errno in _DISK:
        return Problem("unavailable", f"{prepared.name} failed: the disk reported {bug.strerror!r}")
    return Problem(
        "internal",
        f"{prepared.name} failed: {type(bug).__name__}: {bug}",
        hint="this is a defect in the tool, not in your arguments; try another way",
    )
