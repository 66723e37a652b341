"""A tool call as a model made it, before anything was understood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

MAIN_AGENT: Final = "main"


class ToolCall(NamedTuple):
    """One request to run one tool.

    `arguments` is a mapping, or the provider's JSON text, which is parsed (and refused if it
    is not one plain object) in `prepare`. `name` is whatever the model said, in any dialect.
    `by_person` marks what a person asked for themselves: nobody else is asked about it.
    `from_model` marks a call of a model's message, which may name only what it was shown.
    `continues` is the id of an earlier call that this one carries on; set by the runtime alone.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    turn: int = 0
    agent: str = MAIN_AGENT
    by_person: bool = False
    from_model: bool = False
    continues: str | None = None
