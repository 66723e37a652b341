"""Long sessions and slow readers cost the server of the page little, and events arrive at once."""

import asyncio
import json
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from starlette.responses import StreamingResponse
from tests.support.waiting import running, wait_until, wait_until_async

import handrail
from handrail.ui import event_stream
from handrail.ui.event_stream import EventHub

from tests.ui.conftest import PROGRAM  # isort: skip

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m"
STEPS = 15


def memory():
    """What this process takes, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def fill_session(root, script, calls):
    """Calls of a program, then a conversation with four calls and a hostile text in each step."""
    read = {"name": "read_file", "arguments": {"path": "calc.py"}}
    steps = [{"text": HOSTILE * 40, "calls": [read] * 4}] * STEPS
    model = script(*steps, {"text": "done"})
    settings = {"loop_guard": "off"}
    async with handrail.open(root, session="many", model=model, config=settings) as rt:
        for _ in range(calls // 100):
            await rt.batch([read] * 100)
        result = await rt.agent(session="many").run(HOSTILE * 40)
    assert result.turns == STEPS + 1


@pytest.mark.parametrize(
    ("calls", "loads"),
    [(100, 5), pytest.param(10_000, 200, marks=pytest.mark.torture)],
)
async def test_a_session_of_many_calls_costs_the_page_little(open_page, script, root, calls, loads):
    await fill_session(root, script, calls)
    async with open_page() as client:
        for _ in range(loads):
            first = await client.page("/session?name=many")
        before = memory()
        for _ in range(loads):
            await client.page("/session?name=many")
        grown = memory() - before

    assert first.text.count('class="card') == 50
    assert first.text.count("message model") > STEPS / 2
    assert len(first.content) <= 200_000
    assert grown < 10_000_000


def test_more_connections_than_it_can_keep_do_not_use_up_the_files_of_the_server(root):
    """Anybody on this machine can connect, without the cookie; the tasks of the page go on."""
    limited = ["sh", "-c", 'ulimit -n 200; exec "$@"', "sh", PROGRAM, "-w", root, "ui"]
    started = subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with running(started) as process, ExitStack() as stack:
        address = urlsplit(process.stdout.readline().removeprefix("open ").strip())
        place = "127.0.0.1", address.port
        for _ in range(230):
            stack.enter_context(socket.create_connection(place, timeout=30))
        descriptors = Path(f"/proc/{process.pid}/fd")
        wait_until(lambda: len(list(descriptors.iterdir())) > 90)
        most = len(list(descriptors.iterdir()))
        stack.close()

        def is_answered():
            try:
                with socket.create_connection(place, timeout=30) as one:
                    one.sendall(f"GET / HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
                    return one.recv(100).startswith(b"HTTP/1.1 401")
            except ConnectionError:
                return False

        # The server may not have seen yet that the connections are closed, and closes this one too.
        wait_until(is_answered)
        process.terminate()
        said = process.communicate(timeout=60)[1]

    assert most < 180
    assert said == ""


async def test_an_event_is_sent_within_two_passes_of_the_loop():
    hub, sent = EventHub(dict), []

    async def send(message):
        sent.append(message)

    async def receive():
        await anyio.sleep_forever()

    response = StreamingResponse(hub.stream("a"), media_type="text/event-stream")
    scope = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(response, scope, receive, send)
        await wait_until_async(lambda: len(sent) == 2)
        hub.notify("questions")
        passes = 0
        while len(sent) == 2:
            await asyncio.sleep(0)
            passes += 1
            assert passes <= 2
        tasks.cancel_scope.cancel()
    await hub.aclose()

    assert b"questions" in sent[2]["body"]


async def test_changes_are_looked_for_with_pauses(monkeypatch):
    monkeypatch.setattr(event_stream, "_LOOK_S", 3600)
    looks, looked, loop = [], asyncio.Event(), asyncio.get_running_loop()

    def look():
        looks.append(1)
        loop.call_soon_threadsafe(looked.set)
        return {}

    hub = EventHub(look)
    stream = hub.stream(None)
    await anext(stream)
    with anyio.fail_after(10):
        await looked.wait()
        # Long enough for the next look, if there were no pause.
        for _ in range(20):
            await anyio.to_thread.run_sync(lambda: None)
    await stream.aclose()
    await hub.aclose()

    assert len(looks) == 1


async def test_a_page_that_does_not_read_is_asked_to_load_again():
    hub = EventHub(dict)
    stream = hub.stream(None)
    await anext(stream)
    for _ in range(10_000):
        hub.notify("record")
    lines = [await anext(stream) for _ in range(501)]
    await stream.aclose()
    await hub.aclose()

    assert [json.loads(line.removeprefix("data: "))["type"] for line in lines[-2:]] == [
        "record",
        "reload",
    ]
