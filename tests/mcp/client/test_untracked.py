"""What tools of MCP servers change is not tracked, and the report and the receipt of a task say so."""

import json
import sys
from pathlib import Path

from tests.mcp.client.approving import approve_servers

import handrail
from handrail.agent.report import ReportBuilder
from handrail.cli.commands.agent.receipt import receipt_lines

DEMO = Path(__file__).with_name("demo_server.py")


async def test_the_receipt_names_tools_of_servers_that_ran(tmp_path):
    script = tmp_path / "script.jsonl"
    lines = [
        {"calls": [{"name": "mcp_call", "arguments": {"tool": "mcp__shop__pid", "arguments": {}}}]},
        {"text": "done"},
    ]
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    root = tmp_path / "work"
    root.mkdir()
    table = {"command": sys.executable, "args": [str(DEMO)]}
    config = {"mode": "bypass", "mcp": {"servers": {"shop": table}}}
    await approve_servers(root, config)
    async with handrail.open(root, config=config, store=":memory:", model=f"script:{script}") as rt:
        result = await rt.agent().run("order")
        recorded = ReportBuilder()
        for record in await rt.store.calls(limit=10):
            recorded.add_recorded(record)

    assert result.report.mcp_tools == ("shop/pid",), result
    assert recorded.build().mcp_tools == ("shop/pid",)
    assert result.to_dict()["report"]["mcp_tools"] == ["shop/pid"]
    assert receipt_lines(result, "")[0] == "changed   nothing; not tracked: shop/pid"
