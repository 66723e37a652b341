"""A rewind takes back what subagents did in the cut turns, as if the turns had done it themselves."""

import pytest
from tests.subagents.conftest import call

import handrail
from handrail.agent.conversation import load_conversation
from handrail.core.ports.todos import TodoDraft
from handrail.models.custom import CustomModel, CustomReply


class ContinuingModel(CustomModel):
    """Starts a subagent in the first task and continues it in each later one. The subagent writes the
    file that its task names.
    """

    name = "continuing"
    agent = ""

    async def reply(self, request):
        asked = [one.text for one in request.messages if one.role == "user"]
        if request.messages[-1].role == "tool":
            return CustomReply(f"written: {asked[-1]}")
        if asked[0].endswith(".txt"):
            return CustomReply(calls=(("write_file", {"path": asked[-1], "content": "x\n"}),))
        start = {"task": f"{asked[-1]}.txt", "agent": "general"}
        more = {"resume": self.agent} if self.agent else {}
        return CustomReply(calls=(("subagent", {**start, **more}),))


@pytest.mark.threat("A22")
@pytest.mark.feature("P05")
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another session"])
async def test_a_subagent_that_was_continued_goes_back_with_its_files(scripted, elsewhere):
    model = ContinuingModel()
    settings = {"model": model, "mode": "accept-edits", "config": {"freshness": "off"}}
    allowed = ["write_file", "subagent"]
    async with handrail.open(scripted.root, **settings) as rt:
        agent = rt.agent(allowed=allowed)
        await agent.run("one")
        kept = agent.turn
        (state,) = rt.agent_services.subagents.value.states()
        model.agent = state.id
        await agent.run("two")
        await agent.run("three")
        written = sorted(scripted.files())
        if not elsewhere:
            await agent.rewind(kept)
    async with handrail.open(scripted.root, **settings) as rt:
        agent = rt.agent(allowed=allowed, session=agent.session)
        if elsewhere:
            await agent.rewind(kept)
        left = sorted(scripted.files())
        conversation = await load_conversation(state.conversation, rt.store)
        texts = conversation.user_texts
        await agent.run("four")
        again = sorted(scripted.files())
        answer = rt.agent_services.subagents.value.states()[0].text
        await agent.rewind(0)

    assert written == ["one.txt", "three.txt", "two.txt"]
    assert left == ["one.txt"]
    assert texts == ("one.txt",)
    assert (again, answer) == (["four.txt", "one.txt"], "written: four.txt")
    assert scripted.files() == {}


@pytest.mark.threat("A22")
async def test_what_the_subagents_of_cut_turns_were_granted_and_listed_ends_with_them(scripted):
    lines = [
        {"text": "begun"},
        call("subagent", task="Write", agent="general"),
        {"text": "done"},
        {"agent": "general"},
        call("task_create", content="of a subagent"),
        call("write_file", path="a.txt", content="x"),
        {"text": "written"},
    ]

    def agree(request):
        return handrail.Answer.ALWAYS

    async with scripted.open(*lines, mode="default", approver=agree) as rt:
        agent = rt.agent(allowed=["subagent", "write_file", "task_create"])
        await agent.run("Begin")
        kept = agent.turn
        await rt.todos.add("main", TodoDraft("of the user"))
        await agent.run("Go on")
        granted = [one.rule.spelled for one in rt.grants.active()]
        listed = [one.content for one in await rt.todos.items()]
        await agent.rewind(kept)
        left = [one.rule.spelled for one in rt.grants.active()]
        items = [one.content for one in await rt.todos.items()]

    assert [one for one in granted if "write_file" in one]
    assert [one for one in left if "write_file" in one] == []
    assert (listed, items) == (["of the user", "of a subagent"], ["of the user"])


@pytest.mark.threat("A22")
async def test_requests_of_subagents_are_among_what_cannot_be_undone(scripted):
    def post(text: str) -> str:
        """Send a text."""
        return f"sent {text}"

    lines = [
        call("subagent", task="Send", agent="general"),
        {"text": "done"},
        {"agent": "general"},
        call("post", text="x"),
        {"text": "sent"},
    ]
    notes = []
    async with scripted.open(*lines, mode="default", approver=lambda request: True) as rt:
        rt.register(handrail.tool(post, effects=handrail.Effects.NETWORK))
        agent = rt.agent(allowed=["subagent", "post"])
        await agent.run("Go")
        done = await agent.rewind(0, on_event=notes.append)

    assert [tool for tool, _ in done.lasting] == ["post"]
    assert "post (" in notes[0].to_dict()["text"]
