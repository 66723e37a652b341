"""Configured hooks around calls: a guard before a call, text after it.

A guard runs for every file of a call, by every name by which the file was reached. The first
refusal ends it, and a failure counts as `on_failure` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.core.results import Status, ToolResult
from handrail.core.verdicts import Effect, Verdict
from handrail.engine.hooking.callbacks import HookCall, Opinion, Rewrite
from handrail.engine.hooking.dispatcher import HookDispatcher, HookRun
from handrail.engine.hooking.hook_input import (
    ClaudeCall,
    HookInput,
    complete_input,
    find_called_view,
    spell_call,
)
from handrail.hooks import messages
from handrail.hooks.output import BLOCK_EXIT_CODE, truncate_message
from handrail.hooks.spec import HookEvent, HookSpec, HookStyle

# A guard does not run for a call that touches more files than this: that counts as a failure.
MAX_HOOK_FILES: Final = 50
_EVENTS: Final = {
    Status.OK: (HookEvent.POST_TOOL_USE,),
    Status.FAILED: (HookEvent.POST_TOOL_USE_FAILURE, HookEvent.ON_ERROR),
    Status.UNKNOWN: (HookEvent.POST_TOOL_USE_FAILURE, HookEvent.ON_ERROR),
}


@dataclass(frozen=True, slots=True)
class CommandHook:
    """One configured hook for the events of a call."""

    spec: HookSpec
    dispatcher: HookDispatcher

    async def before(self, call: HookCall) -> Opinion | None:
        """Return the opinion of the guard; None if it has none."""
        if self.spec.event is not HookEvent.PRE_TOOL_USE:
            return None
        targets = self._targets(call, HookEvent.PRE_TOOL_USE)
        if len(targets) > MAX_HOOK_FILES:
            why = f"the call is about more than {MAX_HOOK_FILES} files"
            return self._failed(why, self.spec.on_unavailable)
        votes = HookVotes()
        for file, claude_call in targets:
            hook_input = HookInput(HookEvent.PRE_TOOL_USE, call)
            final = self._collect(
                await self.dispatcher.run_hook(self.spec, hook_input, file, claude_call),
                call,
                votes,
            )
            if final is not None:
                return final
        return votes.opinion(self.spec)

    async def after(self, call: HookCall, result: ToolResult) -> str | None:
        """Return the text of the hook about a finished call."""
        event = self.spec.event
        if event not in _EVENTS.get(result.status, ()):
            return None
        if not call.files and result.changes:
            call = _with_changed_files(call, result, self.dispatcher.session.roots[0])
        words: list[str] = []
        targets = self._targets(call, event)
        gone = {change.path for change in result.changes if change.operation == "delete"}
        for file, claude_call in targets[:MAX_HOOK_FILES]:
            if file is not None and self.spec.needs_file and _is_deleted(file, gone):
                continue
            run = await self.dispatcher.run_hook(
                self.spec, HookInput(event, call, result), file, claude_call
            )
            words += self._message_lines(run)
        if len(targets) > MAX_HOOK_FILES:
            words.append(
                f"[Hook {self.spec.name}: run for {MAX_HOOK_FILES} of {len(targets)} files]"
            )
        return "\n".join(dict.fromkeys(words)) or None

    def _targets(
        self, call: HookCall, event: HookEvent
    ) -> Sequence[tuple[str | None, ClaudeCall | None]]:
        """The files and names for which the hook runs; empty if it does not concern the call."""
        spec, desk = self.spec, self.dispatcher
        claude = spec.style is HookStyle.CLAUDE
        known_as = desk.aliases(call.tool)
        if claude:
            known_as |= desk.claude.names(call.tool)
        elif spec.style is HookStyle.ARCHITECT and (
            called := find_called_view(desk.architect, call)
        ):
            # One tool of Handrail can be two tools in the caller's vocabulary: `grep` and
            # `search_code`.
            others = {view.name for view in desk.architect.views(call.tool)} - {called.name}
            known_as -= others
        if not spec.matcher.matches(known_as):
            return ()
        files = self._files(call, event)
        if not claude:
            foreign = None
            if spec.style is HookStyle.ARCHITECT:
                foreign = spell_call(desk.architect, call, desk.session.roots[0])
            return [(file, foreign) for file in files]
        return [(file, one) for file in files for one in self._matching_names(call, file)]

    def _matching_names(self, call: HookCall, file: str | None) -> list[ClaudeCall]:
        """Return the call under those of its names that the matcher matches, without duplicates."""
        found = self.dispatcher.claude.translate(call, file)
        named = [one for one in found if self.spec.matcher.matches((one.name,))]
        return [
            one
            for number, one in enumerate(named or found[:1])
            if all(one.input != earlier.input for earlier in named[:number])
        ]

    def _files(self, call: HookCall, event: HookEvent) -> list[str | None]:
        spec = self.spec
        about_files = spec.files is not None or spec.needs_file
        if call.runs_command and not about_files:
            return [None]
        names: list[str] = []
        for file in call.files:
            # After a call, only the file itself needs to be checked.
            ways = call.ways.get(file, ()) if event is HookEvent.PRE_TOOL_USE else ()
            names += (file, *ways)
        if spec.files is not None:
            return [name for name in names if spec.files.matches(name)]
        return [*names] or ([] if spec.needs_file else [None])

    def _collect(self, run: HookRun, call: HookCall, votes: HookVotes) -> Opinion | None:
        """Collect the decision of one run; return an opinion if it is final."""
        decision = run.decision
        if decision.failure is not None:
            effect = run.failure_effect(self.spec)
            why = f"{decision.failure}\n{decision.message}".rstrip()
            return self._failed(why, effect, hindered=decision.hindered)
        if decision.effect is Effect.DENY:
            return Opinion(self._verdict(Effect.DENY, decision.reason))
        if decision.effect is Effect.ASK:
            votes.asks = self._verdict(Effect.ASK, decision.reason)
        votes.allows.append(decision.effect is Effect.ALLOW)
        if decision.message:
            votes.messages.append(f"[Hook {self.spec.name}]\n{decision.message}")
        if decision.updated_input is not None:
            try:
                votes.rewrite = self._rewrite(run, call)
            except ProblemRaised as raised:
                return self._failed(raised.problem.message, Effect.DENY)
        return None

    def _rewrite(self, run: HookRun, call: HookCall) -> Rewrite:
        updated, desk, made = run.decision.updated_input or {}, self.dispatcher, run.claude_call
        if made is not None and made.view is not None and self.spec.style is HookStyle.ARCHITECT:
            updated = complete_input(desk.architect, made.view, call, updated)
        if made is not None:
            updated = desk.claude.translate_back(made, call, updated)
        return Rewrite(updated)

    def _failed(self, why: str, effect: Effect, *, hindered: bool = False) -> Opinion | None:
        if effect is Effect.ALLOW:
            return None
        name, hint = self.spec.name, ""
        if effect is not self.spec.on_failure:
            unconfined = " or unconfined = true" if hindered else ""
            hint = f'; to change that set on_failure = "allow"{unconfined} for it'
        reason = messages.HOOK_FAILED.format(name=name, reason=why)
        return Opinion(self._verdict(effect, reason, hint))

    def _verdict(self, effect: Effect, reason: str, more: str = "") -> Verdict:
        spec = self.spec
        deny = effect is Effect.DENY
        template = messages.BLOCKED_BY_HOOK if deny else messages.APPROVAL_BY_HOOK
        source = f"{spec.name!r} ({spec.where}){more}"
        return Verdict.from_template(
            effect, template, f"hook:{spec.name}", reason=reason, source=source
        )

    def _message_lines(self, run: HookRun) -> list[str]:
        name, decision, code = self.spec.name, run.decision, run.process.exit_code
        if decision.failure is not None:
            if self.spec.style is HookStyle.CLAUDE:
                return []
            plain = code != 0 and not run.process.timed_out and run.process.error is None
            why = f"exit {code}" if plain else decision.failure
            hindered = f"[{run.process.hindered}]" if plain and run.process.hindered else ""
            parts = (f"[Hook {name}: FAILED ({why})]", decision.message, hindered)
            return ["\n".join(part for part in parts if part)]
        if decision.effect is Effect.DENY:
            mark = f": FAILED (exit {code})" if code == BLOCK_EXIT_CODE else ""
            text = "\n".join(part for part in (decision.reason, decision.message) if part)
            return [f"[Hook {name}{mark}]\n{truncate_message(text)}"]
        return [f"[Hook {name}]\n{decision.message}"] if decision.message else []


class HookVotes:
    """The decisions of the runs of one guard about one call."""

    def __init__(self) -> None:
        self.asks: Verdict | None = None
        self.allows: list[bool] = []
        self.messages: list[str] = []
        self.rewrite: Rewrite | None = None

    def opinion(self, spec: HookSpec) -> Opinion | None:
        """Return the combined opinion; an approval counts only if every run gave it."""
        verdict, may_allow = self.asks, False
        if verdict is None and spec.may_allow and self.allows and all(self.allows):
            verdict = Verdict(
                Effect.ALLOW,
                messages.ALLOWED_BY_HOOK.format(name=spec.name),
                f"hook:{spec.name}",
            )
            may_allow = True
        words = "\n".join(dict.fromkeys(self.messages))
        if verdict is None and self.rewrite is None and not words:
            return None
        return Opinion(verdict, self.rewrite, words, may_allow)


def _with_changed_files(call: HookCall, result: ToolResult, workspace: str) -> HookCall:
    """Return the call with the files that it actually changed."""
    files = tuple(str(PurePosixPath(workspace, change.path)) for change in result.changes)
    return replace(call, files=files, ways={}, runs_command=False)


def _is_deleted(file: str, gone: set[str]) -> bool:
    return any(file == path or file.endswith(f"/{path}") for path in gone)
