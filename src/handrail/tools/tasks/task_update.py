"""Change an item of the to-do list."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.ports.todos import TodoChange, TodoStatus
from handrail.core.results import Output
from handrail.tools._lib.todos import ITEM_SCHEMA, Content, Detail, TodoTool
from handrail.tools._lib.tool_base import object_schema


class TaskUpdateParams(Params):
    task: str = Field(max_length=20, description="Id of the item.")
    status: Literal["pending", "in_progress", "completed", "deleted"] | None = Field(
        None, description="Its new status; deleted removes it."
    )
    content: Content | None = Field(None, description="What is to be done, in a few words.")
    description: Detail | None = Field(None, description="What it takes, in detail.")
    active_form: Content | None = Field(None, description="What is shown while it is in progress.")
    owner: str | None = Field(
        None, min_length=1, max_length=100, description="The agent that takes the item over."
    )


class TaskUpdate(TodoTool[TaskUpdateParams]):
    name = "task_update"
    summary = "Change an item of the to-do list."
    params = TaskUpdateParams
    effects = Effects.SESSION
    output_schema = object_schema(task=ITEM_SCHEMA)

    async def run(self, args: TaskUpdateParams, ctx: ToolContext) -> Output:
        """Return the changed item; raises `not_found`, or `conflict` if a second item would be in
        progress.
        """
        status = None if args.status is None else TodoStatus(args.status)
        change = TodoChange(status, args.content, args.description, args.active_form, args.owner)
        item = await self.todos.change(args.task, change)
        await self.report_change(item.owner, ctx)
        text = f"Task {item.id} is {item.status.value}: {item.content}"
        return Output(text, data={"task": item.to_dict()})
