"""The OpenAI Agents SDK drives a scripted model with our function tools."""

import json

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from handrail.adapters.openai_agents import function_tools

EDIT = {"path": "notes.txt", "old_string": "teh", "new_string": "the"}
QUIET = RunConfig(tracing_disabled=True)


class ScriptedModel(Model):
    def __init__(self, *calls):
        self.calls = list(enumerate(calls))

    async def get_response(self, *args, **options):
        if self.calls:
            number, (name, arguments) = self.calls.pop(0)
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            item = ResponseFunctionToolCall(
                call_id=f"call-{number}", name=name, arguments=text, type="function_call"
            )
        else:
            part = ResponseOutputText(text="done", annotations=[], type="output_text")
            item = ResponseOutputMessage(
                id="1", content=[part], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args, **options):
        raise NotImplementedError


def make_agent(rt, *calls):
    return Agent("editor", tools=function_tools(rt), model=ScriptedModel(*calls))


def outputs(run):
    return [one.output for one in run.new_items if hasattr(one, "output")]


async def test_an_edit_is_approved_by_an_interruption_and_undone(asking, workspace):
    agent = make_agent(asking, ("edit_file", EDIT))

    run = await Runner.run(agent, "go", run_config=QUIET)
    (item,) = run.interruptions
    assert (item.name, json.loads(item.arguments)) == ("edit_file", EDIT)
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"
    state = run.to_state()
    state.approve(item)
    run = await Runner.run(agent, state, run_config=QUIET)

    assert run.final_output == "done"
    assert workspace.joinpath("notes.txt").read_text() == "the two words\n"
    (await asking.undo()).unwrap()
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


async def test_a_rejected_call_does_not_happen(asking, workspace):
    agent = make_agent(asking, ("edit_file", EDIT))
    run = await Runner.run(agent, "go", run_config=QUIET)
    state = run.to_state()
    state.reject(run.interruptions[0])

    run = await Runner.run(agent, state, run_config=QUIET)

    assert run.final_output == "done"
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"path": "secret/key.txt"}, "denied"),
        ({"path": "../outside.txt"}, "outside the workspace"),
        ({"path": {"no": "path"}}, "path"),
    ],
    ids=["denied", "outside", "wrong type"],
)
async def test_refusals_are_texts_and_ask_nobody(asking, arguments, says):
    run = await Runner.run(make_agent(asking, ("read_file", arguments)), "go", run_config=QUIET)

    (text,) = outputs(run)
    assert not run.interruptions and text.startswith("Error:") and says in text


async def test_without_the_approver_of_frameworks_nothing_is_interrupted(editing, workspace):
    run = await Runner.run(make_agent(editing, ("edit_file", EDIT)), "go", run_config=QUIET)

    assert not run.interruptions and run.final_output == "done"
    assert workspace.joinpath("notes.txt").read_text() == "the two words\n"


async def test_arguments_that_are_no_json_are_refused(editing):
    run = await Runner.run(make_agent(editing, ("read_file", "{no json")), "go", run_config=QUIET)

    assert outputs(run)[0].startswith("Error:")
