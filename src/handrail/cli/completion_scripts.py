"""The completion scripts themselves, one function per shell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.cli.completion import Command, Option, Value, tool_arguments


def bash(program: Command, commands: Sequence[Command]) -> str:
    """For bash 3.2 and later, so that it also works on macOS."""
    options = {option.flags: option for one in (program, *commands) for option in one.options}
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
        f"        '') words={_quoted(' '.join(one.name for one in commands))}",
        f"            flags={_quoted(_flags(program))} ;;",
        *(line for one in commands for line in _bash_command(one)),
        "    esac",
        "    if [[ -n $given ]]; then",
        "        words=''",
        # Behind the = stands a value; bash then offers file names.
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


def zsh(program: Command, commands: Sequence[Command]) -> str:
    """For zsh with compinit."""
    described = [_quoted(f"{one.name}:{one.about}") for one in commands]
    lines = [
        "#compdef handrail",
        "# Completion of handrail for zsh; made by `handrail completion zsh`.",
        "_handrail() {",
        "    local context state state_descr line",
        "    typeset -A opt_args",
        "    local -a commands=(",
        *(f"        {one}" for one in described),
        "    )",
        "    _arguments -C \\",
        *(f"        {one} \\" for one in _zsh_options(program)),
        "        '1:command:->command' \\",
        "        '*::argument:->arguments'",
        "    case $state in",
        "        command) _describe command commands ;;",
        "        arguments)",
        "            case $line[1] in",
        *(line for one in commands for line in _zsh_command(one)),
        "            esac ;;",
        "    esac",
        "}",
        'if [[ $funcstack[1] == _handrail ]]; then _handrail "$@"; else compdef _handrail handrail; fi',
    ]
    return "\n".join(lines)


def fish(program: Command, commands: Sequence[Command]) -> str:
    """For fish 3 and later."""
    names = " ".join(one.name for one in commands)
    first = f"not __fish_seen_subcommand_from {names}"
    lines = [
        "# Completion of handrail for fish; made by `handrail completion fish`.",
        "complete -c handrail -e",
        f"complete -c handrail -f -n {_fish(first)}",
    ]
    lines += [
        f"complete -c handrail -n {_fish(first)} -a {one.name} -d {_fish(one.about)}"
        for one in commands
    ]
    lines += [_fish_option(option, "") for option in program.options]
    for one in commands:
        seen = f"__fish_seen_subcommand_from {one.name}"
        own = [option for option in one.options if option not in program.options]
        lines += [_fish_option(option, seen) for option in own]
        if one.name == "call":
            lines += _fish_tools(seen)
        elif one.value is None or not one.value.path:
            words = " ".join(one.value.words) if one.value else ""
            lines.append(f"complete -c handrail -f -n {_fish(seen)} -a {_fish(words)}")
    return "\n".join(lines)


def _bash_value(option: Option) -> str:
    value = option.value or Value("")
    if value.path == "dir":
        reply = "local IFS=$'\\n'; COMPREPLY=($(compgen -d -- \"$cur\"))"
        reply += "; compopt -o filenames 2>/dev/null"
    elif value.words:
        reply = f'COMPREPLY=($(compgen -W {_quoted(" ".join(value.words))} -- "$cur"))'
    else:
        # Nothing of ours; bash then offers file names.
        reply = ":"
    return f"        {'|'.join(option.flags)}) {reply}; return ;;"


def _bash_command(command: Command) -> Iterator[str]:
    words = " ".join(command.value.words) if command.value else ""
    yield f"        {command.name}) words={_quoted(words)}"
    yield f"            flags={_quoted(_flags(command))} ;;"


def _bash_arguments(tool: str, names: Sequence[str]) -> str:
    return f"            'call {tool}') words={_quoted(' '.join(f'{name}=' for name in names))} ;;"


def _zsh_options(command: Command) -> Iterator[str]:
    for option in command.options:
        about = option.about.translate({ord("["): "\\[", ord("]"): "\\]", ord(":"): "\\:"})
        takes = f":{option.value.name}:{_zsh_action(option.value)}" if option.value else ""
        group = f"({' '.join(option.flags)})"
        yield from (_quoted(f"{group}{flag}[{about}]{takes}") for flag in option.flags)


def _zsh_action(value: Value) -> str:
    if value.words:
        return f"({' '.join(value.words)})"
    return {"dir": "_directories", "file": "_files"}.get(value.path, " ")


def _zsh_command(command: Command) -> Iterator[str]:
    yield f"                {command.name}) _arguments \\"
    yield from (f"                    {one} \\" for one in _zsh_options(command))
    if command.value is not None:
        value = command.value
        yield f"                    {_quoted(f'1:{value.name}:{_zsh_action(value)}')} \\"
    yield "                    '*:argument:_files' ;;"


def _fish_tools(seen: str) -> Iterator[str]:
    """A tool, and behind it what it takes."""
    tools = tool_arguments()
    named = "__fish_seen_subcommand_from"
    none = f"{seen}; and not {named} {' '.join(tools)}"
    yield f"complete -c handrail -f -n {_fish(none)} -a {_fish(' '.join(tools))}"
    for tool, names in tools.items():
        words = " ".join(f"{name}=" for name in names)
        yield f"complete -c handrail -n {_fish(f'{seen}; and {named} {tool}')} -a {_fish(words)}"


def _fish_option(option: Option, condition: str) -> str:
    parts = ["complete -c handrail"]
    if condition:
        parts.append(f"-n {_fish(condition)}")
    parts += [f"-l {flag[2:]}" if flag[1] == "-" else f"-s {flag[1:]}" for flag in option.flags]
    if option.value is not None:
        parts.append(_fish_value(option.value))
    return " ".join([*parts, f"-d {_fish(option.about)}"])


def _fish_value(value: Value) -> str:
    if value.words:
        return f"-x -a {_fish(' '.join(value.words))}"
    if value.path == "dir":
        return "-x -a '(__fish_complete_directories)'"
    return "-r -F" if value.path else "-x"


def _flags(command: Command) -> str:
    return " ".join(flag for option in command.options for flag in option.flags)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
