"""The caller's names of arguments and tools, for texts that a model reads.

Tools and messages use canonical names. While a call runs in another dialect, `arg_name` and
`tool_name` return the names of that dialect; templates write them as `{arg[old_string]}` and
`{tool_name[read_file]}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, NamedTuple


class CallerWords(NamedTuple):
    """The names that one caller uses."""

    # Canonical name of an argument → the caller's name.
    arguments: Mapping[str, str]
    # Whether arguments that are not in `arguments` are shown under their canonical names.
    shows_others: bool
    # Canonical name of a tool → the caller's name.
    tool: Callable[[str], str]
    # Converts arguments to the names and units of the caller.
    spell: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    # The name of the dialect.
    dialect: str = "canonical"


# The caller's names in the current call; None stands for canonical names.
current_words: ContextVar[CallerWords | None] = ContextVar("handrail_words", default=None)


def shown_arg(name: str) -> str | None:
    """The caller's name of an argument; None if the caller is not shown it."""
    words = current_words.get()
    if words is None:
        return name
    return words.arguments.get(name, name if words.shows_others else None)


def arg_name(name: str) -> str:
    """The caller's name of an argument, or the canonical one if the caller is not shown it."""
    return shown_arg(name) or name


def arg_value(name: str, value: str) -> str:
    """A value of an argument in the caller's vocabulary."""
    words = current_words.get()
    spelled = {} if words is None else words.spell({name: value})
    return str(next(iter(spelled.values()), value))


def tool_name(name: str) -> str:
    """The caller's name of a tool."""
    words = current_words.get()
    return name if words is None else words.tool(name)


class _Lookup:
    def __init__(self, find: Callable[[str], str]) -> None:
        self._find = find

    def __getitem__(self, name: str) -> str:
        return self._find(name)


class NotShownError(Exception):
    """A hint names an argument that the caller is not shown."""


def _usable_arg(name: str) -> str:
    shown = shown_arg(name)
    if shown is None:
        raise NotShownError(name)
    return shown


# The names for templates. A hint must not name an argument that the caller cannot use.
TEMPLATE_WORDS: Final = {"arg": _Lookup(arg_name), "tool_name": _Lookup(tool_name)}
HINT_WORDS: Final = {**TEMPLATE_WORDS, "arg": _Lookup(_usable_arg)}
