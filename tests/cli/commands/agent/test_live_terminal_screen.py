"""What a terminal with a prompt at the bottom writes, and how it reads keys."""

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from contextlib import contextmanager

import pytest

from handrail.cli.commands.agent import live_terminal
from handrail.cli.commands.agent.live_terminal import LiveTerminal, is_usable


def resize(handle, rows, columns):
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Streams:
    """A terminal of 24 rows and 80 columns, which a test makes its standard input and output."""

    def __init__(self, monkeypatch):
        self._monkeypatch = monkeypatch
        self.screen, self._end = pty.openpty()
        resize(self._end, 24, 80)
        os.set_blocking(self.screen, False)
        self._opened = []

    def connect(self):
        """Return the other end; called by the test itself, as pytest sets its streams before it."""
        stdin, stdout = os.fdopen(os.dup(self._end)), os.fdopen(os.dup(self._end), "w")
        self._opened += [stdin, stdout]
        self._monkeypatch.setattr(sys, "stdin", stdin)
        self._monkeypatch.setattr(sys, "stdout", stdout)
        self._monkeypatch.setattr(sys, "stderr", stdout)
        return self.screen

    @contextmanager
    def open(self, status="working"):
        """Open a terminal that shows this status, and the other end."""
        self.connect()
        terminal = LiveTerminal(lambda: status)
        try:
            yield terminal, self.screen
        finally:
            terminal.close()

    def close(self):
        for one in self._opened:
            one.close()
        os.close(self._end)
        os.close(self.screen)


@pytest.fixture
def streams(monkeypatch):
    made = Streams(monkeypatch)
    yield made
    made.close()


def shown(screen):
    """What was written since the last look, without the carriage returns of the terminal."""
    text = b""
    try:
        while data := os.read(screen, 65_536):
            text += data
    except BlockingIOError:
        pass
    return text.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("rows", "columns", "usable"), [(8, 40, True), (7, 40, False), (8, 39, False), (24, 80, True)]
)
def test_a_terminal_needs_some_room(streams, monkeypatch, rows, columns, usable):
    screen = streams.connect()
    monkeypatch.setattr(live_terminal, "use_colour", lambda: True)
    resize(screen, rows, columns)

    assert is_usable() is usable


def test_a_terminal_without_colours_is_not_used(streams, monkeypatch):
    streams.connect()
    monkeypatch.setattr(live_terminal, "use_colour", lambda: False)

    assert not is_usable()


async def test_the_last_two_rows_are_the_status_and_the_prompt(streams):
    with streams.open() as (terminal, screen):
        begun = shown(screen)
        assert "\x1b[?2004h" in begun
        assert "\x1b[1;22r" in begun
        terminal.show("> ")

        drawn = shown(screen)
        assert drawn.startswith("\x1b[?25l\x1b[23;1H")
        assert "working" in drawn
        assert drawn.endswith("\x1b[24;1H\x1b[K> \x1b[24;3H\x1b[?25h")


async def test_output_is_printed_above_in_whole_lines(streams):
    with streams.open() as (_, screen):
        shown(screen)
        print("one", end="")
        assert shown(screen) == ""
        print(" two")
        drawn = shown(screen)
        assert drawn.startswith("\x1b[?25l\x1b8one two\n\x1b7")
        print("rest", end="", flush=True)
        assert "\x1b8rest\x1b7" in shown(screen)
        sys.stdout.flush()
        assert shown(screen) == ""
        assert sys.stdout.isatty() is True
        assert sys.stdout.write("abc") == 3


async def test_keys_are_read_one_by_one_and_lines_passed_on(streams):
    with streams.open() as (terminal, screen):
        mode = termios.tcgetattr(sys.stdin.fileno())
        assert not mode[3] & (termios.ICANON | termios.ECHO | termios.IEXTEN)
        assert mode[3] & termios.ISIG
        assert mode[6][termios.VMIN] in (1, b"\x01")
        terminal.show("> ")
        shown(screen)
        os.write(screen, b"he")
        terminal._read()
        assert "> he\x1b[24;5H" in shown(screen)
        os.write(screen, b"llo\r")
        terminal._read()
        assert await asyncio.wait_for(terminal.next_line(), 5) == "hello"


async def test_a_terminal_that_is_gone_ends_the_input(streams, monkeypatch):
    with streams.open() as (terminal, _):

        def gone(*_):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(live_terminal.os, "read", gone)
        terminal._read()
        monkeypatch.undo()

        assert await asyncio.wait_for(terminal.next_line(), 5) is None


async def test_a_pause_gives_the_terminal_back_until_it_goes_on(streams, monkeypatch):
    screen = streams.connect()
    before, real = termios.tcgetattr(sys.stdin.fileno()), sys.stdout
    terminal = LiveTerminal(lambda: "working")
    try:
        shown(screen)
        print("rest", end="")
        await terminal.pause()
        left = shown(screen)
        assert "rest" in left
        assert left.endswith("\x1b[?2004l\x1b[23;1H\x1b[J\x1b[r\x1b8\x1b[?25h")
        assert sys.stdout is real
        assert termios.tcgetattr(sys.stdin.fileno())[3] == before[3]
        await terminal.pause()
        terminal.emit("plain")
        terminal.redraw()
        assert shown(screen) == "plain"
        terminal.go_on()
        assert "\x1b[?2004h" in shown(screen)
        terminal.go_on()
        assert shown(screen) == ""
        assert sys.stdout is not real
    finally:
        terminal.close()
    assert sys.stdout is real
    assert termios.tcgetattr(sys.stdin.fileno())[3] == before[3]


async def test_another_size_moves_the_prompt(streams):
    with streams.open() as (terminal, screen):
        shown(screen)
        resize(screen, 30, 60)
        terminal._on_signal(signal.SIGWINCH)

        drawn = shown(screen)
        assert drawn.startswith("\x1b[r\x1b[30;1H\n\n\x1b[1;28r\x1b[28;1H\x1b7")
        assert "\x1b[29;1H" in drawn
        await terminal.pause()
        shown(screen)
        resize(screen, 20, 60)
        terminal._on_signal(signal.SIGWINCH)
        assert shown(screen) == ""


async def test_a_stopped_program_leaves_the_terminal_and_enters_it_again(streams, monkeypatch):
    with streams.open() as (terminal, screen):
        sent = []
        monkeypatch.setattr(live_terminal.os, "kill", lambda *given: sent.append(given))
        shown(screen)
        terminal._on_signal(signal.SIGTSTP)
        assert sent == [(os.getpid(), signal.SIGSTOP)]
        assert "\x1b[?2004l" in shown(screen)
        terminal._on_signal(signal.SIGCONT)
        assert "\x1b[?2004h" in shown(screen)


async def test_a_long_prompt_and_status_are_cut(streams, monkeypatch):
    with streams.open("s" * 100) as (terminal, screen):
        shown(screen)
        terminal.show("p" * 100)
        drawn = shown(screen)
        assert drawn.count("s") == 78
        assert drawn.count("p") == 52


async def test_a_terminal_that_cannot_be_written_to_is_left_alone(streams, monkeypatch):
    with streams.open() as (terminal, _):

        class Gone:
            def write(self, text):
                raise OSError(5, "Input/output error")

        real = terminal._real
        terminal._real = (Gone(), Gone())
        terminal.emit("x")
        terminal._real = real

        assert terminal._active is False
        terminal._active = True
