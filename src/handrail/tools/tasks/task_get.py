"""Show one item of the to-do list."""

from __future__ import annotations

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, reading
from handrail.core.ports.todos import format_todos
from handrail.core.results import Output
from handrail.tools._lib.todos import ITEM_SCHEMA, TODO_KEY, TodoTool
from handrail.tools._lib.tool_base import object_schema


class TaskGetParams(Params):
    task: str = Field(max_length=20, description="Id of the item.")


class TaskGet(TodoTool[TaskGetParams]):
    name = "task_get"
    summary = "Show one item of the to-do list."
    params = TaskGetParams
    effects = Effects.SESSION
    idempotent = True
    output_schema = object_schema(task=ITEM_SCHEMA)

    def footprint(self, args: TaskGetParams) -> Footprint:
        """Return a footprint that reads the list."""
        del args
        return reading(TODO_KEY)

    async def run(self, args: TaskGetParams, ctx: ToolContext) -> Output:
        """Return the item with its description; raises `not_found`."""
        del ctx
        item = await self.todos.find(args.task)
        text = format_todos([item], owners=True)
        if item.description:
            text += f"\n{item.description}"
        return Output(text, data={"task": item.to_dict()})
