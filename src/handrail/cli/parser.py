"""The command-line parser: commands, common options, and suggestions for typing errors.

Common options are accepted before and after the command.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, NoReturn

from handrail import __version__
from handrail.core.text.safe_text import safe_text


class CommandInfo(NamedTuple):
    """One command."""

    module: str  # below `handrail.cli.commands`
    summary: str


# In the order of `--help`.
COMMANDS: Final[Mapping[str, CommandInfo]] = {
    "demo": CommandInfo("setup.demo", "let a scripted model repair a sample project"),
    "run": CommandInfo("agent.run", "let a model work on a task"),
    "fleet": CommandInfo("agent.fleet", "run many tasks, each in its own workspace"),
    "ui": CommandInfo("setup.ui", "watch sessions and answer questions in a browser"),
    "acp": CommandInfo("agent.acp", "serve an editor that speaks the Agent Client Protocol"),
    "call": CommandInfo("calls.call", "call one tool"),
    "batch": CommandInfo("calls.batch", "run calls from JSON lines"),
    "tools": CommandInfo("calls.tools", "list the tools that models are offered"),
    "explain": CommandInfo("calls.explain", "show what a command would do without running it"),
    "log": CommandInfo("record.log", "list recent calls, or the changes of a file"),
    "show": CommandInfo("record.show", "show the record of one call"),
    "diff": CommandInfo("record.diff", "show what a session, a task or a turn changed"),
    "undo": CommandInfo("record.undo", "undo recorded changes"),
    "redo": CommandInfo("record.redo", "restore changes that were undone"),
    "recover": CommandInfo("record.recover", "finish or roll back changes interrupted by a crash"),
    "verify": CommandInfo("record.verify", "check the integrity of the record"),
    "store": CommandInfo("record.store", "copy the record to another store"),
    "session": CommandInfo(
        "agent.session", "list, show, rewind, fork, export or import conversations of `run`"
    ),
    "tasks": CommandInfo("agent.tasks", "show the to-do list of a session"),
    "approvals": CommandInfo(
        "calls.approvals", "answer approval requests of servers and other processes"
    ),
    "plan": CommandInfo("calls.plan", "show, approve or reject the calls queued by plan mode"),
    "gates": CommandInfo("calls.gates", "run the quality gates of the workspace"),
    "jobs": CommandInfo("calls.jobs", "list background jobs, show their output, stop them"),
    "failed-calls": CommandInfo(
        "calls.failed_calls", "list, retry or discard calls that failed because of a bug"
    ),
    "gc": CommandInfo("record.gc", "delete old records, file copies and temporary files"),
    "config": CommandInfo("setup.config", "show, check or create settings files"),
    "models": CommandInfo("setup.models", "list the configured models, or test one"),
    "trust": CommandInfo("setup.trust", "trust the settings of this project"),
    "skills": CommandInfo("setup.skills", "list skills, show one, or trust one of the project"),
    "agents": CommandInfo(
        "setup.agent_types", "list types of agents, show one, or trust one of the project"
    ),
    "mcp": CommandInfo(
        "setup.mcp", "list MCP servers whose tools are used; add, test or approve one"
    ),
    "serve": CommandInfo("setup.serve", "serve the tools to an MCP client"),
    "doctor": CommandInfo("setup.doctor", "report what is installed, enforced and stored"),
    "completion": CommandInfo("setup.completion", "print a shell completion script"),
}
ALIASES: Final[Mapping[str, str]] = {"letters": "failed-calls"}
Subparsers = argparse._SubParsersAction  # noqa: SLF001 - argparse has no public name for it

_DEFAULTS: Final[Mapping[str, Any]] = {
    "workspace": ".",
    "mode": None,
    "dialect": None,
    "session": None,
    "store": None,
    "config": None,
    "dry_run": None,
    "commands": None,
    "json": False,
}
# The options that replace settings of the same name.
SETTING_OPTIONS: Final = ("mode", "dialect", "dry_run", "commands")
_NARROW: Final = 60
_BREAK: Final = "\0"
# Indented, in two columns, or a heading.
_LAID_OUT: Final = re.compile(r" |\S+(?: \S+)* {2,}(?=\S)|.*:$")
_MAX_DIGITS: Final = 15
_NEGATIVE: Final = re.compile(r"-\d*\.?\d+")
_EPILOG: Final = """\
Without a command: print an overview of this workspace.

exit codes:
  0    done
  1    the tool, the gate or the check failed
  2    the command line or the configuration is wrong
  3    an approval is missing, and no user could be asked
  4    the budget or the steps of an agent are used up
  5    refused by a rule, a limit or the user
  6    the record cannot be used
  130  aborted at a question or by Ctrl-C"""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the text below the options if they fit the terminal, else wraps them. On a
    narrow terminal, the help of an option begins further to the left.
    """

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **options)
        if self._width < _NARROW:
            self._max_help_position = min(self._max_help_position, _NARROW // 4)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from handrail.cli.render.screen import wrap_columns

        lines = []
        for paragraph in re.split(r"\n(?=\n)", text):
            parts = paragraph.removeprefix("\n").splitlines() or [""]
            if max(map(len, parts)) > width and not any(map(_LAID_OUT.match, parts)):
                parts = [" ".join(parts)]
            lines += ["", *(line for part in parts for line in wrap_columns(part, width))]
        return "\n".join(f"{indent}{line}".rstrip() for line in lines[1:])

    def _split_lines(self, text: str, width: int) -> list[str]:
        # A list without spaces is broken after a comma.
        breakable = re.sub(r",(?=\S)", f",{_BREAK} ", text)
        lines = super()._split_lines(breakable, width)
        return [line.replace(f"{_BREAK} ", "").replace(_BREAK, "") for line in lines]


class UsageError(Exception):
    """Raised for an invalid command line."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Parser(argparse.ArgumentParser):
    """argparse with suggestions for typing errors; values in messages are escaped."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` with a pointer to the help."""
        raise UsageError(safe_text(message, one_line=True), f"see `{self.prog} --help`")

    def parse_known_args(  # type: ignore[override]  # narrower than the base class
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse options in any position; raises `UsageError` for words that are left over."""
        if self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        options, rest = super().parse_known_args(self._options_first(args), namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return options, rest

    def _options_first(self, words: Sequence[str]) -> list[str]:
        """Move options before positionals: argparse would fill optional positionals as soon as
        an option follows, and reject the positionals after it.
        """
        options: list[str] = []
        bare: list[str] = []
        positionals: list[str] = []
        rest = deque(words)
        while rest:
            word = rest.popleft()
            action = self._option_string_actions.get(word)
            if word == "--":
                positionals = [word, *positionals, *rest]
                rest.clear()
            elif not self._is_option(word):
                positionals.append(word)
            elif action is None or action.nargs == 0:
                options.append(word)
            elif action.nargs != "?":
                options += [word, *([rest.popleft()] if rest else [])]
            elif rest and rest[0] != "--" and not self._is_option(rest[0]):
                options += [word, rest.popleft()]
            else:
                bare.append(word)
        # An option without its optional value must not take a positional for it.
        end = ["--"] if bare and positionals[:1] != ["--"] else []
        return [*options, *bare, *end, *positionals]

    def _is_option(self, word: str) -> bool:
        if not word.startswith("-") or word == "-":
            return False
        if word.partition("=")[0] in self._option_string_actions:
            return True
        return " " not in word and not _NEGATIVE.fullmatch(word)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        known = [str(choice) for choice in action.choices or ()]
        if action.choices is None or value in action.choices:
            return
        what = "command" if isinstance(action, Subparsers) else str(action.metavar or action.dest)
        self.error(f"there is no {what} {value!r}; {suggest_name(str(value), known)}")

    def command_position(self, words: Sequence[str]) -> int | None:
        """Return the index of the command; None if there is none.

        Raises `UsageError` for an unknown option before it.
        """
        rest = iter(enumerate(words))
        for position, word in rest:
            if not word.startswith("-") or word == "-":
                return position
            flag, equals, _ = word.partition("=")
            known = self._option_string_actions
            action = known.get(flag) or known.get(word[:2])
            if action is None or word == "--":
                self.error(f"there is no option {flag!r}; {suggest_name(flag, list(known))}")
            if flag in known and action.nargs != 0 and not equals:
                next(rest, None)
        return None


def suggest_name(name: str, known: Sequence[str]) -> str:
    """Return advice on an unknown name: similar names, or all."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"one of: {', '.join(known)}"


def parse(words: Sequence[str], options: argparse.Namespace) -> None:
    """Parse a command line into `options`. Raises SystemExit for `--help`, `UsageError`, and
    `invalid_arguments` for an unknown mode or dialect.
    """
    parser = build_parser(load=())
    words = list(words)
    position = parser.command_position(words)
    if position is not None:
        words[position] = ALIASES.get(words[position], words[position])
        parser = build_parser(load=(words[position],))
    for name, value in {**_DEFAULTS, "command": None}.items():
        setattr(options, name, value)
    # A URL with a password must not appear in the list of processes.
    options.store = os.environ.get("HANDRAIL_STORE") or None
    parser.parse_known_args(words, options)
    if options.command is None:
        options.run = import_module("handrail.cli.commands.setup.overview").run
    _check_names(options)


def _check_names(options: argparse.Namespace) -> None:
    """Reject an unknown mode or dialect, even if the command does not use it."""
    if options.mode is not None:
        from handrail.policy.modes import parse_mode

        parse_mode(options.mode)
    if options.dialect is not None:
        from handrail.dialects.known import find_vocabulary

        find_vocabulary(options.dialect)


def build_parser(load: Collection[str] = COMMANDS) -> Parser:
    """Build the parser. Only the modules of the commands in `load` are imported; the others have
    a name and a summary.
    """
    parser = Parser(
        prog="handrail",
        description="Tool runtime for coding agents.",
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "-V",
        "--version",
        action="version",
        version=f"handrail {__version__}",
        help="print the version and exit",
    )
    subparsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", parser_class=Parser
    )
    add_common_options(parser)
    for name, info in COMMANDS.items():
        if name in load:
            import_module(f"handrail.cli.commands.{info.module}").add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=info.summary)
    return parser


def add_command(subparsers: Subparsers[Parser], name: str, **more: Any) -> argparse.ArgumentParser:
    """Add the parser of a command, with its summary and the common options."""
    summary = COMMANDS[name].summary
    parser = subparsers.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}.",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        **more,
    )
    add_common_options(parser)
    return parser


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add the common options, without defaults: the options are parsed at two positions, and a
    default at one would overwrite the value at the other.
    """
    group = parser.add_argument_group("common options")

    def add(*flags: str, **more: Any) -> None:
        group.add_argument(*flags, default=argparse.SUPPRESS, **more)

    add("-w", "--workspace", metavar="DIR", help="workspace (default: current directory)")
    add(
        "--mode",
        metavar="MODE",
        help="permission mode, what runs without asking: plan, default, accept-edits, sandboxed, bypass, ...",
    )
    add(
        "--dialect",
        metavar="DIALECT",
        help="tool vocabulary to use (canonical, claude, codex, ...)",
    )
    add("--session", metavar="NAME", help="name of the session")
    add(
        "--store",
        metavar="FILE",
        help="file of the record, :memory:, or postgresql://... (default: $HANDRAIL_STORE)",
    )
    add("--config", metavar="FILE", help="settings file to use instead of your own")
    add("--dry-run", action="store_true", help="show what would change without changing it")
    allow = {"dest": "commands", "action": "store_const"}
    add("--allow-commands", const=True, help="enable commands and code", **allow)
    add("--no-commands", const=False, help="disable commands and code", **allow)
    add("--json", action="store_true", help="print JSON, one object per line")


def parse_count(text: str) -> int:
    """Return the value of an option that takes a number from 1 on; raises `ArgumentTypeError`."""
    if not text.isascii() or not text.isdecimal() or len(text) > _MAX_DIGITS or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def add_definition_parser(
    subparsers: Subparsers[Parser],
    command: str,
    kind: str,
    run: Callable[[argparse.Namespace], int],
) -> None:
    """Add the parser of a command about definitions in files, such as skills."""
    parser = add_command(subparsers, command)
    parser.add_argument(
        "action", nargs="?", choices=("list", "show", "trust", "revoke"), default="list",
        metavar="ACTION", help="list (default), show, trust or revoke",
    )  # fmt: skip
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"name of the {kind}")
    parser.set_defaults(run=run)
