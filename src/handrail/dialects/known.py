"""The table of dialects."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.dialects.architect import ARCHITECT
from handrail.dialects.attocode import ATTOCODE
from handrail.dialects.base import Dialect, View, Vocabulary, same
from handrail.dialects.canonical import CANONICAL
from handrail.dialects.claude import CLAUDE
from handrail.dialects.coauthor import COAUTHOR, add_subtasks
from handrail.dialects.codex import CODEX
from handrail.dialects.gemini import GEMINI
from handrail.dialects.linggen import LINGGEN
from handrail.dialects.spellings import SPELLINGS

DIALECTS: Final[Mapping[str, Dialect]] = {
    dialect.name: dialect
    for dialect in (CANONICAL, CLAUDE, CODEX, ARCHITECT, LINGGEN, ATTOCODE, COAUTHOR, GEMINI)
}


# The tools that run a program, and the argument that limits its time.
_TIMED: Final = frozenset({"run_command", "execute_code"})
_TIMEOUT: Final = "timeout_s"


def find_vocabulary(
    name: str, agents: Collection[str] = (), command_timeout_s: int | None = None
) -> Vocabulary:
    """The vocabulary that shows a dialect and accepts the names of all; raises `invalid_arguments`.
    `agents` are the user's types of agents, for each of which coauthor has a tool; `command_timeout_s`
    is declared as the default time limit of commands.
    """
    known = DIALECTS if not agents else {**DIALECTS, COAUTHOR.name: add_subtasks(COAUTHOR, agents)}
    dialect = known.get(name)
    if dialect is None:
        raise ProblemRaised(
            "invalid_arguments",
            f"there is no dialect named {name!r}",
            hint=f"dialects: {', '.join(DIALECTS)}",
            field="dialect",
        )
    # Canonical first: in other dialects, a name that several of them use has its canonical meaning.
    others = [one for one in known.values() if one is not dialect]
    if command_timeout_s is not None:
        views = tuple(_with_timeout(view, command_timeout_s) for view in dialect.views)
        dialect = replace(dialect, views=views)
    return Vocabulary(dialect, [*others, SPELLINGS])


def _with_timeout(view: View, seconds: int) -> View:
    """The view with another default time limit of commands."""
    if view.tool not in _TIMED:
        return view
    # With `rest`, an argument that is not listed is shown with the tool's default.
    listed = any(arg.canonical == _TIMEOUT for arg in view.args)
    args = view.args if listed or not view.rest else (*view.args, *same(_TIMEOUT))
    shown = [
        replace(arg, schema={**arg.schema, "default": arg.show_value(seconds)})
        if arg.canonical == _TIMEOUT
        else arg
        for arg in args
    ]
    return replace(view, args=tuple(shown))
