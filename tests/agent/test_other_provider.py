"""A session goes on with a model of another provider: the journal is rendered for its format."""

import itertools
import json

import pytest
from tests.models.speaking import WIRES, model_on

import handrail
from handrail.models.wires.formats import FORMATS
from handrail.testing import FakeProvider, ScriptedCall, ScriptedMessage, calls, says

THOUGHT = "I think of a purple elephant."


def script(workspace):
    workspace.joinpath("a.txt").write_text("one\n")
    read = ScriptedCall("read_file", {"path": "a.txt"}, "id/with spaces")
    return [
        ScriptedMessage(text="I look.", calls=(read, read), thinking=THOUGHT),
        calls("read_file", path="missing.txt"),
        ScriptedMessage(text="Done with that.", thinking=THOUGHT),
    ]


@pytest.mark.parametrize(("first", "then"), list(itertools.permutations(WIRES, 2)))
async def test_a_session_goes_on_with_another_provider(tmp_path, first, then):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    store = tmp_path / "record.db"
    async with FakeProvider([*script(workspace), says("Now me."), says("And me.")]) as provider:
        one, other = model_on(provider, first), model_on(provider, then)
        async with handrail.open(workspace, model=one, store=store, session="s") as rt:
            agent = rt.agent(session="s")
            await agent.run("look")
            before = agent.messages
        async with handrail.open(workspace, model=other, store=store, session="s") as rt:
            agent = rt.agent(session="s")
            result = await agent.run("go on")
            after = agent.messages
        async with handrail.open(workspace, model=one, store=store, session="s") as rt:
            back = await rt.agent(session="s").run("and back")
        await one.aclose()
        await other.aclose()

    assert (result.text, back.text) == ("Now me.", "And me.")
    assert [request.wire for request in provider.requests] == [first] * 3 + [then, first]
    for request in provider.requests:
        FORMATS[request.wire].check(request.body)
    foreign = json.dumps(provider.requests[3].body)
    assert THOUGHT not in foreign
    assert "I look." in foreign
    assert "Done with that." in foreign
    # The store keeps what was said, reasoning included.
    assert after[: len(before)] == before
    assert any(THOUGHT in str(message.blocks) for message in after)
    # The first provider gets its own messages back as they were.
    again, then_sent = provider.requests[2].body, provider.requests[4].body
    assert prefix(first, then_sent)[: len(prefix(first, again))] == prefix(first, again)


def prefix(wire, body):
    """The conversation of a body, without marks of caches."""
    key = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages"}
    text = json.dumps(body[key.get(wire, "contents")])
    return json.loads(text.replace(', "cache_control": {"type": "ephemeral"}', ""))
