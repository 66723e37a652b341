"""A workspace on disk in which one tool is called without the engine around it."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from handrail.core.arguments.path_arguments import read_path_arguments
from handrail.core.call import ToolCall
from handrail.core.context import CancelSignal, ReadStates, Session, ToolContext
from handrail.core.lazy import Lazy
from handrail.core.problems import ProblemRaised
from handrail.host.files.local_files import LocalFiles
from handrail.host.search.choose_engine import open_search
from handrail.tools._lib.services import Services
from handrail.tools.builtin import builtin_tools


class NoArtifacts:
    def save(self, name, data):
        raise AssertionError("no tool here keeps artifacts")

    def load(self, reference):
        raise AssertionError("no tool here keeps artifacts")


@dataclass
class Workspace:
    root: Path
    files: LocalFiles
    tools: dict
    session: Session
    services: Services

    def write(self, path, data):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data.encode() if isinstance(data, str) else data)
        return target

    def read(self, path):
        return (self.root / path).read_bytes()

    def prepare(self, name, arguments):
        tool = self.tools[name]
        args = tool.params.model_validate(arguments)
        fields = dict(read_path_arguments(tool.params).direct)
        given = {name: getattr(args, name) for name in fields}
        places = {name: self.files.locate(path) for name, path in given.items() if path is not None}
        call = ToolCall("1", name, arguments)
        ctx = ToolContext(call, self.session, lambda text: None, CancelSignal(), places)
        return tool, args, ctx

    async def run(self, name, **arguments):
        tool, args, ctx = self.prepare(name, arguments)
        output = await tool.run(args, ctx)
        json.dumps(output.data)
        output.text.encode("utf-8")
        return output

    async def plan(self, name, **arguments):
        tool, args, ctx = self.prepare(name, arguments)
        plan = await tool.plan(args, ctx)
        json.dumps(plan.data)
        (plan.text + plan.preview).encode("utf-8")
        return plan

    async def change(self, name, **arguments):
        """Plan and commit, as the engine would."""
        plan = await self.plan(name, **arguments)
        for change in plan.changes:
            staged = self.files.stage(change, durable=False)
            staged.publish()
            staged.discard()
        return plan

    async def problem(self, name, **arguments):
        tool, args, ctx = self.prepare(name, arguments)
        with pytest.raises(ProblemRaised) as raised:
            await (tool.plan(args, ctx) if tool.plans else tool.run(args, ctx))
        return raised.value.problem


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    files = LocalFiles([str(root)])
    search = open_search(files.roots)
    services = Services(files, search, Lazy(lambda: None), allow_delete=True)
    tools = {tool.name: tool for tool in builtin_tools(services)}
    session = Session(
        "s", files.roots, "default", ReadStates(), NoArtifacts(), now_ns=lambda: 5_000_000_000
    )
    yield Workspace(root, files, tools, session, services)
    search.close()
    files.close()
