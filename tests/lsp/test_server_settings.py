"""What a server gets when it asks for its settings."""

import json
import sys
from pathlib import Path

import pytest

import handrail

FAKE = Path(__file__).with_name("fake_server.py").read_text()

pytestmark = pytest.mark.needs_language_servers


async def test_a_server_that_asks_gets_the_settings_of_each_section(tmp_path):
    (tmp_path / "a.txt").write_text("needle\n")
    settings = {"a": {"b": "text", "on": False}}
    command = [sys.executable, "-c", FAKE, "asking"]
    server = {"command": command, "extensions": [".txt"], "settings": settings}
    config = {"lsp": {"servers": {"fake": server}}}
    asked = {"operation": "hover", "path": "a.txt", "line": 1, "column": 1}

    async with handrail.open(tmp_path, store=":memory:", config=config, mode="sandboxed") as rt:
        hover = await rt.call("lsp", asked)

    [[_, answers]] = [json.loads(line) for line in hover.text.splitlines() if line.startswith("[{")]
    assert answers == [[settings, settings["a"], "text", None, False, None, None, settings]]
