"""What every form of a hook is checked for, whoever wrote it down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.hooks.fields import Fields, Where, meant
from handrail.hooks.matching import FilePatterns, ToolMatcher, file_patterns, tool_matcher
from handrail.hooks.spec import OF_CALLS, HookEvent, HookSpec

LEAST_S: Final = 1.0
MOST_S: Final = 300.0
_MOST_HOOKS: Final = 200
FIELDS: Final = (
    *("name", "command", "matcher", "file_patterns", "timeout", "async", "enabled"),
    *("on_failure", "may_allow", "unconfined"),
)
EVENTS: Final = {
    **{event.value: event for event in HookEvent},
    **{event.pascal: event for event in HookEvent},
}


class Surroundings(NamedTuple):
    """What hooks are checked against. `known` are all names of all tools; `place` answers where
    a key of the settings stands.
    """

    roots: Sequence[str]
    known: frozenset[str]
    place: Callable[[str], Where]


class Parsed(NamedTuple):
    """The hooks in order, and what the person should know about them."""

    specs: tuple[HookSpec, ...]
    notices: tuple[str, ...]


def listed(given: Any, where: Where) -> Sequence[Any]:
    """A list of hooks."""
    if not isinstance(given, list | tuple):
        raise where.wrong("it must be a list of hooks", hint="write [[hooks.<event>]] above each")
    return given


def is_claude(entry: Any) -> bool:
    """Whether a hook is written in Claude Code's form: a matcher with a list of hooks."""
    return isinstance(entry, Mapping) and isinstance(entry.get("hooks"), list)


def matcher_of(
    fields: Fields,
    text: str,
    event: HookEvent,
    around: Surroundings,
    notices: list[str],
    *,
    lenient: bool = False,
) -> ToolMatcher:
    """The matcher; a name that no tool has is an error, or a notice where it is `lenient`."""
    try:
        matcher = tool_matcher(text)
    except ProblemRaised as raised:
        raise fields.wrong("matcher", raised.problem.message) from raised
    if matcher.text == "*":
        return matcher
    if event not in OF_CALLS:
        if not lenient:
            raise fields.wrong("matcher", "this event is not about a tool")
        return matcher
    unknown = [one for one in matcher.names if one not in around.known and not _of_a_server(one)]
    if unknown and not lenient:
        raise fields.wrong(
            "matcher",
            f"there is no tool named {unknown[0]!r}{meant(unknown[0], around.known)}",
            hint=f"for a tool that is registered later write a pattern, such as {unknown[0]}*",
        )
    if not matcher.matches(around.known) and not any(map(_of_a_server, matcher.names)):
        notices.append(f"{fields.where}.matcher: {text!r:.80} fits no tool that there is now")
    return matcher


def patterns_of(fields: Fields, around: Surroundings) -> FilePatterns | None:
    """The file patterns, None if there are none."""
    globs = fields.texts("file_patterns")
    if not globs:
        return None
    try:
        return file_patterns(globs, around.roots)
    except ProblemRaised as raised:
        raise fields.wrong("file_patterns", raised.problem.message) from raised


def name_of(fields: Fields, command: str) -> str:
    """What the hook is called; the command's first words if nobody said."""
    return fields.name("name", " ".join(command.split()[:3]))


def bounded(specs: list[HookSpec], notices: list[str], where: Where) -> Parsed:
    """All of them, unless they are absurdly many."""
    if len(specs) > _MOST_HOOKS:
        raise where.wrong(f"there are more than {_MOST_HOOKS} hooks")
    return Parsed(tuple(specs), tuple(notices))


def _of_a_server(name: str) -> bool:
    """Servers say only later which tools they have."""
    return name.startswith("mcp__")
