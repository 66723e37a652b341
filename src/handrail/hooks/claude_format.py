"""Hooks in Claude Code's format, loaded without translation.

The meaning of that format is kept: an exit code other than 0 and 2 does not stop a call, unless
`on_failure` is set or the sandbox may have caused the failure. Hooks that cannot be run here are
reported as notices.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from handrail.core.verdicts import Effect
from handrail.hooks import messages
from handrail.hooks.fields import (
    EVENT_NAMES,
    HOOK_FIELDS,
    MAX_TIMEOUT_S,
    MIN_TIMEOUT_S,
    HookFields,
    HookParseContext,
    ParsedHooks,
    SettingLocation,
    check_hook_count,
    hook_name,
    parse_file_patterns,
    parse_matcher,
    require_list,
)
from handrail.hooks.matching import ToolMatcher
from handrail.hooks.spec import HookEvent, HookSpec, HookStyle

CLAUDE_TIMEOUT_S: Final = 60.0
# Fields that a user may add to hooks of this format.
_USER_OPTIONS: Final = ("may_allow", "unconfined", "on_failure")
_KNOWN_FIELDS: Final = frozenset(
    {*HOOK_FIELDS, "type", "args", "if", "once", "statusMessage", "shell"}
)


class ClaudeSettingsFile(NamedTuple):
    """A settings file of Claude Code that `hooks.claude` names, its location in the settings, and
    the options given for it.
    """

    path: str
    where: SettingLocation
    options: Mapping[str, Any]


def claude_settings_files(
    table: Mapping[str, Any], place: Callable[[str], SettingLocation]
) -> Iterator[ClaudeSettingsFile]:
    """The files that `hooks.claude` names: a path, or a list of paths and tables."""
    given = table.get("claude")
    if given is None:
        return
    if isinstance(given, Mapping):
        # Tables of several layers are merged, which loses the origin of each part.
        raise place("hooks.claude").problem(messages.NOT_A_PATH_OR_LIST)
    many = given if isinstance(given, list | tuple) else [given]
    for number, one in enumerate(many):
        where = place(f"hooks.claude[{number}]" if many is given else "hooks.claude")
        table = {"file": one} if isinstance(one, str) else one
        fields = HookFields(table, where, ("file", *_USER_OPTIONS))
        if not where.user_owned:
            raise where.problem(messages.FILE_FROM_WORKSPACE)
        options = {name: value for name, value in table.items() if name != "file"}
        yield ClaudeSettingsFile(fields.text("file"), where, options)


def parse_claude_settings(
    settings: Any, file: ClaudeSettingsFile, around: HookParseContext
) -> ParsedHooks:
    """The hooks of a settings file or of a plugin's file; raises `invalid_arguments`."""
    where = SettingLocation(file.path, "hooks", user_owned=file.where.user_owned)
    found = settings.get("hooks", {}) if isinstance(settings, Mapping) else None
    if not isinstance(found, Mapping):
        raise where.problem(messages.NO_HOOKS_TABLE)
    if settings.get("disableAllHooks") is True:
        return ParsedHooks((), (f"{file.path}: all hooks are switched off in it",))
    specs: list[HookSpec] = []
    notices: list[str] = []
    for key, groups in found.items():
        at = where.below(f".{key}")
        event = EVENT_NAMES.get(key)
        if event is None:
            notices.append(f"{at}: hooks of this event are not run here")
            continue
        for number, group in enumerate(require_list(groups, at)):
            given = {**group, **file.options} if isinstance(group, Mapping) else group
            specs += parse_claude_group(given, event, at.below(f"[{number}]"), around, notices)
    return check_hook_count(specs, notices, where)


def parse_claude_group(
    group: Any,
    event: HookEvent,
    where: SettingLocation,
    around: HookParseContext,
    notices: list[str],
) -> Iterator[HookSpec]:
    """The hooks of one group: a matcher with a list of hooks."""
    outer = HookFields(group, where, None)
    text = outer.text("matcher", "*")
    matcher = parse_matcher(outer, text, event, around, notices, lenient=True)
    shared = {key: group[key] for key in _USER_OPTIONS if key in group}
    for number, entry in enumerate(require_list(group.get("hooks"), where.below(".hooks"))):
        merged = {**shared, **entry} if isinstance(entry, Mapping) else entry
        fields = HookFields(merged, where.below(f".hooks[{number}]"), None)
        kind = fields.text("type", "command")
        if kind != "command" or fields.has("if"):
            what = "with a condition" if kind == "command" else f"of type {kind!r:.80}"
            notices.append(f"{fields.where}: hooks {what} are not run here")
            continue
        strange = sorted(set(merged) - _KNOWN_FIELDS)
        if strange:
            notices.append(f"{fields.where}: nothing acts on {strange[0]!r:.80} here")
        spec = _parse_spec(fields, event, matcher, around, notices)
        if fields.flag("enabled", True):
            yield spec


def _parse_spec(
    fields: HookFields,
    event: HookEvent,
    matcher: ToolMatcher,
    around: HookParseContext,
    notices: list[str],
) -> HookSpec:
    command, args = fields.text("command"), fields.texts("args")
    asked = fields.effect("on_failure") if event is HookEvent.PRE_TOOL_USE else None
    timeout = fields.seconds("timeout", CLAUDE_TIMEOUT_S, 0, float("inf"))
    if timeout > MAX_TIMEOUT_S:
        notices.append(f"{fields.where}.timeout: {MAX_TIMEOUT_S:g} seconds are the most here")
    return HookSpec(
        name=hook_name(fields, command),
        event=event,
        command=shlex.join([command, *args]) if args else command,
        where=str(fields.where),
        matcher=matcher,
        files=parse_file_patterns(fields, around),
        timeout_s=min(max(timeout, MIN_TIMEOUT_S), MAX_TIMEOUT_S),
        background=fields.flag("async", False),
        on_failure=asked or Effect.ALLOW,
        on_unavailable=asked or Effect.DENY,
        on_sandbox_failure=asked or Effect.DENY,
        may_allow=fields.user_only_flag("may_allow"),
        unconfined=fields.user_only_flag("unconfined"),
        style=HookStyle.CLAUDE,
        user_owned=fields.where.user_owned,
    )
