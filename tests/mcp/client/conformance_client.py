"""Connects to a server of the public conformance suite through `handrail.open`, lists its tools and
calls each one, for `auth/…` after a login. Run as `python conformance_client.py URL`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

_EXAMPLES = {
    "string": "test",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
}


class _User:
    """Answers every question with its default."""

    async def ask(self, request: Any) -> bool:
        del request
        return True

    async def ask_questions(self, request: Any) -> dict[str, str]:
        found = {
            one.question: re.search(r"\(default: (.*)\)", one.question) for one in request.questions
        }
        return {question: one[1] if one else "Yes" for question, one in found.items()}


def _arguments(schema: dict[str, Any]) -> dict[str, Any]:
    given = {}
    for name, part in (schema.get("properties") or {}).items():
        kind = part.get("type") if isinstance(part, dict) else None
        kind = kind[0] if isinstance(kind, list) else kind
        if name in schema.get("required", ()) or "x-mcp-header" in str(part):
            given[name] = part.get("enum", [_EXAMPLES.get(kind or "string")])[0]
    return given


async def _log_in(root: Path, config: dict[str, Any]) -> None:
    """Log in to the server as `handrail mcp login` does; the user agrees to everything."""
    import httpx2

    import handrail
    from handrail.assembly.extras.remote_servers import server_specs
    from handrail.assembly.extras.server_http import log_in_to_server

    settings = handrail.open(root, config=config, store=":memory:").loaded.settings
    browsing = []

    async def browse(page: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            await browser.get(page)

    def show(host: str, page: str) -> None:
        del host
        browsing.append(asyncio.ensure_future(browse(page)))

    await log_in_to_server(server_specs(settings, root)["suite"], settings.web, show)
    await asyncio.gather(*browsing)


def _wants_login(problem: Any) -> bool:
    """Whether the user is told to log in, who does so."""
    return problem is not None and "mcp login" in (problem.hint or "")


async def _main(url: str, root: Path) -> None:
    from tests.mcp.client.approving import approve_servers

    import handrail

    table: dict[str, Any] = {"url": url, "call_s": 20}
    config: dict[str, Any] = {"mode": "bypass", "mcp": {"servers": {"suite": table}}}
    if os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("auth/"):
        table["oauth"] = True
        # The authorization server listens on this machine, on a port that is not known before.
        ports = range(1024, 1 << 16)
        config["web"] = {"allow": [f"localhost:{port}" for port in ports]}
        await _log_in(root, config)
    try:
        await approve_servers(root, config)
    except handrail.ProblemRaised as raised:
        if not _wants_login(raised.problem):
            raise
        await _log_in(root, config)
        await approve_servers(root, config)
    async with handrail.open(root, config=config, store=":memory:", approver=_User()) as rt:
        found = await rt.call("tool_search", {"limit": 50})
        schemas = {}
        for listed in found.data["tools"]:
            named = {"query": listed["name"], "limit": 1}
            (tool,) = (await rt.call("tool_search", named)).data["tools"]
            schemas[tool["name"]] = tool["schema"]
        for name, arguments in _choose_calls(schemas):
            result = await rt.call(name, arguments)
            if _wants_login(result.problem):
                await _log_in(root, config)
                result = await rt.call(name, arguments)
            print(name, result.status, result.text[:300])


def _choose_calls(schemas: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The calls that the scenario names; otherwise one of each tool. A tool that wants the schema of
    another one gets it.
    """
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if "toolCalls" in context:
        return [(f"mcp__suite__{one['name']}", one["arguments"]) for one in context["toolCalls"]]
    if "mcp__suite__json_schema_echo" in schemas:
        schema = schemas["mcp__suite__json_schema_2020_12_tool"]
        return [("mcp__suite__json_schema_echo", {"schema": schema})]
    return [(name, _arguments(schema)) for name, schema in schemas.items()]


with tempfile.TemporaryDirectory() as place:
    sys.path.insert(0, str(Path(__file__).parents[3]))
    os.environ["XDG_STATE_HOME"] = f"{place}/state"
    (Path(place) / "root").mkdir()
    asyncio.run(_main(sys.argv[-1], Path(place) / "root"))
