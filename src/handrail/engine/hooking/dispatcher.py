"""Runs configured hooks: one run, hooks in the background, and the hooks of a session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import anyio

from handrail.core.context import Session
from handrail.core.events import HookRan
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.core.text.safe_text import safe_text
from handrail.core.verdicts import Effect
from handrail.dialects.base import Vocabulary
from handrail.engine.events import EventBus
from handrail.engine.hooking.callbacks import HookCall, record_hook_failure
from handrail.engine.hooking.hook_input import (
    ClaudeCall,
    ClaudeTranslator,
    HookInput,
    HookPayload,
    claude_payload,
    own_payload,
)
from handrail.engine.hooking.runner import HookRunner
from handrail.engine.prepare.arguments import check_plain, load_json
from handrail.hooks.output import HookDecision, HookProcessResult, parse_hook_output
from handrail.hooks.spec import BLOCKING_EVENTS, HookEvent, HookSpec, HookStyle

_MAX_BACKGROUND: Final = 8
_SHUTDOWN_TIMEOUT_S: Final = 15.0


# The subagent for whose work a hook runs; "" for a main agent or the session.
hook_owner: ContextVar[str] = ContextVar("hook_owner", default="")


class BackgroundHooks:
    """Hooks that no call waits for: their number is limited, and they end with the subagent for
    whose work they run, or with the runtime.
    """

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[None], str] = {}

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Start a hook; if too many are running, log a warning instead."""
        if len(self._tasks) >= _MAX_BACKGROUND:
            _log.warning("hook %s was not run: %d others are still running", name, _MAX_BACKGROUND)
            return
        task = asyncio.get_running_loop().create_task(work(), name=name)
        self._tasks[task] = hook_owner.get()
        task.add_done_callback(self._on_done)

    async def end_owned(self, owner: str) -> None:
        """Cancel the hooks that run for the work of a subagent."""
        await self._cancel([task for task, whose in self._tasks.items() if whose == owner])

    async def aclose(self) -> None:
        """Cancel the hooks that are still running."""
        await self._cancel(list(self._tasks))

    async def _cancel(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        if tasks:
            with anyio.CancelScope(shield=True):
                await asyncio.wait(tasks, timeout=_SHUTDOWN_TIMEOUT_S)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        bug = None if task.cancelled() else task.exception()
        if bug is not None:
            _log.error("hook %s failed in a way that it should not", task.get_name(), exc_info=bug)


_log = logging.getLogger("handrail")
_ICONS: Final = {
    "ok": "✓",
    "allowed": "✓",
    "changed": "✎",
    "asked": "?",
    "blocked": "✗",
    "failed": "⚠",
}
_MAX_LOG_CHARS: Final = 300


class HookRun(NamedTuple):
    """The process result and the decision of one run, and the call as it was presented."""

    process: HookProcessResult
    decision: HookDecision
    claude_call: ClaudeCall | None = None

    def failure_effect(self, spec: HookSpec) -> Effect:
        """Return what follows from the failure of this run."""
        if self.process.not_run or self.decision.unread:
            return spec.on_unavailable
        return spec.on_sandbox_failure if self.decision.hindered else spec.on_failure


@dataclass(frozen=True, slots=True)
class HookDispatcher:
    """Shared by all hooks of one runtime. `aliases` returns every name of a tool."""

    session: Session
    runner: HookRunner
    bus: EventBus
    claude: ClaudeTranslator
    aliases: Callable[[str], frozenset[str]]
    background: BackgroundHooks
    architect: Vocabulary

    async def run_hook(
        self,
        spec: HookSpec,
        hook_input: HookInput,
        file: str | None = None,
        claude_call: ClaudeCall | None = None,
    ) -> HookRun:
        """Run the hook and wait for its decision; a background hook has none."""
        try:
            if spec.style is HookStyle.CLAUDE:
                payload = claude_payload(hook_input, self.session, file, claude_call)
            else:
                payload = own_payload(hook_input, self.session, file, claude_call)
        except ProblemRaised as raised:
            return self._finish(
                spec,
                hook_input,
                HookProcessResult(error=raised.problem.message, not_run=True),
                claude_call,
            )
        if spec.background:
            self.background.start(
                lambda: self._run_in_background(spec, hook_input, payload), spec.name
            )
            return HookRun(HookProcessResult(), HookDecision(), claude_call)
        return self._finish(spec, hook_input, await self.runner.run(spec, payload), claude_call)

    async def _run_in_background(
        self, spec: HookSpec, hook_input: HookInput, payload: HookPayload
    ) -> None:
        self._finish(spec, hook_input, await self.runner.run(spec, payload), None)

    def _finish(
        self,
        spec: HookSpec,
        hook_input: HookInput,
        process: HookProcessResult,
        claude_call: ClaudeCall | None,
    ) -> HookRun:
        decision = parse_hook_output(spec, process, read_json)
        self._report(spec, hook_input, process, decision)
        return HookRun(process, decision, claude_call)

    def _report(
        self,
        spec: HookSpec,
        hook_input: HookInput,
        process: HookProcessResult,
        decision: HookDecision,
    ) -> None:
        outcome = _outcome(decision)
        reason = _log_line(decision.failure or (decision.reason if decision.effect else ""))
        level = logging.WARNING if decision.failure else logging.INFO
        name = spec.name
        joined = ", as " if decision.failure else ": "
        text = f"{outcome}{joined}{reason}" if reason else outcome
        _log.log(level, "%s Hook %s (%s): %s", _ICONS[outcome], name, hook_input.event, text)
        if decision.failure:
            record_hook_failure(name, hook_input.event.value, reason)
        if decision.user_notice:
            _log.info("hook %s says: %s", name, _log_line(decision.user_notice))
        if not self.bus.idle:
            call = hook_input.call
            self.bus.emit(
                HookRan(
                    name,
                    hook_input.event.value,
                    outcome,
                    reason,
                    process.exit_code,
                    process.duration_s,
                    None if call is None else call.call_id,
                    None if call is None else call.tool,
                )
            )


def read_json(text: str) -> object:
    """Parse one JSON value, as strictly as a call's arguments; raises `invalid_arguments`."""
    value = load_json(text)
    if isinstance(value, dict):
        check_plain(value)
    return value


def _outcome(decision: HookDecision) -> str:
    if decision.failure is not None:
        return "failed"
    if decision.effect is Effect.DENY:
        return "blocked"
    if decision.updated_input is not None:
        return "changed"
    return {Effect.ASK: "asked", Effect.ALLOW: "allowed"}.get(decision.effect or Effect.DENY, "ok")


def _log_line(text: str) -> str:
    return safe_text(text[:_MAX_LOG_CHARS], one_line=True)


class SessionHooks:
    """The hooks of a session that do not concern a call: its start and end, and the events of
    agents. The text of a start hook reaches the model with the first result.
    """

    def __init__(self, specs: Sequence[HookSpec], desk: HookDispatcher) -> None:
        self._specs = specs
        self._desk = desk
        self._started = False

    async def start(self, *, resumed: bool) -> str:
        """Run the start hooks; return their text for the model."""
        self._started = True
        source = "resume" if resumed else "startup"
        return "\n".join(await self._run(HookEvent.SESSION_START, {"source": source}))

    async def aclose(self) -> None:
        """End background hooks, then run the end hooks if the session was started."""
        await self._desk.background.aclose()
        if self._started:
            self._started = False
            await self._run(HookEvent.SESSION_END, {"reason": "other"})
            await self._desk.background.aclose()

    async def end_background(self, agent: str) -> None:
        """End the background hooks that run for the work of a subagent."""
        await self._desk.background.end_owned(agent)

    async def run(self, event: HookEvent, facts: Mapping[str, str]) -> HookDecision:
        """Run the hooks of an event of an agent's loop. The decision denies if one of them does, or
        if a guard fails; the hooks after it are not run. `message` is their text for the model.
        """
        words = []
        for spec in self._specs:
            if spec.event is not event:
                continue
            run = await self._desk.run_hook(spec, HookInput(event, extra=facts))
            decision, effect = run.decision, run.decision.effect
            if decision.failure is not None:
                effect = run.failure_effect(spec)
            # The user is not asked about a request to a model: a request that is not allowed is not
            # sent.
            if event in BLOCKING_EVENTS and effect not in (None, Effect.ALLOW):
                reason = decision.failure or decision.reason
                return HookDecision(Effect.DENY, f"{reason} (hook {spec.name!r})".lstrip())
            if decision.message and decision.failure is None:
                words.append(f"[Hook {spec.name}]\n{decision.message}")
        return HookDecision(message="\n".join(words))

    async def _run(self, event: HookEvent, more: Mapping[str, str]) -> list[str]:
        words = []
        for spec in self._specs:
            if spec.event is not event or not _matches_session(spec, more):
                continue
            ran = await self._desk.run_hook(spec, HookInput(event, extra=more))
            if ran.decision.message and ran.decision.failure is None:
                words.append(f"[Hook {spec.name}]\n{ran.decision.message}")
        return words


def _matches_session(spec: HookSpec, more: Mapping[str, str]) -> bool:
    """Whether the matcher fits: in Claude Code's format it concerns how the session starts."""
    return spec.style is not HookStyle.CLAUDE or spec.matcher.matches(tuple(more.values()))


class SessionStartMessage:
    """Adds text to the first result of a session."""

    def __init__(self, words: str) -> None:
        self._words = words

    async def before(self, call: HookCall) -> None:
        """Return no opinion."""

    async def after(self, call: HookCall, result: ToolResult) -> str | None:
        """Return the text, once."""
        words, self._words = self._words, ""
        return words or None
