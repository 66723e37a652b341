"""`handrail completion`: a script that teaches a shell our commands, options and tools.

Generated from the argparse tree, so that it cannot fall behind it.
"""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from handrail.cli import output
from handrail.cli.parser import Parser, Subparsers, add_command, build_parser

_SHELLS: Final = ("bash", "zsh", "fish")
_EPILOG: Final = """\
bash:  eval "$(handrail completion bash)"   in ~/.bashrc
zsh:   eval "$(handrail completion zsh)"    in ~/.zshrc, after compinit
fish:  handrail completion fish | source    in ~/.config/fish/config.fish"""


@dataclass(frozen=True, slots=True)
class Value:
    """What may stand somewhere: one of some words, or a path ("dir", "file"), or anything."""

    name: str
    words: tuple[str, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """One option; `value` is None if it takes none."""

    flags: tuple[str, ...]
    about: str
    value: Value | None


@dataclass(frozen=True, slots=True)
class Command:
    """One command and what may follow it; the whole program is the one without a name."""

    name: str
    about: str
    options: tuple[Option, ...]
    value: Value | None


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(
        subparsers, "completion", "print a shell's completion script", epilog=_EPILOG
    )
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=", ".join(_SHELLS))
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the script; with --json, what it is made from."""
    from handrail.cli import completion_scripts

    program, *commands = tree()
    script = getattr(completion_scripts, options.shell)
    text = script(program, commands)
    if options.json:
        output.say_json({"shell": options.shell, "script": text})
    else:
        output.say(text)
    return 0


def tree() -> list[Command]:
    """The program itself, then every command."""
    parser = build_parser()
    commands = [_command(parser, "", "")]
    for action in parser._actions:  # noqa: SLF001 - argparse shows its tree no other way
        if isinstance(action, Subparsers):
            abouts = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001 - likewise
            commands += [_command(one, name, abouts[name]) for name, one in action.choices.items()]
    return commands


def _command(parser: argparse.ArgumentParser, name: str, about: str) -> Command:
    positionals = parser._get_positional_actions()  # noqa: SLF001 - likewise
    values = [_value(one) for one in positionals if not isinstance(one, Subparsers)]
    return Command(name, about, tuple(_options(parser)), values[0] if values else None)


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._get_optional_actions():  # noqa: SLF001 - likewise
        value = _value(action) if action.nargs != 0 else None
        yield Option(tuple(action.option_strings), action.help or "", value)


def _value(action: argparse.Action) -> Value:
    name = str(action.metavar or action.dest.upper())
    if action.choices is not None:
        return Value(name, tuple(map(str, action.choices)))
    path = {"DIR": "dir", "FILE": "file"}.get(name, "")
    return Value(name, _words(name), path)


def tool_arguments() -> dict[str, tuple[str, ...]]:
    """The canonical arguments of every built-in tool."""
    from handrail.tools.builtin import Services, builtin_tools

    # The tools are only looked at, so they get no machine.
    nothing: Any = None
    return {
        tool.name: tuple(tool.params.model_fields)
        for tool in builtin_tools(Services(nothing, nothing, nothing))
    }


def _words(name: str) -> tuple[str, ...]:
    match name:
        case "MODE":
            from handrail.policy.modes import Mode

            return tuple(Mode)
        case "DIALECT":
            from handrail.dialects.known import DIALECTS

            return tuple(DIALECTS)
        case "TOOL":
            from importlib import resources

            # Every tool has its prose beside it, under its own name.
            folder = resources.files("handrail.tools")
            return tuple(
                sorted(
                    item.name.removesuffix(".md")
                    for item in folder.iterdir()
                    if item.name.endswith(".md")
                )
            )
    return ()
