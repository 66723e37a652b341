"""A configured and checked hook as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from handrail.core.verdicts import Effect
from handrail.hooks.matching import FilePatterns, ToolMatcher


class HookEvent(StrEnum):
    """When a hook runs. Only the events in `BLOCKING_EVENTS` can stop something."""

    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    POST_TOOL_USE_FAILURE = "post_tool_use_failure"
    SESSION_START = "session_start"
    SESSION_END = "session_end"
    ON_ERROR = "on_error"
    PRE_LLM_CALL = "pre_llm_call"
    POST_LLM_CALL = "post_llm_call"
    BUDGET_WARNING = "budget_warning"
    AGENT_COMPLETE = "agent_complete"

    @property
    def pascal(self) -> str:
        """The name as Claude Code writes it."""
        return "".join(word.capitalize() for word in self.value.split("_"))


# Hooks of these events can stop what they are run before.
BLOCKING_EVENTS: Final = frozenset({HookEvent.PRE_TOOL_USE, HookEvent.PRE_LLM_CALL})
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
    """The format of a hook's input and output."""

    OWN = "own"
    CLAUDE = "claude"


@dataclass(frozen=True, slots=True)
class HookSpec:
    """One configured hook."""

    name: str
    event: HookEvent
    # A bash script whose `$1` is the file.
    command: str
    # The location in the settings, as text.
    where: str
    matcher: ToolMatcher
    # The hook runs only for these files; None: for every call.
    files: FilePatterns | None = None
    timeout_s: float = 10.0
    background: bool = False
    # The effect on a call whose guard failed.
    on_failure: Effect = Effect.ALLOW
    # The effect on a call whose guard could not be run.
    on_unavailable: Effect = Effect.DENY
    # The effect on a call whose guard failed in the sandbox, which may have been the cause.
    on_sandbox_failure: Effect = Effect.DENY
    # Whether an approval by the hook counts instead of the user's.
    may_allow: bool = False
    # Whether the program runs outside the sandbox.
    unconfined: bool = False
    style: HookStyle = HookStyle.OWN
    # Whether the hook comes from the user's own settings.
    user_owned: bool = True
    # Whether the hook runs only for calls about files.
    needs_file: bool = False

    @property
    def is_guard(self) -> bool:
        """Whether this hook stops what it is run before, or has it asked about, if it fails."""
        return self.event in BLOCKING_EVENTS and self.on_failure is not Effect.ALLOW
