"""From the settings to hooks: our own form and the old `post_edit`; Claude Code's is told by
its shape.

Whatever cannot be taken at its word is an error with its place and key; one bad hook never
silences the others, because none of them is loaded then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Effect
from handrail.hooks.checks import (
    EVENTS,
    FIELDS,
    LEAST_S,
    MOST_S,
    Parsed,
    Surroundings,
    bounded,
    is_claude,
    listed,
    matcher_of,
    name_of,
    patterns_of,
)
from handrail.hooks.claude_format import claude_group
from handrail.hooks.fields import Fields, Where, meant
from handrail.hooks.script import FILE, script_of
from handrail.hooks.spec import HookEvent, HookSpec

TIMEOUT_S: Final = 10.0
_POST_EDIT: Final = "post_edit"
_EDITS: Final = "edit_file|write_file|apply_patch"
_LOOP: Final = (
    *("pre_llm_call", "post_llm_call", "budget_warning", "context_compress", "agent_complete"),
    *("PreLlmCall", "PostLlmCall", "BudgetWarning", "ContextCompress", "AgentComplete"),
    *("UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop", "Notification", "PreCompact"),
)


def parse_hooks(table: Mapping[str, Any], around: Surroundings) -> Parsed:
    """All hooks of the `hooks` table but those in files; raises `invalid_arguments`."""
    specs: list[HookSpec] = []
    notices: list[str] = []
    for key, given in table.items():
        if key == "claude":
            continue
        where = around.place(f"hooks.{key}")
        event = _event(key, given, where, notices)
        if event is None:
            continue
        for number, entry in enumerate(listed(given, where)):
            at = around.place(f"hooks.{key}[{number}]")
            if is_claude(entry):
                specs += claude_group(entry, event, at, around, notices)
            else:
                matcher = _EDITS if key == _POST_EDIT else "*"
                specs += _own(Fields(entry, at, FIELDS), event, matcher, around, notices)
    return bounded(specs, notices, around.place("hooks"))


def _event(key: str, given: Any, where: Where, notices: list[str]) -> HookEvent | None:
    if key == _POST_EDIT:
        return HookEvent.POST_TOOL_USE
    if key in EVENTS:
        return EVENTS[key]
    if isinstance(given, list) and given and all(map(is_claude, given)):
        notices.append(f"{where}: hooks of this event are not run here")
        return None
    hint = f"events: {', '.join(HookEvent)}"
    if key in _LOOP:
        raise where.wrong("this event comes with the agent loop", hint=hint)
    raise where.wrong(f"there is no such event{meant(key, EVENTS)}", hint=hint)


def _own(
    fields: Fields, event: HookEvent, matcher: str, around: Surroundings, notices: list[str]
) -> Iterator[HookSpec]:
    command = fields.text("command")
    background = fields.flag("async", False)
    on_failure = _on_failure(fields, event, background=background)
    text = fields.text("matcher", matcher)
    spec = HookSpec(
        name=name_of(fields, command),
        event=event,
        command=_script(fields, command),
        where=str(fields.where),
        matcher=matcher_of(fields, text, event, around, notices),
        files=patterns_of(fields, around),
        timeout_s=fields.seconds("timeout", TIMEOUT_S, LEAST_S, MOST_S),
        background=background,
        on_failure=on_failure,
        if_unable=on_failure,
        if_hindered=on_failure,
        may_allow=fields.persons("may_allow"),
        unconfined=fields.persons("unconfined"),
        own=fields.where.own,
        needs_file=FILE in command,
    )
    if fields.flag("enabled", True):
        yield spec


def _on_failure(fields: Fields, event: HookEvent, *, background: bool) -> Effect:
    """What a person said, else: a guard denies, and nothing else can."""
    asked = fields.effect("on_failure")
    stops = event is HookEvent.PRE_TOOL_USE and not background
    if asked not in (None, Effect.ALLOW) and not stops:
        raise fields.wrong("on_failure", "only a hook that a call waits for can stop it")
    return asked or (Effect.DENY if stops else Effect.ALLOW)


def _script(fields: Fields, command: str) -> str:
    try:
        return script_of(command)
    except ProblemRaised as raised:
        problem = raised.problem
        raise fields.wrong("command", problem.message, hint=problem.hint) from raised
