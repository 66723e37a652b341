"""List the items of the to-do list."""

from __future__ import annotations

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, reading
from handrail.core.ports.todos import format_todos
from handrail.core.results import Output
from handrail.tools._lib.todos import ITEM_SCHEMA, TODO_KEY, Progress, TodoTool
from handrail.tools._lib.tool_base import object_schema


class TaskListParams(Params):
    status: Progress | None = Field(None, description="Only items with this status.")
    owner: str | None = Field(None, max_length=100, description="Only items of this agent.")


class TaskList(TodoTool[TaskListParams]):
    name = "task_list"
    summary = "List the items of the to-do list."
    params = TaskListParams
    effects = Effects.SESSION
    idempotent = True
    output_schema = object_schema(tasks={"type": "array", "items": ITEM_SCHEMA})

    def footprint(self, args: TaskListParams) -> Footprint:
        """Return a footprint that reads the list."""
        del args
        return reading(TODO_KEY)

    async def run(self, args: TaskListParams, ctx: ToolContext) -> Output:
        """Return the matching items, in the order in which they were added."""
        del ctx
        items = [
            item
            for item in await self.todos.items()
            if args.status in (None, item.status.value) and args.owner in (None, item.owner)
        ]
        data = {"tasks": [item.to_dict() for item in items]}
        return Output(format_todos(items, owners=True), data=data)
