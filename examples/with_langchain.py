"""LangChain with Handrail's tools: the graph stops for an approval, goes on with it, and the edit is
undone. The model is scripted.

Usage: python with_langchain.py DIRECTORY
"""

import asyncio
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import handrail
from handrail.adapters.approvals import FrameworkApprover
from handrail.adapters.langchain import handrail_tools

EDIT = {"path": "notes.txt", "old_string": "teh", "new_string": "the"}
SCRIPT = [
    AIMessage("", tool_calls=[{"name": "edit_file", "args": EDIT, "id": "1"}]),
    AIMessage("", tool_calls=[{"name": "read_file", "args": {"path": "../outside"}, "id": "2"}]),
    AIMessage("The spelling is fixed."),
]


class ScriptedModel(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **options: Any) -> "ScriptedModel":
        return self


async def main(workspace: str) -> None:
    async with handrail.open(workspace, approver=FrameworkApprover()) as rt:
        model = ScriptedModel(messages=iter(SCRIPT))
        agent = create_agent(model, handrail_tools(rt), checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}
        state = await agent.ainvoke({"messages": [("user", "Fix the spelling")]}, thread)
        while asked := state.get("__interrupt__"):
            print(asked[0].value["action_requests"][0]["description"])
            answer = {"decisions": [{"type": "approve"}]}
            state = await agent.ainvoke(Command(resume=answer), thread)
        print(*(f"{one.type}: {one.content}" for one in state["messages"][3:]), sep="\n")
        print((await rt.undo()).text)


asyncio.run(main(sys.argv[1]))
