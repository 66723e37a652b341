"""Replace the to-do list of the calling agent."""

from __future__ import annotations

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.ports.todos import MAX_TODOS, TodoDraft, TodoStatus
from handrail.core.results import Output
from handrail.tools._lib.todos import ITEM_SCHEMA, Content, Progress, TodoTool
from handrail.tools._lib.tool_base import object_schema


class TodoEntry(Params):
    content: Content
    status: Progress
    active_form: Content | None = Field(
        None, description='What is shown while it is in progress, such as "Running the tests".'
    )


class TodoWriteParams(Params):
    todos: list[TodoEntry] = Field(max_length=MAX_TODOS, description="The whole new list.")


class TodoWrite(TodoTool[TodoWriteParams]):
    name = "todo_write"
    summary = "Replace your to-do list."
    params = TodoWriteParams
    effects = Effects.SESSION
    output_schema = object_schema(todos={"type": "array", "items": ITEM_SCHEMA})

    async def run(self, args: TodoWriteParams, ctx: ToolContext) -> Output:
        """Return the new list; raises `conflict` if several items would be in progress."""
        drafts = [
            TodoDraft(item.content, TodoStatus(item.status), item.active_form)
            for item in args.todos
        ]
        items = await self.todos.replace(ctx.agent_id, drafts)
        await self.report_change(ctx.agent_id, ctx)
        text = "Todo list updated."
        active = next((item for item in items if item.status is TodoStatus.IN_PROGRESS), None)
        if active is not None:
            text += f" Active: {active.active_form or active.content}"
        return Output(text, data={"todos": [item.to_dict() for item in items]})
