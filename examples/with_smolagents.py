"""smolagents with Handrail's tools: your function is asked, a path outside is refused, and the edit is
undone. The model is scripted.

Usage: python with_smolagents.py DIRECTORY
"""

import sys
from typing import Any

from smolagents import ChatMessage, MessageRole, Model, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

import handrail.sync
from handrail.adapters.smolagents import handrail_tools

EDIT = {"path": "notes.txt", "old_string": "teh", "new_string": "the"}
SCRIPT = [
    ("edit_file", EDIT),
    ("read_file", {"path": "../outside.txt"}),
    ("final_answer", {"answer": "The spelling is fixed."}),
]


class ScriptedModel(Model):
    script = iter(SCRIPT)

    def generate(self, messages: list[Any], **options: Any) -> ChatMessage:
        name, arguments = next(self.script)
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=name, type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def approve(request: handrail.ApprovalRequest) -> bool:
    print(request.preview)
    return "notes.txt" in request.preview


with handrail.sync.open(sys.argv[1], approver=approve) as rt:
    tools = handrail_tools(rt)
    agent = ToolCallingAgent(tools=tools, model=ScriptedModel(), verbosity_level=0)
    print(agent.run("Fix the spelling in notes.txt"))
    print(
        *(one.error.message for one in agent.memory.steps if getattr(one, "error", None)), sep="\n"
    )
    print(rt.undo().text)
