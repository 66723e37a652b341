"""LangChain and deepagents drive a scripted model with our tools and our backend."""

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import handrail.sync
from handrail.adapters.approvals import FrameworkApprover
from handrail.adapters.deepagents import HandrailBackend
from handrail.adapters.langchain import handrail_tools

EDIT = {"path": "notes.txt", "old_string": "teh", "new_string": "the"}
THREAD = {"configurable": {"thread_id": "1"}}
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


class ScriptedModel(GenericFakeChatModel):
    def bind_tools(self, tools, **options):
        return self


def scripted(*steps):
    replies = [
        AIMessage(
            "",
            tool_calls=[
                {"name": name, "args": args, "id": f"{number}.{index}"}
                for index, (name, args) in enumerate(step)
            ],
        )
        for number, step in enumerate(steps)
    ]
    return ScriptedModel(messages=iter([*replies, AIMessage("done")]))


def make_agent(rt, *steps, saver=None):
    saver = saver or InMemorySaver()
    return create_agent(scripted(*steps), handrail_tools(rt), checkpointer=saver)


def results(state):
    return [one for one in state["messages"] if isinstance(one, ToolMessage)]


async def start(agent):
    return await agent.ainvoke({"messages": [("user", "go")]}, THREAD)


async def test_an_edit_is_approved_by_an_interrupt_and_undone(asking, workspace):
    agent = make_agent(asking, [("edit_file", EDIT)])

    stopped = await start(agent)
    (asked,) = stopped["__interrupt__"]
    assert "+the two words" in asked.value["action_requests"][0]["description"]
    state = await agent.ainvoke(APPROVE, THREAD)

    (result,) = results(state)
    assert result.status == "success" and result.artifact.ok
    assert workspace.joinpath("notes.txt").read_text() == "the two words\n"
    (await asking.undo()).unwrap()
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


@pytest.mark.parametrize(
    "answer",
    [{"decisions": [{"type": "reject", "message": "leave it"}]}, "yes", {"type": "edit"}, None, 1],
    ids=["reject", "text", "edit", "nothing", "number"],
)
async def test_anything_but_an_approval_is_a_refusal(asking, workspace, answer):
    agent = make_agent(asking, [("edit_file", EDIT)])
    await start(agent)

    resume = Command(resume=answer if answer is not None else {"decisions": []})
    (result,) = results(await agent.ainvoke(resume, THREAD))

    assert result.status == "error"
    assert "leave it" in result.content or not isinstance(answer, dict) or "type" in answer
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


async def test_an_approval_of_what_has_changed_since_is_asked_again(asking, workspace):
    agent = make_agent(asking, [("edit_file", EDIT)])
    await start(agent)
    workspace.joinpath("notes.txt").write_text("teh other words\n")

    (asked,) = (await agent.ainvoke(APPROVE, THREAD))["__interrupt__"]

    assert "+the other words" in asked.value["action_requests"][0]["description"]
    assert workspace.joinpath("notes.txt").read_text() == "teh other words\n"
    (result,) = results(await agent.ainvoke(APPROVE, THREAD))
    assert result.status == "success"
    assert workspace.joinpath("notes.txt").read_text() == "the other words\n"


async def test_another_process_asks_again(asking, workspace):
    saver = InMemorySaver()
    await start(make_agent(asking, [("edit_file", EDIT)], saver=saver))
    elsewhere = make_agent(asking, saver=saver)

    (asked,) = (await elsewhere.ainvoke(APPROVE, THREAD))["__interrupt__"]

    assert asked.value["handrail"]["tool"] == "edit_file"
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"
    await elsewhere.ainvoke(APPROVE, THREAD)
    assert workspace.joinpath("notes.txt").read_text() == "the two words\n"


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("read_file", {"path": "secret/key.txt"}, "denied"),
        ("read_file", {"path": "../outside.txt"}, "outside the workspace"),
        ("read_file", {"path": {"no": "path"}}, "path"),
        ("read_file", {"tool_call_id": "x", "self": 1}, "path"),
    ],
    ids=["denied", "outside", "wrong type", "unknown names"],
)
async def test_failures_are_error_messages(asking, name, arguments, says):
    (result,) = results(await start(make_agent(asking, [(name, arguments)])))

    assert result.status == "error" and says in result.content


async def test_outside_of_a_graph_a_question_is_an_error(asking, workspace):
    (edit,) = [one for one in handrail_tools(asking) if one.name == "edit_file"]

    answer = await edit.ainvoke(EDIT)

    assert "needs approval" in str(answer)
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


def test_a_backend_interrupts_the_graph_and_keeps_the_rules(workspace):
    path = str(workspace / "notes.txt")
    steps = [
        [("edit_file", {"file_path": path, "old_string": "teh", "new_string": "the"})],
        [("read_file", {"file_path": str(workspace / "secret" / "key.txt")})],
        [("grep", {"pattern": "s3cr3t", "path": str(workspace), "output_mode": "content"})],
        [("ls", {"path": "/etc"}), ("execute", {"command": "cat secret/key.txt"})],
    ]
    rules = {"permissions": {"deny": ["read_file(secret/**)"]}}
    settings = {"config": rules, "store": ":memory:", "approver": FrameworkApprover()}
    with handrail.sync.open(workspace, **settings) as rt:
        agent = create_deep_agent(
            scripted(*steps), backend=HandrailBackend(rt), checkpointer=InMemorySaver()
        )
        state = agent.invoke({"messages": [("user", "go")]}, THREAD)
        assert state["__interrupt__"][0].value["handrail"]["tool"] == "edit_file"
        while state.get("__interrupt__"):
            state = agent.invoke(APPROVE, THREAD)

        answers = [str(one.content) for one in results(state)]
        assert workspace.joinpath("notes.txt").read_text() == "the two words\n"
        assert "denied" in answers[1] and "outside the workspace" in answers[3]
        assert not any("s3cr3t\n" in one or "key.txt:" in one for one in answers)
        rt.undo(path="notes.txt").unwrap()
    assert workspace.joinpath("notes.txt").read_text() == "teh two words\n"


async def test_a_backend_of_an_async_runtime_refuses_what_rules_deny(editing, workspace):
    backend, secret = HandrailBackend(editing), str(workspace / "secret" / "key.txt")

    assert "denied" in (await backend.aread(secret)).error
    (download,) = await backend.adownload_files([secret])
    (upload,) = await backend.aupload_files([(str(workspace / "frozen" / "a.txt"), b"x")])
    (outside,) = await backend.aupload_files([("/etc/x", b"x")])
    errors = (download.error, upload.error, outside.error)
    assert errors == ("permission_denied", "permission_denied", "invalid_path")
    assert (await backend.agrep("s3cr3t", str(workspace))).matches == []
    assert "s3cr3t" not in (await backend.aexecute("cat secret/key.txt")).output
    assert (await backend.adelete(str(workspace / "frozen"))).error is not None
    assert (await backend.als("relative")).error is not None
    assert workspace.joinpath("frozen/a.txt").read_text() == "old\n"
