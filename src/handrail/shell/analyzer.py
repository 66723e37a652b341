"""The entry point of this package: parses, flattens and classifies a command.

The file system is queried on every call, because it may have changed; a cached analysis is
returned only if all answers are unchanged.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from handrail.core.commands import (
    CommandAnalysis,
    CommandClass,
    CommandPart,
    ExecutionContext,
    ShellParser,
    UnreadableCommand,
)
from handrail.shell.analyze import walk_state
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.analyze.variables import bind_variables, place_doubts
from handrail.shell.analyze.walk import flatten
from handrail.shell.blocklist import matcher
from handrail.shell.blocklist.writes import find_system_writes
from handrail.shell.classify import allowlist, environment, messages, redirects
from handrail.shell.classify.classifier import Classifier
from handrail.shell.classify.effects import EffectCollector
from handrail.shell.expand import Expander
from handrail.shell.parse.reader import parse_command
from handrail.shell.parse.syntax import Script, Word
from handrail.shell.simulate.simulator import simulate_command
from handrail.shell.tables.program_table import ProgramTable, load_programs

T = TypeVar("T")
# By the number of the question in `DiskQueries`, and what it was about.
DiskAnswers = dict[tuple[int, str], object]

_KEPT: Final = 256

# Wrappers that change neither who runs a program nor with which words, where or on what.
_TRANSPARENT: Final = frozenset(("time", "timeout", "nice", "nohup", "stdbuf", "command"))

_MAX_PARSED: Final = 256
_MAX_CACHED_TEXT: Final = 4096


class _ParsedCommand(NamedTuple):
    text: str
    script: Script
    flat: FlatCommand


class ShellCommandAnalyzer:
    """Analyses the commands of one workspace. Thread-safe.

    `context_in(cwd)` returns the execution context for a directory. `blocked` are further programs
    or beginnings of commands to refuse. `protected(path)` returns why a path below a root is
    protected. `git_is_safe(cwd)` returns whether git there runs no program of the repository.
    """

    def __init__(
        self,
        parser: ShellParser,
        context_in: Callable[[str], ExecutionContext],
        programs: ProgramTable | None = None,
        *,
        blocked: Sequence[str] = (),
        protected: Callable[[str], str | None] | None = None,
        git_is_safe: Callable[[str], bool] | None = None,
    ) -> None:
        self._parser = parser
        self._context_in = context_in
        self._programs = programs
        self._blocked = tuple(blocked)
        self._protected = protected
        self._git_is_safe = git_is_safe
        self._parsed: OrderedDict[str, _ParsedCommand] = OrderedDict()
        self._cache = AnalysisCache()
        self._lock = threading.Lock()
        # A workspace is opened once: the targets of its roots do not change afterwards.
        self._roots: dict[tuple[str, ...], tuple[str, ...]] = {}

    def analyze(self, command: str, *, cwd: str, env: Mapping[str, str]) -> CommandAnalysis:
        """The class, reasons and effects of a command run in `cwd` with the variables `env`."""
        where = self._with_real_roots(self._context_in(cwd))
        key = command, tuple(env.items()), where.cwd, where.roots, where.home
        before = self._cache.find(
            key, DiskQueries(where.find_program, where.resolve, self._git_is_safe)
        )
        if before is not None:
            return before
        collector = EffectCollector()
        _classify_environment(env, collector)
        if not command.isprintable():
            _classify_invisible_characters(command, collector)
        try:
            known = self._read(command)
        except UnreadableCommand as error:
            return self._unreadable(command, str(error), where, collector)
        asked: DiskAnswers = {}
        disk = recording_queries(
            DiskQueries(where.find_program, where.resolve, self._git_is_safe), asked
        )
        analysis = self._analyze_parsed(known, where, disk, collector, env)
        if len(command) <= _MAX_CACHED_TEXT:
            self._cache.keep(key, analysis, asked)
        return analysis

    def _analyze_parsed(
        self,
        known: _ParsedCommand,
        where: ExecutionContext,
        disk: DiskQueries,
        collector: EffectCollector,
        env: Mapping[str, str],
    ) -> CommandAnalysis:
        where = where._replace(find_program=disk.find_program, resolve=disk.resolve)
        if self._programs is None:
            self._programs = load_programs()
        flat = known.flat
        bindings = bind_variables(known.script, flat, env)
        expander = Expander(bindings, where.home, invocations=len(flat.invocations))
        doubts = walk_state.environment_doubts(flat.evaluates, env)
        for doubt in (*doubts, *place_doubts(flat, bindings)):
            collector.add_reason(CommandClass.DANGEROUS, doubt.text, doubt.part)
        classifier = Classifier(
            self._programs, where, protected=self._protected, git_is_safe=disk.git_is_safe
        )
        classes = classifier.classify(flat, expander, collector)
        if collector.reads_found_files and not collector.reads_trees():
            # The names come from a listing of the directory: any file below it may be read.
            collector.add_reads((f"{where.cwd.rstrip('/')}/",))
        # A safe command is on the blocklist only by the user's own settings.
        if collector.safety_class > CommandClass.SAFE or self._blocked:
            simulated = simulate_command(
                known.script, where, env, lambda text: parse_command(text, self._parser)
            )
            if simulated.exhausted:
                collector.add_reason(CommandClass.DANGEROUS, messages.TOO_MUCH_TO_FOLLOW, "")
            for reason in matcher.find_blocked(
                flat, where, expander, known.script, self._blocked, simulated=simulated
            ):
                collector.add_reason(CommandClass.BLOCKED, reason.text, reason.part)
            for reason in find_system_writes(collector.effects().writes, where):
                collector.add_reason(CommandClass.BLOCKED, reason.text, reason.part)
        return collector.to_analysis()._replace(
            parts=command_parts(flat, classes),
            rule_matchable=is_rule_matchable(flat, env),
            fully_listed=is_fully_listed(flat, env),
            cwd=where.cwd,
            segments=allowlist.command_segments(flat),
            text=known.text,
        )

    def _unreadable(
        self, command: str, why: str, where: ExecutionContext, collector: EffectCollector
    ) -> CommandAnalysis:
        collector.add_reason(CommandClass.DANGEROUS, f"the command cannot be parsed: {why}", "")
        collector.open_ended = True
        for reason in matcher.find_blocked_in_text(command, where, self._blocked):
            collector.add_reason(CommandClass.BLOCKED, reason.text, reason.part)
        return collector.to_analysis()._replace(cwd=where.cwd, text=command)

    def _with_real_roots(self, where: ExecutionContext) -> ExecutionContext:
        """The context with the target of each root added to its roots: a root may be a link."""
        known = self._roots.get(where.roots)
        if known is None:
            real = (where.resolve(root) for root in where.roots)
            known = self._roots[where.roots] = tuple(dict.fromkeys((*where.roots, *real)))
        return where._replace(roots=known)

    def _read(self, command: str) -> _ParsedCommand:
        with self._lock:
            known = self._parsed.get(command)
            if known is not None:
                self._parsed.move_to_end(command)
                return known
        script = parse_command(command, self._parser)
        fresh = _ParsedCommand(
            command, script, flatten(script, lambda text: parse_command(text, self._parser))
        )
        if len(command) <= _MAX_CACHED_TEXT:
            with self._lock:
                self._parsed[command] = fresh
                if len(self._parsed) > _MAX_PARSED:
                    self._parsed.popitem(last=False)
        return fresh


def _classify_environment(env: Mapping[str, Any], collector: EffectCollector) -> None:
    for name in env:
        collector.add_reason(
            environment.classify_variable(name), f"the variable {name} is set", name
        )


def _classify_invisible_characters(command: str, collector: EffectCollector) -> None:
    """Invisible characters make a command look different from what it does."""
    odd = next((one for one in command if not one.isprintable() and one not in "\n\t"), None)
    if odd is not None:
        collector.add_reason(CommandClass.DANGEROUS, "it contains invisible characters", f"{odd!a}")


class DiskQueries(NamedTuple):
    """Everything an analysis may ask about the file system."""

    find_program: Callable[[str], str | None]
    resolve: Callable[[str], str]
    git_is_safe: Callable[[str], bool] | None


def recording_queries(disk: DiskQueries, answers: DiskAnswers) -> DiskQueries:
    """The queries, wrapped so that every answer is added to `answers`."""
    return DiskQueries(
        _recording(0, disk.find_program, answers),
        _recording(1, disk.resolve, answers),
        None if disk.git_is_safe is None else _recording(2, disk.git_is_safe, answers),
    )


def _recording(number: int, ask: Callable[[str], T], answers: DiskAnswers) -> Callable[[str], T]:
    def noted(about: str) -> T:
        answers[number, about] = answer = ask(about)
        return answer

    return noted


class _CachedAnalysis(NamedTuple):
    analysis: CommandAnalysis
    answers: Mapping[tuple[int, str], object]


class AnalysisCache:
    """The most recent analyses. Thread-safe."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, _CachedAnalysis] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable, disk: DiskQueries) -> CommandAnalysis | None:
        """The cached analysis, if every recorded query still has its answer; else None."""
        with self._lock:
            known = self._known.get(key)
            if known is None:
                return None
            self._known.move_to_end(key)
        for (number, about), answer in known.answers.items():
            ask = disk[number]
            if ask is None or ask(about) != answer:
                return None
        return known.analysis

    def keep(self, key: Hashable, analysis: CommandAnalysis, answers: DiskAnswers) -> None:
        """Store an analysis with the answers that it depends on."""
        with self._lock:
            self._known[key] = _CachedAnalysis(analysis, answers)
            self._known.move_to_end(key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)


def command_parts(flat: FlatCommand, classes: Sequence[CommandClass]) -> tuple[CommandPart, ...]:
    """Every program that is started, without its wrappers, with its class."""
    return tuple(
        CommandPart(
            tuple(map(_word, one.words)),
            one.source,
            safety_class,
            redirects.writes_file(one.redirects),
        )
        for one, safety_class in zip(flat.invocations, classes, strict=True)
        if not one.is_wrapper
    )


def is_rule_matchable(flat: FlatCommand, env: Mapping[str, str]) -> bool:
    """Whether the parts describe the whole command: see `CommandAnalysis.rule_matchable`."""
    certain = not (env or flat.doubts or flat.functions or flat.evaluates)
    return certain and all(map(_is_plain, flat.invocations))


def is_fully_listed(flat: FlatCommand, env: Mapping[str, str]) -> bool:
    """Whether the parts list every program: see `CommandAnalysis.fully_listed`."""
    variables = {*env, *(each.name for one in flat.invocations for each in one.assignments)}
    # With a value, arithmetic on it may run something.
    evaluated = flat.evaluates | walk_state.INTEGER_VARIABLES
    if flat.doubts or not evaluated.isdisjoint(env):
        return False
    if any(environment.classify_variable(name) >= CommandClass.DANGEROUS for name in variables):
        return False
    return not any(one.extra_arguments or one.remote for one in flat.invocations)


def _is_plain(one: Invocation) -> bool:
    if one.assignments or one.extra_arguments or one.remote or one.function is not None:
        return False
    if one.is_wrapper and redirects.writes_file(one.redirects):
        return False
    return _TRANSPARENT.issuperset(one.wrapped_by)


def _word(word: Word) -> str | None:
    return None if word.globs else word.value
