"""The syntax tree of a command line, built by `reader` and flattened by `walk`.

For syntax that has no node here the reader raises `UnreadableCommand`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_ASSIGNS: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


@dataclass(frozen=True, slots=True)
class Text:
    """Literal characters; unquoted ones may include `*`, `?`, `[` and `~`."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name` or `${name…}`; `plain` if the expansion has no operator."""

    name: str
    quoted: bool
    plain: bool
    # Words inside an operator, `${x:-$(rm y)}`: their substitutions run too.
    inner: tuple[Word, ...] = ()
    # `:-`, `+`, `#` … if the expansion has one; `:` for a slice, `/` and `//` for a replacement,
    # `length` for `${#x}`, `!` for `${!x}`.
    operator: str = ""
    # The words of `[…]`; `inner` begins with them.
    index: tuple[Word, ...] = ()

    @property
    def operands(self) -> tuple[Word, ...]:
        """The words behind the operator."""
        return self.inner[len(self.index) :]


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(…)`, backticks, `<(…)` or `>(…)`; `kind` is "output", "<" or ">"."""

    script: Script
    kind: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Braces:
    """`{a,b}`: each alternative makes a word of its own. A sequence `{1..9}` is `Opaque`."""

    alternatives: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """An expansion whose value is not computed (arithmetic, extended glob, `{1..9}`).

    `is_placeholder`: it stands for the `{}` that a wrapper fills in.
    """

    source: str
    inner: tuple[Word, ...] = ()
    is_placeholder: bool = False


Part = Text | Variable | Substitution | Braces | Opaque


@dataclass(frozen=True, slots=True)
class Word:
    """One word as written (`source`) and parsed (`parts`)."""

    source: str
    parts: tuple[Part, ...]

    @property
    def value(self) -> str | None:
        """The text of the word, quotes removed; None if it contains an expansion.

        Unquoted globs and a leading `~` are kept; see `globs` and `tilde`.
        """
        texts = [part.text for part in self.parts if isinstance(part, Text)]
        return "".join(texts) if len(texts) == len(self.parts) else None

    @property
    def globs(self) -> bool:
        """Whether an unquoted `*`, `?` or `[…]` makes the word a pattern for file names."""
        bare = [part.text for part in self.parts if isinstance(part, Text) and not part.quoted]
        text = "".join(bare)
        return "*" in text or "?" in text or "]" in text.partition("[")[2]

    @property
    def tilde(self) -> bool:
        """Whether an unquoted `~` may be expanded: at the start, or in the value of what looks
        like an assignment (`NAME='a':~/b`).
        """
        first = self.parts[0] if self.parts else None
        if not isinstance(first, Text) or first.quoted:
            return False
        if first.text.startswith("~"):
            return True
        bare = [part.text for part in self.parts if isinstance(part, Text) and not part.quoted]
        return any("~" in text for text in bare) and _ASSIGNS.match(first.text) is not None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value`, `NAME+=value`, `NAME[i]=value`, `NAME=(…)`; `value` None: bare `NAME=`."""

    name: str
    value: Word | None
    # Further words in it: an index, the elements of an array.
    inner: tuple[Word, ...] = ()
    # `NAME[i]=`: the index.
    index: Word | None = None
    # `NAME=(…)`: the elements, each with its key if it has one.
    elements: tuple[tuple[Word | None, Word], ...] | None = None
    # `NAME+=`.
    appends: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """`operator` as written (`>`, `>>`, `<`, `&>`, `>|`, `<<<`, `<<`, `>&`, …).

    For a here-document `body` is its content and `target` its end mark.
    """

    operator: str
    target: Word
    fd: str = ""
    body: Word | None = None


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A simple command: assignments, words, redirects; any may be missing.

    `declares` is the builtin's name where the words are of `export`, `declare`, `local`,
    `readonly` or `typeset`: `words` then starts with that name.
    """

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    declares: str = ""


@dataclass(frozen=True, slots=True)
class PipelineCommand:
    """Stages joined by `|` or `|&`, in order."""

    stages: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class AndOrList:
    """Two statements joined by `&&` or `||`."""

    first: Statement
    operator: str
    second: Statement


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """`{ …; }` or, as `subshell`, `( … )`."""

    script: Script
    subshell: bool


@dataclass(frozen=True, slots=True)
class CompoundCommand:
    """`if`, `while`, `until`, `for`, `select`, `case`, `time`, `coproc`, `[[ ]]`, `(( ))`.

    `scripts` is what it runs, `words` what it expands, `variables` the names that it sets.
    """

    kind: str
    scripts: tuple[Script, ...] = ()
    words: tuple[Word, ...] = ()
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """A function definition; the body runs when the function is called."""

    name: str
    body: Statement


Command = (
    SimpleCommand
    | PipelineCommand
    | AndOrList
    | CommandGroup
    | CompoundCommand
    | FunctionDefinition
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A command with its redirects. `source` is its text."""

    command: Command
    source: str
    redirects: tuple[Redirect, ...] = ()
    background: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """A list of statements.

    Only the outermost script has names: `evaluates` are variables (or the source of words) that are
    evaluated as arithmetic, which can run commands; `assigns` are variables set by an expansion such as
    `${x:=…}`, and `texts` those of them that may not be numbers.
    """

    statements: tuple[Statement, ...] = ()
    evaluates: frozenset[str] = frozenset()
    assigns: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    # Programs whose output counts as a number or a name, and variables that must not begin with a
    # dash for that.
    programs: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()


def all_statements(script: Script) -> Iterator[Statement]:
    """Every statement of a script at any depth, except those in substitutions."""
    waiting = list(reversed(script.statements))
    while waiting:
        statement = waiting.pop()
        yield statement
        waiting += reversed(list(_below(statement.command)))


def chained_statements(chain: AndOrList) -> list[Statement]:
    """The statements that `&&` and `||` join, in order, however many there are."""
    found = [chain.second]
    first = chain.first
    while isinstance(first.command, AndOrList):
        found.append(first.command.second)
        first = first.command.first
    return [first, *reversed(found)]


def all_simple_commands(script: Script) -> Iterator[SimpleCommand]:
    """Every simple command of a script, except those in substitutions."""
    for statement in all_statements(script):
        if isinstance(statement.command, SimpleCommand):
            yield statement.command


def _below(command: Command) -> Iterable[Statement]:
    match command:
        case PipelineCommand():
            return command.stages
        case AndOrList():
            return (command.first, command.second)
        case CommandGroup():
            return command.script.statements
        case CompoundCommand():
            return [one for script in command.scripts for one in script.statements]
        case FunctionDefinition():
            return (command.body,)
        case SimpleCommand():
            return ()
