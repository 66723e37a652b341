"""pydantic-ai drives a scripted model with our toolset and our workspace."""

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext, ToolDenied
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from handrail.adapters.pydantic_ai import HandrailToolset, HandrailWorkspace

EDIT = {"path": "notes.txt", "old_string": "teh", "new_string": "the"}


def scripted(*steps):
    """An agent's model that makes these calls, each step at once, and says that it is done."""

    def reply(messages, info):
        number = sum(isinstance(one, ModelResponse) for one in messages)
        if number == len(steps):
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart(name, args) for name, args in steps[number]])

    return FunctionModel(reply)


def make_agent(rt, *steps, **options):
    return Agent(
        scripted(*steps),
        toolsets=[HandrailToolset(rt, **options)],
        output_type=[str, DeferredToolRequests],
    )


def returns(run):
    """What the model read of each call: whether it went well, and the text."""
    return [
        (part.outcome, str(part.content))
        for message in run.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


async def resume(agent, run, **answers):
    (call,) = run.output.approvals
    results = DeferredToolResults(approvals={call.tool_call_id: answers.pop("answer")}, **answers)
    return await agent.run(message_history=run.all_messages(), deferred_tool_results=results)


async def test_an_edit_is_approved_in_the_framework_and_undone(asking, workspace):
    agent = make_agent(asking, [("edit_file", EDIT)])

    stopped = await agent.run("go")
    (call,) = stopped.output.approvals
    shown = stopped.output.metadata[call.tool_call_id]["handrail"]
    assert "+the two words" in shown["preview"] and shown["tool"] == "edit_file"
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"

    run = await resume(agent, stopped, answer=True)
    assert run.output == "done"
    assert workspace.joinpath("notes.txt").read_text() == "the two words\n"
    (await asking.undo()).unwrap()
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


async def test_a_refusal_reaches_the_model(asking, workspace):
    agent = make_agent(asking, [("edit_file", EDIT)])

    run = await resume(agent, await agent.run("go"), answer=ToolDenied("leave it"))

    assert "leave it" in returns(run)[0][1]
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


async def test_an_approval_of_what_has_changed_since_is_asked_again(asking, workspace):
    agent = make_agent(asking, [("edit_file", EDIT)])
    stopped = await agent.run("go")
    workspace.joinpath("notes.txt").write_text("teh other words\n")

    again = await resume(agent, stopped, answer=True)

    (call,) = again.output.approvals
    assert "+the other words" in again.output.metadata[call.tool_call_id]["handrail"]["preview"]
    assert workspace.joinpath("notes.txt").read_text() == "teh other words\n"
    assert (await resume(agent, again, answer=True)).output == "done"


async def test_another_process_needs_the_metadata_of_the_question(asking, workspace):
    stopped = await make_agent(asking, [("edit_file", EDIT)]).run("go")
    elsewhere = make_agent(asking, [("edit_file", EDIT)])

    again = await resume(elsewhere, stopped, answer=True)
    assert isinstance(again.output, DeferredToolRequests)

    run = await resume(
        make_agent(asking, [("edit_file", EDIT)]),
        stopped,
        answer=True,
        metadata=stopped.output.metadata,
    )
    assert run.output == "done"
    assert workspace.joinpath("notes.txt").read_text() == "the two words\n"


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("read_file", {"path": "secret/key.txt"}, "denied"),
        ("read_file", {"path": "../outside.txt"}, "outside the workspace"),
        ("read_file", {"path": ["no", "path"]}, "path"),
        ("read_file", "not even JSON", ""),
        ("read_file", "[1]", ""),
        ("grep", {"pattern": "s3cr3t", "output_mode": "content"}, None),
    ],
    ids=["denied", "outside", "wrong type", "no JSON", "no object", "search"],
)
async def test_failures_are_failed_tool_results(asking, name, arguments, says):
    run = await make_agent(asking, [(name, arguments)]).run("go")

    ((outcome, text),) = returns(run)
    assert "s3cr3t\n" not in text and "key.txt:" not in text
    assert says is None or (outcome != "success" and says in text)


async def test_calls_at_once_all_count(editing, workspace):
    workspace.joinpath("lines.txt").write_text("".join(f"line {one};\n" for one in range(8)))
    edits = [
        (
            "edit_file",
            {"path": "lines.txt", "old_string": f"line {one};", "new_string": f"done {one};"},
        )
        for one in range(8)
    ]

    await make_agent(editing, edits).run("go")

    assert workspace.joinpath("lines.txt").read_text().count("done") == 8


async def test_only_the_named_tools_are_offered(asking):
    seen = []

    def reply(messages, info):
        seen.extend(tool.name for tool in info.function_tools)
        return ModelResponse([TextPart("done")])

    toolset = HandrailToolset(asking, tools=["read_file", "grep"])
    await Agent(FunctionModel(reply), toolsets=[toolset]).run("go")

    assert sorted(seen) == ["grep", "read_file"]


async def test_tools_of_a_program_use_the_workspace(editing, workspace):
    agent = Agent(scripted([("copy", {}), ("peek", {})]))

    @agent.tool
    async def copy(ctx: RunContext[None]) -> str:
        await ctx.workspace.write_text("copy.txt", await ctx.workspace.read_text("notes.txt"))
        return (await ctx.workspace.run("cat copy.txt", shell=True)).stdout

    @agent.tool
    async def peek(ctx: RunContext[None]) -> str:
        with pytest.raises(PermissionError):
            await ctx.workspace.read_bytes("secret/key.txt")
        with pytest.raises(PermissionError):
            await ctx.workspace.write_text("/etc/x", "x")
        with pytest.raises(PermissionError):
            await ctx.workspace.write_text("frozen/a.txt", "x")
        return "refused"

    run = await agent.run("go", workspace=HandrailWorkspace(editing))

    assert returns(run) == [("success", "teh two words\n"), ("success", "refused")]
    assert (await editing.undo(path="copy.txt")).ok
    assert not workspace.joinpath("copy.txt").exists()
