"""The static analysis of a shell command: its safety class, its effects, the programs it starts.

The analysis decides whether the user is asked. It is a guardrail; the sandbox is the boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple, Protocol


class CommandClass(IntEnum):
    """The safety class of a command, by its worst part. SAFE only reads, DEV builds or tests, DANGEROUS
    is everything else, BLOCKED destroys something beyond the workspace and never runs.
    """

    SAFE = 0
    DEV = 1
    DANGEROUS = 2
    BLOCKED = 3

    @property
    def word(self) -> str:
        """The name in lower case, as shown to users and in JSON."""
        return self.name.lower()


class Reason(NamedTuple):
    """Why a command has its class."""

    text: str
    # The part of the command that the reason is about.
    part: str


class CommandEffects(NamedTuple):
    """What a command would touch, as far as its text shows.

    Paths are absolute and normalised. A trailing `/` stands for a whole tree; globs stay globs.
    """

    # In the order in which they appear in the command.
    programs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    # Machines that the command names.
    hosts: tuple[str, ...] = ()
    background: bool = False
    # The command may read or write more than is listed.
    open_ended: bool = False
    # The session's working directory may change.
    changes_directory: bool = False
    # The command must be able to write in `.git`.
    git: bool = False
    # The command uses the network, whether or not `hosts` lists a machine.
    network: bool = False
    # The subset of `writes` that is deleted.
    removes: tuple[str, ...] = ()

    @property
    def needs_network(self) -> bool:
        """Whether the command cannot work without the network."""
        return self.network or bool(self.hosts)

    def to_dict(self) -> dict[str, Any]:
        """The JSON shape that `handrail explain` prints."""
        return {
            "programs": list(self.programs),
            "reads": list(self.reads),
            "writes": list(self.writes),
            "hosts": list(self.hosts),
            "network": self.needs_network,
            "background": self.background,
            "open_ended": self.open_ended,
        }


class CommandPart(NamedTuple):
    """One program that a command starts, as permission rules see it: without its wrappers."""

    # Quotes removed; None for a word that is only known at run time.
    words: tuple[str | None, ...]
    source: str
    safety_class: CommandClass
    # A redirect of the program writes a file.
    writes: bool = False


class CommandSegment(NamedTuple):
    """One program that a command starts, as the allowlist sees it: wrappers are listed too."""

    # Quotes removed; empty for a bare assignment or redirect, None if known only at run time.
    word: str | None
    source: str
    # The program is inside a command or process substitution, or contains one.
    substitutes: bool = False
    # Variables that it sets and that change what programs run or load: PATH, LD_PRELOAD.
    risky_variables: tuple[str, ...] = ()


class CommandAnalysis(NamedTuple):
    """The result of analysing one command."""

    safety_class: CommandClass
    reasons: tuple[Reason, ...]
    effects: CommandEffects
    # The caller asked to run the command outside the sandbox.
    unconfined: bool = False
    # The programs without their wrappers; empty if the command could not be parsed.
    parts: tuple[CommandPart, ...] = ()
    # The directory in which the command would start.
    cwd: str = ""
    # The programs with their wrappers; empty if the command could not be parsed.
    segments: tuple[CommandSegment, ...] = ()
    # `parts` describes the whole command with certainty: no variable is set for a program, and no
    # wrapper changes the user, the machine or the arguments. Only then can an allow rule match.
    rule_matchable: bool = False
    text: str = ""
    # Every program that the command starts is in `parts`, though some words may be unknown.
    fully_listed: bool = False
    # The sandbox does not let the program write anything, whatever its class.
    writes_nothing: bool = False
    # The sandbox hides files whose names say that they hold secrets, as far as it can.
    sees_no_secrets: bool = False
    # The setting `network`: whether commands have the network without an approval, or the only
    # hosts that they can reach, with an approval too.
    network: bool | tuple[str, ...] = False

    def to_dict(self) -> dict[str, Any]:
        """The JSON shape that `handrail explain` prints."""
        return {
            "class": self.safety_class.word,
            "reasons": [
                f"{one.text}: {one.part}" if one.part else one.text for one in self.reasons
            ],
            "effects": self.effects.to_dict(),
        }


class ExecutionContext(NamedTuple):
    """Where a command would run, and what the analysis may ask about the file system."""

    cwd: str
    roots: tuple[str, ...]
    home: str
    # The absolute, resolved path of a program on the command's own PATH; None if there is none.
    find_program: Callable[[str], str | None]
    # The target of an absolute path, links followed.
    resolve: Callable[[str], str]
    # Whether commands cannot see other processes, whose arguments may contain secrets.
    hides_processes: Callable[[], bool] = lambda: False


class ShellParser(Protocol):
    """Parses the text of a command into a tree that contains every command in it."""

    def parse(self, command: str) -> Mapping[str, Any]:
        """The tree as shfmt's JSON. Raises `UnreadableCommand`."""


class UnreadableCommand(Exception):
    """The text of a command has no certain meaning; the message says why."""


class CommandAnalyzer(Protocol):
    """Analyses commands for `run_command` and `handrail explain`."""

    def analyze(self, command: str, *, cwd: str, env: Mapping[str, str]) -> CommandAnalysis:
        """The class, reasons and effects of a command run in `cwd` with the variables `env`."""
