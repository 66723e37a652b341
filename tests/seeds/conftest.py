"""A workspace and a runtime per module, in the vocabulary of the document that it walks through."""

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.support.waiting import running

import handrail.sync
from handrail.cli.main import main

PROGRAM = str(Path(sys.executable).with_name("handrail"))


class RecordingUser:
    """Answers every question alike and keeps the questions."""

    def __init__(self, answer=True):
        self.answer = answer
        self.asked = []

    async def ask(self, request):
        self.asked.append(request)
        return self.answer


@dataclass
class Walk:
    """An open runtime, its workspace and its user."""

    root: Path
    rt: handrail.sync.SyncRuntime
    user: RecordingUser
    events: list = field(default_factory=list)

    def call(self, name, /, **arguments):
        """One call with keywords as arguments."""
        return self.rt.call(name, arguments)

    def code(self, name, /, **arguments):
        """The problem code of a call, None if it succeeded."""
        problem = self.call(name, **arguments).problem
        return problem and problem.code

    def write(self, path, content=""):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def read(self, path):
        return (self.root / path).read_text()

    def schema(self, name):
        """The arguments of a tool as the model is shown them."""
        return self.tool(name)["parameters"]

    def tool(self, name):
        """The declaration of one tool."""
        shown = self.rt.declare("openai", groups=list(handrail.Group))
        return next(one["function"] for one in shown if one["function"]["name"] == name)

    def names(self):
        return [one["function"]["name"] for one in self.rt.declare("openai")]

    def types(self):
        return [event.type for event in self.events]


@contextmanager
def opened(root, *, answer=True, **settings):
    """A runtime whose user gives one answer; by default in memory and with nobody's settings."""
    root.mkdir(parents=True, exist_ok=True)
    user = RecordingUser(answer)
    config = {"loop_guard": "off", **settings.pop("config", {})}
    given = {"store": ":memory:", "approver": user, **settings}
    with handrail.sync.open(root, config=config, **given) as rt:
        walk = Walk(root, rt, user)
        rt.subscribe(walk.events.append)
        yield walk


@pytest.fixture(scope="module")
def walk(request, tmp_path_factory):
    """The runtime that a module shares, opened with its `SETTINGS`."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        with opened(tmp_path_factory.mktemp("seed") / "work", **request.module.SETTINGS) as walk:
            yield walk


@pytest.fixture
def open_walk(request, tmp_path):
    """Open a runtime of the module's dialect with other settings, on a workspace of the test."""

    @contextmanager
    def open_with(**settings):
        dialect = {"dialect": request.module.SETTINGS["dialect"]}
        with opened(tmp_path / "work", **{**dialect, **settings}) as walk:
            yield walk

    return open_with


@dataclass(frozen=True)
class Done:
    """What one command line left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def command_line(tmp_path, monkeypatch, capsys):
    """Run one command line in this process, in a workspace of the test."""
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    monkeypatch.chdir(root)
    monkeypatch.delenv("HANDRAIL_MODE", raising=False)

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    run.root = root
    return run


@pytest.fixture
def mcp(tmp_path):
    """Speak to `handrail serve` as a process: the answer to each request, in order."""
    import subprocess

    def exchange(*requests, words=()):
        root = tmp_path / "work"
        root.mkdir(exist_ok=True)
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "walk", "version": "0"},
        }
        messages = [
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            *(
                {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                for number, (method, params) in enumerate(requests, 1)
            ),
        ]
        command = [PROGRAM, "serve", "-w", str(root), "--store", ":memory:", *words]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with running(subprocess.Popen(command, env=dict(os.environ), **pipes)) as process:
            answers = {}
            for message in messages:
                process.stdin.write(json.dumps(message).encode() + b"\n")
                process.stdin.flush()
                while "id" in message and message["id"] not in answers:
                    line = json.loads(process.stdout.readline())
                    if "id" in line and "method" not in line:
                        answers[line["id"]] = line["result"]
            process.stdin.close()
            process.wait(30)
        return [answers[number] for number in range(1, len(requests) + 1)]

    return exchange
