"""The command line as a person or a script uses it: words in; exit code, output and errors out."""

import json
import os
import pty
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from handrail.cli.main import main

SNAPSHOTS = Path(__file__).parent / "snapshots"
PROGRAM = Path(sys.executable).with_name("handrail")


@dataclass(frozen=True)
class Done:
    """What one command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A project with one file; also the current directory."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def handrail(workspace, capsys):
    """Run one command line in this process."""

    def run(*words: object) -> Done:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
def check_snapshot():
    """Compare a text with the snapshot of a surface; see test_snapshots.py."""

    def compare(surface: str, text: str) -> None:
        file = SNAPSHOTS / f"{surface}.txt"
        if os.environ.get("HANDRAIL_UPDATE_SNAPSHOTS"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")

    return compare


class Terminal:
    """A command that runs in a terminal of its own."""

    def __init__(self, words, **environment):
        self.screen = b""
        self._process, self._keyboard = pty.fork()
        if self._process == 0:
            os.execve(PROGRAM, ["handrail", *words], {**os.environ, "TERM": "xterm", **environment})

    def type(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def wait_for(self, text: str) -> None:
        while text.encode() not in self.screen:
            assert self._read(), f"ended without {text!r}:\n{self.screen.decode()}"

    def end(self) -> int:
        for _ in iter(self._read, False):
            pass
        os.close(self._keyboard)
        _, status = os.waitpid(self._process, 0)
        self._process = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        """End the command if a test failed before it ended."""
        if self._process:
            os.kill(self._process, signal.SIGKILL)
            self.end()

    def _read(self) -> bool:
        deadline = time.monotonic() + 30
        ready, _, _ = select.select([self._keyboard], [], [], deadline - time.monotonic())
        assert ready, f"nothing more happened after:\n{self.screen.decode()}"
        try:
            data = os.read(self._keyboard, 65536)
        except OSError:
            return False
        self.screen += data
        return bool(data)


@pytest.fixture
def terminal(workspace):
    started = []

    def start(words, **environment):
        started.append(Terminal(words, **environment))
        return started[-1]

    yield start
    for one in started:
        one.close()
