"""smolagents drives a scripted model with our tools."""

import pytest
from smolagents import ChatMessage, CodeAgent, MessageRole, Model, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

import handrail.sync
from handrail.adapters.smolagents import ToolCallFailed, handrail_tools

EDIT = {"path": "notes.txt", "old_string": "teh", "new_string": "the"}


class ScriptedModel(Model):
    def __init__(self, *calls):
        super().__init__()
        self.calls = iter([*calls, ("final_answer", {"answer": "done"})])

    def generate(self, messages, **options):
        name, arguments = next(self.calls)
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=name, type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


class CodeModel(Model):
    def generate(self, messages, **options):
        code = "<code>\nfinal_answer(read_file(path='notes.txt'))\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=code)


@pytest.fixture
def open_runtime(workspace):
    def open_it(**settings):
        rules = {"permissions": {"deny": ["read_file(secret/**)"]}}
        return handrail.sync.open(workspace, config=rules, store=":memory:", **settings)

    return open_it


def run_agent(rt, *calls):
    agent = ToolCallingAgent(
        tools=handrail_tools(rt), model=ScriptedModel(*calls), verbosity_level=0
    )
    assert agent.run("go") == "done"
    return [one.error.message for one in agent.memory.steps if getattr(one, "error", None)]


def test_an_edit_is_approved_by_the_approver_and_undone(open_runtime, workspace):
    asked = []
    with open_runtime(approver=lambda request: asked.append(request.tool) or True) as rt:
        assert run_agent(rt, ("edit_file", EDIT)) == []
        assert asked == ["edit_file"]
        assert workspace.joinpath("notes.txt").read_text() == "the two words\n"
        rt.undo().unwrap()
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


def test_refusals_are_errors_of_the_step(open_runtime, workspace):
    with open_runtime(approver=lambda request: False) as rt:
        errors = run_agent(
            rt,
            ("edit_file", EDIT),
            ("read_file", {"path": "secret/key.txt"}),
            ("read_file", {"path": "../outside.txt"}),
            ("read_file", {"nonsense": 1}),
        )

    assert len(errors) == 4
    assert "denied" in errors[0] and "denied" in errors[1] and "outside" in errors[2]
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


def test_a_tool_is_a_function_of_its_arguments(open_runtime):
    with open_runtime() as rt:
        tools = {one.name: one for one in handrail_tools(rt, tools=["read_file"])}
        assert tools.keys() == {"read_file"}
        assert tools["read_file"]("notes.txt").startswith("teh")
        with pytest.raises(ToolCallFailed) as raised:
            tools["read_file"](path=7)
    assert raised.value.result.problem is not None


def test_code_of_an_agent_calls_the_tools(open_runtime):
    with open_runtime() as rt:
        agent = CodeAgent(tools=handrail_tools(rt), model=CodeModel(), verbosity_level=0)
        assert "teh two words" in agent.run("go")
