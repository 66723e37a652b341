"""Which tools each agent was shown, and what follows for the calls of its model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from handrail.core.call import ToolCall
from handrail.core.plan_mode import ENTER, LEAVE
from handrail.core.problems import Problem

# A shown tool that leads to others: these may be called although no array names them.
DOORS: Final[Mapping[str, tuple[str, ...]]] = {ENTER: (LEAVE,)}
_NAME: Final = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+")


def callable_tools(shown: Iterable[str]) -> frozenset[str]:
    """Return the tools that a model may call that is shown these: they, and what they lead to."""
    names = set(shown)
    for name in tuple(names):
        names.update(DOORS.get(name, ()))
    return frozenset(names)


class DeclaredTools:
    """The canonical names that the last `declare` of each agent lets its model call.

    They bind the calls of a model's message. An agent that nothing was declared for, and a
    call that a program makes itself, are not bound.
    """

    def __init__(self) -> None:
        self._shown: dict[str, frozenset[str]] = {}

    def record(self, agent: str, tools: frozenset[str]) -> None:
        """Note what the model of an agent may call from now on."""
        self._shown[agent] = tools

    def allows(self, call: ToolCall, tool: str) -> bool:
        """Whether a call may name a tool, by its canonical name."""
        if not call.from_model:
            return True
        shown = self._shown.get(call.agent)
        return shown is None or tool in shown


def drop_hidden_names(problem: Problem, hidden: frozenset[str]) -> Problem:
    """The problem without its hint, if that names a tool that the caller was not shown.

    Only names with an underscore are looked for: the others are words of the language.
    """
    if problem.hint is None or hidden.isdisjoint(_NAME.findall(problem.hint)):
        return problem
    return replace(problem, hint=None)
