"""Whether what a command prints are paths of the workspace, found by a search.

That is what may be handed on as arguments; text out of a file may not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from handrail.shell.invocation import Invocation
from handrail.shell.programs import Program
from handrail.shell.syntax import Pipeline, Script, Simple, Statement, Substitution

# They print paths only if they are told to; else they print what is in the files.
_NAMES_ONLY: Final = re.compile(r"-[a-zA-Z0-9]*[lL][a-zA-Z0-9]*|--files(?:-with.*)?|--name-only")
_CONTENT: Final = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack"})

Lookup = Callable[[str], Program | None]


def lists(feeds: Sequence[Invocation], find: Lookup) -> bool:
    """Whether all that is fed are paths that a search found."""
    return bool(feeds) and all(_lists(one, find) for one in feeds)


def lists_script(part: Substitution, find: Lookup) -> bool:
    """The same for `$(…)`."""
    stages = _stages(part.script)
    feeds: tuple[Invocation, ...] = ()
    for stage in stages:
        command = stage.command
        if not isinstance(command, Simple) or command.assignments or stage.redirects:
            return False
        feeds = (Invocation(command.words, stage.source, feeds=feeds),)
    return lists(feeds, find)


def _stages(script: Script) -> Sequence[Statement]:
    if len(script.statements) != 1:
        return ()
    command = script.statements[0].command
    return command.stages if isinstance(command, Pipeline) else script.statements


def _lists(one: Invocation, find: Lookup) -> bool:
    name = one.program or ""
    program = find(name)
    if program is None:
        return False
    words = [word.value or "" for word in one.words[1:]]
    names_only = any(_NAMES_ONLY.fullmatch(word) for word in words)
    if name == "git":
        return "ls-files" in words or "--name-only" in words
    if name in _CONTENT and not names_only:
        return bool(one.feeds) and lists(one.feeds, find)
    if "lister" in program.traits and not (one.feeds and "filter" in program.traits):
        return True
    return "filter" in program.traits and lists(one.feeds, find)
