"""`handrail doctor --mcp`: start the MCP server, connect, list the tools and call one.

The report contains what the server sent.
"""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from typing import Any, Final

from handrail.cli import messages
from handrail.cli.render import output

_TIMEOUT_S: Final = 60.0
_ERAS: Final = {"auto": "a current client", "legacy": "an older client"}


def run(options: Namespace) -> int:
    """Print what a client sees; raises `unavailable` if the server does not work."""
    from handrail.cli.commands.setup.serve import check_mcp_installed

    check_mcp_installed()
    report = asyncio.run(_check_server(options))
    if options.json:
        output.print_json(report)
    else:
        for line in _render_report(report):
            output.print_line(line)
    return 0


async def _check_server(options: Namespace) -> dict[str, Any]:
    import anyio
    from mcp import MCPError

    from handrail.cli.commands.setup.clients import serve_arguments
    from handrail.cli.program import script_path

    serve_options = Namespace(
        **{**vars(options), "tools": None, "read_only": False, "text_only": False}
    )
    words = serve_arguments(serve_options)
    eras = []
    try:
        for era, client in _ERAS.items():
            if sys.stderr.isatty():
                output.warn(f"starting the server for {client} ...")
            with anyio.fail_after(_TIMEOUT_S):
                eras.append(await _connect(str(script_path()), words, era))
    except (MCPError, OSError, TimeoutError, ExceptionGroup) as error:
        raise messages.SERVER_UNUSABLE.error(
            error=f"{type(error).__name__}: {error}",
            command=f"{script_path()} {' '.join(words)}",
        ) from error
    return {"command": str(script_path()), "args": words, "eras": eras}


async def _connect(command: str, words: list[str], era: str) -> dict[str, Any]:
    from mcp import Client, StdioServerParameters
    from mcp_types import TextContent

    # The SDK's default environment lacks the variables that locate state and settings.
    server = StdioServerParameters(command=command, args=words, env=dict(os.environ))
    mode: Any = era
    async with Client(server, mode=mode, read_timeout_seconds=_TIMEOUT_S) as client:
        tools = (await client.list_tools()).tools
        listing = next((tool for tool in tools if tool.name in ("list_files", "LS")), tools[0])
        called = await client.call_tool(listing.name, {})
        text = next((part.text for part in called.content if isinstance(part, TextContent)), "")
        return {
            "protocol": client.protocol_version,
            "tools": [
                {
                    "name": tool.name,
                    "read_only": bool(tool.annotations and tool.annotations.read_only_hint),
                }
                for tool in tools
            ],
            "called": listing.name,
            "failed": bool(called.is_error),
            "answer": text[:200],
        }


def _render_report(report: dict[str, Any]) -> list[str]:
    from handrail.core.text.safe_text import safe_text

    lines = [f"server        {report['command']} {' '.join(report['args'])}"]
    for era in report["eras"]:
        reading = [tool["name"] for tool in era["tools"] if tool["read_only"]]
        changing = [tool["name"] for tool in era["tools"] if not tool["read_only"]]
        first = safe_text(era["answer"].partition("\n")[0])
        lines += [
            f"protocol      {era['protocol']}",
            f"  only reads  {', '.join(reading)}",
            f"  may change  {', '.join(changing)}",
            f"  called      {era['called']}: {'refused' if era['failed'] else 'ok'} ({first})",
        ]
    lines.append("approvals     through the client, or with `handrail approvals`")
    return [safe_text(line) for line in lines]
