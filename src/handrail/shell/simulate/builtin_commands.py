"""The builtins that change a simulated shell: variables, arguments, the directory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from handrail.shell.echo import format_printf
from handrail.shell.expand import UNKNOWN
from handrail.shell.simulate.program_output import decode_escapes
from handrail.shell.simulate.shell_state import InputText, ShellState

# A variable that no command can name: whether the last `read` found the end of its input.
AT_END: Final = " end"
_READ_VALUES: Final = frozenset("dinNptu")


def run_builtin(
    fields: Sequence[str], state: ShellState, stdin: InputText | None, separators: str | None
) -> str | None:
    """Run a builtin and return what it prints; None for any other program.

    `separators` is the value of IFS if it is set for the builtin alone.
    """
    if fields[0] == "printf" and fields[1:2] == ["-v"] and len(fields) > 3:
        state.assign(fields[2], format_printf(decode_escapes(fields[3]), fields[4:]))
        return ""
    builtin = _BUILTINS.get(fields[0])
    if builtin is None:
        return None
    before = state.variables.get("IFS")
    if separators is not None:
        state.assign("IFS", separators)
    builtin(fields[1:], state, stdin)
    if separators is not None:
        state.variables.pop("IFS", None)
        state.variables |= {} if before is None else {"IFS": before}
    return ""


def _cd(arguments: Sequence[str], state: ShellState, _: InputText | None) -> None:
    targets = [one for one in arguments if one not in ("-L", "-P", "-e", "--")]
    if targets and targets[0].startswith("-"):
        state.cwd = UNKNOWN
    else:
        state.enter(targets[0] if targets else state.home)


def _set(arguments: Sequence[str], state: ShellState, _: InputText | None) -> None:
    for number, one in enumerate(arguments):
        if one == "--":
            state.arguments = list(arguments[number + 1 :])
            return
        if not re.fullmatch(r"[-+]\w*", one):
            state.arguments = list(arguments[number:])
            return


def _shift(arguments: Sequence[str], state: ShellState, _: InputText | None) -> None:
    number = int(arguments[0]) if arguments and arguments[0].isdigit() else 1
    del state.arguments[:number]


def _unset(arguments: Sequence[str], state: ShellState, _: InputText | None) -> None:
    for one in arguments:
        state.variables.pop(one, None)
        if "-f" in arguments:
            state.functions.pop(one, None)


def _read(arguments: Sequence[str], state: ShellState, stdin: InputText | None) -> None:
    names, end, array, left = [], "\n", None, list(arguments)
    while left:
        one = left.pop(0)
        if not one.startswith("-"):
            names.append(one)
            continue
        letter = next((char for char in one[1:] if char in _READ_VALUES or char == "a"), None)
        if letter is None:
            continue
        given = one.partition(letter)[2] or (left.pop(0) if left else "")
        end = (given[:1] or "\0") if letter == "d" else end
        array = given if letter == "a" else array
    line = stdin.read_line(end) if stdin is not None else UNKNOWN
    state.variables[AT_END] = "yes" if line is None else "no"
    if line is None:
        return
    if array is not None:
        state.assign_elements(array, [(None, word) for word in line.split(_separator(state))])
        return
    _assign_words(names or ["REPLY"], line, state)


def _assign_words(names: Sequence[str], line: str, state: ShellState) -> None:
    words = line.split(_separator(state), len(names) - 1) if len(names) > 1 else [line.strip()]
    for number, name in enumerate(names):
        state.assign(name, words[number] if number < len(words) else "")


def _separator(state: ShellState) -> str | None:
    """What separates the words of a line; None for blanks."""
    values = state.values("IFS")
    return values[0].strip()[:1] or None if values else None


def _mapfile(arguments: Sequence[str], state: ShellState, stdin: InputText | None) -> None:
    names = [one for one in arguments if not one.startswith("-")] or ["MAPFILE"]
    lines = stdin.peek().splitlines() if stdin is not None else [UNKNOWN]
    state.assign_elements(names[-1], [(None, line) for line in lines])


_BUILTINS: Final[Mapping[str, Callable[[Sequence[str], ShellState, InputText | None], None]]] = {
    **dict.fromkeys(("cd", "pushd", "chdir"), _cd),
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "read": _read,
    **dict.fromkeys(("mapfile", "readarray"), _mapfile),
}
