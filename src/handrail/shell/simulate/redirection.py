"""What redirects feed a simulated program, and what they write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.shell.expand import UNKNOWN
from handrail.shell.parse.syntax import Redirect
from handrail.shell.simulate.shell_state import DOWNLOADED, InputText, ShellState

_SOCKETS: Final = ("/dev/tcp/", "/dev/udp/")
_OUTPUTS: Final = (">", ">>", ">|", "&>", "&>>")


def standard_input(redirects: Sequence[Redirect], state: ShellState) -> InputText | None:
    """The text that expanded redirects put on standard input; None if they put none there."""
    found = None
    for one in redirects:
        if one.fd not in ("", "0"):
            continue
        if one.operator in ("<<", "<<-", "<<<"):
            end = "\n" if one.operator == "<<<" else ""
            text = "" if one.body is None else one.body.value or one.body.source
            found = InputText(text + end)
        elif one.operator in ("<", "<>"):
            path = one.target.value or ""
            sent = DOWNLOADED if path.startswith(_SOCKETS) else UNKNOWN
            found = InputText(state.files.get(state.absolute(path), sent))
        elif one.operator == "<&":
            found = InputText(state.files.get(f"&{one.target.value}", UNKNOWN))
    return found


def record_output(redirects: Sequence[Redirect], text: str | None, state: ShellState) -> str | None:
    """Write what a program prints to the files of its redirects. Returns what is left of it."""
    for one in redirects:
        target = one.target.value or ""
        if target.startswith(_SOCKETS) and one.fd:
            state.files[f"&{one.fd}"] = DOWNLOADED
        elif one.operator in _OUTPUTS and one.fd in ("", "1"):
            state.write(target, UNKNOWN if text is None else text, appends=">>" in one.operator)
            text = ""
    return text
