"""The effects and reasons of a command, gathered while it is judged."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.core.commands import CommandAnalysis, CommandClass, Effects, Reason


class EffectCollector:
    """What has been found so far; the class only ever rises."""

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
        """The command is at least of that class, for that reason."""
        self.safety_class = max(self.safety_class, safety_class)
        self._part = max(self._part, safety_class)
        if safety_class > CommandClass.SAFE:
            reason = Reason(text, part)
            self._reasons[reason] = max(safety_class, self._reasons.get(reason, safety_class))

    def take_part_class(self) -> CommandClass:
        """The class of what was found since it was asked last."""
        part, self._part = self._part, CommandClass.SAFE
        return part

    def add_program(self, program: str) -> None:
        """It starts a program."""
        self._programs.append(program)

    def add_reads(self, paths: Iterable[str]) -> None:
        """It reads these; a path with a trailing `/` stands for everything below."""
        self._reads.update(dict.fromkeys(paths))

    def add_writes(self, paths: Iterable[str]) -> None:
        """It creates, changes or removes these."""
        self._writes.update(dict.fromkeys(paths))

    def add_removes(self, paths: Iterable[str]) -> None:
        """It deletes these, which are among those that it writes."""
        self._removes.update(dict.fromkeys(paths))

    def add_host(self, host: str) -> None:
        """It talks to that machine."""
        self._hosts[host] = None

    def to_analysis(self) -> CommandAnalysis:
        """The verdict; the reasons that weigh most come first."""
        ranked = sorted(self._reasons, key=lambda reason: -self._reasons[reason])
        return CommandAnalysis(self.safety_class, tuple(ranked), self.effects())

    def effects(self) -> Effects:
        """What the command would touch."""
        return Effects(
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
