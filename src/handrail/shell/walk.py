"""A tree flattened into every program it would start, in any branch, however deep.

Nothing that could run may be left out: what cannot be followed becomes a doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from handrail.core.commands import Reason, Unreadable
from handrail.shell import builtins, flow, shells, static_text
from handrail.shell.expand import spelled, words_of
from handrail.shell.flow import Flow, Places
from handrail.shell.functions import Functions
from handrail.shell.invocation import Flat, Invocation
from handrail.shell.names import Names
from handrail.shell.syntax import (
    Assignment,
    Block,
    Braces,
    Chain,
    Compound,
    Function,
    Opaque,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Statement,
    Substitution,
    Text,
    Variable,
    Word,
)
from handrail.shell.wrapped import Run
from handrail.shell.wrappers import unwrap

_MAX_INVOCATIONS: Final = 5000
_MAX_WORDS: Final = 4096
_MAX_NESTED_TEXTS: Final = 60
_MAX_WRAPPED: Final = 20


def flatten(script: Script, reread: Callable[[str], Script]) -> Flat:
    """Everything a script runs; `reread` reads text that is run (`bash -c '…'`).

    Raises `Unreadable` for a script so large or deep that it cannot be followed.
    """
    walk = _Walk(reread)
    try:
        end = walk.whole(script, _Context(), flow.START)
    except RecursionError:
        raise Unreadable("it is nested too deep to be followed") from None
    return walk.flat(end)


@dataclass(frozen=True, slots=True)
class _Context:
    """What holds for everything inside a construct."""

    wrapped_by: tuple[str, ...] = ()
    feeds: tuple[Invocation, ...] = ()
    stdin: Word | None = None
    assignments: tuple[Assignment, ...] = ()
    background: bool = False
    function: str | None = None
    substituted: bool = False
    remote: bool = False
    extra: bool = False
    # Runs for certain, in the shell itself: a function defined here holds from here on.
    certain: bool = True


class _Walk:
    def __init__(self, reread: Callable[[str], Script]) -> None:
        self._reread = reread
        self._texts: dict[str, Script] = {}
        self._found: list[Invocation] = []
        self._doubts: dict[Reason, None] = {}
        self._functions = Functions()
        self._names = Names()
        self._loops = False

    def flat(self, end: Flow) -> Flat:
        """The answer, once everything is walked."""
        for reason in (*self._functions.doubts(), *self._names.doubts()):
            self._doubts[reason] = None
        moved = end.after != flow.START or self._functions.move
        found = self._found
        if moved:
            # A function may be called from anywhere.
            found = [one if one.function is None else replace(one, cwd=None) for one in found]
        return Flat(
            tuple(found),
            self._functions.names(),
            tuple(self._doubts),
            changes_directory=moved,
            evaluates=frozenset(self._names.evaluated),
            loops=self._loops,
        )

    def whole(self, script: Script, context: _Context, at: Places) -> Flow:
        """A text of its own: the command, or one that it runs."""
        self._names.evaluated |= script.evaluates
        if script.assigns:
            names = tuple(Assignment(name, None) for name in sorted(script.assigns))
            self._emit(Invocation((), ", ".join(sorted(script.assigns)), names), context, at)
        return self._script(script, context, at)

    def _script(self, script: Script, context: _Context, at: Places) -> Flow:
        end = flow.stays(at)
        for statement in script.statements:
            end = self._statement(statement, context, end.after)
        return end

    def _statement(self, statement: Statement, context: _Context, at: Places) -> Flow:
        if statement.background:
            context = replace(context, background=True, certain=False)
        stdin = static_text.fed(statement.redirects, context.stdin)
        if isinstance(statement.command, Simple):
            end = self._simple(statement, replace(context, stdin=stdin), at)
        else:
            if statement.redirects:
                bare = Invocation((), statement.source, redirects=statement.redirects)
                self._emit(bare, context, at)
                self._redirected(statement.redirects, context, at)
            end = self._compound(statement, replace(context, stdin=stdin), at)
        if statement.background:
            return flow.stays(at)
        return Flow(end.failed, end.ok) if statement.negated else end

    def _compound(self, statement: Statement, context: _Context, at: Places) -> Flow:
        command = statement.command
        match command:
            case Pipeline():
                return self._pipeline(command, context, at)
            case Chain():
                return self._chain(command, context, at)
            case Block(script, subshell):
                if not subshell:
                    return self._script(script, context, at)
                self._script(script, replace(context, certain=False), at)
                return flow.stays(at)
            case Compound():
                self._words(command.words, context, at)
                return self._construct(command, context, at)
            case Function():
                return self._function(command, context, at)
            case Simple():
                return self._simple(statement, context, at)

    def _pipeline(self, pipeline: Pipeline, context: _Context, at: Places) -> Flow:
        context = replace(context, certain=False)
        last = at
        for stage in pipeline.stages:
            start = len(self._found)
            last = self._statement(stage, context, at).after
            fed = self._found[start:]
            feeds = tuple(one for one in fed if one.substituted == context.substituted)
            context = replace(context, feeds=feeds, stdin=static_text.output(stage))
        # With `shopt -s lastpipe` the last stage runs in the shell itself.
        return flow.stays(flow.either(at, last))

    def _chain(self, chain: Chain, context: _Context, at: Places) -> Flow:
        # The left side of a chain can be as long as the text: no recursion into it.
        links: list[tuple[str, Statement]] = []
        first = Statement(chain, "")
        while isinstance(first.command, Chain) and not (
            first.negated or first.background or first.redirects
        ):
            links.append((first.command.operator, first.command.second))
            first = first.command.first
        end = self._statement(first, context, at)
        unsure = replace(context, certain=False)
        for operator, second in reversed(links):
            if operator == "&&":
                then = self._statement(second, unsure, end.ok)
                end = Flow(then.ok, flow.either(end.failed, then.failed))
            else:
                then = self._statement(second, unsure, end.failed)
                end = Flow(flow.either(end.ok, then.ok), then.failed)
        return end

    def _construct(self, command: Compound, context: _Context, at: Places) -> Flow:
        unsure = replace(context, certain=False)
        match command.kind:
            case "if":
                return self._if(command.scripts, context, at)
            case "while" | "until" | "for ((":
                self._loops = True
                return self._loop(command.scripts, unsure, at)
            case "for" | "select":
                self._loop_variable(command, context, at)
                return self._loop(command.scripts, unsure, at)
            case "case":
                after = at
                for script in command.scripts:
                    after = flow.either(after, self._script(script, unsure, at).after)
                return flow.stays(after)
            case "time":
                return self._script(command.scripts[0], context, at)
            case "coproc":
                self._script(command.scripts[0], replace(unsure, background=True), at)
                return flow.stays(at)
            case _:
                return flow.stays(at)

    def _if(self, scripts: Sequence[Script], context: _Context, at: Places) -> Flow:
        unsure = replace(context, certain=False)
        after = flow.NOWHERE
        for index in range(0, len(scripts) - 1, 2):
            condition = self._script(scripts[index], unsure if index else context, at)
            after = flow.either(after, self._script(scripts[index + 1], unsure, condition.ok).after)
            at = condition.failed
        if len(scripts) % 2:
            at = self._script(scripts[-1], unsure, at).after
        return flow.stays(flow.either(after, at))

    def _loop(self, scripts: Sequence[Script], context: _Context, at: Places) -> Flow:
        start = len(self._found)
        end = at
        for script in scripts:
            end = flow.either(at, self._script(script, context, end).after)
        if end != at:
            # Every round starts where the one before has ended.
            del self._found[start:]
            for script in scripts:
                self._script(script, context, flow.UNKNOWN)
            return flow.stays(flow.UNKNOWN)
        return flow.stays(at)

    def _loop_variable(self, command: Compound, context: _Context, at: Places) -> None:
        for name in command.variables:
            values = command.words or (None,)
            assignments = tuple(Assignment(name, value) for value in values)
            self._names.assigned(assignments)
            self._emit(Invocation((), f"{command.kind} {name}", assignments), context, at)

    def _function(self, command: Function, context: _Context, at: Places) -> Flow:
        called = {one.program for one in self._found}
        self._functions.define(command.name, certain=context.certain and command.name not in called)
        inside = _Context(
            wrapped_by=context.wrapped_by, function=command.name, remote=context.remote,
            stdin=static_text.UNKNOWN, certain=False, background=context.background,
            substituted=context.substituted,
        )  # fmt: skip
        end = self._statement(command.body, inside, flow.START)
        if end.after != flow.START:
            self._functions.move = True
        return flow.stays(at)

    def _simple(self, statement: Statement, context: _Context, at: Places) -> Flow:
        command = statement.command
        if not isinstance(command, Simple):
            raise TypeError(command)
        words = _expanded(command.words)
        self._names.assigned(command.assignments)
        redirects = statement.redirects
        if not words:
            bare = Invocation((), statement.source, command.assignments, redirects)
            if command.assignments or redirects:
                self._emit(bare, context, at)
            end = flow.stays(at)
        else:
            one = Invocation(words, statement.source, command.assignments, redirects)
            end = self._run(one, context, at)
        self._redirected(redirects, context, at)
        self._assigned(command.assignments, context, at)
        self._words(command.words, context, at)
        return end

    def _run(self, one: Invocation, context: _Context, at: Places) -> Flow:
        """A program with its arguments, and all that it runs in turn."""
        if len(context.wrapped_by) > _MAX_WRAPPED:
            raise Unreadable(f"it is wrapped more than {_MAX_WRAPPED} times")
        program = one.program
        unwrapped = unwrap(one.words)
        runs = unwrapped.runs if unwrapped else ()
        self._emit(replace(one, wraps=bool(runs)), context, at)
        if program is None or one.words[0].globs:
            self._doubt("the program's name is computed", one.words[0].source)
            return flow.stays(flow.UNKNOWN)
        for text in unwrapped.doubts if unwrapped else ():
            self._doubt(text, one.source)
        for text in builtins.doubts(one.words):
            self._doubt(text, one.source)
        self._names.used(program, one.words)
        self._functions.called(program, wrapped=bool(context.wrapped_by))
        end = self._moved(one, context, at)
        for run in runs:
            end = self._inner(run, one, context, at)
        return end

    def _moved(self, one: Invocation, context: _Context, at: Places) -> Flow:
        if one.program in self._functions.names():
            return flow.stays(flow.UNKNOWN if self._functions.move else at)
        if one.program in flow.MOVERS:
            end = flow.moved(one.words, at)
            return Flow(flow.UNKNOWN, end.failed) if self._names.search_directories else end
        if one.program in ("exit", "return") and not context.wrapped_by:
            return flow.stays(flow.NOWHERE)
        return flow.stays(at)

    def _inner(self, run: Run, one: Invocation, context: _Context, at: Places) -> Flow:
        program = one.program or ""
        inside = replace(
            context,
            wrapped_by=(*context.wrapped_by, program.rpartition("/")[2]),
            assignments=context.assignments + one.assignments + run.assignments,
            stdin=context.stdin if run.kind != "input" else None,
            remote=context.remote or run.remote,
            extra=context.extra or run.extra,
            certain=context.certain and run.inside,
        )
        there = flow.UNKNOWN if run.moves else at
        match run.kind:
            case "words":
                end = self._run(Invocation(run.words, one.source), inside, there)
            case "text":
                end = self._text(run, run.words, inside, there)
            case "input":
                end = self._input(run, one, context.stdin, inside, there)
            case _:
                end = self._file(run, one, inside, there)
        return end if run.inside else flow.stays(at)

    def _input(
        self, run: Run, one: Invocation, stdin: Word | None, context: _Context, at: Places
    ) -> Flow:
        if stdin is None or stdin is static_text.UNKNOWN:
            self._doubt(f"{one.program} runs what it reads from its input", one.source)
            return flow.stays(at)
        return self._text(run, (stdin,), context, at)

    def _file(self, run: Run, one: Invocation, context: _Context, at: Places) -> Flow:
        word = run.words[0]
        text = static_text.substituted(word)
        if word.value in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            text = context.stdin or static_text.UNKNOWN
        if text is not static_text.UNKNOWN:
            self._text(run, (text,), context, at)
        elif word.value is None or text is not static_text.substituted(word):
            self._doubt(f"{one.program} runs a file that is not known", one.source)
        return flow.stays(flow.UNKNOWN)

    def _text(self, run: Run, words: Sequence[Word], context: _Context, at: Places) -> Flow:
        texts = [spelled(word) for word in words]
        text = " ".join(letters for letters, _ in texts)
        if not all(exact for _, exact in texts):
            self._doubt("a text is run that is put together first", text)
        odd = shells.foreign(run.dialect, text)
        if odd:
            self._doubt(odd, text)
        script = self._read(text)
        if script is None:
            return flow.stays(flow.UNKNOWN)
        return self.whole(script, context, at)

    def _read(self, text: str) -> Script | None:
        if text in self._texts:
            return self._texts[text]
        if len(self._texts) >= _MAX_NESTED_TEXTS:
            raise Unreadable(f"it runs more than {_MAX_NESTED_TEXTS} texts")
        try:
            script = self._reread(text)
        except Unreadable as error:
            self._doubt(f"a text is run that cannot be read: {error}", text)
            return None
        self._texts[text] = script
        return script

    def _words(self, words: Iterable[Word | None], context: _Context, at: Places) -> None:
        """What runs while words are expanded."""
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

    def _substitution(self, script: Script, context: _Context, at: Places) -> None:
        inside = _Context(
            wrapped_by=context.wrapped_by, substituted=True, certain=False,
            function=context.function, remote=False, background=context.background,
        )  # fmt: skip
        self._script(script, inside, at)

    def _redirected(self, redirects: Sequence[Redirect], context: _Context, at: Places) -> None:
        for redirect in redirects:
            self._words((redirect.target, redirect.body), context, at)

    def _assigned(self, assigned: Sequence[Assignment], context: _Context, at: Places) -> None:
        for assignment in assigned:
            self._words((assignment.value, *assignment.inner), context, at)

    def _emit(self, one: Invocation, context: _Context, at: Places) -> None:
        """Note an invocation, once for every place where it may run."""
        if len(self._found) >= _MAX_INVOCATIONS:
            raise Unreadable(f"it starts more than {_MAX_INVOCATIONS} programs")
        for place in sorted(at, key=str) or [None]:
            self._found.append(
                replace(
                    one,
                    assignments=context.assignments + one.assignments,
                    feeds=context.feeds,
                    wrapped_by=context.wrapped_by,
                    extra=context.extra,
                    background=context.background,
                    cwd=place,
                    function=context.function,
                    substituted=context.substituted,
                    remote=context.remote,
                )
            )

    def _doubt(self, text: str, part: str) -> None:
        self._doubts[Reason(text, part[:200])] = None


def _expanded(words: Sequence[Word]) -> tuple[Word, ...]:
    made = [one for word in words for one in words_of(word)]
    if len(made) > _MAX_WORDS:
        raise Unreadable(f"it makes more than {_MAX_WORDS} words of its braces")
    return tuple(made)
