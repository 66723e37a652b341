"""Add an item to the to-do list."""

from __future__ import annotations

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.ports.todos import TodoDraft
from handrail.core.results import Output
from handrail.tools._lib.todos import ITEM_SCHEMA, Content, Detail, TodoTool
from handrail.tools._lib.tool_base import object_schema


class TaskCreateParams(Params):
    content: Content = Field(description="What is to be done, in a few words.")
    description: Detail | None = Field(None, description="What it takes, in detail.")
    active_form: Content | None = Field(None, description="What is shown while it is in progress.")


class TaskCreate(TodoTool[TaskCreateParams]):
    name = "task_create"
    summary = "Add an item to the to-do list."
    params = TaskCreateParams
    effects = Effects.SESSION
    output_schema = object_schema(task=ITEM_SCHEMA)

    async def run(self, args: TaskCreateParams, ctx: ToolContext) -> Output:
        """Add the item, owned by the caller, and return it."""
        draft = TodoDraft(args.content, active_form=args.active_form, description=args.description)
        item = await self.todos.add(ctx.agent_id, draft)
        await self.report_change(item.owner, ctx)
        return Output(f"Task {item.id} created: {item.content}", data={"task": item.to_dict()})
