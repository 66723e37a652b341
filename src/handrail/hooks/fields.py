"""Typed access to the fields of one hook, and the checks that both formats share.

An invalid field raises `invalid_arguments` with its location and key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from handrail.core.problems import ProblemRaised, ProblemTemplate
from handrail.core.text.safe_text import safe_text
from handrail.core.verdicts import Effect
from handrail.hooks import messages
from handrail.hooks.spec import (
    CALL_EVENTS,
    FilePatterns,
    HookEvent,
    HookSpec,
    HookStyle,
    ToolMatcher,
    file_patterns,
    tool_matcher,
)

_ON_FAILURE: Final = {
    "deny": Effect.DENY,
    "block": Effect.DENY,
    "ask": Effect.ASK,
    "allow": Effect.ALLOW,
}
_MAX_NAME_CHARS: Final = 80


class SettingLocation(NamedTuple):
    """A location in the settings: the file and line as text (empty: passed by a caller), the key,
    and whether the file belongs to the user.
    """

    place: str
    key: str
    user_owned: bool

    def below(self, key: str) -> SettingLocation:
        """The location of a key inside this one."""
        return self._replace(key=f"{self.key}{key}")

    def __str__(self) -> str:
        return f"{self.place}: {self.key}" if self.place else self.key

    def problem(self, template: ProblemTemplate, **values: object) -> ProblemRaised:
        """The exception for a setting that cannot be used; its message begins with the location."""
        problem = template.fill(field=None, **values)
        key = safe_text(self.key, one_line=True)[:200]
        place = f"{safe_text(self.place, one_line=True)}: " if self.place else ""
        message = f"{place}{key}: {problem.message}"
        return ProblemRaised(problem.code, message, hint=problem.hint, field=key)


class HookFields:
    """A table with typed accessors; `known` None: unknown keys are accepted."""

    def __init__(self, table: Any, where: SettingLocation, known: Collection[str] | None) -> None:
        if not isinstance(table, Mapping):
            raise where.problem(messages.NOT_A_TABLE)
        self.where = where
        self._table = table
        unknown = [] if known is None else [key for key in table if key not in known]
        if known is not None and unknown:
            suggestion = did_you_mean(unknown[0], known)
            location = where.below(f".{unknown[0]}")
            raise location.problem(messages.UNKNOWN_FIELD, suggestion=suggestion)

    def has(self, key: str) -> bool:
        """Whether the key has a value."""
        return self._table.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        """Text that is not blank; required if there is no default."""
        value = self._table.get(key, default)
        if not isinstance(value, str) or (not value.strip() and default is None):
            raise self.problem(key, messages.NOT_TEXT)
        return value

    def name(self, key: str, default: str) -> str:
        """A short name on one line; a longer one is truncated."""
        return safe_text(self.text(key, default), one_line=True).strip()[:_MAX_NAME_CHARS]

    def texts(self, key: str) -> Sequence[str]:
        """A list of texts; a single text counts as a list of one."""
        value = self._table.get(key, [])
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
            raise self.problem(key, messages.NOT_TEXTS)
        return listed

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._table.get(key, default)
        if not isinstance(value, bool):
            raise self.problem(key, messages.NOT_A_FLAG)
        return value

    def seconds(self, key: str, default: float, least: float, most: float) -> float:
        """A number within its bounds."""
        value = self._table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.problem(key, messages.NOT_SECONDS)
        if not least <= value <= most:
            template = messages.SECONDS_OUT_OF_RANGE
            raise self.problem(key, template, least=least, most=most, value=value)
        return float(value)

    def style(self, key: str, default: HookStyle) -> HookStyle:
        """Own or architect."""
        value = self.text(key, default.value)
        if value not in (HookStyle.OWN, HookStyle.ARCHITECT):
            raise self.problem(key, messages.NOT_A_FORMAT)
        return HookStyle(value)

    def effect(self, key: str) -> Effect | None:
        """deny, ask or allow; None if the key has no value."""
        if not self.has(key):
            return None
        value = self._table[key]
        if not isinstance(value, str) or value not in _ON_FAILURE:
            raise self.problem(key, messages.NOT_AN_EFFECT)
        return _ON_FAILURE[value]

    def user_only_flag(self, key: str) -> bool:
        """A flag that only the user's own settings may set."""
        raised = self.flag(key, False)
        if raised and not self.where.user_owned:
            raise self.problem(key, messages.USER_SETTING_ONLY)
        return raised

    def problem(self, key: str, template: ProblemTemplate, **values: object) -> ProblemRaised:
        """The exception for a field that cannot be used."""
        return self.where.below(f".{key}").problem(template, **values)


def did_you_mean(given: str, known: Collection[str]) -> str:
    """A suggestion for a misspelled name, as the end of a sentence."""
    close = get_close_matches(given[:100], list(known), n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(one) for one in close)}?" if close else ""


MIN_TIMEOUT_S: Final = 1.0
MAX_TIMEOUT_S: Final = 300.0
_MAX_HOOKS: Final = 200
# mcp__SERVER__TOOL or mcp_SERVER_TOOL, also as a pattern.
_REMOTE_NAME: Final = re.compile(r"\^?mcp_[A-Za-z0-9-]*_")
HOOK_FIELDS: Final = (
    *("name", "command", "matcher", "file_patterns", "timeout", "async", "enabled"),
    *("on_failure", "may_allow", "unconfined", "format"),
)
EVENT_NAMES: Final = {
    **{event.value: event for event in HookEvent},
    **{event.pascal: event for event in HookEvent},
}


class HookParseContext(NamedTuple):
    """What hooks are checked against: all tool names; `place` locates a key of the settings."""

    roots: Sequence[str]
    known: frozenset[str]
    place: Callable[[str], SettingLocation]
    # The format of hooks that name none.
    style: HookStyle = HookStyle.OWN


class ParsedHooks(NamedTuple):
    """The hooks in order, and notices for the user."""

    specs: tuple[HookSpec, ...]
    notices: tuple[str, ...]


def require_list(given: Any, where: SettingLocation) -> Sequence[Any]:
    """The value, if it is a list; raises `invalid_arguments`."""
    if not isinstance(given, list | tuple):
        raise where.problem(messages.NOT_A_LIST)
    return given


def is_claude_group(entry: Any) -> bool:
    """Whether an entry has Claude Code's format: a matcher with a list of hooks."""
    return isinstance(entry, Mapping) and isinstance(entry.get("hooks"), list)


def parse_matcher(
    fields: HookFields,
    text: str,
    event: HookEvent,
    around: HookParseContext,
    notices: list[str],
    *,
    lenient: bool = False,
) -> ToolMatcher:
    """The matcher. A name that no tool has is an error or, if `lenient`, a notice."""
    try:
        matcher = tool_matcher(text)
    except ProblemRaised as raised:
        raise fields.problem(
            "matcher", messages.INVALID_FIELD, reason=raised.problem.message
        ) from raised
    if matcher.text == "*":
        return matcher
    if event not in CALL_EVENTS:
        if not lenient:
            raise fields.problem("matcher", messages.EVENT_WITHOUT_TOOL)
        return matcher
    unknown = [one for one in matcher.names if one not in around.known and not _is_mcp_name(one)]
    if unknown and not lenient:
        raise fields.problem(
            "matcher",
            messages.UNKNOWN_TOOL,
            name=unknown[0],
            suggestion=did_you_mean(unknown[0], around.known),
        )
    if not matcher.matches(around.known) and not any(map(_is_mcp_name, matcher.names or [text])):
        notices.append(f"{fields.where}.matcher: {text!r:.80} fits no tool that there is now")
    return matcher


def parse_file_patterns(fields: HookFields, around: HookParseContext) -> FilePatterns | None:
    """The file patterns, None if there are none."""
    globs = fields.texts("file_patterns")
    if not globs:
        return None
    try:
        return file_patterns(globs, around.roots)
    except ProblemRaised as raised:
        raise fields.problem(
            "file_patterns", messages.INVALID_FIELD, reason=raised.problem.message
        ) from raised


def hook_name(fields: HookFields, command: str) -> str:
    """The name of the hook; by default the first words of its command."""
    return fields.name("name", " ".join(command.split()[:3]))


def check_hook_count(
    specs: list[HookSpec], notices: list[str], where: SettingLocation
) -> ParsedHooks:
    """The parsed hooks; raises `invalid_arguments` if there are too many."""
    if len(specs) > _MAX_HOOKS:
        raise where.problem(messages.TOO_MANY_HOOKS, limit=_MAX_HOOKS)
    return ParsedHooks(tuple(specs), tuple(notices))


def _is_mcp_name(name: str) -> bool:
    """Whether a name or pattern is of tools of an MCP server: not known when hooks are parsed."""
    return _REMOTE_NAME.match(name) is not None
