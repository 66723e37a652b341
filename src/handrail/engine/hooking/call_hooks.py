"""In-process hooks around a call: they may stop or rewrite it before, and add text after it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.core.verdicts import Effect
from handrail.engine import messages
from handrail.engine.call_state import CallState
from handrail.engine.planning.planner import Freshness
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.recording.recorder import Recorder

if TYPE_CHECKING:
    from handrail.engine.hooking.callbacks import Hook, Rewrite
    from handrail.engine.hooking.file_changes import HookFileNote, HookFileTracker

_log = logging.getLogger("handrail")


@dataclass(slots=True)
class CallHooks:
    """Runs the hooks of one runtime around its calls."""

    preparer: Preparer
    recorder: Recorder
    files: Files
    freshness: Freshness
    hooks: list[Hook] = field(default_factory=list)

    async def before(self, state: CallState) -> None:
        """Run every hook before the call. New arguments are prepared and checked like those of any
        call, and the hooks that ran before the last rewrite run again for them. Raises `blocked` if
        a hook denies the call or if two hooks want different arguments.
        """
        if not self.hooks:
            return
        hooks, again = tuple(self.hooks), 0
        for number, hook in enumerate(hooks):
            if await self._run_before(state, hook):
                again = number
        for hook in hooks[:again]:
            if await self._run_before(state, hook):
                raise messages.HOOKS_DISAGREE.error()

    async def _run_before(self, state: CallState, hook: Hook) -> bool:
        """Run one hook; return whether it replaced the arguments."""
        from handrail.engine.hooking.callbacks import hook_call, normalize_opinion

        opinion = normalize_opinion(await hook.before(hook_call(state.prepared)))
        clearance, verdict, rewrite = state.clearance, opinion.verdict, opinion.rewrite
        if opinion.words or (verdict is not None and verdict.effect is not Effect.ALLOW):
            # A hook may read anything.
            state.context.session.note_secrets()
        if opinion.words and opinion.words not in state.notes.hook_messages:
            state.notes.hook_messages.append(opinion.words)
        if verdict is not None and verdict.effect is Effect.DENY:
            clearance.verdict = verdict
            reason = f"Blocked by hook: {verdict.reason}"
            raise ProblemRaised("blocked", reason, hint=verdict.hint)
        if verdict is not None and verdict.effect is Effect.ASK:
            clearance.objections = (*clearance.objections, verdict)
        rewritten = rewrite is not None and rewrite.arguments != state.prepared.arguments
        if rewrite is not None and rewritten:
            clearance.rewritten, clearance.hook_approval = True, None
            self.recorder.replace_prepared(state, self._rewritten(state.prepared, rewrite))
            state.prepared.principal.policy.check_static_policy(state)
        if verdict is not None and verdict.effect is Effect.ALLOW and opinion.may_allow:
            clearance.hook_approval = verdict
        return rewritten

    def _rewritten(self, prepared: PreparedCall, rewrite: Rewrite) -> PreparedCall:
        # The arguments are no longer those of the user, so they are treated as an agent's.
        call = prepared.call._replace(arguments=rewrite.arguments, by_person=False)
        rewritten = self.preparer.prepare(call)
        if rewritten.problem is not None:
            raise ProblemRaised.of(rewritten.problem)
        rewritten.origin = prepared.origin
        # The caller is answered in the names of the call that it made.
        parsed = prepared.parsed
        rewritten.parsed = replace(
            rewritten.parsed, words=parsed.words, caller_names=parsed.caller_names
        )
        return rewritten

    async def after(self, state: CallState) -> None:
        """Run every hook after the call, whatever its outcome; append their text. Edits that a hook
        makes to the call's files are recorded as part of the call and reported.
        """
        from handrail.engine.hooking.file_changes import (
            HookFileNote,
            HookFileTracker,
            current_hook_tracker,
        )

        if not self.hooks or state.outcome is None:
            return
        # The time of hooks does not count as the call's time.
        state.timer.suspend()
        tracker = HookFileTracker(state, self.files, self.freshness)
        added = [HookFileNote(one, one) for one in state.notes.hook_messages]
        inside = current_hook_tracker.set(tracker)
        try:
            result = self.recorder.result(state, state.outcome)
            await self._run_after(state, result, tracker, added)
        finally:
            current_hook_tracker.reset(inside)
        if not added:
            return
        outcome = state.outcome
        outcome.append(*(one.model for one in added))
        remarks = outcome.output.meta.get("remarks", [])
        if isinstance(remarks, list):
            outcome.add_meta({"remarks": [*remarks, *(one.user for one in added)]})
        if self.recorder.fits(state, outcome.text):
            tracker.mark_shown()

    async def _run_after(
        self,
        state: CallState,
        result: ToolResult,
        tracker: HookFileTracker,
        added: list[HookFileNote],
    ) -> None:
        from handrail.engine.hooking.callbacks import hook_call
        from handrail.engine.hooking.file_changes import HookFileNote

        cancellation = state.timer.cancellation
        for hook in self.hooks:
            try:
                words = await hook.after(hook_call(state.prepared), result)
            except asyncio.CancelledError:
                cancellation.uncancel()
                if cancellation.by_caller or not cancellation.ended:
                    raise
                words = "[the hooks after this call were cut short]"
                added += [*tracker.pop_notes(), HookFileNote(words, words)]
                return
            except Exception as error:  # noqa: BLE001 - foreign code, and the call is over
                _log.exception("a hook failed after %s", state.prepared.name)
                words = f"[a hook failed after this call: {type(error).__name__}]"
            if words:
                state.context.session.note_secrets()
                added.append(HookFileNote(words, words))
            added += tracker.pop_notes()
