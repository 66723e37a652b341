"""Shared by the tools about the to-do list."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from handrail.core.context import Session, ToolContext
from handrail.core.events import TodosChanged
from handrail.core.footprint import Footprint, writing
from handrail.core.ports.todos import MAX_DETAIL_CHARS, MAX_TODO_CHARS, TodoList
from handrail.core.problems import ProblemRaised
from handrail.core.tool import Group, P
from handrail.core.traits import ToolTraits
from handrail.tools._lib.tool_base import STRING, Builtin, object_schema

TODO_KEY: Final = "session:todo"
Content = Annotated[str, Field(min_length=1, max_length=MAX_TODO_CHARS)]
Detail = Annotated[str, Field(max_length=MAX_DETAIL_CHARS)]
Progress = Literal["pending", "in_progress", "completed"]

_NULLABLE: Final = {"type": ["string", "null"]}
ITEM_SCHEMA: Final = object_schema(
    id=STRING,
    content=STRING,
    status=STRING,
    owner=STRING,
    active_form=_NULLABLE,
    description=_NULLABLE,
)


class TodoTool(Builtin[P]):
    """A tool about the to-do list of the session; changes no file."""

    group = Group.TASK
    traits = ToolTraits(hidden_by_default=True)
    # The list is only text; nothing acts on it.
    always_safe = True

    def __init__(self, todos: TodoList | None) -> None:
        self._todos = todos

    def enabled(self, session: Session) -> bool:
        del session
        return self._todos is not None

    def footprint(self, args: P) -> Footprint:
        """Return a footprint that allows one change at a time, over all agents."""
        del args
        return writing(TODO_KEY)

    @property
    def todos(self) -> TodoList:
        """The list; raises `unavailable` if there is none."""
        if self._todos is None:
            raise ProblemRaised("unavailable", "there is no to-do list here")
        return self._todos

    async def report_change(self, owner: str, ctx: ToolContext) -> None:
        """Report the current list as an event."""
        items = await self.todos.items()
        ctx.report(TodosChanged(owner, tuple([item.to_dict() for item in items])))
