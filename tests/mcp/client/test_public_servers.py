"""Public servers of the protocol's own project, over stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.client.approving import approve_servers
from tests.support.machine import load_node_tools
from tests.support.waiting import running, wait_until_async

import handrail

pytestmark = [pytest.mark.needs_mcp_programs, pytest.mark.feature("N03")]


def _program(name: str) -> list[str]:
    tools = load_node_tools()
    package = tools.PLACE / "node_modules" / "@modelcontextprotocol" / f"server-{name}"
    return [str(tools.node()), str(package / "dist" / "index.js")]


def _config(**servers: Any) -> dict[str, Any]:
    return {"mode": "bypass", "mcp": {"servers": servers}}


def _stdio(name: str, *arguments: str) -> dict[str, Any]:
    command, *rest = _program(name)
    return {"command": command, "args": [*rest, *arguments]}


@asynccontextmanager
async def _serve(command: list[str], **environment: str) -> AsyncIterator[str]:
    """A server over HTTP: `{port}` in its command or environment is a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = [one.format(port=port) for one in command]
    env = {**os.environ, **{key: one.format(port=port) for key, one in environment.items()}}
    quiet = subprocess.DEVNULL
    with running(subprocess.Popen(words, env=env, stdout=quiet, stderr=quiet)):
        async with asyncio.timeout(60):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", int(port))
                    break
                except OSError:
                    await asyncio.sleep(0.05)
        writer.close()
        yield f"http://127.0.0.1:{port}/mcp"


class _User:
    """Answers every question."""

    def __init__(self, **answers: str | list[str]) -> None:
        self.asked: list[str] = []
        self.offered: dict[str, list[str]] = {}
        self._answers = answers

    async def ask(self, request: Any) -> bool:
        del request
        return True

    async def ask_questions(self, request: Any) -> dict[str, Any]:
        self.asked += [one.question for one in request.questions]
        self.offered = {
            one.header: [each.label for each in one.options] for one in request.questions
        }
        return {one.question: self._answers.get(one.header, "Ann") for one in request.questions}


async def _cancel(rt: Any, tool: str, arguments: dict[str, Any], seen: list[Any]) -> None:
    """Cancel a call while the server works on it."""
    seen.clear()
    call = asyncio.ensure_future(rt.call(tool, arguments, id="slow"))
    await wait_until_async(lambda: any(one.type == "mcp_tool_call_begin" for one in seen))
    assert await rt.cancel("slow")
    problem = (await call).problem
    assert problem is not None
    assert problem.code == "cancelled"


async def _try_form(rt: Any, user: _User) -> None:
    """Answer a form with thirteen fields of every kind."""
    asked = await rt.call("mcp__all__trigger-elicitation-request", {})
    assert asked.ok, asked.text
    assert len(user.asked) == 12
    assert all(len(one) < 800 and one.startswith("The MCP server all asks") for one in user.asked)
    # What it says about the field `integer` names a PIN; nobody is asked for one.
    assert "integer" not in user.offered
    assert user.offered["titledSingleSelectEnum"] == ["Superman", "Green Lantern", "Wonder Woman"]
    assert user.offered["untitledMultipleSelectEnum"][-1] == "Bass"
    given = json.loads(asked.text.partition("Raw result:")[2])
    assert given["action"] == "accept"
    assert given["content"] == {
        "name": "Ann",
        "check": True,
        "firstLine": "Ann",
        "email": "ann@example.org",
        "homepage": "Ann",
        "birthdate": "Ann",
        "number": 7.5,
        "legacyTitledEnum": "pet-2",
        "untitledSingleSelectEnum": "Ross",
        "titledSingleSelectEnum": "hero-2",
        "untitledMultipleSelectEnum": ["Piano", "Bass"],
        "titledMultipleSelectEnum": ["fish-3"],
    }


_FORM: dict[str, str | list[str]] = {
    "check": "Yes",
    "email": "ann@example.org",
    "number": "7.5",
    "untitledSingleSelectEnum": "Ross",
    "untitledMultipleSelectEnum": ["Piano", "Bass"],
    "titledSingleSelectEnum": "Green Lantern",
    "titledMultipleSelectEnum": ["Trout"],
    "legacyTitledEnum": "Dogs",
}


async def _try_everything(root: Path, config: dict[str, Any]) -> None:
    """Call, structured content, pictures, progress, cancellation and questions."""
    user, seen = _User(**_FORM), []
    async with handrail.open(root, config=config, store=":memory:", approver=user) as rt:
        rt.subscribe(seen.append)
        assert "hello" in (await rt.call("mcp__all__echo", {"message": "hello"})).text
        place = {"location": "New York"}
        structured = await rt.call("mcp__all__get-structured-content", place)
        assert structured.data["structured"]["conditions"]
        # The checksum of its colour profile is wrong, which a picture does without.
        (picture,) = (await rt.call("mcp__all__get-tiny-image", {})).images
        assert (picture.media_type, picture.data[:4]) == ("image/png", b"\x89PNG")
        slow = "mcp__all__trigger-long-running-operation"
        assert (await rt.call(slow, {"duration": 0.2, "steps": 2})).ok
        reports = [one.text for one in seen if one.type == "tool_call_progress"]
        assert reports == ["1 of 2", "2 of 2"]
        await _try_form(rt, user)
        await _cancel(rt, slow, {"duration": 100, "steps": 1}, seen)
        assert (await rt.call("mcp__all__echo", {"message": "again"})).ok


async def test_everything_over_stdio(tmp_path: Path) -> None:
    config = _config(all=_stdio("everything"))
    await approve_servers(tmp_path, config)
    await _try_everything(tmp_path, config)


async def test_everything_over_http(tmp_path: Path) -> None:
    async with _serve([*_program("everything"), "streamableHttp"], PORT="{port}") as url:
        config = _config(all={"url": url})
        await approve_servers(tmp_path, config)
        await _try_everything(tmp_path, config)


async def test_filesystem_outside_of_the_workspace(tmp_path: Path) -> None:
    root, served = tmp_path / "root", tmp_path / "served"
    root.mkdir()
    served.mkdir()
    (served / "a.txt").write_text("from the server", "utf-8")
    config = _config(files=_stdio("filesystem", str(served)))
    await approve_servers(root, config)
    async with handrail.open(root, config=config, store=":memory:") as rt:
        path = {"path": str(served / "a.txt")}
        result = await rt.call("mcp__files__read_text_file", path)
        assert (result.text, result.data["structured"]) == (
            "from the server",
            {"content": "from the server"},
        )
        written = {"path": str(served / "b.txt"), "content": "b"}
        assert (await rt.call("mcp__files__write_file", written)).ok
        outside = await rt.call("mcp__files__read_text_file", {"path": str(root / "a.txt")})
        assert outside.problem is not None
        assert outside.problem.code == "command_failed"
    assert (served / "b.txt").read_text("utf-8") == "b"


async def _try_python_server(
    root: Path, table: dict[str, Any], protocol: str, *, asks: bool
) -> None:
    """Call, structured content, progress, pictures, questions, cancellation, changes of the list."""
    config = _config(py={**table, "protocol": protocol, "call_s": 60})
    await approve_servers(root, config)
    user, seen = _User(), []
    async with handrail.open(root, config=config, store=":memory:", approver=user) as rt:
        rt.subscribe(seen.append)
        added = await rt.call("mcp__py__add", {"a": 2, "b": 3})
        assert added.data["structured"] == {"sum": 5}
        assert (await rt.call("mcp__py__progress", {})).ok
        reports = [one.text for one in seen if one.type == "tool_call_progress"]
        assert reports == ["1 of 2: half"]
        assert len((await rt.call("mcp__py__picture", {})).images) == 1
        asked = await rt.call("mcp__py__ask", {})
        assert asked.ok == asks
        assert not asks or asked.text == "hello Ann"
        assert not asks or user.asked[0].startswith("The MCP server py asks")
        await _cancel(rt, "mcp__py__hang", {}, seen)
        assert (await rt.call("mcp__py__grow", {})).ok
        codes = []
        for number in range(50):
            result = await rt.call("mcp__py__add", {"a": 2, "b": number})
            codes.append(None if result.problem is None else result.problem.code)
            if codes[-1] is not None:
                break
            await asyncio.sleep(0.05)
        assert codes[-1] == "untrusted"


@pytest.mark.feature("N03", "N10")
@pytest.mark.parametrize("protocol", ["auto", "legacy"])
@pytest.mark.parametrize("server", ["demo_server.py", "fastmcp_server.py"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_servers_of_python_libraries(
    tmp_path: Path, server: str, transport: str, protocol: str
) -> None:
    command = [sys.executable, str(Path(__file__).with_name(server))]
    # fastmcp does not ask in the newer protocol.
    asks = (server, protocol) != ("fastmcp_server.py", "auto")
    if transport == "stdio":
        words = ["stdio"] if server == "fastmcp_server.py" else []
        table = {"command": command[0], "args": [*command[1:], *words]}
        await _try_python_server(tmp_path, table, protocol, asks=asks)
        return
    async with _serve([*command, "{port}"]) as url:
        await _try_python_server(tmp_path, {"url": url}, protocol, asks=asks)
