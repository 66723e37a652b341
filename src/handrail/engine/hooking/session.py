"""Hooks of a session's beginning and end. They can stop nothing; what one says at the start
reaches the model with the first result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handrail.core.results import ToolResult
from handrail.engine.hooking.callbacks import HookCall
from handrail.engine.hooking.dispatcher import HookDesk
from handrail.engine.hooking.hook_input import Told
from handrail.hooks.spec import HookEvent, HookSpec, Style


class SessionHooks:
    """The hooks around one session."""

    def __init__(self, specs: Sequence[HookSpec], desk: HookDesk) -> None:
        self._specs = specs
        self._desk = desk
        self._started = False

    async def start(self, *, resumed: bool) -> str:
        """Run those of the beginning; what they have to say for the model."""
        self._started = True
        source = "resume" if resumed else "startup"
        return "\n".join(await self._run(HookEvent.SESSION_START, {"source": source}))

    async def aclose(self) -> None:
        """End what runs in the background, then run those of the end, if there was a beginning."""
        await self._desk.background.aclose()
        if self._started:
            self._started = False
            await self._run(HookEvent.SESSION_END, {"reason": "other"})
            await self._desk.background.aclose()

    async def _run(self, event: HookEvent, more: Mapping[str, str]) -> list[str]:
        words = []
        for spec in self._specs:
            if spec.event is not event or not _concerned(spec, more):
                continue
            ran = await self._desk.ask(spec, Told(event, more=more))
            if ran.answer.words and ran.answer.failed is None:
                words.append(f"[Hook {spec.name}]\n{ran.answer.words}")
        return words


def _concerned(spec: HookSpec, more: Mapping[str, str]) -> bool:
    """In Claude Code's form the matcher of such a hook is about how the session begins."""
    return spec.style is not Style.CLAUDE or spec.matcher.matches(tuple(more.values()))


class FirstWords:
    """Adds words to the first result of a session, and then no more."""

    def __init__(self, words: str) -> None:
        self._words = words

    async def before(self, call: HookCall) -> None:
        """No opinion."""

    async def after(self, call: HookCall, result: ToolResult) -> str | None:
        """The words, once."""
        words, self._words = self._words, ""
        return words or None
