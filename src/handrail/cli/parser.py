"""The words of the command line: which commands and options there are, and what was meant.

Options that every command takes are accepted before and after the command's name.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final, NoReturn

from handrail import __version__
from handrail.core.safe_text import safe_text

# In the order in which `--help` shows them; each is a module of this package.
COMMANDS: Final = (
    "demo",
    "call",
    "batch",
    "tools",
    "explain",
    "log",
    "show",
    "undo",
    "redo",
    "recover",
    "verify",
    "approvals",
    "plan",
    "gates",
    "jobs",
    "letters",
    "gc",
    "config",
    "trust",
    "serve",
    "doctor",
    "completion",
)
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
_EPILOG: Final = """\
without a command: what is enforced here and what happened last

exit codes: 0 done, 1 failed or refused, 2 usage, 130 aborted"""


class Parser(argparse.ArgumentParser):
    """argparse, with errors that suggest what was meant and cannot move the cursor."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2 and a pointer to the help."""
        told = safe_text(message, one_line=True)
        self.exit(2, f"handrail: {told}\nhint: see `{self.prog} --help`\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        known = [str(choice) for choice in action.choices or ()]
        if action.choices is None or value in action.choices:
            return
        what = "command" if isinstance(action, Subparsers) else str(action.metavar or action.dest)
        self.error(f"there is no {what} {value!r}; {_meant(str(value), known)}")

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
                self.error(f"there is no option {flag!r}; {_meant(flag, list(known))}")
            if flag in known and action.nargs != 0 and not equals:
                next(rest, None)


def _meant(given: str, known: Sequence[str]) -> str:
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
    _, rest = parser.parse_known_args(words, options)
    if options.command is None:
        options.run = import_module("handrail.cli.overview").run
    # argparse takes the positionals up to the first option only; the others end up here.
    more = [word for word in rest if word == "-" or not word.startswith("-")]
    if rest and (len(more) < len(rest) or not hasattr(options, "arguments")):
        parser.error(f"unrecognised: {' '.join(rest)}")
    if more:
        options.arguments = [*options.arguments, *more]
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
    add_common(parser)
    for name in COMMANDS:
        import_module(f"handrail.cli.{name}").add_parser(subparsers)
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
    add_common(parser)
    return parser


def add_common(parser: argparse.ArgumentParser) -> None:
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
