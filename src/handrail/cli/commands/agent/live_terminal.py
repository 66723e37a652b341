"""The terminal of a conversation with a prompt that stays at the bottom, below a status line.

Output scrolls in a region above the two. Input is edited here, not by the terminal, so that output
and input do not disturb each other.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import sys
import termios
import threading
from collections.abc import Callable
from typing import Any, Final, TextIO

from handrail.cli.commands.agent.line_editor import LineEditor
from handrail.cli.commands.agent.line_reader import TypedLines
from handrail.cli.render.screen import TextStyle, paint, truncate, use_colour

_LEAST_ROWS: Final = 8
_LEAST_COLUMNS: Final = 40
_MAX_READ: Final = 64 * 1024
_TICK_S: Final = 1.0
_LFLAG: Final = 3
_CC: Final = 6
# The position of the cursor in the output is saved while the prompt is drawn.
_SAVE: Final = "\x1b7"
_RESTORE: Final = "\x1b8"
_HIDE_CURSOR: Final = "\x1b[?25l"
_SHOW_CURSOR: Final = "\x1b[?25h"
_PASTE_ON: Final = "\x1b[?2004h"
_PASTE_OFF: Final = "\x1b[?2004l"
_WHOLE_SCREEN: Final = "\x1b[r"


def is_usable() -> bool:
    """Return whether the terminal has room, and can do more than print lines."""
    if not (use_colour() and sys.stdin.isatty()):
        return False
    size = os.get_terminal_size(sys.stdout.fileno())
    return size.lines >= _LEAST_ROWS and size.columns >= _LEAST_COLUMNS


class LiveTerminal(TypedLines):
    """Reads lines and shows output, like `LineReader` and standard output. `status` returns the
    text of the status line; standard output and error are printed above the prompt while this is
    open.
    """

    # The terminal does not echo: an entered line must be printed.
    echoes = False

    def __init__(self, status: Callable[[], str]) -> None:
        super().__init__()
        self._status = status
        self._editor = LineEditor()
        self._prompt = ""
        self._lock = threading.RLock()
        self._real = (sys.stdout, sys.stderr)
        self._input = sys.stdin.fileno()
        self._before: list[Any] = termios.tcgetattr(self._input)
        self._size = os.terminal_size((80, 24))
        self._active = False
        self._ticking: asyncio.TimerHandle | None = None
        self._handled = (signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)
        for number in self._handled:
            self._loop.add_signal_handler(number, self._on_signal, number)
        self._enter()
        self._tick()

    def show(self, prompt: str) -> None:
        """Set the prompt; typed text after it stays."""
        self._prompt = prompt
        self.redraw()

    def close(self) -> None:
        """Restore the terminal."""
        if self._ticking is not None:
            self._ticking.cancel()
        self._leave()
        for number in self._handled:
            self._loop.remove_signal_handler(number)

    async def pause(self) -> None:
        """Give the terminal to a question until `go_on`."""
        self._leave()

    def go_on(self) -> None:
        """Take the terminal again."""
        self._enter()

    def emit(self, text: str) -> None:
        """Print text above the prompt."""
        with self._lock:
            if self._active:
                self._write(_HIDE_CURSOR + _RESTORE + text + _SAVE + self._bottom())
            else:
                self._write(text)

    def redraw(self) -> None:
        """Draw the status line and the prompt again."""
        with self._lock:
            if self._active:
                self._write(_HIDE_CURSOR + self._bottom())

    def _bottom(self) -> str:
        rows, columns = self._size.lines, self._size.columns
        status = paint(truncate(self._status(), columns - 1), TextStyle.FAINT)
        prompt = truncate(self._prompt, columns * 2 // 3)
        shown = self._editor.show(columns - len(prompt) - 1)
        column = len(prompt) + shown.column + 1
        return (
            f"\x1b[{rows - 1};1H\x1b[0m\x1b[K{status}\x1b[{rows};1H\x1b[K{prompt}{shown.text}"
            f"\x1b[{rows};{column}H{_SHOW_CURSOR}"
        )

    def _enter(self) -> None:
        """Set the scroll region for output, and read keys one by one."""
        with self._lock:
            if self._active:
                return
            mode = [*self._before[:_CC], list(self._before[_CC])]
            # Ctrl-C and Ctrl-Z stay signals.
            mode[_LFLAG] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
            mode[_CC][termios.VMIN], mode[_CC][termios.VTIME] = 1, 0
            termios.tcsetattr(self._input, termios.TCSADRAIN, mode)
            self._size = os.get_terminal_size(self._real[0].fileno())
            self._active = True
            # Two free rows below the output.
            self._write(f"{_PASTE_ON}\n\n\x1b[2A{_SAVE}{self._region()}{_RESTORE}{_SAVE}")
            sys.stdout, sys.stderr = LiveStream(self), LiveStream(self)
            self._loop.add_reader(self._input, self._read)
            self.redraw()

    def _leave(self) -> None:
        """Remove status line and prompt; the cursor is at the end of the output."""
        with self._lock:
            if not self._active:
                return
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            self._active = False
            self._loop.remove_reader(self._input)
            below = f"\x1b[{self._size.lines - 1};1H\x1b[J"
            self._write(f"{_PASTE_OFF}{below}{_WHOLE_SCREEN}{_RESTORE}{_SHOW_CURSOR}")
            sys.stdout, sys.stderr = self._real
            with contextlib.suppress(termios.error):
                # Unless the terminal is gone.
                termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)

    def _region(self) -> str:
        return f"\x1b[1;{max(self._size.lines - 2, 1)}r"

    def _read(self) -> None:
        try:
            data = os.read(self._input, _MAX_READ)
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._input)
            self._lines.put_nowait(None)
            return
        for line in self._editor.feed(data):
            self._lines.put_nowait(line)
        self.redraw()

    def _tick(self) -> None:
        self.redraw()
        self._ticking = self._loop.call_later(_TICK_S, self._tick)

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGWINCH:
            self._resize()
        elif number == signal.SIGCONT:
            self._enter()
        else:
            self._leave()
            os.kill(os.getpid(), signal.SIGSTOP)

    def _resize(self) -> None:
        with self._lock:
            if not self._active:
                return
            self._size = os.get_terminal_size(self._real[0].fileno())
            rows = self._size.lines
            # The end of the output is unknown after a resize: all output moves up and continues at
            # the end of the region. The old status line stays as a line of the output.
            self._write(
                f"{_WHOLE_SCREEN}\x1b[{rows};1H\n\n{self._region()}\x1b[{max(rows - 2, 1)};1H{_SAVE}"
            )
            self.redraw()

    def _write(self, text: str) -> None:
        """Write to the terminal directly."""
        stream = self._real[0]
        try:
            stream.write(text)
            stream.flush()
        except OSError:
            # The terminal is gone; the task and its record continue.
            self._active = False


class LiveStream(io.TextIOBase):
    """Prints above the prompt, in whole lines or when flushed."""

    def __init__(self, terminal: LiveTerminal) -> None:
        self._terminal = terminal
        self._held = ""

    def write(self, text: str) -> int:
        """Buffer the text, and print it if it ends a line."""
        self._held += text
        if "\n" in text:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Print the buffered text."""
        buffered, self._held = self._held, ""
        if buffered:
            self._terminal.emit(buffered)

    def isatty(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the terminal."""
        return sys.__stdout__.fileno() if sys.__stdout__ is not None else 1

    @property
    def encoding(self) -> str:  # type: ignore[override]  # an attribute in the base class
        """The encoding of standard output."""
        stream: TextIO | None = sys.__stdout__
        return "utf-8" if stream is None else stream.encoding
