"""The command line as a person or a script uses it: words in; exit code, output and errors out."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.waiting import wait_until

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

    def __init__(self, words, *, program=None, columns=None, **environment):
        self.screen = b""
        program = program or PROGRAM
        path = f"{PROGRAM.parent}:{os.environ['PATH']}"
        self._process, self._keyboard = pty.fork()
        if self._process == 0:
            if columns is not None:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            changed = {"TERM": "xterm", "PATH": path, **environment}
            os.execve(program, [Path(program).name, *words], {**os.environ, **changed})

    @property
    def pid(self) -> int:
        return self._process

    def type(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def wait_for(self, text: str) -> None:
        while text.encode() not in self.screen:
            assert self._read(), f"ended without {text!r}:\n{self.screen.decode()}"

    def wait_until(self, condition) -> None:
        while not condition(self.screen):
            assert self._read(), f"ended before that:\n{self.screen.decode()}"

    def wait_for_prompt(self) -> None:
        """Wait until the prompt of a conversation is the last thing on the screen."""
        self.wait_until(lambda shown: shown.endswith(b"\n> "))

    def end(self) -> int:
        for _ in iter(self._read, False):
            pass
        os.close(self._keyboard)
        return self._wait()

    def hang_up(self) -> int:
        """Close the terminal as if its window was closed; the command must end in time."""
        os.close(self._keyboard)
        process, self._process = self._process, 0
        ended = (0, 0)

        def has_ended() -> bool:
            nonlocal ended
            ended = os.waitpid(process, os.WNOHANG)
            return ended[0] == process

        wait_until(has_ended)
        return os.waitstatus_to_exitcode(ended[1])

    def kill(self) -> None:
        """End the command as a crash would."""
        os.kill(self._process, signal.SIGKILL)
        self.end()

    def close(self) -> None:
        """End the command if a test failed before it ended."""
        if self._process:
            self.kill()

    def _wait(self) -> int:
        process, self._process = self._process, 0
        _, status = os.waitpid(process, 0)
        return os.waitstatus_to_exitcode(status)

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


class PreloadedTerminal(Terminal):
    """A command in a terminal of its own, without the time that its imports take."""

    def __init__(self, program, words):
        self.screen = b""
        self._keyboard, device = pty.openpty()
        try:
            self._command = program.start(words, [device] * 3, in_terminal=True, TERM="xterm")
        finally:
            os.close(device)
        self._process = self._command.pid

    def _wait(self) -> int:
        self._process = 0
        code = self._command.wait(30)
        self._command.close()
        return code


@pytest.fixture
def preloaded_terminal(workspace, preloaded):
    started = []

    def start(words):
        started.append(PreloadedTerminal(preloaded, words))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def terminal(workspace):
    started = []

    def start(words, **environment):
        started.append(Terminal(words, **environment))
        return started[-1]

    yield start
    for one in started:
        one.close()
