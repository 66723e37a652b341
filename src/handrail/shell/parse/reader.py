"""Parses the text of a command. Text without a certain meaning is refused.

Bash decides what runs, not the parser: a character that the two may read differently makes the
text unreadable.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Final

from handrail.core.commands import ShellParser, UnreadableCommand
from handrail.shell.parse import trivial
from handrail.shell.parse.command_reader import CommandReader
from handrail.shell.parse.shfmt_nodes import CommandSource, check_node, items
from handrail.shell.parse.syntax import (
    FunctionDefinition,
    Script,
    SimpleCommand,
    all_simple_commands,
    all_statements,
)

MAX_BYTES: Final = 65_536
_BEFORE_COMMENT: Final = tuple(bytes([byte]) for byte in b" \t\n;&|(")

# Tab and newline are blanks to both; the parser drops NUL and CR, bash marks text with others.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# The parser goes on reading a comment, bash a new line.
_CONTINUED_COMMENT: Final = re.compile(r"#[^\n]*\\\n")
# bash joins lines before it looks for `$(`, `${` and `$((`, in quotes and here-documents too;
# the parser does not.
_TORN: Final = re.compile(r"[$(<>]\\\n")
# With them a name may mean another variable.
_UNDOING: Final = frozenset({"unset", "eval", "source", ".", "local", "trap"})
# Arrays with numbers for subscripts that bash itself keeps: no declaration changes that.
_OWN_ARRAYS: Final = re.compile(
    r"BASH_\w+|DIRSTACK|FUNCNAME|GROUPS|PIPESTATUS|COPROC|MAPFILE|COMPREPLY|COMP_WORDS"
)
# `eval` drops a last backslash that `bash -c` keeps.
_OPEN_END: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")


def parse_command(command: str, parser: ShellParser) -> Script:
    """The tree of a command. Raises `UnreadableCommand`."""
    script = trivial.read_trivial(command)
    if script is not None:
        return script
    _refuse_odd_text(command)
    tree = check_node(parser.parse(command), "File")
    if "#" in command:
        _refuse_false_comments(tree, command.encode())
    commands = CommandReader(CommandSource(command))
    try:
        script = commands.script(items(tree, "Stmts"))
    except RecursionError:
        raise UnreadableCommand("it is nested too deep to be read") from None
    words = commands.words
    keyed = _associative_arrays(script)
    keys = (names for array, names in words.keys.items() if array not in keyed)
    return Script(
        script.statements,
        evaluates=frozenset(words.evaluates.union(*keys)),
        assigns=frozenset(words.assigns),
        texts=frozenset(words.texts),
        programs=frozenset(words.programs),
        places=frozenset(words.places),
    )


def _associative_arrays(script: Script) -> frozenset[str]:
    """The arrays that are associative for as long as the script runs: their subscripts are texts."""
    if sys.platform == "darwin":
        # The bash of macOS, 3.2, knows none: the subscripts are evaluated.
        return frozenset()
    found: set[str] = set()
    for statement in script.statements:
        command = statement.command
        if not isinstance(command, SimpleCommand) or statement.background or statement.redirects:
            break
        values = [word.value for word in command.words]
        if command.declares in ("declare", "typeset") and values[1:2] == ["-A"]:
            found.update(
                one.name
                for one in command.assignments
                if one.value is None and not _OWN_ARRAYS.fullmatch(one.name)
            )
        elif values[:1] != ["set"]:
            break
    words = (word.value for one in all_simple_commands(script) for word in one.words)
    defines = any(isinstance(one.command, FunctionDefinition) for one in all_statements(script))
    # What sets an element of an array may be an arithmetic expression by itself.
    return frozenset() if defines or not _UNDOING.isdisjoint(words) else frozenset(found)


def _refuse_false_comments(tree: object, command: bytes) -> None:
    """Raise if the parser found a comment that bash would run.

    To bash, a `#` in the middle of a word does not begin a comment.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            at = node["Hash"].get("Offset", 0) if "Hash" in node else 0
            if at and command[at - 1 : at] not in _BEFORE_COMMENT:
                raise UnreadableCommand(
                    "a # in the middle of a word: bash and others disagree on that"
                )
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _refuse_odd_text(command: str) -> None:
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        raise UnreadableCommand("it contains half of a surrogate pair, which is not text") from None
    if size > MAX_BYTES:
        raise UnreadableCommand(
            f"it is longer than {MAX_BYTES} bytes: put it into a file and run that"
        )
    odd = _CONTROL.search(command)
    if odd:
        raise UnreadableCommand(
            f"it contains the control character {odd[0]!r}: write it as $'…' or not at all"
        )
    if _CONTINUED_COMMENT.search(command):
        raise UnreadableCommand(
            "a line with # ends in a backslash: bash and others disagree on that"
        )
    if _TORN.search(command):
        raise UnreadableCommand(
            "a backslash tears a sign such as $( over two lines: write it on one"
        )
    if _OPEN_END.search(command):
        raise UnreadableCommand(
            "it ends in a backslash: bash drops it in some places and keeps it in others"
        )
