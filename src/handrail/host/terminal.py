"""Asking the person at the terminal: yes or no, nothing typed ahead, no default yes."""

from __future__ import annotations

import os
import select
import termios
import threading
from typing import Final

import anyio.to_thread

from handrail.core.ports import Answer, ApprovalRequest
from handrail.core.safe_text import safe_text

_LOOK_S: Final = 0.2


class TerminalApprover:
    """Asks on the controlling terminal, whatever standard input and output are."""

    def __init__(self, device: str = "/dev/tty") -> None:
        self._device = device

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Show what would happen and wait for y or n."""
        over = threading.Event()
        try:
            return await anyio.to_thread.run_sync(self._ask, request, over, abandon_on_cancel=True)
        finally:
            # The thread must not outlive the question: it would hold up the end of the process.
            over.set()

    def _ask(self, request: ApprovalRequest, over: threading.Event) -> Answer:
        terminal = os.open(self._device, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            _write(terminal, _question(request))
            while True:
                # Before each question: an answer to it can only be typed after it.
                _forget_typed_ahead(terminal)
                _write(terminal, "Allow this once? [y/n] ")
                line = _read_line(terminal, over)
                match line.decode("utf-8", "replace").strip().lower():
                    case "y" | "yes":
                        return Answer.YES
                    case "n" | "no":
                        return Answer.NO
                if not line:
                    return Answer.NO
        finally:
            os.close(terminal)


def _question(request: ApprovalRequest) -> str:
    lines = [
        "",
        f"── {request.tool} wants to run ({request.risk.word}) ──",
        safe_text(request.action, one_line=True),
        f"why you are asked: {safe_text(request.reason, one_line=True)}",
    ]
    if request.model_says:
        lines.append(f"the model says: {safe_text(request.model_says, one_line=True)}")
    if request.preview:
        lines += ["", safe_text(request.preview)]
    return "\n".join(lines) + "\n"


def _read_line(terminal: int, over: threading.Event) -> bytes:
    """What the person types; empty at the end of input, or when nobody waits any more."""
    while not over.is_set():
        if select.select([terminal], [], [], _LOOK_S)[0]:
            return os.read(terminal, 1024)
    return b""


def _write(terminal: int, text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(terminal, data) :]


def _forget_typed_ahead(terminal: int) -> None:
    try:
        termios.tcflush(terminal, termios.TCIFLUSH)
    except termios.error:
        return
