"""Tasks with scripted agents, and a runner of one task in this process. The tests in `on_ray` run where
Ray is installed, by `make test-ray`; elsewhere they are not collected.
"""

import json
from pathlib import Path

import pytest
from tests.support.machine import ray_installed

from handrail.scale.task_runner import FleetTaskRunner, WorkerSettings

collect_ignore = [] if ray_installed() else ["on_ray"]
WRITES = [
    {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
    {"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "new\n"}}]},
    {"text": "finished"},
]


class Tasks:
    """Writes scripts, sources and files of tasks below one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = root / "source"
        self.source.mkdir()
        (self.source / "a.txt").write_text("old\n")

    def script(self, name="script.jsonl", lines=WRITES):
        path = self.root / name
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return f"script:{path}"

    def task(self, id, **more):
        base = {"id": id, "workspace": str(self.source), "prompt": "Do it"}
        return {**base, "model": self.script(), **more}

    def file(self, tasks, name="tasks.jsonl"):
        path = self.root / name
        path.write_text("".join(f"{json.dumps(one)}\n" for one in tasks))
        return path

    def runner(self, **more):
        """Runs one task in this process: `await run(task, lost=0, settle=False)`."""
        state = self.root / "state"
        (state / "tasks").mkdir(parents=True, exist_ok=True)
        given = {"disk_bytes": 1 << 30, "entries": 10_000, "keep": "records"}
        given["mode"] = "accept-edits"
        runner = FleetTaskRunner(WorkerSettings(str(state), "token", 0, **(given | more)))

        async def run(task, number=1, **order):
            budget = order.pop("budget", {})
            text = {"text": json.dumps(task), "line": 1, "budget": budget}
            return await runner.run({"number": number, "lost": 0, "settle": False, **text, **order})

        return run

    def place(self, number=1):
        return self.root / "state" / "tasks" / f"{number:07d}"


@pytest.fixture
def tasks(tmp_path):
    return Tasks(tmp_path)
