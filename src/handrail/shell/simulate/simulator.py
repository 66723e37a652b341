"""Runs a command on values: functions, arguments, arrays, loops, pipes and files are followed.

Every branch is taken, in order, and nothing is executed. The result is the list of programs with
the words that they would most likely get; it only ever serves to find a catastrophe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from handrail.core.commands import ExecutionContext, UnreadableCommand
from handrail.shell.analyze.invocation import Invocation, WrappedRun
from handrail.shell.analyze.wrappers import unwrap
from handrail.shell.blocklist.processes import find_endless_loops
from handrail.shell.expand import UNKNOWN, plain_text
from handrail.shell.parse.syntax import (
    AndOrList,
    CommandGroup,
    CompoundCommand,
    FunctionDefinition,
    PipelineCommand,
    Redirect,
    Script,
    SimpleCommand,
    Statement,
    Substitution,
    chained_statements,
)
from handrail.shell.simulate import builtin_commands, shell_state
from handrail.shell.simulate.builtin_commands import (
    argument_file,
    argument_lines,
    fill_placeholder,
    is_placeholder,
)
from handrail.shell.simulate.carried_commands import commands_in_variables, startup_commands
from handrail.shell.simulate.embedded_commands import embedded_commands
from handrail.shell.simulate.executed_files import executed_files, read_files
from handrail.shell.simulate.expansion import StateExpansion, concrete_word
from handrail.shell.simulate.findings import SimulationFindings
from handrail.shell.simulate.frames import SimulationFrame, make_invocation, make_invocations
from handrail.shell.simulate.program_output import guess_output
from handrail.shell.simulate.repository_commands import with_settings
from handrail.shell.simulate.shell_state import DOWNLOADED, InputText, ShellState

# They run further programs by their arguments.
_RUNS_MORE: Final = frozenset(("find", "awk", "gawk", "mawk", "ssh", "parallel"))
_MAX_STEPS: Final = 600
_MAX_TEXTS: Final = 40
_MAX_DEPTH: Final = 14
_MAX_ROUNDS: Final = 24
_MAX_ARGUMENTS: Final = 200
_REFERENCE: Final = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*")


def simulate_command(
    script: Script,
    where: ExecutionContext,
    env: Mapping[str, str],
    parse: Callable[[str], Script],
) -> CommandSimulator:
    """Run a script with the variables `env`; `parse` reads shell text that the command runs."""
    simulator = CommandSimulator(where, parse)
    try:
        simulator.simulate(script, env)
    except RecursionError:
        simulator.exhausted = True
    return simulator


class CommandSimulator:
    """Simulates one command. `parse` reads shell text that the command runs."""

    def __init__(self, where: ExecutionContext, parse: Callable[[str], Script]) -> None:
        self.invocations: list[Invocation] = []
        self.findings = SimulationFindings()
        # The command does more than is followed.
        self.exhausted = False
        self._where = where
        self._parse = parse
        self._texts: dict[str, Script | None] = {}
        self._steps = 0

    def simulate(self, script: Script, env: Mapping[str, str]) -> None:
        """Run a script with the variables `env`."""
        state = ShellState(self._where.cwd, self._where.home, roots=tuple(self._where.roots))
        state.variables.update(env)
        self.run_script(script, state, SimulationFrame())
        for path, content in list(state.files.items()):
            later = self.findings.start_later(path, content)
            for text in (*startup_commands(path, content), *later):
                self._text(text, path, state.fork(), SimulationFrame().inside("login"))

    def run_script(self, script: Script, state: ShellState, frame: SimulationFrame) -> str | None:
        """Run a script. Returns what it prints, as far as that is known."""
        printed: list[str] = []
        known = True
        for statement in script.statements:
            text = self._statement(statement, state, frame)
            known = known and text is not None
            printed.append(text or "")
        return "".join(printed) if known or any(printed) else None

    def _statement(
        self, statement: Statement, state: ShellState, frame: SimulationFrame
    ) -> str | None:
        self._steps += 1
        if self._steps > _MAX_STEPS or frame.depth > _MAX_DEPTH:
            self.exhausted = True
            return None
        if statement.background:
            state, frame = state.fork(), replace(frame, background=True)
        redirects: tuple[Redirect, ...] = ()
        if statement.redirects:
            redirects = self._expansion(state, frame).redirects(statement.redirects)
            fed = shell_state.standard_input(redirects, state)
            frame = frame if fed is None else replace(frame, stdin=fed, piped_from=())
        match statement.command:
            case SimpleCommand() as command:
                text = self._simple(command, statement.source, redirects, state, frame)
            case PipelineCommand(stages):
                text = self._pipeline(stages, state, frame)
            case AndOrList() as chain:
                links = chained_statements(chain)
                text = _joined(self._statement(one, state, frame) for one in links)
            case CommandGroup(script, subshell):
                text = self.run_script(script, state.fork() if subshell else state, frame)
            case CompoundCommand() as construct:
                text = self._construct(construct, state, frame)
            case FunctionDefinition(name, body):
                state.functions[name] = body
                text = ""
        return shell_state.record_output(redirects, text, state)

    def _pipeline(
        self, stages: Sequence[Statement], state: ShellState, frame: SimulationFrame
    ) -> str | None:
        text: str | None = None
        for number, stage in enumerate(stages):
            start = len(self.invocations)
            text = self._statement(stage, state.fork() if number else state, frame)
            stdin = InputText(UNKNOWN if text is None else text)
            fed = tuple(self.invocations[start:])
            frame = replace(frame, stdin=stdin, piped_from=fed)
        return text

    def _construct(
        self, command: CompoundCommand, state: ShellState, frame: SimulationFrame
    ) -> str | None:
        if command.kind in ("for", "select"):
            return self._for(command, state, frame)
        if command.kind in ("while", "until"):
            return self._while(command, state, frame)
        return _joined(self.run_script(script, state, frame) for script in command.scripts)

    def _for(
        self, command: CompoundCommand, state: ShellState, frame: SimulationFrame
    ) -> str | None:
        items = self._expansion(state, frame).fields(command.words)
        if not command.words:
            items = list(state.arguments)
        texts = []
        for item in items[:_MAX_ROUNDS] or [UNKNOWN]:
            for name in command.variables:
                state.assign(name, plain_text(item))
            texts += [self.run_script(script, state, frame) for script in command.scripts]
        return _joined(texts)

    def _while(
        self, command: CompoundCommand, state: ShellState, frame: SimulationFrame
    ) -> str | None:
        texts: list[str | None] = []
        for _ in range(_MAX_ROUNDS):
            before, given = self._steps, len(state.arguments)
            state.variables.pop(builtin_commands.AT_END, None)
            texts += [self.run_script(script, state, frame) for script in command.scripts]
            at_end = state.variables.get(builtin_commands.AT_END)
            # `shift` leaves the rest of the arguments for the next round.
            shifts = 0 < len(state.arguments) < given
            if (at_end in (None, "yes") and not shifts) or self._steps == before:
                break
        state.variables.pop(builtin_commands.AT_END, None)
        return _joined(texts)

    def _simple(
        self,
        command: SimpleCommand,
        source: str,
        redirects: Sequence[Redirect],
        state: ShellState,
        frame: SimulationFrame,
    ) -> str | None:
        expansion = self._expansion(state, frame)
        own = state if not command.words or command.declares else state.fork()
        refers = command.declares and any(_REFERENCE.fullmatch(one.source) for one in command.words)
        for assignment in command.assignments:
            if refers and assignment.value is not None:
                own.references[assignment.name] = expansion.text(assignment.value)
            else:
                expansion.assign(assignment, own)
        fields = [] if command.declares else expansion.fields(command.words)
        if not fields:
            assigned = {
                one.name: "".join(own.values(one.name) or ()) for one in command.assignments
            }
            self.findings.load_files(assigned, source, own)
            if redirects:
                self.invocations.append(make_invocation((), source, redirects, state, frame))
            return ""
        if own is not state:
            # Builtins and functions change the shell itself.
            own.functions = state.functions
        given = {one.name: "" for one in command.assignments if one.name in own.variables}
        variables = {name: own.values(name) or [""] for name in given}
        texts = {name: values[0] for name, values in variables.items()}
        return self.call(fields[:_MAX_ARGUMENTS], source, redirects, (state, own), frame, texts)

    def call(
        self,
        fields: Sequence[str],
        source: str,
        redirects: Sequence[Redirect],
        states: tuple[ShellState, ShellState],
        frame: SimulationFrame,
        variables: Mapping[str, str],
    ) -> str | None:
        """Run one program. `states`: of the shell, and with the variables set for the program."""
        state, own = states
        words = tuple(map(concrete_word, fields))
        name = plain_text(fields[0])
        self.invocations += make_invocations(fields, source, redirects, state, frame)
        self.findings.start_program(name, variables, source, own)
        for text in (*commands_in_variables(variables), *builtin_commands.callbacks(fields)):
            self._text(own.content(text) or text, source, own.fork(), frame.inside(name))
        body = state.functions.get(name)
        if body is not None:
            return self._function(name, body, fields[1:], state, frame)
        plain = [plain_text(one) for one in fields]
        if name == "alias":
            builtin_commands.define_aliases(plain[1:], state, self._parse)
        printed = builtin_commands.run_builtin(plain, state, frame.stdin, variables.get("IFS"))
        if printed is not None:
            return printed
        given = argument_file(plain)
        if given is not None:
            frame = replace(frame, stdin=InputText(own.content(given) or UNKNOWN))
        own = builtin_commands.entered_directory(plain, own)
        unwrapped = unwrap(words)
        texts = [
            self._wrapped(run, name, source, state if run.inside else own, frame)
            for run in (unwrapped.runs if unwrapped is not None else ())
        ]
        if texts and name.rpartition("/")[2] not in _RUNS_MORE:
            return _joined(texts)
        return self._program(plain, source, own, frame)

    def _program(
        self, fields: Sequence[str], source: str, state: ShellState, frame: SimulationFrame
    ) -> str | None:
        stdin = frame.stdin.peek() if frame.stdin is not None else None
        fields = with_settings(fields, state.settings)
        self.findings.run_files(executed_files(fields), source, state)
        written = "".join(text for one in read_files(fields) if (text := state.content(one)))
        for text in embedded_commands(fields, stdin or written):
            self._text(text, source, state.fork(), frame.inside(fields[0]))
        builtin_commands.record_files(fields, stdin, state)
        path = builtin_commands.interpreted_file(fields)
        self.findings.run_from_tree(path, source, state)
        content = stdin if path == "-" else state.files.get(state.absolute(path)) if path else None
        if content is not None and path is not None:
            self._interpret(fields, content, source, state, frame)
        return guess_output(fields, stdin, state)

    def _interpret(
        self,
        fields: Sequence[str],
        content: str,
        source: str,
        state: ShellState,
        frame: SimulationFrame,
    ) -> None:
        """A program whose code the command contains, on standard input or in a file it wrote."""
        words = builtin_commands.with_inline_code(fields[0], content)
        if DOWNLOADED in content:
            self.findings.remote.append(source)
        elif words is not None:
            run = tuple(map(concrete_word, words))
            self.invocations.append(make_invocation(run, source, (), state, frame))
        elif fields[0].rpartition("/")[2] in ("tclsh", "deno"):
            self.findings.run_code(content, source)
        else:
            path = builtin_commands.interpreted_file(fields) or "-"
            self._script_file(path, content, source, state.fork(), frame.inside(fields[0]))

    def _wrapped(
        self, run: WrappedRun, name: str, source: str, state: ShellState, frame: SimulationFrame
    ) -> str | None:
        inner = frame.inside(name)
        inside = state if run.inside else state.fork()
        for assignment in run.assignments:
            self._expansion(state, frame).assign(assignment, inside)
        if run.kind == "words":
            return self._wrapped_words(run, name, source, inside, inner)
        if run.arguments:
            given = [plain_text(one) for one in self._expansion(state, frame).fields(run.arguments)]
            inside.name, inside.arguments = given[0], given[1:]
        if run.kind == "text":
            text = " ".join(self._expansion(state, frame).text(word) for word in run.words)
            if "xargs" in frame.wrapped_by and frame.stdin is not None:
                text = text.replace(UNKNOWN, frame.stdin.peek())
            return self._text(text, source, inside, inner)
        if run.kind == "input":
            fed = frame.stdin.peek() if frame.stdin is not None else ""
            return self._text(fed, source, inside, replace(inner, stdin=None))
        path = self._expansion(state, frame).text(run.words[0])
        self.findings.run_from_tree(path, source, state)
        content = state.files.get(state.absolute(path))
        if path in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") and frame.stdin is not None:
            content = frame.stdin.peek()
        if content is None:
            return None
        return self._script_file(path, content, source, inside, inner)

    def _script_file(
        self, path: str, content: str, source: str, state: ShellState, frame: SimulationFrame
    ) -> str | None:
        """Run a file that the command has written, as a script."""
        if path != "-":
            path, state.name = state.absolute(path), path
            if path in frame.scripts:
                self.findings.fork_bombs += [source] if frame.background else []
                return None
            frame = replace(frame, scripts=(*frame.scripts, path))
        return self._text(content, source, state, frame)

    def _wrapped_words(
        self, run: WrappedRun, name: str, source: str, state: ShellState, frame: SimulationFrame
    ) -> str | None:
        expansion = self._expansion(state, frame)
        if name.rpartition("/")[2] not in ("xargs", "parallel") or frame.stdin is None:
            fields = expansion.fields(run.words)
            named = {one.name: "".join(state.values(one.name) or ()) for one in run.assignments}
            return self.call(fields, source, (), (state, state), frame, named) if fields else None
        marked = any(is_placeholder(word) for word in run.words)
        texts = []
        for line in argument_lines(frame.stdin.peek(), one_by_one=marked)[:_MAX_ROUNDS]:
            words = [fill_placeholder(word, line) for word in run.words]
            fields = [*expansion.fields(words), *([] if marked else line.split())]
            if fields:
                inner = replace(frame, stdin=None)
                texts.append(self.call(fields, source, (), (state, state), inner, {}))
        return _joined(texts)

    def _text(
        self, text: str, source: str, state: ShellState, frame: SimulationFrame
    ) -> str | None:
        """Run shell text."""
        if DOWNLOADED in text:
            self.findings.remote.append(source)
            return None
        text = text.replace(UNKNOWN, "").strip()
        if text not in self._texts:
            if len(self._texts) >= _MAX_TEXTS:
                self.exhausted = True
                return None
            try:
                self._texts[text] = self._parse(text)
            except UnreadableCommand:
                self._texts[text] = None
        script = self._texts[text]
        self.findings.loops.extend(() if script is None else find_endless_loops(script))
        return None if script is None else self.run_script(script, state, frame)

    def _function(
        self,
        name: str,
        body: Statement,
        arguments: Sequence[str],
        state: ShellState,
        frame: SimulationFrame,
    ) -> str | None:
        before, state.arguments = state.arguments, [plain_text(one) for one in arguments]
        inner = replace(frame, function=name, depth=frame.depth + 1)
        text = self._statement(body, state, inner)
        state.arguments = before
        return text

    def _expansion(self, state: ShellState, frame: SimulationFrame) -> StateExpansion:
        def run(part: Substitution) -> str | None:
            inside = replace(frame, piped_from=(), depth=frame.depth + 1)
            return self.run_script(part.script, state.fork(), inside)

        return StateExpansion(state, run)


def _joined(texts: Iterable[str | None]) -> str:
    return "".join(text or "" for text in texts)
