"""`rt.stream`: the calls of a response run while the response is streamed."""

import asyncio
import json
import socket
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.waiting import wait_until_async

import handrail
from handrail.core.problems import ProblemRaised
from handrail.models.scripted.replies import ReplyQueue
from handrail.models.sse import SseReader
from handrail.testing import ScriptedCall, ScriptedMessage

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini")


def events_of(wire, *calls, text="", chunk=9, finish=None, response=1):
    """The events of a response with these calls, as dicts."""
    message = ScriptedMessage(text, tuple(calls), finish=finish)
    queue = ReplyQueue([message], chunk=chunk)
    queue.requests = response - 1
    data = b"".join(queue.answer(wire, b"{}").chunks)
    found = SseReader().feed(data)
    return [json.loads(event.data) for event in found if event.data != "[DONE]"]


def call(name, call_id=None, **arguments):
    return ScriptedCall(name, arguments, call_id)


async def source(events, *, then=None, pause=None):
    for number, event in enumerate(events):
        if pause is not None and number == pause[0]:
            await pause[1]()
        yield event
        await asyncio.sleep(0)
    if then is not None:
        raise then


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_text(f"text of {name}\n")
    return folder


def opened(work, **config):
    return handrail.open(work, store=":memory:", config=config, mode="bypass", sandbox="none")


@pytest.mark.feature("L10")
@pytest.mark.parametrize("wire", WIRES)
async def test_a_response_is_answered(work, wire):
    read, write = call("read_file", path="a.txt"), call("write_file", path="new.txt", content="N\n")
    given = events_of(wire, read, write, text="I look and write.")
    async with opened(work) as rt:
        async with rt.stream(source(given)) as turn:
            seen = [event async for event in turn]
        finish, messages = turn.finish, turn.messages

    assert seen == given
    assert finish == "calls"
    assert (work / "new.txt").read_text() == "N\n"
    assert "text of a" in str(messages)
    assert [result.ok for result in turn.results] == [True, True]
    _check_conversation(wire, messages)


@pytest.mark.feature("L10")
@pytest.mark.parametrize("wire", WIRES)
async def test_a_read_runs_before_the_response_ends(work, wire):
    started = []

    async def until_read():
        await wait_until_async(lambda: "tool_call_end" in started)

    given = events_of(wire, call("read_file", path="a.txt"), call("read_file", path="b.txt"))
    async with opened(work) as rt:
        events = source(given, pause=(len(given) - 1, until_read))
        stream = rt.stream(events, on_event=lambda event: started.append(event.type))
        async with stream as turn:
            await turn

    assert turn.finish == "calls"
    assert [result.ok for result in turn.results] == [True, True]


@pytest.mark.threat("A01")
@pytest.mark.parametrize("wire", WIRES)
async def test_an_effect_waits_for_the_finish(work, wire):
    write = call("write_file", path="new.txt", content="N\n")
    given = events_of(wire, write, call("read_file", path="a.txt"), text="so")
    async with opened(work) as rt, rt.stream(source(given)) as turn:
        before = []
        async for event in turn:
            before.append((work / "new.txt").exists())
            assert event is not None
            if "finish" in json.dumps(event) or "stop_reason" in json.dumps(event):
                pass
    last_but = {"openai-chat": 2, "anthropic": 2, "openai-responses": 1, "gemini": 1}[wire]

    assert not any(before[:-last_but])
    assert (work / "new.txt").exists()


@pytest.mark.threat("A01")
@pytest.mark.parametrize("wire", WIRES)
async def test_a_response_cut_at_any_event_changes_nothing(work, wire):
    write = call("write_file", path="new.txt", content="N\n" * 20)
    given = events_of(wire, call("read_file", path="a.txt"), write)
    finished = {"openai-chat": len(given) - 2, "anthropic": len(given) - 2}.get(
        wire, len(given) - 1
    )
    async with opened(work) as rt:
        for size in range(finished):
            with pytest.raises(ProblemRaised) as raised:
                async with rt.stream(source(given[:size]), wire) as turn:
                    await turn
            assert (raised.value.problem.code, raised.value.problem.retryable) == (
                "unavailable",
                True,
            )
            assert not (work / "new.txt").exists()


@pytest.mark.threat("A01")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("finish", ["length", "refused"])
async def test_a_response_that_was_cut_off_runs_no_effect_and_not_its_last_call(work, wire, finish):
    calls = (
        call("read_file", path="a.txt"),
        call("write_file", path="new.txt", content="N\n"),
        call("read_file", path="b.txt"),
    )
    given = events_of(wire, *calls, finish=finish)
    async with opened(work) as rt, rt.stream(source(given)) as turn:
        await turn

    assert turn.finish == finish
    assert not (work / "new.txt").exists()
    assert [result.ok for result in turn.results] == [True, False, False]
    _check_conversation(wire, turn.messages)


@pytest.mark.parametrize("wire", WIRES)
async def test_leaving_early_finishes_what_began_and_begins_nothing(work, wire):
    calls = (
        call("read_file", path="a.txt"),
        call("write_file", path="new.txt", content="N\n"),
        call("read_file", path="b.txt"),
    )
    given = events_of(wire, *calls, chunk=1000)
    async with opened(work) as rt, rt.stream(source(given)) as turn:
        async for event in turn:
            if "b.txt" in json.dumps(event):
                break

    assert turn.finish == "cut"
    assert not (work / "new.txt").exists()
    assert turn.results[0].ok
    assert not any(result.ok for result in turn.results[1:])
    _check_conversation(wire, turn.messages)


@pytest.mark.parametrize("wire", WIRES)
async def test_an_exception_of_the_source_is_passed_on(work, wire):
    given = events_of(wire, call("read_file", path="a.txt"), call("read_file", path="b.txt"))
    async with opened(work) as rt:
        with pytest.raises(ConnectionResetError):
            async with rt.stream(source(given[:-3], then=ConnectionResetError())) as turn:
                await turn

    assert turn.finish == "cut"


@pytest.mark.finding("F64")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("same_response", [False, True])
async def test_ids_belong_to_their_response(work, wire, same_response):
    """A provider that numbers its calls anew in each response, with and without response ids."""
    texts = []
    async with opened(work) as rt:
        for number, name in enumerate("ab", 1):
            given = events_of(
                wire, call("read_file", "call_0", path=f"{name}.txt"), response=number
            )
            given = [_without_id(event) for event in given] if same_response else given
            async with rt.stream(given) as turn:
                await turn
            texts.append(turn.results[0].text)

    assert "text of a" in texts[0]
    assert "text of b" in texts[1]


async def test_a_certain_refusal_is_told_before_the_response_ends(work):
    calls = (
        call("write_file", "c1", path="../outside.txt", content="x"),
        call("no_such_tool", "c2"),
        call("read_file", "c3", path="a.txt"),
    )
    told = []
    async with opened(work) as rt:
        given = events_of("openai-chat", *calls)
        async with rt.stream(source(given), on_event=told.append) as turn:
            async for event in turn:
                if event["choices"] and event["choices"][0]["finish_reason"]:
                    early = [one for one in told if one.type == "tool_call_refused_early"]

    assert [(one.call_id, one.tool, one.code) for one in early] == [
        ("c1", "write_file", "outside_workspace"),
        ("c2", "no_such_tool", "unknown_tool"),
    ]
    assert [result.ok for result in turn.results] == [False, False, True]


@pytest.mark.threat("A10")
async def test_looking_ahead_reaches_out_nowhere(work, monkeypatch):
    reached = []
    import handrail.host.processes.spawn as spawn

    class Started(subprocess.Popen):
        """The supervisor, which starts commands, language servers, MCP servers and browsers."""

        def __init__(self, *args, **options):
            reached.append("Popen")
            raise FileNotFoundError

    monkeypatch.setattr(subprocess, "Popen", Started)
    doors = ((socket, "getaddrinfo"), (spawn, "run"), (spawn, "run_now"))
    for module, name in doors:
        monkeypatch.setattr(module, name, lambda *a, _name=name, **k: reached.append(_name))

    class Hook:
        def pre_tool_use(self, hook_call):
            reached.append("hook")

    calls = (
        call("run_command", command="curl http://example.invalid"),
        call("write_file", path="b.txt", content="x"),
        call("read_file", path="b.txt"),
        call("lsp", operation="document_symbols", path="a.py"),
        call("web_fetch", url="https://example.invalid/?secret"),
        call("web_search", query="secret"),
        call("screenshot", url="https://example.invalid/"),
        call("mcp_call", tool="mcp__files__read", arguments={}),
    )
    given = events_of("anthropic", *calls)
    server = {"command": sys.executable, "args": ["-c", "raise SystemExit"]}
    async with opened(work, mcp={"servers": {"files": server}}) as rt:
        rt.hooks.append(Hook())
        with pytest.raises(ProblemRaised):
            async with rt.stream(source(given[:-2])) as turn:
                await turn

    assert reached == []


@pytest.mark.parametrize("wrong", [b"data", "text", 7, {"type": "x"}, [{"nothing": 1}], [object()]])
async def test_other_sources_are_refused(work, wrong):
    async with opened(work) as rt:
        with pytest.raises(ProblemRaised) as raised:
            async with rt.stream(wrong) as turn:
                await turn
        with pytest.raises(ProblemRaised):
            rt.stream([], provider="telex")

    assert raised.value.problem.code == "invalid_arguments"


async def test_what_is_not_known_yet_is_an_error(work):
    async with opened(work) as rt:
        turn = rt.stream(events_of("anthropic", text="hi"))
        with pytest.raises(RuntimeError, match="await turn"):
            _ = turn.messages
        async with turn:
            await turn
        assert turn.finish == "end"


def test_the_synchronous_door_streams_too(work):
    import handrail.sync

    write = call("write_file", path="new.txt", content="N\n")
    given = events_of("openai-chat", call("read_file", path="a.txt"), write)
    with (
        handrail.sync.open(work, store=":memory:", config={}, mode="bypass", sandbox="none") as rt,
        rt.stream(iter(given)) as turn,
    ):
        seen = list(turn)

    assert seen == given
    assert (turn.finish, len(turn.messages)) == ("calls", 3)
    assert (work / "new.txt").read_text() == "N\n"


NAMES = ("a.txt", "b.txt", "c.txt")
STEPS = st.one_of(
    st.builds(lambda p: ("read_file", {"path": p}), st.sampled_from(NAMES)),
    st.builds(
        lambda p, c: ("write_file", {"path": p, "content": f"{c}\n"}),
        st.sampled_from(NAMES),
        st.integers(0, 9),
    ),
    st.builds(lambda p: ("grep", {"pattern": "text", "path": p}), st.sampled_from((".", *NAMES))),
    st.builds(lambda p: ("list_directory", {"path": p}), st.just(".")),
    st.just(("read_file", {"path": "../x"})),
    st.just(("nothing", {})),
)


BATCHES = (st.lists(STEPS, min_size=1, max_size=7), st.sampled_from(WIRES), st.integers(1, 60))


@pytest.mark.feature("L10")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(*BATCHES)
def test_results_and_bytes_are_those_of_one_by_one(tmp_path_factory, steps, wire, chunk):
    check_like_one_by_one(tmp_path_factory, steps, wire, chunk)


@pytest.mark.torture
@settings(max_examples=1_000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(*BATCHES)
def test_a_thousand_batches_are_those_of_one_by_one(tmp_path_factory, steps, wire, chunk):
    check_like_one_by_one(tmp_path_factory, steps, wire, chunk)


def check_like_one_by_one(tmp_path_factory, steps, wire, chunk):
    """Results and files of a streamed message equal those of its calls made one after the other."""
    calls = [ScriptedCall(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(steps)]

    async def run(folder, streamed):
        folder.mkdir()
        for name in NAMES:
            (folder / name).write_text(f"text of {name}\n")
        async with opened(folder, loop_guard="off") as rt:
            if not streamed:
                results = [await rt.call(one.name, one.arguments) for one in calls]
            else:
                async with rt.stream(source(events_of(wire, *calls, chunk=chunk))) as turn:
                    await turn
                results = turn.results
        files = {path.name: path.read_text() for path in folder.iterdir()}
        texts = [(one.status, one.text.replace(str(folder), "HERE")) for one in results]
        return texts, files

    base = tmp_path_factory.mktemp("equal")
    one_by_one = asyncio.run(run(base / "one", False))
    streamed = asyncio.run(run(base / "two", True))

    assert streamed == one_by_one


def _without_id(event):
    """The event of a server that gives its responses no id."""
    event = {name: value for name, value in event.items() if name not in ("id", "responseId")}
    for name in ("message", "response"):
        if name in event:
            event[name] = {key: value for key, value in event[name].items() if key != "id"}
    return event


def _check_conversation(wire, messages):
    """The messages pass the check of their format, after a message of the user."""
    from handrail.models.wires.formats import FORMATS

    if wire == "gemini":
        body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}, *messages]}
    else:
        name = "input" if wire == "openai-responses" else "messages"
        body = {name: [{"role": "user", "content": "hi"}, *messages]}
    FORMATS[wire].check(body)
