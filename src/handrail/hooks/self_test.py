"""Checks the command of a hook without running it: whether it can be parsed, whether the programs and
files that it starts exist, and whether the model could change them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from handrail.core.commands import UnreadableCommand
from handrail.hooks.spec import BLOCKING_EVENTS, HookSpec

_INTERPRETERS: Final = re.compile(r"(?:ba|da|k|z)?sh|python[0-9.]*|node|ruby|perl|deno|bun|php")
_BUILTINS: Final = re.compile(
    r"""(?x)
    [.:[] | alias | bg | bind | break | builtin | caller | cd | command | compgen | complete
    | compopt | continue | declare | dirs | disown | echo | enable | eval | exec | exit | export
    | false | fc | fg | getopts | hash | help | history | jobs | kill | let | local | logout
    | mapfile | popd | printf | pushd | pwd | read | readarray | readonly | return | set | shift
    | shopt | source | suspend | test | times | trap | true | type | typeset | ulimit | umask
    | unalias | unset | wait
    """
)
# A path in a command, at the beginning of a word or after an equals sign.
_PATH: Final = re.compile(r"""(?:^|(?<=[\s"'=(]))(?:~|/)[^\s"';|&<>()$`*?\\]*""")


class SelfTestEnvironment(NamedTuple):
    """What hook commands are checked against."""

    roots: Sequence[str]
    home: str
    # Parses a command; raises `UnreadableCommand`.
    parse: Callable[[str], object]
    # The words of each program that a command starts; None for a computed word.
    program_words: Callable[[str], Sequence[Sequence[str | None]]]
    # The path of a program, None if it is not found.
    find_program: Callable[[str], str | None]
    # Whether a path exists.
    exists: Callable[[str], bool]
    # Whether the model cannot write a path below a root without approval.
    is_protected: Callable[[str], bool]


class SelfTestReport(NamedTuple):
    """`errors` keep the hook from working; `warnings` do not."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def check_hook_command(spec: HookSpec, machine: SelfTestEnvironment) -> SelfTestReport:
    """Check the command of one hook."""
    text = expand_known_variables(spec.command, machine)
    try:
        machine.parse(text)
    except UnreadableCommand as unreadable:
        return SelfTestReport((f"its command cannot be read: {unreadable}",), ())
    faults: list[str] = []
    doubts: list[str] = []
    for words in machine.program_words(text):
        for path in _started_files(words, machine, faults):
            if not machine.exists(path):
                faults.append(f"there is no {path!r}, which its command starts")
            elif spec.event in BLOCKING_EVENTS and _writable_by_model(path, machine):
                doubts.append(
                    f"the model can change {path!r}, which guards it; keep it outside of the "
                    "workspace, or under a protected name such as .handrail/hooks"
                )
    return SelfTestReport(tuple(faults), tuple(doubts))


def expand_known_variables(command: str, machine: SelfTestEnvironment) -> str:
    """The command with the variables replaced whose values are known in advance."""
    for name, value in (("CLAUDE_PROJECT_DIR", machine.roots[0]), ("HOME", machine.home)):
        literal = value.replace("\\", "\\\\")
        command = re.sub(rf"\${name}\b|\$\{{{name}\}}", literal, command)
    return command


def outside_paths(spec: HookSpec, machine: SelfTestEnvironment) -> Iterator[str]:
    """Absolute paths in the command that exist outside the roots."""
    for match in _PATH.finditer(expand_known_variables(spec.command, machine)):
        path = match[0]
        if path.startswith("~"):
            path = f"{machine.home}{path[1:]}" if path[1:2] == "/" else ""
        inside = any(f"{path}/".startswith(f"{root}/") for root in machine.roots)
        if path.strip("/") and not inside and machine.exists(path):
            yield path


def _started_files(
    words: Sequence[str | None], machine: SelfTestEnvironment, faults: list[str]
) -> Iterator[str]:
    """The files that a program and its interpreter are read from, as absolute paths."""
    program = words[0] if words else None
    if not program or _BUILTINS.fullmatch(program):
        return
    if "/" in program:
        yield _absolute(program, machine)
        return
    if machine.find_program(program) is None:
        faults.append(f"there is no program {program!r}, which its command starts")
        return
    if _INTERPRETERS.fullmatch(program) and len(words) > 1:
        script = words[1]
        if script and not script.startswith("-"):
            yield _absolute(script, machine)


def _absolute(path: str, machine: SelfTestEnvironment) -> str:
    if path.startswith("~/"):
        return f"{machine.home}{path[1:]}"
    return path if path.startswith("/") else f"{machine.roots[0]}/{path.removeprefix('./')}"


def _writable_by_model(path: str, machine: SelfTestEnvironment) -> bool:
    for root in machine.roots:
        top = f"{root.rstrip('/')}/"
        if path.startswith(top):
            return not machine.is_protected(path[len(top) :])
    return False
