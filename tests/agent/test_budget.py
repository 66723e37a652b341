"""What counts against a budget, and what a request may still cost."""

import pytest
from tests.models.speaking import model_on

import handrail
from handrail.agent.budget import BudgetMeter
from handrail.agent.estimate import TokenEstimate
from handrail.core.ports.agents import PricePerMillion
from handrail.core.ports.models import Message, ModelRequest, Picture, TextBlock, UsageReported
from handrail.core.problems import ProblemRaised
from handrail.models.scripted.replies import ReplyQueue
from handrail.testing import FakeProvider, ProviderFault, ScriptedCall, ScriptedMessage, calls, says

PRICE = PricePerMillion(input=2.0, output=10.0)


def meter(price=PRICE, **limits):
    return BudgetMeter(handrail.Budget(**limits), price, lambda: 0.0)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("tokens=200k", {"tokens": 200_000}),
        ("usd=1.5,minutes=10", {"usd": 1.5, "minutes": 10.0}),
        ("steps=50, calls=200", {"steps": 50, "calls": 200}),
    ],
)
def test_a_budget_is_read_from_text(text, limits):
    assert handrail.Budget.parse(text) == handrail.Budget(**limits)


@pytest.mark.parametrize(
    "text",
    ["tokens", "tokens=", "tokens=-1", "gold=1", "steps=1,steps=2"]
    + [f"{name}={'9' * 400}" for name in ("tokens", "usd")],
)
def test_what_is_no_budget_is_refused(text):
    with pytest.raises(ProblemRaised) as refused:
        handrail.Budget.parse(text)

    assert refused.value.problem.code == "invalid_arguments"


def test_the_answer_may_only_be_as_long_as_the_rest_allows():
    one = meter(tokens=10_000)

    assert one.allow_step(1_000, 8_000) == 8_000
    one.add_request(UsageReported(1_000, 8_000))
    with pytest.raises(ProblemRaised, match="tokens"):
        one.allow_step(1_000, 8_000)


def test_the_limit_that_is_used_up_is_named():
    one = meter(tokens=1_000_000, usd=0.001)

    with pytest.raises(ProblemRaised, match=r"usd \(limit 0.001\)"):
        one.allow_step(1_000, 8_000)


@pytest.mark.threat("A04")
def test_money_is_checked_where_only_input_costs():
    free_answers = PricePerMillion(input=2.0, output=0.0)

    with pytest.raises(ProblemRaised, match="usd"):
        meter(free_answers, usd=1.0).allow_step(10_000_000, 8_000)
    assert meter(free_answers, usd=1.0).allow_step(1_000, 8_000) == 8_000


@pytest.mark.threat("A27")
async def test_an_attempt_that_failed_after_it_began_is_charged(tmp_path):
    tmp_path.joinpath("a.txt").write_text("one\n")
    replies = [ProviderFault("cut", after=400), says("fine")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(tmp_path, model=model) as rt:
            result = await rt.agent().run("a task")
        await model.aclose()

    assert len(provider.requests) == 2
    assert (result.status, result.usage.requests) == ("done", 2)


@pytest.mark.threat("A27")
async def test_calls_of_a_stream_that_was_cut_off_are_not_charged(tmp_path):
    names = [f"{number}.txt" for number in range(3)]
    writes = tuple(ScriptedCall("write_file", {"path": one, "content": "x"}) for one in names)
    message = ScriptedMessage("", writes)
    whole = b"".join(ReplyQueue([message]).answer("anthropic", b"{}").chunks)
    cut = ProviderFault("cut", after=whole.index(b"event: message_delta"))
    async with FakeProvider([*[cut] * 3, message, says("done")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(tmp_path, model=model, mode="accept-edits") as rt:
            result = await rt.agent(budget=handrail.Budget(calls=5)).run("a task")
        await model.aclose()

    assert len(provider.requests) == 5
    assert (result.status, result.usage.calls) == ("done", 3)
    assert all(tmp_path.joinpath(one).exists() for one in names)


def test_a_picture_counts_as_a_picture_and_not_by_its_bytes():
    estimate = TokenEstimate()
    small = ModelRequest((), (Message("user", (TextBlock("look"),)),))
    large = ModelRequest((), (Message("user", (Picture("image/png", b"x" * 1_000_000),)),))

    assert estimate.count(small) < 10
    assert 1_000 < estimate.count(large) < 3_000


def test_an_estimate_follows_the_provider_and_sees_a_truncated_prompt():
    estimate = TokenEstimate()
    request = ModelRequest((), (Message("user", (TextBlock("word " * 4_000),)),))

    assert estimate.correct(request, 6_000) is False
    assert estimate.count(request) == 6_000
    assert estimate.correct(request, 2_048) is True
    assert estimate.count(request) == 6_000


async def test_time_spent_waiting_for_the_user_is_not_counted(tmp_path):
    import asyncio

    async def slow_yes(request):
        await asyncio.sleep(0.3)
        return True

    edit = calls("write_file", path="a.txt", content="one\n")
    async with FakeProvider([edit, says("fine")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(tmp_path, model=model, approver=slow_yes) as rt:
            await rt.agent().run("a task")
            waited = rt.model_calls.user_wait_s
        await model.aclose()

    assert waited >= 0.3
