"""The OpenAI Agents SDK with Handrail's tools: a run stops for an approval, goes on with it, and the
edit is undone. The model is scripted.

Usage: python with_openai_agents.py DIRECTORY
"""

import asyncio
import json
import sys
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

import handrail
from handrail.adapters.approvals import FrameworkApprover
from handrail.adapters.openai_agents import function_tools

EDIT = {"path": "notes.txt", "old_string": "teh", "new_string": "the"}


def calls(name: str, arguments: dict[str, str]) -> ResponseFunctionToolCall:
    text = json.dumps(arguments)
    return ResponseFunctionToolCall(call_id=name, name=name, arguments=text, type="function_call")


def says(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, annotations=[], type="output_text")
    named = {"id": "1", "role": "assistant", "status": "completed", "type": "message"}
    return ResponseOutputMessage(content=[part], **named)


class ScriptedModel(Model):
    def __init__(self, *script: Any) -> None:
        self.script = iter(script)

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        return ModelResponse(output=[next(self.script)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


async def main(workspace: str) -> None:
    outside = calls("read_file", {"path": "../outside.txt"})
    model = ScriptedModel(calls("edit_file", EDIT), outside, says("The spelling is fixed."))
    quiet = RunConfig(tracing_disabled=True)
    async with handrail.open(workspace, approver=FrameworkApprover()) as rt:
        agent = Agent("editor", tools=function_tools(rt), model=model)
        run = await Runner.run(agent, "Fix the spelling in notes.txt", run_config=quiet)
        while run.interruptions:
            state = run.to_state()
            for item in run.interruptions:
                print("approved:", item.name, item.arguments)
                state.approve(item)
            run = await Runner.run(agent, state, run_config=quiet)
        print(*(one.output for one in run.new_items if hasattr(one, "output")), sep="\n")
        print(run.final_output)
        print((await rt.undo()).text)


asyncio.run(main(sys.argv[1]))
