"""Follows one program: what it runs if it is a wrapper, and the directory it leaves the shell in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from handrail.core.commands import UnreadableCommand
from handrail.shell.analyze import builtins, shells, walk_state
from handrail.shell.analyze.invocation import Invocation, UnwrapResult, WrappedRun
from handrail.shell.analyze.walk_state import Directories, DirectoryFlow, WalkContext, WalkResult
from handrail.shell.analyze.wrappers import AWKS, unwrap
from handrail.shell.echo import format_printf
from handrail.shell.parse.syntax import (
    Opaque,
    Redirect,
    Script,
    SimpleCommand,
    Statement,
    Substitution,
    Text,
    Word,
)
from handrail.shell.parse.words import approximate_text, may_split

_INPUTS: Final = frozenset({"<", "<<", "<<-", "<<<", "<>", "<&"})
_FORMAT: Final = re.compile(r"(?:[^%\\]|%s|%%|\\n)*")

_HEAD: Final = re.compile(r"head(?: -\d{1,7}| -[nc] ?\d{1,7}| --(?:lines|bytes)=\d{1,7})?")

# Marks a text that is only likely: the word has no value then.
UNSURE: Final = (Opaque(""),)
# What is fed, but cannot be known.
UNKNOWN: Final = Word("", UNSURE)

_MAX_WRAPPED: Final = 20
_STDIN: Final = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


class ProgramRunner:
    """Follows programs. `whole` walks a script that one of them runs."""

    def __init__(
        self, found: WalkResult, whole: Callable[[Script, WalkContext, Directories], DirectoryFlow]
    ) -> None:
        self._found = found
        self._whole = whole

    def run(self, one: Invocation, context: WalkContext, at: Directories) -> DirectoryFlow:
        """Record a program with its arguments, and everything that it runs."""
        if len(context.wrapped_by) > _MAX_WRAPPED:
            raise UnreadableCommand(f"it is wrapped more than {_MAX_WRAPPED} times")
        unwrapped = unwrap(one.words) or UnwrapResult(())
        wraps = any(run.kind != "file" for run in unwrapped.runs)
        self._found.emit(replace(one, is_wrapper=wraps), context, at)
        program = one.program
        if program is None or one.words[0].globs:
            self._found.doubt("the program's name is computed", one.words[0].source)
            return self._anywhere(context)
        self._note(program, one, context, unwrapped)
        known = {assignment.name for assignment in one.assignments}
        sets = tuple(
            each for each in builtins.assigned_variables(one.words) if each.name not in known
        )
        if sets:
            self._found.names.assigned(sets)
            self._found.emit(Invocation((), one.source, sets), context, at)
        end = self._moved(program, one, context, at)
        for run in unwrapped.runs:
            end = self._inner(run, one, context, at)
        return end

    def _note(
        self, program: str, one: Invocation, context: WalkContext, unwrapped: UnwrapResult
    ) -> None:
        for text in (*unwrapped.doubts, *builtins.builtin_doubts(one.words)):
            self._found.doubt(text, one.source)
        if context.extra_arguments and unwrapped.open:
            self._found.doubt(f"what {program} runs may come from elsewhere", one.source)
        self._found.names.places |= unwrapped.places
        self._found.functions.called(program, outside=context.outside)

    def _moved(
        self, program: str, one: Invocation, context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        functions = self._found.functions
        if program in functions.names:
            functions.elsewhere |= at != walk_state.START
            return self._anywhere(context) if functions.move else walk_state.unchanged(at)
        if program in walk_state.MOVERS:
            self._found.moves |= context.here
            end = walk_state.change_directory(one.words, at)
            return (
                DirectoryFlow(walk_state.UNKNOWN, at)
                if self._found.names.search_directories
                else end
            )
        if program in ("exit", "return") and not context.wrapped_by:
            return walk_state.unchanged(walk_state.NOWHERE)
        return walk_state.unchanged(at)

    def _anywhere(self, context: WalkContext) -> DirectoryFlow:
        self._found.moves |= context.here
        return walk_state.unchanged(walk_state.UNKNOWN)

    def _inner(
        self, run: WrappedRun, one: Invocation, context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        name = (one.program or "").rpartition("/")[2]
        as_words = run.kind == "words"
        self._found.names.assigned(run.assignments)
        inside = replace(
            context,
            wrapped_by=(*context.wrapped_by, name),
            assignments=context.assignments + one.assignments + run.assignments,
            stdin=partly_read(context.stdin) if run.kind == "text" else context.stdin,
            remote=context.remote or run.remote,
            extra_arguments=run.extra_arguments or (context.extra_arguments and as_words),
            feeds_head=context.feeds_head and as_words,
            here=context.here and run.inside,
            certain=context.certain and run.inside,
            outside=(context.outside or not run.inside) if as_words else False,
        )
        if as_words and name in ("command", "builtin", "exec"):
            inside = replace(inside, outside=True)
        if name in AWKS:
            # They read what the awk program prints.
            inside = replace(inside, piped_from=(), stdin=UNKNOWN, arguments=None)
        elif not (run.inside or as_words):
            # If `$0` becomes several words, the others have other numbers.
            known = (
                run.kind == "text"
                and name in shells.SHELLS
                and not any(map(may_split, run.arguments[:1]))
            )
            inside = replace(inside, arguments=run.arguments[1:] if known else None)
        end = self._started(run, one, inside, walk_state.UNKNOWN if run.moves else at)
        return end if run.inside and not run.moves else walk_state.unchanged(at)

    def _started(
        self, run: WrappedRun, one: Invocation, context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        match run.kind:
            case "words":
                return self.run(Invocation(run.words, one.source), context, at)
            case "text":
                return self._text(run, run.words, context, at)
            case "input":
                fed = context.stdin
                if fed is None or fed is UNKNOWN:
                    self._found.doubt(f"{one.program} runs what it reads", one.source)
                    return walk_state.unchanged(at)
                if "\n" in approximate_text(fed)[0].strip():
                    # `read -N1` on one line eats the `#` of the next.
                    self._found.doubt(f"{one.program} and what it runs read the same", one.source)
                unknown = replace(context, stdin=UNKNOWN)
                return self._text(run, (fed,), unknown, at)
            case _:
                return self._file(run, one, context, at)

    def _file(
        self, run: WrappedRun, one: Invocation, context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        word = run.words[0]
        text: Word | None = process_substitution_text(word)
        if word.value in _STDIN:
            text = context.stdin
        if text is not None and text is not UNKNOWN:
            self._text(run, (text,), context, at)
        elif word.value is None or word.value in _STDIN:
            self._found.doubt(f"{one.program} runs a file that is not known", one.source)
        return self._anywhere(context)

    def _text(
        self, run: WrappedRun, words: Sequence[Word], context: WalkContext, at: Directories
    ) -> DirectoryFlow:
        texts = [approximate_text(word) for word in words]
        text = " ".join(letters for letters, _ in texts)
        if not all(exact for _, exact in texts):
            self._found.doubt("a text is run that is put together first", text)
        odd = shells.dialect_doubt(run.dialect, text)
        if odd:
            self._found.doubt(odd, text)
        script = self._found.script(text)
        return self._anywhere(context) if script is None else self._whole(script, context, at)


def feeds_head(stage: Statement, reader: Statement | None) -> bool:
    """Whether all that a stage prints goes to a `head` that ends after so many lines or bytes."""
    words = reader.command.words if reader and isinstance(reader.command, SimpleCommand) else ()
    values = [word.value or "$" for word in words]
    return (
        reader is not None
        and isinstance(stage.command, SimpleCommand)
        and not (stage.redirects or reader.redirects)
        and bool(_HEAD.fullmatch(" ".join(values)))
    )


def stdin_text(redirects: Sequence[Redirect], otherwise: Word | None) -> Word | None:
    """The text on standard input; None: there is none, `UNKNOWN`: it is not in the command."""
    for redirect in reversed(redirects):
        if redirect.fd in ("", "0") and redirect.operator in _INPUTS:
            if redirect.operator == "<<<":
                return redirect.target
            return UNKNOWN if redirect.body is None else redirect.body
    return otherwise


def partly_read(text: Word | None) -> Word | None:
    """The text on standard input after another program may have read a part of it."""
    if text is None or text is UNKNOWN:
        return text
    return Word(text.source, (*text.parts, *UNSURE))


def printed_word(statement: Statement) -> Word:
    """What a statement prints, if it is an `echo`, a `printf` or a `cat` of known text."""
    command = statement.command
    if not isinstance(command, SimpleCommand) or not command.words or command.declares:
        return UNKNOWN
    program = command.words[0].value
    if program == "cat" and [w.value for w in command.words[1:]] in ([], ["-"]):
        return stdin_text(statement.redirects, None) or UNKNOWN
    if statement.redirects:
        return UNKNOWN
    if program == "echo":
        return _echo(command.words[1:])
    if program == "printf":
        return _printf(command.words[1:])
    return UNKNOWN


def process_substitution_text(word: Word) -> Word:
    """The output of the `<(…)` that a word consists of; `UNKNOWN` if it is not known."""
    part = word.parts[0] if len(word.parts) == 1 else None
    if isinstance(part, Substitution) and part.kind == "<":
        return _script_output(part.script)
    return UNKNOWN


def _script_output(script: Script) -> Word:
    return printed_word(script.statements[0]) if len(script.statements) == 1 else UNKNOWN


def _echo(words: Sequence[Word]) -> Word:
    while words and re.fullmatch(r"-[neE]+", words[0].value or ""):
        words = words[1:]
    texts = [approximate_text(word) for word in words]
    return _echo_word(" ".join(text for text, _ in texts), exact=all(sure for _, sure in texts))


def _echo_word(text: str, *, exact: bool) -> Word:
    # A backslash may be an escape to echo, in some shells without being asked.
    sure = exact and "\\" not in text
    return Word(text, (Text(text, quoted=True),) if sure else (Text(text, quoted=True), *UNSURE))


def _printf(words: Sequence[Word]) -> Word:
    if words and words[0].value == "--":
        words = words[1:]
    texts = [approximate_text(word) for word in words]
    if not texts or texts[0][0].startswith("-"):
        return UNKNOWN
    form, arguments = texts[0][0], [text for text, _ in texts[1:]]
    exact = all(sure for _, sure in texts) and bool(_FORMAT.fullmatch(form))
    made = format_printf(form, arguments)
    return Word(made, (Text(made, quoted=True),) if exact else (Text(made, quoted=True), *UNSURE))
