"""The state of a walk through a syntax tree: the results so far, and the context of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from handrail.core.commands import Reason, UnreadableCommand
from handrail.shell.analyze.evaluated_names import EvaluatedNames
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.analyze.working_directory import Directories
from handrail.shell.parse.syntax import Assignment, Script, Word

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

    def doubts(self) -> Iterator[Reason]:
        """Reasons why the name of a function may also mean a program."""
        for name in sorted(self._uncertain):
            yield Reason("a function is defined where it may not hold", name)
        for name in sorted(self.names & self._outside):
            yield Reason("a function's name is run by another program", name)
        for name in sorted(self.names & _PRINTING):
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
        doubts = (*self._doubts, *self.functions.doubts(), *self.names.doubts())
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
        )
