"""A stream that fails in the middle: the message is asked for again, and nothing is lost or done
twice; the time of a budget ends a stream that does not end.
"""

import pytest
from tests.models.speaking import WIRES, model_on

import handrail
from handrail.models.retries import RetryPolicy
from handrail.testing import FakeProvider, ProviderFault, calls, says, together

APPEND = calls("write_file", path="log.txt", content="again\n", mode="append")


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    root.joinpath("a.txt").write_text("one\n")
    return root


async def run(workspace, wire, replies, **options):
    events = []
    async with FakeProvider(replies, chunk=4) as provider:
        model = model_on(provider, wire)
        async with handrail.open(workspace, mode="accept-edits", model=model) as rt:
            result = await rt.agent(**options).run("a task", on_event=events.append)
            recorded = await rt.store.calls(session=rt.session.id)
        await model.aclose()
    return result, provider, recorded, events


@pytest.mark.threat("A08", "A09")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("share", [0.5, 0.9])
async def test_equal_calls_of_a_message_that_was_cut_run_once_each(workspace, wire, share):
    message = together(calls("read_file", path="a.txt"), APPEND, APPEND)
    size = await stream_size(wire, message)
    fault = ProviderFault("cut", after=int(size * share))

    result, provider, recorded, events = await run(workspace, wire, [fault, message, says("done")])

    assert result.status == "done"
    assert workspace.joinpath("log.txt").read_text() == "again\nagain\n"
    appends = [one for one in recorded if one.requested["tool"] == "write_file"]
    assert len(appends) == 2
    retries = [event for event in events if event.type == "model_retry"]
    assert len(provider.requests) == 2 + len(retries)
    assert result.usage.requests >= 2


async def stream_size(wire, message):
    """How many bytes a provider streams for this message."""
    from handrail.models.scripted.replies import ReplyQueue
    from handrail.testing.provider import to_entry

    queue = ReplyQueue([to_entry(message)], chunk=4)
    return sum(map(len, queue.answer(wire, b"{}").chunks))


@pytest.mark.threat("A08")
async def test_a_read_that_began_early_is_run_again_and_not_replayed(workspace):
    message = together(calls("read_file", path="a.txt"), says("x" * 400))
    size = await stream_size("anthropic", message)
    fault = ProviderFault("cut", after=size - 80)
    seen = []

    async with FakeProvider([fault, message, says("done")], chunk=4) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model) as rt:

            def change(event):
                seen.append(event)
                if event.type == "model_retry":
                    workspace.joinpath("a.txt").write_text("two\n")

            result = await rt.agent().run("read it", on_event=change)
        await model.aclose()

    assert result.status == "done"
    assert [event.type for event in seen].count("model_retry") == 1
    shown = str(provider.requests[-1].body["messages"][-1])
    assert "two" in shown
    assert "one" not in shown


async def test_a_stream_that_always_fails_ends_the_task(workspace, monkeypatch):
    monkeypatch.setattr("handrail.agent.loop._PAUSES", RetryPolicy(first_wait_s=0.0))
    message = says("y" * 400)
    size = await stream_size("anthropic", message)
    faults = [ProviderFault("cut", after=size - 200)] * 20

    result, provider, _, events = await run(workspace, "anthropic", [*faults, message])

    assert result.status == "failed"
    assert result.problem.code == "unavailable"
    retries = [event for event in events if event.type == "model_retry"]
    assert len(provider.requests) == 1 + len(retries) == result.usage.requests == 6


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat"])
@pytest.mark.parametrize("most", [0, 2])
async def test_one_setting_limits_the_streams_of_a_message(workspace, monkeypatch, wire, most):
    """Those that fail before their first event, and those that fail later."""
    monkeypatch.setattr("handrail.agent.loop._PAUSES", RetryPolicy(first_wait_s=0.0))
    message = says("y" * 400)
    size = await stream_size(wire, message)
    late, early = ProviderFault("cut", after=size // 2), ProviderFault("cut", after=10)
    async with FakeProvider([late, early, late, early, late, message], chunk=4) as provider:
        table = {
            "wire": wire,
            "base_url": provider.base_url(wire),
            "model": "m",
            "stream_retries": most,
            "context_tokens": 50_000,
        }
        config = {"models": {"local": table}}
        async with handrail.open(workspace, model="local", config=config) as rt:
            result = await rt.agent().run("a task")

    assert (result.status, result.problem.code) == ("failed", "unavailable")
    assert len(provider.requests) == 1 + most == result.usage.requests


async def test_a_lost_connection_is_described_without_names_of_exceptions(workspace, monkeypatch):
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)

    monkeypatch.setattr("handrail.agent.loop.asyncio.sleep", sleep)
    message = says("y" * 400)
    size = await stream_size("anthropic", message)
    faults = [ProviderFault("cut", after=size - 200)] * 6
    result, _, _, events = await run(workspace, "anthropic", [*faults, message])

    assert "the connection to http://127.0.0.1" in result.problem.message
    assert "Error" not in result.problem.message
    waits = [event.wait_s for event in events if event.type == "model_retry"]
    assert waits == [one for one in pauses if one in waits]
    for number, wait in enumerate(waits):
        assert 0.17 < wait / 2**number < 0.23


@pytest.mark.threat("A27")
async def test_a_retry_that_would_exceed_the_budget_is_not_sent(workspace, monkeypatch):
    monkeypatch.setattr("handrail.agent.loop._PAUSES", RetryPolicy(first_wait_s=0.0))
    message = says("y" * 400)
    size = await stream_size("anthropic", message)
    replies = [*[ProviderFault("cut", after=size - 200)] * 20, message]
    budget = handrail.Budget(tokens=9_000)

    result, provider, _, _ = await run(workspace, "anthropic", replies, budget=budget)

    assert result.status == "budget"
    assert 1 <= len(provider.requests) < 6
    assert result.usage.tokens <= 9_000


@pytest.mark.parametrize("fault", ["hang", "ping"])
async def test_the_time_of_a_budget_ends_a_stream(workspace, fault):
    budget = handrail.Budget(minutes=1.5 / 60)
    replies = [says("ready"), ProviderFault(fault, after=400)]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model) as rt:
            # What the first task loads does not count against the time of the second one.
            await rt.agent().run("get ready")
            result = await rt.agent(budget=budget).run("a task")
        await model.aclose()

    assert (result.status, result.problem.code) == ("budget", "budget_exceeded")
    assert "minutes" in result.problem.message
    assert len(provider.requests) == 2


async def test_limits_that_are_not_given_come_from_the_settings(workspace):
    read = calls("read_file", path="a.txt")
    settings = {"max_steps": 3, "budget": {"calls": 1}}
    async with FakeProvider([read] * 20) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, config=settings) as rt:
            limited = await rt.agent().run("a task")
            stepping = await rt.agent(budget=handrail.Budget()).run("a task")
            own = await rt.agent(max_steps=2, budget=handrail.Budget(steps=1)).run("a task")
        await model.aclose()

    assert (limited.status, limited.usage.requests, limited.usage.calls) == ("budget", 2, 1)
    assert (stepping.status, stepping.usage.requests) == ("max_steps", 3)
    assert (own.status, own.usage.requests, own.usage.calls) == ("budget", 1, 1)
