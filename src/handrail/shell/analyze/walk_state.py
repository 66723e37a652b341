"""The state of a walk through a syntax tree: the results so far, the context of a node, the
possible working directories and the variables that the shell evaluates.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from handrail.core.commands import Reason, UnreadableCommand
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.parse.printed_numbers import printed_number
from handrail.shell.parse.syntax import Assignment, Opaque, Script, Substitution, Word

# The shell expands, looks up or runs what stands in them.
_RUN: Final = frozenset(
    {"PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "BASH_ENV", "ENV", "BASH_ALIASES", "BASH_CMDS",
     "BASH_COMPAT", "SHELLOPTS", "BASHOPTS", "TEXTDOMAIN", "TEXTDOMAINDIR"}
)  # fmt: skip
# Bash evaluates whatever is assigned to them as arithmetic, and a subscript in it runs commands.
INTEGER_VARIABLES: Final = frozenset(
    {"RANDOM", "SRANDOM", "SECONDS", "OPTIND", "HISTCMD", "LINENO", "BASHPID", "BASH_SUBSHELL",
     "EPOCHSECONDS", "BASH_MONOSECONDS"}
)  # fmt: skip
# The shell itself puts text into them that others have written: arguments, names, matches.
_TEXTS: Final = frozenset(
    {"_", "PWD", "OLDPWD", "DIRSTACK", "REPLY", "MAPFILE", "COPROC", "OPTARG", "FUNCNAME",
     "BASH_REMATCH", "BASH_COMMAND", "BASH_ARGV", "BASH_ARGV0", "BASH_SOURCE",
     "BASH_EXECUTION_STRING", "READLINE_LINE"}
)  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER: Final = re.compile(r"-?[0-9]+")
_EVALUATED: Final = "its value is evaluated as arithmetic, which can run commands"
_RANGE: Final = re.compile(r"\{-?[0-9]+\.\.-?[0-9]+\}|\$\(\(.*\)\)", re.DOTALL)

Directories = frozenset[str | None]

START: Final[Directories] = frozenset({""})
UNKNOWN: Final[Directories] = frozenset({None})
NOWHERE: Final[Directories] = frozenset()
# With more, a list of everything that could be touched says nothing any more.
_MAX_PLACES: Final = 4

MOVERS: Final = frozenset({"cd", "chdir", "pushd", "popd"})

_PRINTING: Final = frozenset({"echo", "printf", "cat"})


class FunctionTable:
    """The functions that a command defines, and what a call of their name can mean."""

    def __init__(self) -> None:
        self.move = False
        self.elsewhere = False
        self._certain: set[str] = set()
        self._uncertain: set[str] = set()
        self._outside: set[str] = set()
        self._dropped = False

    @property
    def names(self) -> frozenset[str]:
        """Every name that is defined."""
        return frozenset(self._certain | self._uncertain)

    def define(self, name: str, *, certain: bool) -> None:
        """Record a definition. `certain`: it surely runs before anything calls the name."""
        if certain and name not in self._certain:
            self._certain.add(name)
        else:
            self._uncertain.add(name)

    def called(self, name: str, *, outside: bool) -> None:
        """Record a call. `outside`: another program starts it, so it means a program."""
        if outside:
            self._outside.add(name)
        if name == "unset":
            self._dropped = True

    def doubts(self, trusted: Collection[str]) -> Iterator[Reason]:
        """Reasons why the name of a function may also mean a program. `trusted`: programs whose
        output is relied on.
        """
        for name in sorted(self._uncertain):
            yield Reason("a function is defined where it may not hold", name)
        for name in sorted(self.names & self._outside):
            yield Reason("a function's name is run by another program", name)
        for name in sorted(self.names & _PRINTING.union(trusted)):
            yield Reason("a function takes the place of what prints known text", name)
        if self._dropped and self.names:
            yield Reason("functions are defined, and something is unset", "unset")


_MAX_INVOCATIONS: Final = 5000
_MAX_TEXTS: Final = 60
_MAX_PART: Final = 200


@dataclass(frozen=True, slots=True)
class WalkContext:
    """What holds for everything inside a construct."""

    wrapped_by: tuple[str, ...] = ()
    piped_from: tuple[Invocation, ...] = ()
    stdin: Word | None = None
    assignments: tuple[Assignment, ...] = ()
    background: bool = False
    function: str | None = None
    in_substitution: bool = False
    remote: bool = False
    extra_arguments: bool = False
    # In the shell that reads the command: here `cd` lasts.
    here: bool = True
    # And for certain: a function defined here holds from here on.
    certain: bool = True
    # Another program looks for the program: functions do not count.
    outside: bool = False
    # The arguments of the shell text that it stands in; None if they are not known.
    arguments: tuple[Word, ...] | None = None
    # What it prints goes to `head` and nowhere else.
    feeds_head: bool = False
    # The variables of the loops around it.
    bound: frozenset[str] = frozenset()

    def apart(self) -> WalkContext:
        """The context of a subshell."""
        return replace(self, here=False, certain=False)

    def unsure(self) -> WalkContext:
        """The context of a branch that may not run."""
        return replace(self, certain=False)


class WalkResult:
    """The invocations and doubts of one command."""

    def __init__(self, reread: Callable[[str], Script]) -> None:
        self.invocations: list[Invocation] = []
        self.functions = FunctionTable()
        self.names = EvaluatedNames()
        self.moves = False
        self.may_loop_forever = False
        self._doubts: dict[Reason, None] = {}
        self._reread = reread
        self._texts: dict[str, Script | None] = {}

    def emit(self, one: Invocation, context: WalkContext, at: Directories) -> None:
        """Add an invocation, once for each directory in which it may run."""
        if len(self.invocations) >= _MAX_INVOCATIONS:
            raise UnreadableCommand(f"it starts more than {_MAX_INVOCATIONS} programs")
        for place in sorted(at, key=str) or [None]:
            self.invocations.append(
                replace(
                    one,
                    assignments=context.assignments + one.assignments,
                    piped_from=context.piped_from,
                    wrapped_by=context.wrapped_by,
                    extra_arguments=context.extra_arguments,
                    background=context.background,
                    cwd=place,
                    function=context.function,
                    in_substitution=context.in_substitution,
                    remote=context.remote,
                    feeds_head=context.feeds_head,
                    arguments=context.arguments,
                    bound=context.bound,
                )
            )

    def doubt(self, text: str, part: str) -> None:
        """Add a reason why the command is not safe."""
        self._doubts[Reason(text, part[:_MAX_PART])] = None

    def script(self, text: str) -> Script | None:
        """The tree of a text that is run; None, and a doubt, if it cannot be parsed."""
        if text not in self._texts:
            if len(self._texts) >= _MAX_TEXTS:
                raise UnreadableCommand(f"it runs more than {_MAX_TEXTS} texts")
            try:
                self._texts[text] = self._reread(text)
            except UnreadableCommand as error:
                self.doubt(f"a text is run that cannot be read: {error}", text)
                self._texts[text] = None
        return self._texts[text]

    def flat(self) -> FlatCommand:
        """The flattened command, after the walk."""
        doubts = (*self._doubts, *self.functions.doubts(self.names.programs), *self.names.doubts())
        invocations = self.invocations
        if self.functions.elsewhere:
            invocations = [
                one if one.function is None else replace(one, cwd=None) for one in invocations
            ]
        return FlatCommand(
            tuple(invocations),
            self.functions.names,
            doubts,
            changes_directory=self.moves,
            evaluates=frozenset(self.names.evaluated),
            may_loop_forever=self.may_loop_forever,
            places=frozenset(self.names.places),
        )


class EvaluatedNames:
    """The variables that are assigned, and those that are evaluated as arithmetic."""

    def __init__(self) -> None:
        self.evaluated: set[str] = set()
        self.texts: set[str] = set(_TEXTS)
        self.search_directories = False
        # Programs whose output counts as a number, and variables with files for them.
        self.programs: set[str] = set()
        self.places: set[str] = set()
        self._set: dict[str, bool] = {}
        self._run: set[str] = set()

    def assigned(self, assignments: Sequence[Assignment]) -> None:
        """Record names that get a value."""
        for one in assignments:
            self._set[one.name] = self._set.get(one.name, True) and self._is_number(one)
            if one.name in _RUN:
                self._run.add(one.name)
            if one.name == "CDPATH":
                self.search_directories = True

    def _is_number(self, one: Assignment) -> bool:
        if one.value is None or not one.value.parts:
            return not one.inner
        only = one.value.parts[0] if len(one.value.parts) == 1 else None
        if isinstance(only, Opaque):
            return bool(_RANGE.fullmatch(one.value.source))
        if isinstance(only, Substitution) and only.kind == "output" and not one.inner:
            number = printed_number(only.script)
            self.places |= number.places if number is not None else frozenset()
            return number is not None
        return not one.inner and bool(_NUMBER.fullmatch(one.value.value or "no"))

    def doubts(self) -> Iterator[Reason]:
        """Reasons why a variable could run a command that is not visible."""
        for name in sorted(self._run):
            yield Reason("the shell runs or expands the value of this variable", name)
        for name in sorted(self.evaluated | INTEGER_VARIABLES):
            computed = name in self.texts or not _NAME.fullmatch(name)
            if computed or not self._set.get(name, True):
                yield Reason(_EVALUATED, name)


def environment_doubts(evaluated: Collection[str], env: Mapping[str, str]) -> Iterator[Reason]:
    """Reasons why a variable of `env` could run a command when it is evaluated."""
    for name in sorted(env):
        evaluates = name in evaluated or name in INTEGER_VARIABLES
        if evaluates and not _NUMBER.fullmatch(env[name]):
            yield Reason(_EVALUATED, name)


class DirectoryFlow(NamedTuple):
    """The directories after success and after failure; empty: that outcome never happens."""

    ok: Directories
    failed: Directories

    @property
    def after(self) -> Directories:
        """The directories after either outcome."""
        return either(self.ok, self.failed)


def unchanged(places: Directories) -> DirectoryFlow:
    """The flow of a command that does not change the directory."""
    return DirectoryFlow(places, places)


def either(first: Directories, second: Directories) -> Directories:
    """The directories of two branches; unknown if one is, or if they are too many."""
    places = first | second
    return UNKNOWN if None in places or len(places) > _MAX_PLACES else places


def change_directory(words: Sequence[Word], places: Directories) -> DirectoryFlow:
    """The flow of `cd`, `pushd` or `popd`; on failure the directory stays."""
    target = _target([word for word in words[1:] if word.value not in ("-L", "-P", "-e", "--")])
    if target is None or words[0].value == "popd":
        return DirectoryFlow(UNKNOWN, places)
    reached = frozenset(None if at is None else _joined(at, target) for at in places)
    if target.startswith("/"):
        reached = frozenset({_joined("", target)})
    return DirectoryFlow(either(reached, NOWHERE), places)


def _target(operands: Sequence[Word]) -> str | None:
    if len(operands) != 1:
        return None
    word = operands[0]
    value = word.value
    if not value or word.globs or word.tilde or value[0] in "-+":
        return None
    return value


def _joined(at: str, target: str) -> str:
    path = posixpath.normpath(posixpath.join(at, target))
    return "" if path == "." else path
