"""Parses the `hooks` table: Handrail's format, the old `post_edit`, and Claude Code's format.

An invalid setting is an error with its location and key, and then no hook is loaded. A `{file}` in
a command becomes a quoted parameter, so a file's name is never part of a script.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from handrail.core.problems import ProblemRaised
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
    did_you_mean,
    hook_name,
    is_claude_group,
    parse_file_patterns,
    parse_matcher,
    require_list,
)
from handrail.hooks.spec import BLOCKING_EVENTS, HookEvent, HookSpec, HookStyle, ToolMatcher

CLAUDE_TIMEOUT_S: Final = 60.0
# Fields that a user may add to hooks of this format.
_USER_OPTIONS: Final = ("may_allow", "unconfined", "on_failure")
_KNOWN_FIELDS: Final = frozenset(
    {*HOOK_FIELDS, "type", "args", "if", "once", "statusMessage", "shell"}
)

FILE_PLACEHOLDER: Final = "{file}"
# Constructs in which quotes have another meaning, or in which words are expanded a second time.
_NESTED: Final = ("`", "$(", "${", "<<", "$'", '$"', "((", "[[")
_EVALUATE: Final = re.compile(
    r"(?:.*/)?(?:eval|let|trap|alias|declare|typeset|local|export|readonly|ssh|su|parallel|watch"
    r"|tmux|screen|script|expect|entr|docker|podman|kubectl)"
)
_INTERPRETERS: Final = re.compile(
    r"(?:.*/)?(?:(?:ba|da|k|z|c|tc|fi)?sh|python[\d.]*|node|deno|bun|perl|ruby|php|lua|[gmn]?awk"
    r"|g?sed|jq|yq|xargs|find|env|git|vim?|nvim|emacs|ed|ex|osascript|make|psql|mysql|sqlite3)"
)
# Options that are followed by code, and words that are only a file.
_CODE: Final = re.compile(r"-[a-zA-Z]*[ceEpr]|--(?:eval|exec|command|expression|print)")
_PLAIN: Final = re.compile(r"(?:-{1,2}[\w-]+=)?\{file\}[\w.]*")
_BREAKS: Final = frozenset(" \t\n;|&<>()")
_UNQUOTED: Final = '"$1"'
_BETWEEN: Final = {'"': "${1}", "'": "'\"$1\"'"}


def substitute_file_parameter(command: str) -> str:
    """The command with every `{file}` replaced by a quoted parameter; raises `invalid_arguments`."""
    if FILE_PLACEHOLDER not in command:
        return command
    for nested in _NESTED:
        if nested in command:
            raise _placeholder_problem(f"in a command with {nested}")
    scanned = _scan(command)
    _check_words(scanned.words)
    return scanned.script


class _ScannedCommand(NamedTuple):
    """The script, and the words of the command without quotes."""

    script: str
    words: list[str]


def _scan(command: str) -> _ScannedCommand:
    script: list[str] = []
    words = [""]
    quote = ""
    position = 0
    while position < len(command):
        letter = command[position]
        taken = letter
        if command.startswith(FILE_PLACEHOLDER, position):
            taken = FILE_PLACEHOLDER
            script.append(_BETWEEN.get(quote, _UNQUOTED))
            words[-1] += FILE_PLACEHOLDER
        elif letter == "\\" and quote != "'":
            taken = command[position : position + 2]
            script.append(taken)
            words[-1] += taken[1:]
        else:
            script.append(letter)
            if letter in "'\"" and quote in ("", letter):
                quote = "" if quote else letter
            elif not quote and letter in _BREAKS:
                words.append("")
            elif not quote and letter == "#":
                raise _placeholder_problem("in a command with a # outside of quotes")
            else:
                words[-1] += letter
        position += len(taken)
    return _ScannedCommand("".join(script), [word for word in words if word])


def _check_words(words: list[str]) -> None:
    interpreted = any(_INTERPRETERS.fullmatch(word) for word in words)
    for before, word in zip(["", *words], words, strict=False):
        if _EVALUATE.fullmatch(word):
            raise _placeholder_problem(f"in a command with {word!r}, which reads words once more")
        if FILE_PLACEHOLDER not in word or not interpreted:
            continue
        if _CODE.fullmatch(before) or not _PLAIN.fullmatch(word):
            raise _placeholder_problem("inside of what another program reads as code")


def _placeholder_problem(where: str) -> ProblemRaised:
    return messages.FILE_PLACEHOLDER_REFUSED.error(where=where)


DEFAULT_TIMEOUT_S: Final = 10.0
_POST_EDIT: Final = "post_edit"
_EDIT_TOOLS: Final = "edit_file|write_file|apply_patch"
_AGENT_LOOP_EVENTS: Final = (
    *("UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop", "Notification", "PreCompact"),
)


def parse_hooks(table: Mapping[str, Any], around: HookParseContext) -> ParsedHooks:
    """All hooks of the `hooks` table except those in files; raises `invalid_arguments`."""
    specs: list[HookSpec] = []
    notices: list[str] = []
    for key, given in table.items():
        if key == "claude":
            continue
        where = around.place(f"hooks.{key}")
        event = _parse_event(key, given, where, notices)
        if event is None:
            continue
        for number, entry in enumerate(require_list(given, where)):
            at = around.place(f"hooks.{key}[{number}]")
            if is_claude_group(entry):
                specs += parse_claude_group(entry, event, at, around, notices)
            else:
                matcher = _EDIT_TOOLS if key == _POST_EDIT else "*"
                specs += _parse_own_format(
                    HookFields(entry, at, HOOK_FIELDS), event, matcher, around, notices
                )
    return check_hook_count(specs, notices, around.place("hooks"))


def _parse_event(
    key: str, given: Any, where: SettingLocation, notices: list[str]
) -> HookEvent | None:
    if key == _POST_EDIT:
        return HookEvent.POST_TOOL_USE
    if key in EVENT_NAMES:
        return EVENT_NAMES[key]
    if isinstance(given, list) and given and all(map(is_claude_group, given)):
        notices.append(f"{where}: hooks of this event are not run here")
        return None
    events = ", ".join(HookEvent)
    if key in _AGENT_LOOP_EVENTS:
        raise where.problem(messages.AGENT_LOOP_EVENT, events=events)
    suggestion = did_you_mean(key, EVENT_NAMES)
    raise where.problem(messages.UNKNOWN_EVENT, suggestion=suggestion, events=events)


def _parse_own_format(
    fields: HookFields, event: HookEvent, matcher: str, around: HookParseContext, notices: list[str]
) -> Iterator[HookSpec]:
    command = fields.text("command")
    background = fields.flag("async", False)
    style = fields.style("format", around.style)
    asked, otherwise = _parse_on_failure(fields, event, background=background)
    failed = Effect.ALLOW if style is HookStyle.ARCHITECT else otherwise
    text = fields.text("matcher", matcher)
    spec = HookSpec(
        name=hook_name(fields, command),
        event=event,
        command=_parse_script(fields, command),
        where=str(fields.where),
        matcher=parse_matcher(fields, text, event, around, notices),
        files=parse_file_patterns(fields, around),
        timeout_s=fields.seconds("timeout", DEFAULT_TIMEOUT_S, MIN_TIMEOUT_S, MAX_TIMEOUT_S),
        background=background,
        on_failure=asked or failed,
        on_unavailable=asked or otherwise,
        on_sandbox_failure=asked or otherwise,
        may_allow=fields.user_only_flag("may_allow"),
        unconfined=fields.user_only_flag("unconfined"),
        style=style,
        user_owned=fields.where.user_owned,
        needs_file=FILE_PLACEHOLDER in command,
    )
    if fields.flag("enabled", True):
        yield spec


def _parse_on_failure(
    fields: HookFields, event: HookEvent, *, background: bool
) -> tuple[Effect | None, Effect]:
    """The configured effect, and the default: a guard denies, and other hooks allow."""
    asked = fields.effect("on_failure")
    stops = event in BLOCKING_EVENTS and not background
    if asked not in (None, Effect.ALLOW) and not stops:
        raise fields.problem("on_failure", messages.CANNOT_STOP_CALL)
    return asked, Effect.DENY if stops else Effect.ALLOW


def _parse_script(fields: HookFields, command: str) -> str:
    try:
        return substitute_file_parameter(command)
    except ProblemRaised as raised:
        problem = raised.problem
        raise fields.problem(
            "command", messages.INVALID_COMMAND, reason=problem.message, advice=problem.hint
        ) from raised


class ClaudeSettingsFile(NamedTuple):
    """A settings file of Claude Code in `hooks.claude`: location and options."""

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
