"""An agent does a task through the front door, with a provider on loopback in every wire format."""

import asyncio
import inspect
import json

import pytest
from tests.models.speaking import WIRES, model_on

import handrail
import handrail.sync
from handrail.core.problems import ProblemRaised
from handrail.models.retries import RetryPolicy
from handrail.testing import FakeProvider, ProviderFault, calls, says, together

TASK = "Fix the greeting"


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    root.joinpath("app.py").write_text('def hello():\n    return "helo"\n')
    return root


def without_marks(messages):
    """The messages without the marks that tell the provider what to cache."""
    parts = [part for message in messages for part in message["content"]]
    return [{key: value for key, value in part.items() if key != "cache_control"} for part in parts]


EDIT = calls("edit_file", path="app.py", old_string="helo", new_string="hello")


@pytest.mark.parametrize("wire", WIRES)
async def test_an_agent_reads_edits_and_answers(workspace, wire):
    replies = [
        together(calls("read_file", path="app.py"), calls("grep", pattern="helo")),
        EDIT,
        says("The greeting is fixed."),
    ]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, wire)
        async with handrail.open(workspace, mode="accept-edits", model=model) as rt:
            agent = rt.agent()
            result = await agent.run(TASK)

            assert (result.status, result.text) == ("done", "The greeting is fixed.")
            assert result.report.changes == ("app.py",)
            assert result.report.reads == ("app.py",)
            assert result.turns == agent.turn == 3
            assert result.usage.requests == 3
        await model.aclose()

    assert "hello" in workspace.joinpath("app.py").read_text()
    assert len(provider.requests) == 3


async def test_a_second_task_goes_on_with_the_conversation(workspace):
    async with FakeProvider([says("one"), says("two")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model) as rt:
            agent = rt.agent()
            await agent.run("first")
            await agent.run("second")
            other = agent.new()
            await other.run("third")
        await model.aclose()

    lengths = [len(one.body["messages"]) for one in provider.requests]
    assert lengths == [1, 3, 1]
    first, second, _ = (one.body for one in provider.requests)
    assert without_marks(second["messages"][:1]) == without_marks(first["messages"])
    assert second["tools"] == first["tools"]
    assert second["system"] == first["system"]


async def test_a_refused_call_reaches_the_model_and_the_report(workspace):
    async with FakeProvider([EDIT, says("not allowed")]) as provider:
        model = model_on(provider, "openai-chat")
        async with handrail.open(workspace, mode="default", model=model) as rt:
            result = await rt.agent().run(TASK)
        await model.aclose()

    assert (result.status, result.problem.code) == ("needs_person", "needs_approval")
    assert result.text == "not allowed"
    assert [one.code for one in result.report.refused] == ["needs_approval"]
    assert "needs approval" in json.dumps(provider.requests[-1].body["messages"])
    assert workspace.joinpath("app.py").read_text().endswith('"helo"\n')


@pytest.mark.parametrize("wire", WIRES)
async def test_a_task_that_needed_a_user_goes_on_where_one_answers(workspace, tmp_path, wire):
    store = tmp_path / "record.db"
    replies = [EDIT, says("nobody is there"), EDIT, says("fixed")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, wire)
        async with handrail.open(workspace, model=model, store=store) as rt:
            alone = await rt.agent(session="kept", max_steps=2).run(TASK)
        async with handrail.open(
            workspace, model=model, store=store, approver="events", session="s"
        ) as rt:
            answers = []

            def answer(event):
                if event.type == "question":
                    answers.append(asyncio.ensure_future(rt.reply(event.question_id, "yes")))

            result = await rt.agent(session="kept").resume(on_event=answer)
        await model.aclose()

    assert (alone.status, result.status) == ("needs_person", "done")
    assert len(answers) == 1
    assert "hello" in workspace.joinpath("app.py").read_text()


async def test_that_a_user_is_needed_comes_before_a_limit(workspace):
    async with FakeProvider([EDIT, EDIT]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model) as rt:
            result = await rt.agent(max_steps=1).run(TASK)
        await model.aclose()

    assert result.status == "needs_person"


async def test_a_budget_of_calls_and_steps_is_never_exceeded(workspace):
    runaway = [calls("read_file", path="app.py", limit=n) for n in range(1, 9)]
    async with FakeProvider(runaway) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model) as rt:
            budget = handrail.Budget(calls=2, steps=4)
            result = await rt.agent(budget=budget).run(TASK)
        await model.aclose()

    assert (result.status, result.problem.code) == ("budget", "budget_exceeded")
    assert result.usage.calls == 2
    assert len(provider.requests) == 3
    assert [one.code for one in result.report.refused] == ["budget_exceeded"]


async def test_max_steps_ends_the_task_and_says_so(workspace):
    async with FakeProvider([calls("read_file", path="app.py")] * 5) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model) as rt:
            result = await rt.agent(max_steps=2).run(TASK)
        await model.aclose()

    assert (result.status, len(provider.requests)) == ("max_steps", 2)


@pytest.mark.parametrize("steps", [0, -1])
async def test_a_task_has_at_least_one_step(workspace, steps):
    async with handrail.open(workspace, store=":memory:") as rt:
        with pytest.raises(ProblemRaised) as raised:
            rt.agent(max_steps=steps)

    problem = raised.value.problem
    assert (problem.code, problem.field) == ("invalid_arguments", "max_steps")


async def test_a_failed_model_leaves_a_task_that_can_be_resumed(workspace, monkeypatch):
    monkeypatch.setattr("handrail.agent.loop._PAUSES", RetryPolicy(first_wait_s=0.0))
    long = "x" * 400
    replies = [EDIT, *[ProviderFault("cut", after=2_000)] * 6, says(long), says("done after all")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, mode="accept-edits", model=model) as rt:
            agent = rt.agent()
            first = await agent.run(TASK)
            again = await agent.resume()
        await model.aclose()

    assert (first.status, first.problem.code) == ("failed", "unavailable")
    assert (again.status, again.text) == ("done", long)
    assert workspace.joinpath("app.py").read_text().count("hello") == 2
    assert first.usage.requests == 7


async def test_events_end_with_the_result(workspace):
    async with FakeProvider([calls("read_file", path="app.py"), says("fine")]) as provider:
        model = model_on(provider, "openai-responses")
        async with handrail.open(workspace, model=model) as rt:
            events = [event async for event in rt.agent().stream(TASK)]
        await model.aclose()

    types = [event.type for event in events]
    assert types[0] == "agent_start"
    assert types[-1] == "agent_end"
    assert events[-1].result["text"] == "fine"
    assert "tool_call_end" in types
    text = "".join(event.text for event in events if event.type == "model_text")
    assert text == "fine"


@pytest.mark.feature("L10")
async def test_a_read_runs_while_the_message_is_still_streamed(workspace):
    content = "x" * 2_000
    reply = together(
        calls("read_file", path="app.py"), calls("write_file", path="new.txt", content=content)
    )
    async with FakeProvider([reply, says("fine")], pace_s=0.002) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, mode="accept-edits", model=model) as rt:
            events = [event async for event in rt.agent().stream(TASK)]
        await model.aclose()

    order = [(event.type, getattr(event, "tool", "")) for event in events]
    complete = [
        position
        for position, event in enumerate(events)
        if event.type == "model_call" and event.tool == "write_file" and event.complete
    ]
    assert order.index(("tool_call_end", "read_file")) < complete[0]
    assert order.index(("tool_call_start", "write_file")) > complete[0]
    assert workspace.joinpath("new.txt").read_text() == content


def test_a_synchronous_agent_runs_and_streams(workspace, tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text('{"text": "one"}\n{"text": "two"}\n')
    with handrail.sync.open(workspace, model=f"script:{script}") as rt:
        agent = rt.agent()
        first = agent.run("first")
        events = list(agent.stream("second"))

    assert first.text == "one"
    assert (events[0].type, events[-1].result["text"]) == ("agent_start", "two")
    assert agent.turn == 2


def test_a_synchronous_agent_blocks_in_every_documented_method():
    from handrail.agent.sync_agent import SyncAgent

    asynchronous = {
        name for name, one in vars(handrail.Agent).items() if inspect.iscoroutinefunction(one)
    }
    # Conversations are loaded by the other methods.
    missing = {name for name in asynchronous if name[0] != "_"} - set(vars(SyncAgent)) - {"load"}

    assert not missing


@pytest.mark.parametrize("effects", [handrail.Effects.PURE, handrail.Effects.OPEN_ENDED])
async def test_a_call_that_the_user_stopped_is_not_run_again(workspace, effects):
    started = []
    running = asyncio.Event()

    @handrail.tool(effects=effects)
    async def wait_long(reason: str) -> str:
        """Wait for a long time."""
        started.append(reason)
        running.set()
        await asyncio.Event().wait()
        return "never"

    replies = [calls("wait_long", reason="to be stopped"), says("I go on.")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(
            workspace, mode="bypass", model=model, tools=[wait_long], approver=lambda _: True
        ) as rt:
            agent = rt.agent()
            task = asyncio.ensure_future(agent.run("wait"))
            async with asyncio.timeout(10):
                await running.wait()
            task.cancel()
            await asyncio.wait([task])
            result = await agent.run("something else")
        await model.aclose()

    assert (result.status, started) == ("done", ["to be stopped"])
    answers = [part for one in provider.requests[-1].body["messages"] for part in one["content"]]
    assert "the user stopped the task" in json.dumps(answers)
