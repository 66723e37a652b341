"""Where an argument is used: the command around it, and what is known about that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from handrail.core.commands import CommandClass, ExecutionContext
from handrail.shell.classify.effects import EffectCollector


@dataclass(frozen=True, slots=True)
class ArgumentContext:
    """Where an argument is used."""

    where: ExecutionContext
    cwd: str | None
    collector: EffectCollector
    # The source of the command.
    part: str
    program: str = ""
    # The arguments that a wrapper adds are paths found by a search in the workspace.
    found_by_search: bool = False
    # The search finds all that is in a root.
    found_everything: bool = False
    # An option leaves out some of the files.
    narrowed: bool = False
    # A search names files that may contain secrets.
    seeks_secrets: bool = False
    protected: Callable[[str], str | None] | None = None
    # Variables whose values come from the command itself, or from what it reads.
    harmless_texts: frozenset[str] = frozenset()
    # A placeholder in an argument of its shell text is such a path, too.
    has_found_argument: bool = False
    # The functions that the command defines.
    functions: frozenset[str] = frozenset()
    # The commands inside the program text that it is given are known.
    follows_text: bool = False
    # Programs that this one was found to start, in any reading of its arguments.
    launched: set[str] = field(default_factory=set)

    def note(self, safety_class: CommandClass, text: str) -> None:
        """Raise the class of the command to at least `safety_class`."""
        self.collector.add_reason(safety_class, text, self.part)

    def danger(self, text: str) -> None:
        """Mark the command as dangerous."""
        self.note(CommandClass.DANGEROUS, text)
