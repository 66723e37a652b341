"""Collects the reasons and effects of a command during classification."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.core.commands import CommandAnalysis, CommandClass, CommandEffects, Reason


class EffectCollector:
    """The reasons and effects found so far. The safety class never decreases."""

    def __init__(self) -> None:
        self.safety_class = CommandClass.SAFE
        self._part = CommandClass.SAFE
        self.background = False
        self.open_ended = False
        self.changes_directory = False
        self.git = False
        self.network = False
        self._reasons: dict[Reason, CommandClass] = {}
        self._programs: list[str] = []
        self._reads: dict[str, None] = {}
        self._writes: dict[str, None] = {}
        self._removes: dict[str, None] = {}
        self._hosts: dict[str, None] = {}

    def add_reason(self, safety_class: CommandClass, text: str, part: str) -> None:
        """Raise the class of the command to at least `safety_class`."""
        self.safety_class = max(self.safety_class, safety_class)
        self._part = max(self._part, safety_class)
        if safety_class > CommandClass.SAFE:
            reason = Reason(text, part)
            self._reasons[reason] = max(safety_class, self._reasons.get(reason, safety_class))

    def take_part_class(self) -> CommandClass:
        """The class of everything added since the last call."""
        part, self._part = self._part, CommandClass.SAFE
        return part

    def add_program(self, program: str) -> None:
        """Add a program that the command starts."""
        self._programs.append(program)

    def add_reads(self, paths: Iterable[str]) -> None:
        """Add paths that are read; a trailing `/` stands for the whole tree."""
        self._reads.update(dict.fromkeys(paths))

    def add_writes(self, paths: Iterable[str]) -> None:
        """Add paths that are created, changed or removed."""
        self._writes.update(dict.fromkeys(paths))

    def add_removes(self, paths: Iterable[str]) -> None:
        """Add paths that are deleted; they are also passed to `add_writes`."""
        self._removes.update(dict.fromkeys(paths))

    def add_host(self, host: str) -> None:
        """Add a machine that the command connects to."""
        self._hosts[host] = None

    def to_analysis(self) -> CommandAnalysis:
        """The analysis so far, the most severe reasons first."""
        ranked = sorted(self._reasons, key=lambda reason: -self._reasons[reason])
        return CommandAnalysis(self.safety_class, tuple(ranked), self.effects())

    def effects(self) -> CommandEffects:
        """What the command would touch."""
        return CommandEffects(
            programs=tuple(self._programs),
            reads=tuple(self._reads),
            writes=tuple(self._writes),
            hosts=tuple(self._hosts),
            background=self.background,
            open_ended=self.open_ended,
            changes_directory=self.changes_directory,
            git=self.git,
            network=self.network or bool(self._hosts),
            removes=tuple(self._removes),
        )
