"""What a process loads: opening a workspace needs no pydantic, and a read needs neither the shell
analyzer nor the sandbox, MCP, hooks, models, batches or events.
"""

import gc
import json
import subprocess
import sys
from pathlib import Path

import pytest

import handrail
from handrail.cli.main import main

HEAVY = (
    "anyio",
    "handrail.agent",
    "handrail.core.agent_results",
    "handrail.core.arguments.schema",
    "handrail.core.commands",
    "handrail.core.failed_calls",
    "handrail.core.events",
    "handrail.core.ports.models",
    "handrail.core.ports.processes",
    "handrail.core.ports.snapshots",
    "handrail.engine.batch.batch_runner",
    "handrail.engine.providers",
    "handrail.engine.user_actions",
    "handrail.hooks",
    "handrail.host.sandbox",
    "handrail.host.supervisor.client",
    "handrail.mcp",
    "handrail.models",
    "handrail.planmode.item",
    "handrail.shell",
    "handrail.telemetry",
    "opentelemetry",
)
OPEN = """
import asyncio, json, sys
import handrail

async def main(root):
    async with handrail.open(root):
        pass
    print(json.dumps({"status": "ok", "modules": sorted(sys.modules)}))

asyncio.run(main(*sys.argv[1:]))
"""
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


ENDED = """
import atexit, gc, sys
from handrail.cli.main import main

atexit.register(lambda: print(gc.get_freeze_count() > 10_000, gc.get_threshold()[0]))
sys.argv = ["handrail", *sys.argv[1:]]
sys.exit(main())
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
    return set(told["modules"])


def heavy(modules, unwanted=HEAVY):
    return sorted(
        name
        for name in modules
        if any(name == one or name.startswith(f"{one}.") for one in unwanted)
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    return root


def test_opening_a_workspace_loads_no_pydantic(folder):
    assert heavy(loaded(OPEN, folder, str(folder)), (*HEAVY, "pydantic", "pydantic_core")) == []


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


def test_a_short_command_hardly_searches_for_garbage(folder):
    command = [sys.executable, "-c", ENDED, "call", "read_file", "path=a.txt"]

    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )

    assert done.stdout.splitlines()[-1] == "True 100000", done.stderr


@pytest.mark.usefixtures("nothing_frozen")
def test_a_command_inside_another_program_leaves_its_garbage_collection_alone(folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = (gc.get_threshold(), gc.get_freeze_count())

    assert main(["call", "read_file", "path=a.txt"]) == 0
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


_NEVER_NEEDED = {
    "asyncio",
    "dataclasses",
    "handrail.core.problems",
    "logging",
    "platform",
    "pydantic",
    "shutil",
    "traceback",
}


def test_the_supervisor_loads_only_what_starting_a_program_needs():
    code = (
        "import sys; sys.path.append(sys.argv[1]); import handrail.host.supervisor.runner.main;"
        " print(*sys.modules)"
    )
    home = str(Path(handrail.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, home], capture_output=True, text=True, check=True
    )

    modules = set(done.stdout.split())
    assert modules.isdisjoint(_NEVER_NEEDED)
