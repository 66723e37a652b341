"""Results for a client, and the reports while a call runs."""

import asyncio
from types import SimpleNamespace

import pytest

from handrail.core.events import CallHeartbeat, CallOutput, CallProgress
from handrail.core.problems import Problem
from handrail.mcp.server.reports import (
    META,
    TEXT,
    WAITING_FOR_APPROVAL,
    ProgressReporter,
    wire_result,
)


def result(text="done", data=None, **more):
    given = {
        "text": text,
        "data": data,
        "images": (),
        "is_error": False,
        "call_id": "c1",
        "status": SimpleNamespace(value="ok"),
        "problem": None,
        "changes": (),
        "meta": {},
        **more,
    }
    return SimpleNamespace(**given)


def structured(text, data):
    return wire_result(result(text, data), structured=True).get("structuredContent")


@pytest.mark.parametrize(
    ("text", "data", "expected"),
    [
        ("done", None, None),
        ("done", {"a": 1}, {TEXT: "done", "a": 1}),
        ("done", {"text": "own"}, {"text": "own"}),
        ('{"a": 1}', {"a": 1}, {"a": 1}),
        ('{"a": 2}', {"a": 1}, {TEXT: '{"a": 2}', "a": 1}),
        ("[1]", [1], {"result": [1]}),
        ("done", [1], {TEXT: "done", "result": [1]}),
        ("5", 5, {TEXT: "5", "result": 5}),
        ("{", {"a": 1}, {TEXT: "{", "a": 1}),
        ("done", {}, {TEXT: "done"}),
    ],
)
def test_structured_content_has_the_text_unless_it_is_the_data(text, data, expected):
    assert structured(text, data) == expected


def test_a_result_without_structure():
    wire = wire_result(result("a\ud800\u00e9", {"a": 1}, is_error=True), structured=False)

    assert "structuredContent" not in wire
    assert wire["content"] == [{"type": "text", "text": "a?\u00e9"}]
    assert wire["isError"] is True
    assert wire["_meta"] == {META: {"call_id": "c1", "status": "ok"}}


def test_what_else_a_result_may_have():
    image = SimpleNamespace(data=b"\x01\x02", media_type="image/png")
    change = SimpleNamespace(path="a", operation="created")
    problem = Problem("not_found", "no a")
    wire = wire_result(
        result(images=[image], changes=[change], problem=problem, meta={"undo": "x", "other": "y"}),
        structured=True,
    )

    assert wire["content"][1] == {"type": "image", "data": "AQI=", "mimeType": "image/png"}
    meta = wire["_meta"][META]
    assert meta["changes"] == [{"path": "a", "operation": "created"}]
    assert meta["problem"]["code"] == "not_found"
    assert meta["undo"] == "x"
    assert "other" not in meta


class Client:
    """The request of a client, and what was sent to it."""

    def __init__(self, blocks=False):
        self.session, self.request_id = self, 7
        self.progress, self.logs, self.blocks = [], [], blocks

    async def report_progress(self, step, total, text):
        if self.blocks:
            await asyncio.sleep(60)
        self.progress.append((step, total, text))

    async def send_notification(self, notification, related_request_id):
        self.logs.append((notification.params.level, notification.params.data, related_request_id))


def event(kind, **facts):
    made = kind.__new__(kind)
    for name, value in {"tool": "run_command", "call_id": "c1", **facts}.items():
        object.__setattr__(made, name, value)
    return made


EVENTS = [
    event(CallProgress, text="half\x1b "),
    event(CallHeartbeat, elapsed_s=3.6),
    event(CallOutput, text="x" * 500, stream="stdout"),
]
TEXTS = ["half\\x1b", "run_command is still running (4 s)", "x" * 400]


async def report(client, *events, **options):
    async with ProgressReporter(client, **options) as reporter:
        for one in events:
            reporter(one)
        return reporter.wanted


async def test_progress_is_counted():
    client = Client()
    assert await report(client, *EVENTS, SimpleNamespace(), progress=True, level=None)

    assert client.progress == [(float(at), None, text) for at, text in enumerate(TEXTS, 1)]
    assert client.logs == []


@pytest.mark.parametrize(
    ("level", "wanted"), [("debug", True), ("info", True), ("notice", False), (None, False)]
)
async def test_logs_are_sent_to_a_client_that_wants_them(level, wanted):
    client = Client()
    assert await report(client, *EVENTS, progress=False, level=level) is wanted

    assert client.progress == []
    assert client.logs == ([("info", TEXTS[0], 7), ("info", TEXTS[2], 7)] if wanted else [])


async def test_a_call_that_waits_for_an_approval_says_so():
    client = Client()
    waits = {"is_waiting": lambda call_id: call_id == "c1"}
    await report(client, *EVENTS, progress=True, level=None, **waits)

    assert [text for _, _, text in client.progress] == [TEXTS[0], WAITING_FOR_APPROVAL, TEXTS[2]]


async def test_only_the_newest_events_are_kept_for_a_slow_client():
    client = Client()
    await report(
        client, *[event(CallProgress, text=str(at)) for at in range(100)], progress=True, level=None
    )

    assert [text for _, _, text in client.progress] == [str(at) for at in range(36, 100)]


async def test_a_call_that_failed_does_not_wait_for_the_client():
    client = Client(blocks=True)
    with pytest.raises(KeyError):
        async with ProgressReporter(client, progress=True, level=None) as reporter:
            reporter(EVENTS[0])
            raise KeyError

    assert client.progress == []
