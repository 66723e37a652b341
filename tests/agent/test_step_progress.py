"""The progress of a message: which events are told, and what is charged for a part of it."""

import asyncio

import pytest

from handrail.agent.step_progress import StepProgress
from handrail.core.ports.models import (
    CallClosed,
    CallDelta,
    CallOpened,
    Message,
    MessageDone,
    ModelRetry,
    TextBlock,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)

DONE = MessageDone("stop", Message("assistant", (TextBlock("x"),)))
ESTIMATE = UsageReported(50, 0, estimated=True)


class Meter:
    def __init__(self):
        self.charged = []
        self.checked = []

    def add_request(self, used):
        self.charged.append(used)

    def check_answer(self, input_tokens, tokens):
        self.checked.append((input_tokens, tokens))


class Told:
    def __init__(self):
        self.events, self.retries, self.meter = [], [], Meter()
        self.progress = StepProgress(
            "main", 3, self.events.append, self.retries.append, self.meter, 50
        )

    def report(self, *events):
        for event in events:
            self.progress.report(event)
        return self

    def facts(self):
        return [{"type": one.type, **one.to_dict()} for one in self.events]


def test_nothing_has_begun_and_nothing_is_charged():
    progress = Told().progress
    assert (progress.begun, progress.charged, progress.usage) == (False, False, ESTIMATE)


@pytest.mark.parametrize(
    ("event", "begins"),
    [
        (TextDelta("a"), True),
        (ThinkingDelta("a"), True),
        (CallOpened(0, "c", "bash"), True),
        (CallDelta(0, "{"), True),
        (CallClosed(0, "c", "bash", "{}"), True),
        (DONE, True),
        (UsageReported(1, 2), False),
        (ModelRetry(1, "network", 0.5), False),
    ],
)
def test_what_begins_a_message(event, begins):
    progress = Told().report(event).progress
    assert progress.begun is begins
    progress.report(UsageReported(1, 2))
    assert progress.begun is begins


def test_what_is_told_of_a_message():
    told = Told().report(
        TextDelta("a"),
        ThinkingDelta("b"),
        CallOpened(0, "c", "bash"),
        CallDelta(0, "{}"),
        CallClosed(0, "c", "bash", "{}"),
        UsageReported(1, 2),
        DONE,
        ModelRetry(2, "network", 0.5, ESTIMATE),
    )
    facts = told.facts()
    assert {(one["agent"], one["step"]) for one in facts} == {("main", 3)}
    text, thinking, opened, closed, retried = facts
    assert (text["type"], text["text"]) == ("model_text", "a")
    assert (thinking["type"], thinking["text"]) == ("model_thinking", "b")
    assert [one["complete"] for one in (opened, closed)] == [False, True]
    assert {(one["call_id"], one["tool"]) for one in (opened, closed)} == {("c", "bash")}
    assert (retried["attempt"], retried["code"], retried["wait_s"]) == (2, "network", 0.5)
    assert told.retries == [ESTIMATE]


def test_a_retry_that_is_refused_is_not_told():
    told = Told()

    def refuse(usage):
        raise RuntimeError

    told.progress._retry = refuse
    with pytest.raises(RuntimeError):
        told.progress.report(ModelRetry(1, "network", 0.5))
    assert told.events == []


@pytest.mark.parametrize(
    ("events", "tokens"),
    [
        ([TextDelta("abc")], 0),
        ([TextDelta("abcd")], 1),
        ([TextDelta("éé")], 1),
        ([TextDelta("\ud800abc")], 1),
        ([TextDelta("ab"), ThinkingDelta("cdefgh")], 2),
        ([CallOpened(0, "c", "long name of a tool")], 0),
        ([CallClosed(0, "c", "bash", "12345678")], 2),
        ([CallDelta(0, "12345678"), CallClosed(0, "c", "bash", "12345678")], 2),
        ([CallDelta(1, "12345678"), CallClosed(0, "c", "bash", "12345678")], 4),
    ],
)
def test_the_answer_so_far_is_estimated_and_checked(events, tokens):
    told = Told().report(*events)
    assert told.progress.usage == UsageReported(50, tokens, estimated=True)
    checked = told.meter.checked
    assert checked == [] if tokens == 0 and len(checked) == 0 else checked[-1] == (50, tokens)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (UsageReported(7, 3, 1), UsageReported(7, 3, 1)),
        (UsageReported(7, 2, 1), UsageReported(7, 2, 1)),
        (UsageReported(7, 1, 1), UsageReported(7, 2, 1, estimated=True)),
    ],
)
def test_a_report_that_omits_most_of_the_answer_is_completed(reported, expected):
    told = Told().report(TextDelta("12345678"), reported)
    assert told.progress.usage == expected


def test_a_complete_message_is_charged_once_as_reported():
    told = Told().report(TextDelta("12345678"), UsageReported(7, 1), DONE)
    assert told.progress.charged
    assert told.meter.charged == [UsageReported(7, 1)]
    told.progress.charge_stopped(asyncio.CancelledError())
    assert len(told.meter.charged) == 1


@pytest.mark.parametrize(
    ("events", "error", "charged"),
    [
        ([], ValueError(), []),
        ([], asyncio.CancelledError(), [ESTIMATE]),
        ([UsageReported(7, 1)], ValueError(), []),
        ([TextDelta("abcd")], ValueError(), [UsageReported(50, 1, estimated=True)]),
        ([TextDelta("abcd")], asyncio.CancelledError(), [UsageReported(50, 1, estimated=True)]),
    ],
)
def test_a_message_that_was_stopped_is_charged_if_it_began(events, error, charged):
    told = Told().report(*events)
    told.progress.charge_stopped(error)
    told.progress.charge_stopped(error)
    assert told.meter.charged == charged
    assert told.progress.charged is bool(charged)
