"""`handrail completion`: shell completion scripts for commands, options, tools and arguments.

The scripts are generated from the argparse parser.
"""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from handrail.cli.parser import Parser, Subparsers, add_command, build_parser
from handrail.cli.render import output

_SHELLS: Final = ("bash", "zsh", "fish")
_EPILOG: Final = """\
bash:  eval "$(handrail completion bash)"   in ~/.bashrc
zsh:   eval "$(handrail completion zsh)"    in ~/.zshrc, after compinit
fish:  handrail completion fish | source    in ~/.config/fish/config.fish"""


@dataclass(frozen=True, slots=True)
class CompletionValue:
    """The value of an option or positional."""

    name: str
    words: tuple[str, ...] = ()  # the possible values, if they are fixed
    path: str = ""  # "dir" or "file" for paths


@dataclass(frozen=True, slots=True)
class CompletionOption:
    """One option; `value` is None for a flag."""

    flags: tuple[str, ...]
    about: str
    value: CompletionValue | None


@dataclass(frozen=True, slots=True)
class CompletionCommand:
    """One command with its options; the program itself has the name ""."""

    name: str
    about: str
    options: tuple[CompletionOption, ...]
    value: CompletionValue | None


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "completion", epilog=_EPILOG)
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=", ".join(_SHELLS))
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the script."""
    program, *commands = command_tree()
    text = _SCRIPTS[options.shell](program, commands)
    if options.json:
        output.print_json({"shell": options.shell, "script": text})
    else:
        output.print_line(text)
    return 0


def command_tree() -> list[CompletionCommand]:
    """Return the program itself, then every command."""
    parser = build_parser()
    commands = [_command(parser, "", "")]
    for action in parser._actions:  # noqa: SLF001 - argparse shows its tree no other way
        if isinstance(action, Subparsers):
            abouts = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001 - likewise
            commands += [
                _command(subparser, name, abouts[name])
                for name, subparser in action.choices.items()
            ]
    return commands


def _command(parser: argparse.ArgumentParser, name: str, about: str) -> CompletionCommand:
    positionals = parser._get_positional_actions()  # noqa: SLF001 - likewise
    values = [
        _value(positional) for positional in positionals if not isinstance(positional, Subparsers)
    ]
    return CompletionCommand(name, about, tuple(_options(parser)), values[0] if values else None)


def _options(parser: argparse.ArgumentParser) -> Iterator[CompletionOption]:
    for action in parser._get_optional_actions():  # noqa: SLF001 - likewise
        value = _value(action) if action.nargs != 0 else None
        yield CompletionOption(tuple(action.option_strings), action.help or "", value)


def _value(action: argparse.Action) -> CompletionValue:
    name = str(action.metavar or action.dest.upper())
    if action.choices is not None:
        return CompletionValue(name, tuple(map(str, action.choices)))
    path = {"DIR": "dir", "FILE": "file"}.get(name, "")
    return CompletionValue(name, _words(name), path)


def tool_arguments() -> dict[str, tuple[str, ...]]:
    """Return the canonical argument names of every built-in tool."""
    from handrail.core.lazy import Lazy
    from handrail.tools._lib.services import Services
    from handrail.tools.builtin import builtin_tools

    # The tools are not run, so they get no services.
    nothing: Any = None
    return {
        tool.name: tuple(tool.params.model_fields)
        for tool in builtin_tools(Services(nothing, nothing, Lazy(lambda: nothing)))
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
            from handrail.tools.builtin import BUILTIN_NAMES

            return tuple(sorted(BUILTIN_NAMES))
    return ()


def bash_script(program: CompletionCommand, commands: Sequence[CompletionCommand]) -> str:
    """Return the script for bash 3.2 (macOS) and later."""
    options = {
        option.flags: option for command in (program, *commands) for option in command.options
    }
    with_value = "|".join(flag for flags, o in options.items() if o.value for flag in flags)
    lines = [
        "# Completion of handrail for bash; made by `handrail completion bash`.",
        "_handrail() {",
        '    local cur=${COMP_WORDS[COMP_CWORD]} command="" given="" i words="" flags=""',
        "    local prev=${COMP_WORDS[COMP_CWORD-1]}",
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        '        case "${COMP_WORDS[i]}" in',
        f"            {with_value}) i=$((i + 1)) ;;",
        "            -*) ;;",
        "            *) if [[ -z $command ]]; then command=${COMP_WORDS[i]}",
        "               elif [[ -z $given ]]; then given=${COMP_WORDS[i]}; fi ;;",
        "        esac",
        "    done",
        "    COMPREPLY=()",
        '    case "$prev" in',
        *(_bash_value(option) for option in options.values() if option.value),
        "    esac",
        '    case "$command" in',
        f"        '') words={_shell_quote(' '.join(command.name for command in commands))}",
        f"            flags={_shell_quote(_flags(program))} ;;",
        *(line for command in commands for line in _bash_command(command)),
        "    esac",
        "    if [[ -n $given ]]; then",
        "        words=''",
        # After "=" bash completes file names.
        "        [[ $cur == *=* || $prev == = ]] && return",
        '        case "$command $given" in',
        *(_bash_arguments(tool, names) for tool, names in tool_arguments().items()),
        "        esac",
        "        [[ -n $words ]] && compopt -o nospace 2>/dev/null",
        "    fi",
        "    [[ $cur == -* ]] && words=$flags",
        '    COMPREPLY=($(compgen -W "$words" -- "$cur"))',
        "}",
        "complete -o default -F _handrail handrail",
    ]
    return "\n".join(lines)


def zsh_script(program: CompletionCommand, commands: Sequence[CompletionCommand]) -> str:
    """Return the script for zsh with compinit."""
    described = [_shell_quote(f"{command.name}:{command.about}") for command in commands]
    lines = [
        "#compdef handrail",
        "# Completion of handrail for zsh; made by `handrail completion zsh`.",
        "_handrail() {",
        "    local context state state_descr line",
        "    typeset -A opt_args",
        "    local -a commands=(",
        *(f"        {text}" for text in described),
        "    )",
        "    _arguments -C \\",
        *(f"        {option} \\" for option in _zsh_options(program)),
        "        '1:command:->command' \\",
        "        '*::argument:->arguments'",
        "    case $state in",
        "        command) _describe command commands ;;",
        "        arguments)",
        "            case $line[1] in",
        *(line for command in commands for line in _zsh_command(command)),
        "            esac ;;",
        "    esac",
        "}",
        'if [[ $funcstack[1] == _handrail ]]; then _handrail "$@"; else compdef _handrail handrail; fi',
    ]
    return "\n".join(lines)


def fish_script(program: CompletionCommand, commands: Sequence[CompletionCommand]) -> str:
    """Return the script for fish 3 and later."""
    names = " ".join(command.name for command in commands)
    first = f"not __fish_seen_subcommand_from {names}"
    lines = [
        "# Completion of handrail for fish; made by `handrail completion fish`.",
        "complete -c handrail -e",
        f"complete -c handrail -f -n {_fish(first)}",
    ]
    lines += [
        f"complete -c handrail -n {_fish(first)} -a {command.name} -d {_fish(command.about)}"
        for command in commands
    ]
    lines += [_fish_option(option, "") for option in program.options]
    for command in commands:
        condition = f"__fish_seen_subcommand_from {command.name}"
        options = [option for option in command.options if option not in program.options]
        lines += [_fish_option(option, condition) for option in options]
        if command.name == "call":
            lines += _fish_tools(condition)
        elif command.value is None or not command.value.path:
            words = " ".join(command.value.words) if command.value else ""
            lines.append(f"complete -c handrail -f -n {_fish(condition)} -a {_fish(words)}")
    return "\n".join(lines)


def _bash_value(option: CompletionOption) -> str:
    value = option.value or CompletionValue("")
    if value.path == "dir":
        reply = "local IFS=$'\\n'; COMPREPLY=($(compgen -d -- \"$cur\"))"
        reply += "; compopt -o filenames 2>/dev/null"
    elif value.words:
        reply = f'COMPREPLY=($(compgen -W {_shell_quote(" ".join(value.words))} -- "$cur"))'
    else:
        # No suggestions of Handrail; bash then offers file names.
        reply = ":"
    return f"        {'|'.join(option.flags)}) {reply}; return ;;"


def _bash_command(command: CompletionCommand) -> Iterator[str]:
    words = " ".join(command.value.words) if command.value else ""
    yield f"        {command.name}) words={_shell_quote(words)}"
    yield f"            flags={_shell_quote(_flags(command))} ;;"


def _bash_arguments(tool: str, names: Sequence[str]) -> str:
    return f"            'call {tool}') words={_shell_quote(' '.join(f'{name}=' for name in names))} ;;"


def _zsh_options(command: CompletionCommand) -> Iterator[str]:
    for option in command.options:
        about = option.about.translate({ord("["): "\\[", ord("]"): "\\]", ord(":"): "\\:"})
        takes = f":{option.value.name}:{_zsh_action(option.value)}" if option.value else ""
        group = f"({' '.join(option.flags)})"
        yield from (_shell_quote(f"{group}{flag}[{about}]{takes}") for flag in option.flags)


def _zsh_action(value: CompletionValue) -> str:
    if value.words:
        return f"({' '.join(value.words)})"
    return {"dir": "_directories", "file": "_files"}.get(value.path, " ")


def _zsh_command(command: CompletionCommand) -> Iterator[str]:
    yield f"                {command.name}) _arguments \\"
    yield from (f"                    {option} \\" for option in _zsh_options(command))
    if command.value is not None:
        value = command.value
        yield f"                    {_shell_quote(f'1:{value.name}:{_zsh_action(value)}')} \\"
    yield "                    '*:argument:_files' ;;"


def _fish_tools(condition: str) -> Iterator[str]:
    """Yield the completions of a tool name, and of its arguments after it."""
    tools = tool_arguments()
    named = "__fish_seen_subcommand_from"
    no_tool = f"{condition}; and not {named} {' '.join(tools)}"
    yield f"complete -c handrail -f -n {_fish(no_tool)} -a {_fish(' '.join(tools))}"
    for tool, names in tools.items():
        words = " ".join(f"{name}=" for name in names)
        yield f"complete -c handrail -n {_fish(f'{condition}; and {named} {tool}')} -a {_fish(words)}"


def _fish_option(option: CompletionOption, condition: str) -> str:
    parts = ["complete -c handrail"]
    if condition:
        parts.append(f"-n {_fish(condition)}")
    parts += [f"-l {flag[2:]}" if flag[1] == "-" else f"-s {flag[1:]}" for flag in option.flags]
    if option.value is not None:
        parts.append(_fish_value(option.value))
    return " ".join([*parts, f"-d {_fish(option.about)}"])


def _fish_value(value: CompletionValue) -> str:
    if value.words:
        return f"-x -a {_fish(' '.join(value.words))}"
    if value.path == "dir":
        return "-x -a '(__fish_complete_directories)'"
    return "-r -F" if value.path else "-x"


def _flags(command: CompletionCommand) -> str:
    return " ".join(flag for option in command.options for flag in option.flags)


def _shell_quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS: Final = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
