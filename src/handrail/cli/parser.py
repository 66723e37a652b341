"""The words of the command line: which commands and options there are, and what was meant.

Options that every command takes are accepted before and after the command's name.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final, NoReturn

from handrail import __version__
from handrail.core.safe_text import safe_text

# Name to module below `cli.commands`, in the order in which `--help` lists them.
COMMANDS: Final[Mapping[str, str]] = {
    "demo": "setup.demo",
    "call": "calls.call",
    "batch": "calls.batch",
    "tools": "calls.tools",
    "explain": "calls.explain",
    "log": "record.log",
    "show": "record.show",
    "undo": "record.undo",
    "redo": "record.redo",
    "recover": "record.recover",
    "verify": "record.verify",
    "approvals": "calls.approvals",
    "plan": "calls.plan",
    "gates": "calls.gates",
    "jobs": "calls.jobs",
    "letters": "calls.failed_calls",
    "gc": "record.gc",
    "config": "setup.config",
    "trust": "setup.trust",
    "serve": "setup.serve",
    "doctor": "setup.doctor",
    "completion": "setup.completion",
}
Subparsers = argparse._SubParsersAction  # noqa: SLF001 - argparse has no public name for it

_DEFAULTS: Final[Mapping[str, Any]] = {
    "workspace": ".",
    "mode": None,
    "dialect": None,
    "session": None,
    "store": None,
    "config": None,
    "dry_run": None,
    "json": False,
}
_NEGATIVE: Final = re.compile(r"-\d*\.?\d+")
_EPILOG: Final = """\
without a command: what is enforced here and what happened last

exit codes: 0 done, 1 failed or refused, 2 usage, 130 aborted"""


class UsageError(Exception):
    """Words that are no command; `hint` says where to look."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Parser(argparse.ArgumentParser):
    """argparse, with errors that suggest what was meant and cannot move the cursor."""

    def error(self, message: str) -> NoReturn:
        """Leave, with a pointer to the help."""
        raise UsageError(safe_text(message, one_line=True), f"see `{self.prog} --help`")

    def parse_known_args(  # type: ignore[override]  # one shape is enough for ours
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Options may stand between the other words of a command; leaves if a word is left."""
        if self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        options, rest = super().parse_known_args(self._options_first(args), namespace)
        if rest:
            self.error(f"unrecognised: {' '.join(rest)}")
        return options, rest

    def _options_first(self, words: Sequence[str]) -> list[str]:
        """The same words. argparse itself fills every positional that may be missing as soon as
        an option follows, and then knows no place for those that come after it.
        """
        options: list[str] = []
        others: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                others = [word, *others, *rest]
            elif not self._is_option(word):
                others.append(word)
            else:
                options.append(word)
                action = self._option_string_actions.get(word)
                if action is not None and action.nargs != 0:
                    options += [value for value in (next(rest, None),) if value is not None]
        return [*options, *others]

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
        self.error(f"there is no {what} {value!r}; {_suggest(str(value), known)}")

    def check_options(self, words: Sequence[str]) -> None:
        """Complain of an unknown option before its value is taken for a command."""
        rest = iter(words)
        for word in rest:
            if not word.startswith("-") or word == "-":
                return
            flag, equals, _ = word.partition("=")
            known = self._option_string_actions
            action = known.get(flag) or known.get(word[:2])
            if action is None or word == "--":
                self.error(f"there is no option {flag!r}; {_suggest(flag, list(known))}")
            if flag in known and action.nargs != 0 and not equals:
                next(rest, None)


def _suggest(given: str, known: Sequence[str]) -> str:
    close = get_close_matches(given, known, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"one of: {', '.join(known)}"


def parse(words: Sequence[str], options: argparse.Namespace) -> None:
    """Fill in what the words say; leaves by SystemExit for `--help` and for usage errors.

    Raises `invalid_arguments` for a mode or dialect that does not exist.
    """
    parser = build_parser()
    for name, value in {**_DEFAULTS, "command": None}.items():
        setattr(options, name, value)
    parser.check_options(words)
    parser.parse_known_args(words, options)
    if options.command is None:
        options.run = import_module("handrail.cli.commands.setup.overview").run
    _check_names(options)


def _check_names(options: argparse.Namespace) -> None:
    """Refuse a mode or dialect that does not exist, also where the command needs none."""
    if options.mode is not None:
        from handrail.policy.modes import parse_mode

        parse_mode(options.mode)
    if options.dialect is not None:
        from handrail.dialects.known import vocabulary_of

        vocabulary_of(options.dialect)


def build_parser() -> Parser:
    """The whole tree, also read by `completion`."""
    parser = Parser(
        prog="handrail",
        description="The tool runtime for coding agents.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "-V",
        "--version",
        action="version",
        version=f"handrail {__version__}",
        help="print the version",
    )
    subparsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", parser_class=Parser
    )
    add_common_options(parser)
    for module in COMMANDS.values():
        import_module(f"handrail.cli.commands.{module}").add_parser(subparsers)
    return parser


def add_command(
    subparsers: Subparsers[Parser], name: str, summary: str, **more: Any
) -> argparse.ArgumentParser:
    """A command's own parser, with the common options in it."""
    parser = subparsers.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **more,
    )
    add_common_options(parser)
    return parser


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """The options that every command takes; suppressed defaults, so that neither place of
    an option wipes out the other.
    """
    group = parser.add_argument_group("common options")

    def add(*flags: str, **more: Any) -> None:
        group.add_argument(*flags, default=argparse.SUPPRESS, **more)

    add("-w", "--workspace", metavar="DIR", help="the workspace (default: here)")
    add("--mode", metavar="MODE", help="how much happens without a question")
    add("--dialect", metavar="DIALECT", help="whose tool names and arguments are used")
    add("--session", metavar="NAME", help="a named session")
    add("--store", metavar="FILE", help="where the record is kept, or :memory:")
    add("--config", metavar="FILE", help="settings to use instead of your own file")
    add("--dry-run", action="store_true", help="show what would change, change nothing")
    add("--json", action="store_true", help="print JSON objects, one per line")
