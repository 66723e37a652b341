"""pydantic-ai with Handrail's tools: a scripted model edits a file, is refused another one, and the
edit is approved in the framework and undone.

Usage: python with_pydantic_ai.py DIRECTORY
"""

import asyncio
import sys

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import handrail
from handrail.adapters.approvals import FrameworkApprover
from handrail.adapters.pydantic_ai import HandrailToolset

EDIT = {"path": "notes.txt", "old_string": "teh", "new_string": "the"}
SCRIPT = [
    ToolCallPart("edit_file", EDIT),
    ToolCallPart("read_file", {"path": "../outside.txt"}),
    TextPart("The spelling is fixed."),
]


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse([SCRIPT[sum(isinstance(one, ModelResponse) for one in messages)]])


async def main(workspace: str) -> None:
    async with handrail.open(workspace, approver=FrameworkApprover()) as rt:
        toolset = HandrailToolset(rt)
        agent = Agent(
            FunctionModel(model), toolsets=[toolset], output_type=[str, DeferredToolRequests]
        )
        run = await agent.run("Fix the spelling in notes.txt")
        while isinstance(run.output, DeferredToolRequests):
            for call in run.output.approvals:
                print(run.output.metadata[call.tool_call_id]["handrail"]["preview"])
            answers = DeferredToolResults(
                approvals={one.tool_call_id: True for one in run.output.approvals}
            )
            run = await agent.run(message_history=run.all_messages(), deferred_tool_results=answers)
        print(run.output)
        print((await rt.undo()).text)


asyncio.run(main(sys.argv[1]))
