"""A workspace with an agent whose model, and that of its subagents, is a script."""

import json
from contextlib import asynccontextmanager

import pytest

import handrail


class ScriptedWorkspace:
    """A directory, and runtimes on it whose model answers from the lines of a script."""

    def __init__(self, folder) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self._script = folder / "script.jsonl"

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def files(self):
        return {
            str(path.relative_to(self.root)): path.read_text()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }

    def names(self):
        """The names in the workspace, also while another process writes there."""
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*")}

    def script(self, *lines):
        self._script.write_text("\n".join(json.dumps(line) for line in lines))
        return f"script:{self._script}"

    @asynccontextmanager
    async def open(self, *lines, **settings):
        settings = {"store": ":memory:", "mode": "accept-edits", **settings}
        async with handrail.open(self.root, model=self.script(*lines), **settings) as rt:
            yield rt


@pytest.fixture
def scripted(tmp_path):
    return ScriptedWorkspace(tmp_path)


def call(name, **arguments):
    """A message of the model that makes one call."""
    return {"calls": [{"name": name, "arguments": arguments}]}


def calls(*made):
    """A message of the model that makes several calls: pairs of name and arguments."""
    return {"calls": [{"name": name, "arguments": arguments} for name, arguments in made]}


TOOLS = ["read_file", "write_file", "edit_file", "grep", "run_command", "job_output", "job_kill"]


def main_agent(rt, **options):
    """The main agent with the tools that these tests use."""
    return rt.agent(allowed=[*TOOLS, "subagent"], **options)
