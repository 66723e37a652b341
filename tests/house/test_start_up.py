"""What a process loads: a read needs neither the shell analyzer nor the sandbox, MCP or hooks."""

import json
import subprocess
import sys

import pytest

HEAVY = ("handrail.shell", "handrail.host.sandbox", "handrail.mcp", "handrail.hooks")
READ = """
import asyncio, json, sys
import handrail

async def main(root, config):
    async with handrail.open(root, config=json.loads(config)) as rt:
        result = await rt.call("read_file", {"path": "a.txt"})
    print(json.dumps({"status": result.status.value, "modules": sorted(sys.modules)}))

asyncio.run(main(*sys.argv[1:]))
"""
COMMAND_LINE = """
import json, sys
from handrail.cli.main import main

code = main(["call", "read_file", "path=a.txt"])
print(json.dumps({"status": "ok" if code == 0 else "failed", "modules": sorted(sys.modules)}))
"""


def loaded(code, folder, *arguments):
    """What a new process that runs this code has imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["status"] == "ok"
    return {name for name in told["modules"] if name.startswith("handrail")}


def heavy(modules):
    return sorted(
        name for name in modules if any(name == one or name.startswith(f"{one}.") for one in HEAVY)
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    return root


def test_a_read_loads_neither_shell_nor_sandbox_nor_mcp_nor_hooks(folder):
    assert heavy(loaded(READ, folder, str(folder), "{}")) == []


def test_a_read_of_the_command_line_loads_as_little(folder):
    assert heavy(loaded(COMMAND_LINE, folder)) == []


@pytest.mark.parametrize(
    ("config", "needed"),
    [
        (
            {"hooks": {"PreToolUse": [{"name": "guard", "command": "true"}]}},
            "handrail.hooks.parse",
        ),
        (
            {"permissions": {"deny": [{"rule": "run_command(rm:*)", "examples": ["rm a.txt"]}]}},
            "handrail.shell.analyzer",
        ),
        ({"programs": {"mytool": {"class": "safe"}}}, "handrail.shell.tables.program_table"),
        ({"guardrails": {"sensitive_files": ["b.txt"]}}, "handrail.policy.denials.read_denials"),
    ],
)
def test_what_the_settings_need_is_loaded_when_a_workspace_is_opened(folder, config, needed):
    assert needed in loaded(READ, folder, str(folder), json.dumps(config))
