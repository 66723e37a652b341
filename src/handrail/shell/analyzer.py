"""The judge of commands: reads, flattens, classifies; the one door of this package.

Where programs and paths lead is asked anew each time, since the disk may have changed in
between; what was judged before is only said again if all the answers are the same.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from handrail.core.commands import (
    CommandAnalysis,
    CommandClass,
    ExecutionContext,
    ShellParser,
    UnreadableCommand,
)
from handrail.shell.analysis_cache import AnalysisCache, DiskAnswers, DiskQueries, recording_queries
from handrail.shell.analyze import evaluated_names
from handrail.shell.analyze.invocation import FlatCommand
from handrail.shell.analyze.variables import bind_variables
from handrail.shell.analyze.walk import flatten
from handrail.shell.blocklist import matcher
from handrail.shell.blocklist.writes import find_system_writes
from handrail.shell.classify import allowlist, environment
from handrail.shell.classify.classifier import Classifier
from handrail.shell.classify.effects import EffectCollector
from handrail.shell.classify.rule_parts import command_parts, is_fully_listed, is_rule_matchable
from handrail.shell.expand import Expander
from handrail.shell.parse.reader import parse_command
from handrail.shell.parse.syntax import Script
from handrail.shell.tables.program_table import ProgramTable, load_programs

_KEPT: Final = 256
_MAX_KEPT_TEXT: Final = 4096


class _ParsedCommand(NamedTuple):
    text: str
    script: Script
    flat: FlatCommand


class ShellCommandAnalyzer:
    """Judges commands for one workspace; safe in any thread.

    `surroundings` answers, for a directory, where a command would run. `blocked` are further
    programs or beginnings of commands that are always refused. `protected` answers why a path
    below a root is protected, by its name alone; `tame`, whether git in a directory would run nothing that the
    repository's configuration names.
    """

    def __init__(
        self,
        parser: ShellParser,
        surroundings: Callable[[str], ExecutionContext],
        programs: ProgramTable | None = None,
        *,
        blocked: Sequence[str] = (),
        protected: Callable[[str], str | None] | None = None,
        tame: Callable[[str], bool] | None = None,
    ) -> None:
        self._parser = parser
        self._surroundings = surroundings
        self._programs = programs
        self._blocked = tuple(blocked)
        self._protected = protected
        self._tame = tame
        self._kept: OrderedDict[str, _ParsedCommand] = OrderedDict()
        self._remembered = AnalysisCache()
        self._lock = threading.Lock()
        # A workspace is held open by its handle: where its name led then is where it works.
        self._roots: dict[tuple[str, ...], tuple[str, ...]] = {}

    def analyze(self, command: str, *, cwd: str, env: Mapping[str, str]) -> CommandAnalysis:
        """The class, reasons and effects of a command run there, with these variables."""
        where = self._with_real_roots(self._surroundings(cwd))
        key = command, tuple(env.items()), where.cwd, where.roots, where.home
        before = self._remembered.find(
            key, DiskQueries(where.find_program, where.resolve, self._tame)
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
        disk = recording_queries(DiskQueries(where.find_program, where.resolve, self._tame), asked)
        judgement = self._judgement(known, where, disk, collector, env)
        if len(command) <= _MAX_KEPT_TEXT:
            self._remembered.keep(key, judgement, asked)
        return judgement

    def _judgement(
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
        for doubt in evaluated_names.environment_doubts(flat.evaluates, env):
            collector.add_reason(CommandClass.DANGEROUS, doubt.text, doubt.part)
        classifier = Classifier(self._programs, where, protected=self._protected, tame=disk.tame)
        classes = classifier.weigh(flat, expander, collector)
        # What only looks can be no catastrophe, unless the person says what else is one.
        if collector.safety_class > CommandClass.SAFE or self._blocked:
            for reason in matcher.find_blocked(flat, where, expander, known.script, self._blocked):
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
        collector.add_reason(CommandClass.DANGEROUS, f"the command cannot be read: {why}", "")
        collector.open_ended = True
        for reason in matcher.find_blocked_in_text(command, where, self._blocked):
            collector.add_reason(CommandClass.BLOCKED, reason.text, reason.part)
        return collector.to_analysis()._replace(cwd=where.cwd, text=command)

    def _with_real_roots(self, where: ExecutionContext) -> ExecutionContext:
        """A root may be named by a link; what lies in it is then known by both names."""
        known = self._roots.get(where.roots)
        if known is None:
            real = (where.resolve(root) for root in where.roots)
            known = self._roots[where.roots] = tuple(dict.fromkeys((*where.roots, *real)))
        return where._replace(roots=known)

    def _read(self, command: str) -> _ParsedCommand:
        with self._lock:
            known = self._kept.get(command)
            if known is not None:
                self._kept.move_to_end(command)
                return known
        script = parse_command(command, self._parser)
        fresh = _ParsedCommand(
            command, script, flatten(script, lambda text: parse_command(text, self._parser))
        )
        if len(command) <= _MAX_KEPT_TEXT:
            with self._lock:
                self._kept[command] = fresh
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return fresh


def _classify_environment(env: Mapping[str, Any], collector: EffectCollector) -> None:
    for name in env:
        collector.add_reason(
            environment.classify_variable(name), f"the variable {name} is set", name
        )


def _classify_invisible_characters(command: str, collector: EffectCollector) -> None:
    """Letters that nobody sees make a command read differently from what it says."""
    odd = next((one for one in command if not one.isprintable() and one not in "\n\t"), None)
    if odd is not None:
        collector.add_reason(
            CommandClass.DANGEROUS, "it holds letters that cannot be seen", f"{odd!a}"
        )
