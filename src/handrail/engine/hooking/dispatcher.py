"""One run of one hook: told, run, understood, and reported to whoever watches."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from handrail.core.context import Session
from handrail.core.events import HookRan
from handrail.core.problems import ProblemRaised
from handrail.core.safe_text import safe_text
from handrail.core.verdicts import Effect
from handrail.engine.arguments import check_plain, load_json
from handrail.engine.events import EventBus
from handrail.engine.hooking.background import Background
from handrail.engine.hooking.claude_input import ClaudeNames, Shown, claude_message
from handrail.engine.hooking.failures import note_failure
from handrail.engine.hooking.hook_input import Message, Told, own_message
from handrail.engine.hooking.runner import HookRunner
from handrail.hooks.output import Answer, Heard, understand
from handrail.hooks.spec import HookSpec, Style

_log = logging.getLogger("handrail")
_ICONS: Final = {
    "ok": "✓",
    "allowed": "✓",
    "changed": "✎",
    "asked": "?",
    "blocked": "✗",
    "failed": "⚠",
}
_NOTED: Final = 300


class Ran(NamedTuple):
    """How a run went, what was said, and under which name it was told."""

    heard: Heard
    answer: Answer
    shown: Shown | None = None


@dataclass(frozen=True, slots=True)
class HookDesk:
    """What all hooks of one runtime share. `aliases` answers every name of a tool."""

    session: Session
    runner: HookRunner
    bus: EventBus
    claude: ClaudeNames
    aliases: Callable[[str], frozenset[str]]
    background: Background

    async def ask(
        self, spec: HookSpec, told: Told, file: str | None = None, shown: Shown | None = None
    ) -> Ran:
        """Run it and wait for its answer; one in the background has none."""
        try:
            if spec.style is Style.CLAUDE:
                message = claude_message(told, self.session, file, shown)
            else:
                message = own_message(told, self.session, file)
        except ProblemRaised as raised:
            return self._understood(
                spec, told, Heard(trouble=raised.problem.message, unable=True), shown
            )
        if spec.background:
            self.background.start(lambda: self._later(spec, told, message), spec.name)
            return Ran(Heard(), Answer(), shown)
        return self._understood(spec, told, await self.runner.run(spec, message), shown)

    async def _later(self, spec: HookSpec, told: Told, message: Message) -> None:
        self._understood(spec, told, await self.runner.run(spec, message), None)

    def _understood(self, spec: HookSpec, told: Told, heard: Heard, shown: Shown | None) -> Ran:
        answer = understand(spec, heard, read_json)
        self._report(spec, told, heard, answer)
        return Ran(heard, answer, shown)

    def _report(self, spec: HookSpec, told: Told, heard: Heard, answer: Answer) -> None:
        outcome = _outcome(answer)
        reason = _line(answer.failed or (answer.reason if answer.effect else ""))
        level = logging.WARNING if answer.failed else logging.INFO
        name = spec.name
        joined = ", as " if answer.failed else ": "
        said = f"{outcome}{joined}{reason}" if reason else outcome
        _log.log(level, "%s Hook %s (%s): %s", _ICONS[outcome], name, told.event, said)
        if answer.failed:
            note_failure(name, told.event.value, reason)
        if answer.notice:
            _log.info("hook %s says: %s", name, _line(answer.notice))
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


def _outcome(answer: Answer) -> str:
    if answer.failed is not None:
        return "failed"
    if answer.effect is Effect.DENY:
        return "blocked"
    if answer.updated is not None:
        return "changed"
    return {Effect.ASK: "asked", Effect.ALLOW: "allowed"}.get(answer.effect or Effect.DENY, "ok")


def _line(text: str) -> str:
    return safe_text(text[:_NOTED], one_line=True)
