"""A configured hook as a value; what is in it has been checked by whoever made it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from handrail.core.verdicts import Effect
from handrail.hooks.matching import FilePatterns, ToolMatcher


class HookEvent(StrEnum):
    """When a hook is run. Only the first can stop something."""

    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    POST_TOOL_USE_FAILURE = "post_tool_use_failure"
    SESSION_START = "session_start"
    SESSION_END = "session_end"
    ON_ERROR = "on_error"

    @property
    def pascal(self) -> str:
        """The name as Claude Code writes it."""
        return "".join(word.capitalize() for word in self.value.split("_"))


# Hooks of these events are about a call of a tool.
CALL_EVENTS: Final = frozenset(
    {
        HookEvent.PRE_TOOL_USE,
        HookEvent.POST_TOOL_USE,
        HookEvent.POST_TOOL_USE_FAILURE,
        HookEvent.ON_ERROR,
    }
)


class HookStyle(StrEnum):
    """Whose names and rules a hook's program speaks in."""

    OWN = "own"
    CLAUDE = "claude"


@dataclass(frozen=True, slots=True)
class HookSpec:
    """One hook. `command` is a bash script whose `$1` is the file; `where` is the place in the
    settings that it comes from, `own` whether that is the person's.

    `on_failure` is what becomes of a call whose guard failed, `if_unable` what becomes of it
    if the guard could not even be asked, `if_hindered` if it failed in the sandbox, which may
    have been the reason. `needs_file`: it is run only for calls about files.
    """

    name: str
    event: HookEvent
    command: str
    where: str
    matcher: ToolMatcher
    files: FilePatterns | None = None
    timeout_s: float = 10.0
    background: bool = False
    on_failure: Effect = Effect.ALLOW
    on_unavailable: Effect = Effect.DENY
    on_sandbox_failure: Effect = Effect.DENY
    may_allow: bool = False
    unconfined: bool = False
    style: HookStyle = HookStyle.OWN
    user_owned: bool = True
    needs_file: bool = False

    @property
    def is_guard(self) -> bool:
        """Whether a call does not happen if this hook does not work."""
        return self.event is HookEvent.PRE_TOOL_USE and self.on_failure is not Effect.ALLOW
