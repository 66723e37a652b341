"""What servers can take from us: time of other calls, memory, names, processes. Nothing of it."""

from __future__ import annotations

import asyncio
import gzip
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.client.approving import approve_servers, pin_tools
from tests.support.waiting import wait_until_async

import handrail
from handrail.mcp.client.manifest import ToolRecord

_SERVER = Path(__file__).with_name("hostile_server.py")
_ACT = (ToolRecord("act", "", {"type": "object"}),)
_MB = 1 << 20


def _config(kind: str, *words: str, **more: Any) -> dict[str, Any]:
    table = {"command": sys.executable, "args": ["-I", str(_SERVER), kind, *words], **more}
    return {"mode": "bypass", "mcp": {"servers": {"bad": table}}}


def _code(result: handrail.ToolResult) -> str | None:
    return None if result.problem is None else result.problem.code


@contextmanager
def _memory_limit(megabytes: int) -> Iterator[None]:
    """Fail if this process needed more memory than before, at any moment in between."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    before = _status("VmHWM")
    yield
    assert (_status("VmHWM") - before) >> 10 <= megabytes


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(key)))


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("crash_call", "unavailable"),
        ("garbage_call", "unavailable"),
        ("flood_call", "unavailable"),
        ("values_call", "unavailable"),
        ("progress", "timeout"),
        ("hang_call", "timeout"),
        ("hang_init", "timeout"),
        ("hang_list", "timeout"),
    ],
)
async def test_other_tools_answer_and_memory_stays(tmp_path: Path, kind: str, code: str) -> None:
    """A line of 100 MB, one of many values, garbage, a crash, a hang and reports without end: one
    call fails, and that is all."""
    limit = 3 if code == "timeout" else 60
    starts = kind in ("hang_init", "hang_list")
    config = _config(kind, start_s=limit if starts else 60, call_s=limit)
    pin_tools(tmp_path, config, _ACT)
    (tmp_path / "a.txt").write_text("a", "utf-8")
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        # What is loaded by the first calls is not the server's doing.
        assert (await rt.call("read_file", {"path": "a.txt"})).ok
        await rt.call("mcp__bad__act", {"number": 1})
        with _memory_limit(64):
            result = await rt.call("mcp__bad__act", {"number": 2})
        assert _code(result) == code
        assert (await rt.call("read_file", {"path": "a.txt"})).ok


@pytest.mark.parametrize(
    ("kind", "event"), [("hang_call", "mcp_tool_call_begin"), ("progress", "tool_call_progress")]
)
async def test_other_tools_answer_while_a_server_does_not(
    tmp_path: Path, kind: str, event: str
) -> None:
    """Beside a call that may do anything nothing runs, so this one is trusted to read only."""
    config = _config(kind, "reads", trust_annotations=True)
    pin_tools(tmp_path, config, (_ACT[0]._replace(read_only=True),))
    (tmp_path / "a.txt").write_text("a", "utf-8")
    seen: list[Any] = []
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        rt.subscribe(seen.append)
        call = asyncio.ensure_future(rt.call("mcp__bad__act", {}, id="one"))
        await wait_until_async(lambda: any(one.type == event for one in seen))
        assert (await rt.call("read_file", {"path": "a.txt"})).ok
        assert not call.done()
        assert await rt.cancel("one")
        assert _code(await call) == "cancelled"


async def test_a_large_result_is_shortened_and_costs_little_memory(tmp_path: Path) -> None:
    config = _config("large")
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        assert (await rt.call("mcp__bad__act", {"number": 1})).ok
        with _memory_limit(64):
            result = await rt.call("mcp__bad__act", {"number": 2})
        assert result.ok
        assert len(result.text) < 200_000


async def test_a_program_cannot_take_all_memory(tmp_path: Path) -> None:
    config = _config("memory", memory_mb=400)
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        assert _code(await rt.call("mcp__bad__act", {})) == "unavailable"
    allowed = _config("memory", memory_mb=1000)
    async with handrail.open(tmp_path, config=allowed, store=":memory:") as rt:
        assert (await rt.call("mcp__bad__act", {})).ok


@asynccontextmanager
async def _http_server(head: str, body: bytes) -> AsyncIterator[str]:
    """Answers every request with the same bytes, again and again until the client has enough."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode())
        try:
            for _ in range(400):
                writer.write(body)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


@pytest.mark.threat("A42")
@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("Content-Type: application/json", b" " * _MB),
        ("Content-Type: text/event-stream", b"data: " + b"x" * _MB),
        ("Content-Type: text/event-stream", b"data: " + b"x" * _MB + b"\r\n"),
        ("Content-Type: application/json\r\nContent-Encoding: gzip", gzip.compress(b" " * _MB)),
        ("Content-Type: application/json", b"[]," * 10_000),
        ("Content-Type: text/event-stream", b': "\ndata: ' + b"[]," * 10_000),
    ],
    ids=["json", "event", "lines", "compressed", "values", "values-of-event"],
)
async def test_an_endless_answer_over_http_costs_little_memory(
    tmp_path: Path, head: str, body: bytes
) -> None:
    async with _http_server(head, body) as url:
        config = {"mcp": {"servers": {"bad": {"url": url, "start_s": 60}}}}
        for number in range(2):
            with _memory_limit(1024 if number == 0 else 64), pytest.raises(handrail.ProblemRaised):
                await approve_servers(tmp_path, config)


@pytest.mark.threat("A38")
async def test_names_that_could_be_taken_for_others_are_not_used(tmp_path: Path) -> None:
    config = _config("names")
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        found = await rt.call("tool_search", {"limit": 50})
        names = {one["name"] for one in found.data["tools"]}
        assert names == {"mcp__bad__a__b", "mcp__bad__read_file"}
        assert (await rt.call("mcp__bad__a__b", {})).ok
        assert _code(await rt.call("read_file", {"path": "missing"})) == "not_found"


@pytest.mark.threat("A45")
async def test_a_tool_that_was_renamed_after_the_approval_blocks_the_server(tmp_path: Path) -> None:
    root, renamed = tmp_path / "root", tmp_path / "renamed"
    root.mkdir()
    config = _config("renames", str(renamed))
    await approve_servers(root, config)
    renamed.touch()
    async with handrail.open(root, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__bad__act", {})
        assert _code(result) == "untrusted"
        assert "new: acted; removed: act" in result.text
        assert _code(await rt.call("mcp__bad__acted", {})) == "unknown_tool"


@pytest.mark.needs_bubblewrap
@pytest.mark.threat("A36")
async def test_a_program_of_the_workspace_that_the_model_edits_is_not_started(
    tmp_path: Path,
) -> None:
    program, started = tmp_path / "server.py", tmp_path / "started"
    program.write_text(_SERVER.read_text("utf-8"), "utf-8")
    table = {"command": sys.executable, "args": ["-I", str(program), "crash_call"]}
    config = {"mode": "bypass", "freshness": "off", "mcp": {"servers": {"bad": table}}}
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        assert _code(await rt.call("mcp__bad__act", {"number": 1})) == "unavailable"
        text = f"open({str(started)!r}, 'w')\n"
        assert (await rt.call("write_file", {"path": "server.py", "content": text})).ok
        assert _code(await rt.call("mcp__bad__act", {"number": 2})) == "untrusted"
    assert not started.exists()


async def _start_and_stop(root: Path, rounds: int) -> None:
    """Start a server that leaves a process in another session, end it, and look for both."""
    marker = str(root.parent / "marker")
    config = _config("grandchild", marker)
    pin_tools(root, config, _ACT)
    pids = set()
    for _ in range(rounds):
        async with handrail.open(root, config=config, store=":memory:") as rt:
            result = await rt.call("mcp__bad__act", {})
            assert result.ok, result.text
            pids.add(result.text)
        assert not Path(f"/proc/{result.text}").exists()
    assert len(pids) == rounds
    await wait_until_async(lambda: not _processes_of(marker))


def _processes_of(marker: str) -> list[str]:
    found = []
    for one in Path("/proc").iterdir():
        try:
            if one.name.isdigit() and os.fsencode(marker) in (one / "cmdline").read_bytes():
                found.append(one.name)
        except OSError:
            continue
    return found


async def test_ten_rounds_leave_no_process(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    await _start_and_stop(root, 10)


@pytest.mark.torture
@pytest.mark.timeout(900)
async def test_a_hundred_rounds_leave_no_process(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    await _start_and_stop(root, 100)
