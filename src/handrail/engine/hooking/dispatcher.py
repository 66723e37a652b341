"""Runs configured hooks: dispatch of one run, hooks in the background, hooks of a session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import anyio

from handrail.core.context import Session
from handrail.core.events import HookRan
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.core.safe_text import safe_text
from handrail.core.verdicts import Effect
from handrail.engine.events import EventBus
from handrail.engine.hooking.callbacks import HookCall, record_hook_failure
from handrail.engine.hooking.claude_input import ClaudeCall, ClaudeTranslator, claude_payload
from handrail.engine.hooking.hook_input import HookInput, HookPayload, own_payload
from handrail.engine.hooking.runner import HookRunner
from handrail.engine.prepare.arguments import check_plain, load_json
from handrail.hooks.output import HookDecision, HookProcessResult, parse_hook_output
from handrail.hooks.spec import HookEvent, HookSpec, HookStyle

_MAX_BACKGROUND: Final = 8
_SHUTDOWN_TIMEOUT_S: Final = 15.0


class BackgroundHooks:
    """Hooks that no call waits for: a bounded number, ended with the runtime."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Start a hook; if too many are running, log a warning instead."""
        if len(self._tasks) >= _MAX_BACKGROUND:
            _log.warning("hook %s was not run: %d others are still running", name, _MAX_BACKGROUND)
            return
        task = asyncio.get_running_loop().create_task(work(), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    async def aclose(self) -> None:
        """Cancel the hooks that are still running."""
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            with anyio.CancelScope(shield=True):
                await asyncio.wait(tuple(self._tasks), timeout=_SHUTDOWN_TIMEOUT_S)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
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

    heard: HookProcessResult
    answer: HookDecision
    shown: ClaudeCall | None = None


@dataclass(frozen=True, slots=True)
class HookDispatcher:
    """Shared by all hooks of one runtime. `aliases` returns every name of a tool."""

    session: Session
    runner: HookRunner
    bus: EventBus
    claude: ClaudeTranslator
    aliases: Callable[[str], frozenset[str]]
    background: BackgroundHooks

    async def ask(
        self,
        spec: HookSpec,
        told: HookInput,
        file: str | None = None,
        shown: ClaudeCall | None = None,
    ) -> HookRun:
        """Run the hook and wait for its decision; a background hook has none."""
        try:
            if spec.style is HookStyle.CLAUDE:
                message = claude_payload(told, self.session, file, shown)
            else:
                message = own_payload(told, self.session, file)
        except ProblemRaised as raised:
            return self._understood(
                spec, told, HookProcessResult(error=raised.problem.message, not_run=True), shown
            )
        if spec.background:
            self.background.start(lambda: self._later(spec, told, message), spec.name)
            return HookRun(HookProcessResult(), HookDecision(), shown)
        return self._understood(spec, told, await self.runner.run(spec, message), shown)

    async def _later(self, spec: HookSpec, told: HookInput, message: HookPayload) -> None:
        self._understood(spec, told, await self.runner.run(spec, message), None)

    def _understood(
        self, spec: HookSpec, told: HookInput, heard: HookProcessResult, shown: ClaudeCall | None
    ) -> HookRun:
        answer = parse_hook_output(spec, heard, read_json)
        self._report(spec, told, heard, answer)
        return HookRun(heard, answer, shown)

    def _report(
        self, spec: HookSpec, told: HookInput, heard: HookProcessResult, answer: HookDecision
    ) -> None:
        outcome = _outcome(answer)
        reason = _log_line(answer.failure or (answer.reason if answer.effect else ""))
        level = logging.WARNING if answer.failure else logging.INFO
        name = spec.name
        joined = ", as " if answer.failure else ": "
        said = f"{outcome}{joined}{reason}" if reason else outcome
        _log.log(level, "%s Hook %s (%s): %s", _ICONS[outcome], name, told.event, said)
        if answer.failure:
            record_hook_failure(name, told.event.value, reason)
        if answer.user_notice:
            _log.info("hook %s says: %s", name, _log_line(answer.user_notice))
        if not self.bus.idle:
            call = told.call
            self.bus.emit(
                HookRan(
                    name,
                    told.event.value,
                    outcome,
                    reason,
                    heard.exit_code,
                    heard.duration_s,
                    None if call is None else call.call_id,
                    None if call is None else call.tool,
                )
            )


def read_json(text: str) -> object:
    """One JSON value, read as strictly as a call's arguments; raises `invalid_arguments`."""
    value = load_json(text)
    if isinstance(value, dict):
        check_plain(value)
    return value


def _outcome(answer: HookDecision) -> str:
    if answer.failure is not None:
        return "failed"
    if answer.effect is Effect.DENY:
        return "blocked"
    if answer.updated_input is not None:
        return "changed"
    return {Effect.ASK: "asked", Effect.ALLOW: "allowed"}.get(answer.effect or Effect.DENY, "ok")


def _log_line(text: str) -> str:
    return safe_text(text[:_MAX_LOG_CHARS], one_line=True)


class SessionHooks:
    """The hooks at the start and the end of a session, which can stop nothing. Text of a start hook
    reaches the model with the first result.
    """

    def __init__(self, specs: Sequence[HookSpec], desk: HookDispatcher) -> None:
        self._specs = specs
        self._desk = desk
        self._started = False

    async def start(self, *, resumed: bool) -> str:
        """Run the start hooks; returns their text for the model."""
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

    async def _run(self, event: HookEvent, more: Mapping[str, str]) -> list[str]:
        words = []
        for spec in self._specs:
            if spec.event is not event or not _matches_session(spec, more):
                continue
            ran = await self._desk.ask(spec, HookInput(event, extra=more))
            if ran.answer.message and ran.answer.failure is None:
                words.append(f"[Hook {spec.name}]\n{ran.answer.message}")
        return words


def _matches_session(spec: HookSpec, more: Mapping[str, str]) -> bool:
    """In Claude Code's format the matcher of a session hook is about how the session starts."""
    return spec.style is not HookStyle.CLAUDE or spec.matcher.matches(tuple(more.values()))


class SessionStartMessage:
    """Adds text to the first result of a session."""

    def __init__(self, words: str) -> None:
        self._words = words

    async def before(self, call: HookCall) -> None:
        """No opinion."""

    async def after(self, call: HookCall, result: ToolResult) -> str | None:
        """The words, once."""
        words, self._words = self._words, ""
        return words or None
