"""Text that a rule of now denies is sent to no model that has not had it, and other text still is."""

import json

import pytest
from tests.models.speaking import model_on

import handrail
from handrail.agent.conversation import new_conversation_id
from handrail.agent.session_file import export_conversation, import_conversation
from handrail.testing import FakeProvider, calls, says, together

DENIED, ALLOWED = "word-that-is-denied-now", "word-that-is-allowed"
RULE = {"permissions": {"deny": ["read_file(secret.txt)"]}}


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    root.joinpath("secret.txt").write_text(f"{DENIED}\n")
    root.joinpath("open.txt").write_text(f"{ALLOWED}\n")
    return root


async def continue_as(way, rt, agent, folder):
    """Make another conversation of that of an agent; returns its workspace and its session."""
    root = rt.session.roots[0]
    if way == "again":
        return root, agent.session
    if way == "fork":
        return root, (await agent.fork()).session
    if way == "fork into":
        return folder, (await agent.fork(into=folder)).session
    session, kept = new_conversation_id(), await agent.load()
    made = import_conversation(export_conversation(kept), session, rt.store, 0)
    await made.flush()
    return root, session


@pytest.mark.threat("A14", "A20")
@pytest.mark.parametrize("way", ["again", "fork", "fork into", "import"])
async def test_another_model_gets_what_may_be_read_now(workspace, tmp_path, way):
    read = together(*(calls("read_file", path=f"{name}.txt") for name in ("secret", "open")))
    async with FakeProvider([read, says("read"), says("one"), says("two")]) as provider:
        first, then = model_on(provider, "anthropic"), model_on(provider, "openai-chat")
        async with handrail.open(workspace, model=first) as rt:
            agent = rt.agent(allowed=["read_file"])
            await agent.run("Read them")
            root, session = await continue_as(way, rt, agent, tmp_path / "copy")
        had = len(provider.requests)
        # Each runtime has a session of its own.
        async with handrail.open(root, model=then, config=RULE) as rt:
            agent = rt.agent(allowed=["read_file"], session=session)
            await agent.run("Go on")
            await (await agent.fork()).run("Go on there")
        await first.aclose()
        await then.aclose()

    sent = [json.dumps(one.body) for one in provider.requests]
    assert DENIED in sent[had - 1]
    assert [DENIED in one for one in sent[had:]] == [False, False]
    assert [ALLOWED in one for one in sent[had:]] == [True, True]


@pytest.mark.parametrize("dialect", [None, "claude"])
async def test_calls_of_an_imported_session_are_judged_as_they_were_written(workspace, dialect):
    names = [("read_file", "path"), ("Read", "file_path")][dialect == "claude"]
    asked = [
        *((names[0], json.dumps({names[1]: path})) for path in ("secret.txt", "open.txt")),
        *((name, arguments) for name in ("list_files", "Gone") for arguments in ("", "[1]", "{")),
    ]
    texts = [DENIED, ALLOWED, *["word-of-another"] * 6]
    pairs = list(enumerate(zip(asked, texts, strict=True)))
    blocks = [{"call": f"c{n}", "name": name, "arguments": text} for n, ((name, text), _) in pairs]
    results = [{"result": f"c{n}", "text": text} for n, (_, text) in pairs]
    said = [("user", [{"text": "Go"}]), ("assistant", blocks), ("tool", results)]
    written = [{"turn": 1, "role": role, "blocks": parts} for role, parts in said]
    given = {"format": "handrail-session", "version": 1, "title": "", "messages": written}
    async with FakeProvider([says("done")]) as provider:
        model = model_on(provider, "anthropic")
        options = {} if dialect is None else {"dialect": dialect}
        async with handrail.open(workspace, model=model, config=RULE, **options) as rt:
            await import_conversation(given, "imported", rt.store, 0).flush()
            result = await rt.agent(session="imported").run("Go on")
        await model.aclose()

    sent = json.dumps(provider.requests[0].body)
    assert result.text == "done"
    # A listing of the folder may have shown what is denied; calls that mean nothing here show nothing.
    assert (DENIED in sent, ALLOWED in sent, sent.count("word-of-another")) == (False, True, 5)


@pytest.mark.threat("A14", "A22")
async def test_a_rewind_behind_a_summary_brings_no_denied_text_back(workspace):
    long = "".join(f"line {number}\n" for number in range(2000))
    workspace.joinpath("long.txt").write_text(long)
    replies = [
        calls("read_file", path="secret.txt"),
        calls("read_file", path="open.txt"),
        says("read"),
        calls("read_file", path="long.txt"),
        *[says("an answer")] * 4,
    ]
    async with FakeProvider(replies) as provider:
        first, then = model_on(provider, "anthropic"), model_on(provider, "openai-chat")
        async with handrail.open(workspace, model=first) as rt:
            agent = rt.agent(allowed=["read_file"])
            await agent.run("Read it")
        had = len(provider.requests)
        async with handrail.open(workspace, model=then, config=RULE) as rt:
            agent = rt.agent(allowed=["read_file"], session=agent.session)
            await agent.run("Read more")
            done = await agent.compact()
            await agent.rewind(2)
            await agent.run("Go on")
        await first.aclose()
        await then.aclose()

    assert done.summarised
    sent = [json.dumps(one.body) for one in provider.requests[had:]]
    assert not any(DENIED in one for one in sent)
    assert ALLOWED in sent[-1]
