"""Flattens a syntax tree into every program that it could start, in any branch.

Nothing that could run is left out: what cannot be followed becomes a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from handrail.core.commands import UnreadableCommand
from handrail.shell.analyze import program_runs, walk_state
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.analyze.program_runs import ProgramRunner
from handrail.shell.analyze.walk_state import Directories, DirectoryFlow, WalkContext, WalkResult
from handrail.shell.parse.braces import expand_braces
from handrail.shell.parse.syntax import (
    AndOrList,
    Assignment,
    Braces,
    CommandGroup,
    CompoundCommand,
    FunctionDefinition,
    Opaque,
    PipelineCommand,
    Redirect,
    Script,
    SimpleCommand,
    Statement,
    Substitution,
    Text,
    Variable,
    Word,
    all_simple_commands,
)

_MAX_WORDS: Final = 4096
_READ_WORD: Final = re.compile(r"-r|[A-Za-z_]\w*")


def flatten(script: Script, reread: Callable[[str], Script]) -> FlatCommand:
    """Everything a script runs. `reread` parses text that is run (`bash -c '…'`).

    Raises `UnreadableCommand` for a script that is too large or too deeply nested.
    """
    found = WalkResult(reread)
    try:
        _TreeWalk(found).whole(script, WalkContext(), walk_state.START)
    except RecursionError:
        raise UnreadableCommand("it is nested too deep to be followed") from None
    return found.flat()


class _TreeWalk:
    def __init__(self, found: WalkResult) -> None:
        self._found = found
        self._programs = ProgramRunner(found, self.whole)

    def whole(self, script: Script, context: WalkContext, at: Directories) -> DirectoryFlow:
        """Walk a script: the command itself, or text that it runs."""
        self._found.names.evaluated |= script.evaluates
        self._found.names.programs |= script.programs
        self._found.names.places |= script.places
        if script.assigns:
            set_here = tuple(Assignment(name, None) for name in sorted(script.assigns))
            self._found.names.assigned(set_here)
            self._found.names.texts |= script.texts
            bare = Invocation((), ", ".join(sorted(script.assigns)), set_here)
            self._found.emit(bare, context, at)
        return self._script(script, context, at)

    def _script(self, script: Script, context: WalkContext, at: Directories) -> DirectoryFlow:
        end = walk_state.unchanged(at)
        for statement in script.statements:
            end = self._statement(statement, context, end.after)
        return end

    def _statement(
        self, statement: Statement, context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        if statement.background:
            context = replace(context.apart(), background=True)
        stdin = program_runs.stdin_text(statement.redirects, context.stdin)
        if isinstance(statement.command, SimpleCommand):
            inside = replace(context, stdin=stdin)
            end = self._simple(statement.command, statement, inside, at)
        else:
            inside = replace(context, stdin=program_runs.partly_read(stdin))
            if statement.redirects:
                bare = Invocation((), statement.source, redirects=statement.redirects)
                self._found.emit(bare, context, at)
            end = self._joined(statement, inside, at)
        self._redirected(statement.redirects, context, at)
        if statement.background:
            return walk_state.unchanged(at)
        return DirectoryFlow(end.failed, end.ok) if statement.negated else end

    def _joined(self, statement: Statement, context: WalkContext, at: Directories) -> DirectoryFlow:
        match statement.command:
            case PipelineCommand(stages):
                end = self._pipeline(stages, context, at)
            case AndOrList() as chain:
                end = self._chain(chain, context, at)
            case CommandGroup(script, subshell):
                end = self._script(script, context.apart() if subshell else context, at)
                end = walk_state.unchanged(at) if subshell else end
            case CompoundCommand() as command:
                self._words(command.words, context, at)
                end = self._construct(command, context, at)
            case FunctionDefinition(name, body):
                end = self._function(name, body, context, at)
            case SimpleCommand() as command:
                end = self._simple(command, statement, context, at)
        return end

    def _pipeline(
        self, stages: Sequence[Statement], context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        context = context.unsure()
        last = at
        for stage, reader in zip_longest(stages, stages[1:]):
            if stage is not stages[0] and _is(stage, "time"):
                # Only at the start of a pipeline `time` is the shell's own word.
                self._found.doubt("a program called time is run", stage.source)
            start = len(self._found.invocations)
            feeds = program_runs.feeds_head(stage, reader)
            last = self._statement(stage, replace(context, feeds_head=feeds), at).after
            fed = self._found.invocations[start:]
            piped = tuple(one for one in fed if one.in_substitution == context.in_substitution)
            context = replace(context, piped_from=piped, stdin=program_runs.printed_word(stage))
        # With `shopt -s lastpipe` the last stage runs in the shell itself.
        return walk_state.unchanged(walk_state.either(at, last))

    def _chain(self, chain: AndOrList, context: WalkContext, at: Directories) -> DirectoryFlow:
        # The left side of a chain can be as long as the text: no recursion into it.
        links: list[tuple[str, Statement]] = []
        first = Statement(chain, "")
        while isinstance(first.command, AndOrList) and not (
            first.negated or first.background or first.redirects
        ):
            links.append((first.command.operator, first.command.second))
            first = first.command.first
        end = self._statement(first, context, at)
        for operator, second in reversed(links):
            if operator == "&&":
                then = self._statement(second, context.unsure(), end.ok)
                end = DirectoryFlow(then.ok, walk_state.either(end.failed, then.failed))
            else:
                then = self._statement(second, context.unsure(), end.failed)
                end = DirectoryFlow(walk_state.either(end.ok, then.ok), then.failed)
        return end

    def _construct(
        self, command: CompoundCommand, context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        end = walk_state.unchanged(at)
        scripts = command.scripts
        match command.kind:
            case "if":
                end = self._if(scripts, context, at)
            case "while" | "until" | "for ((":
                self._found.may_loop_forever |= not _reads_its_input(command)
                end = self._loop(scripts, context.unsure(), at)
            case "for" | "select":
                self._loop_variable(command, context, at)
                inside = replace(context, bound=context.bound.union(command.variables))
                end = self._loop(scripts, inside.unsure(), at)
            case "case":
                end = self._case(scripts, context.unsure(), at)
            case "time":
                end = self._script(_timed(scripts[0]), context, at)
            case "coproc":
                if context.in_substitution or _is(scripts[0].statements[0], "time"):
                    self._found.doubt("shells disagree on this coproc", command.kind)
                self._script(scripts[0], replace(context.apart(), background=True), at)
        return end

    def _if(
        self, scripts: Sequence[Script], context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        after = walk_state.NOWHERE
        for index in range(0, len(scripts) - 1, 2):
            condition = self._script(scripts[index], context.unsure() if index else context, at)
            then = self._script(scripts[index + 1], context.unsure(), condition.ok)
            after = walk_state.either(after, then.after)
            at = condition.failed
        if len(scripts) % 2:
            at = self._script(scripts[-1], context.unsure(), at).after
        return walk_state.unchanged(walk_state.either(after, at))

    def _case(
        self, scripts: Sequence[Script], context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        after = at
        for script in scripts:
            # With `;&` one branch goes on in the next.
            after = walk_state.either(after, self._script(script, context, after).after)
        return walk_state.unchanged(after)

    def _loop(
        self, scripts: Sequence[Script], context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        start = len(self._found.invocations)
        end = at
        for script in scripts:
            end = walk_state.either(at, self._script(script, context, end).after)
        if end == at:
            return walk_state.unchanged(at)
        # Every round starts where the one before has ended.
        del self._found.invocations[start:]
        for script in scripts:
            self._script(script, context, walk_state.UNKNOWN)
        return walk_state.unchanged(walk_state.UNKNOWN)

    def _loop_variable(
        self, command: CompoundCommand, context: WalkContext, at: Directories
    ) -> None:
        for name in command.variables:
            # Without a list it takes the arguments of the script, which are not known.
            words = command.words or (program_runs.UNKNOWN,)
            assignments = tuple(Assignment(name, word) for word in words)
            self._found.names.assigned(assignments)
            self._found.emit(Invocation((), f"{command.kind} {name}", assignments), context, at)

    def _function(
        self, name: str, body: Statement, context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        called = {one.program for one in self._found.invocations}
        functions = self._found.functions
        functions.define(name, certain=context.certain and name not in called)
        inside = replace(
            context.apart(),
            piped_from=(),
            stdin=program_runs.UNKNOWN,
            function=name,
            extra_arguments=False,
            arguments=None,
        )
        end = self._statement(body, inside, walk_state.START)
        functions.move |= not end.after <= walk_state.START
        return walk_state.unchanged(at)

    def _simple(
        self, command: SimpleCommand, statement: Statement, context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        words = [one for word in command.words for one in expand_braces(word)]
        if len(words) > _MAX_WORDS:
            raise UnreadableCommand(f"it makes more than {_MAX_WORDS} words of its braces")
        assignments = command.assignments
        self._found.names.assigned(assignments)
        one = Invocation(tuple(words), statement.source, assignments, statement.redirects)
        end = walk_state.unchanged(at)
        if words:
            end = self._programs.run(one, context, at)
        elif assignments or statement.redirects:
            self._found.emit(one, context, at)
        for assignment in assignments:
            # The words of a declaration hold the values already.
            values = () if command.declares else (assignment.value,)
            self._words((*values, *assignment.inner), context, at)
        self._words(command.words, context, at)
        return end

    def _redirected(
        self, redirects: Sequence[Redirect], context: WalkContext, at: Directories
    ) -> None:
        for redirect in redirects:
            self._words((redirect.target, redirect.body), context, at)

    def _words(self, words: Iterable[Word | None], context: WalkContext, at: Directories) -> None:
        """Record what runs while words are expanded."""
        for word in words:
            for part in word.parts if word is not None else ():
                match part:
                    case Substitution(script):
                        self._substitution(script, context, at)
                    case Variable(inner=inner) | Opaque(inner=inner):
                        self._words(inner, context, at)
                    case Braces(alternatives):
                        self._words(alternatives, context, at)
                    case Text():
                        pass

    def _substitution(self, script: Script, context: WalkContext, at: Directories) -> None:
        stdin = program_runs.partly_read(context.stdin)
        inside = replace(
            context.apart(),
            piped_from=(),
            stdin=stdin,
            in_substitution=True,
            extra_arguments=False,
            feeds_head=False,
        )
        self._script(script, inside, at)


def _reads_its_input(loop: CompoundCommand) -> bool:
    """Whether a loop is `while read …`: it ends with its input."""
    condition = loop.scripts[0].statements if loop.scripts else ()
    if loop.kind != "while" or len(condition) != 1:
        return False
    only = condition[0]
    if not isinstance(only.command, SimpleCommand) or only.redirects or only.negated:
        return False
    words = [word.value or "$" for word in only.command.words]
    # `read -t 0` and `read -n 0` leave the input as it is; `exec` may give it back.
    plain = all(_READ_WORD.fullmatch(word) for word in words[1:])
    reopens = any(
        command.words and command.words[0].value in ("exec", "builtin", "command", "eval")
        for body in loop.scripts[1:]
        for command in all_simple_commands(body)
    )
    return words[:1] == ["read"] and plain and not reopens


def _is(statement: Statement, kind: str) -> bool:
    return isinstance(statement.command, CompoundCommand) and statement.command.kind == kind


def _timed(script: Script) -> Script:
    """`time -- ls`: the parser takes `--` for the program, bash does not."""
    first = script.statements[0] if script.statements else None
    if first is None or not isinstance(first.command, SimpleCommand):
        return script
    words = first.command.words
    if not words or words[0].value != "--":
        return script
    return Script((replace(first, command=replace(first.command, words=words[1:])),))
