"""What is known of a command before it runs: what it would touch, and how far to trust it.

A judgement decides whether to ask; it is a guardrail. The boundary is the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple, Protocol


class CommandClass(IntEnum):
    """How much a command could harm; a compound command is as bad as its worst part."""

    SAFE = 0
    DEV = 1
    DANGEROUS = 2
    BLOCKED = 3

    @property
    def word(self) -> str:
        """The name that people and programs read."""
        return self.name.lower()


class Reason(NamedTuple):
    """Why a command has its class, and the part of the command that it comes from."""

    text: str
    part: str


class Effects(NamedTuple):
    """What a command would touch, as far as its text shows.

    `programs` in the order in which they stand. Paths are absolute and normalised, with a
    trailing `/` for a whole tree; globs are kept as globs. `open_ended`: it may read or write
    more than is listed. `removes` are those of the writes that are deletions.
    `changes_directory`: the session's directory may move. `git`: it
    needs to write in `.git`. `network`: it talks to other machines, whether or not it names
    them in `hosts`.
    """

    programs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    background: bool = False
    open_ended: bool = False
    changes_directory: bool = False
    git: bool = False
    network: bool = False
    removes: tuple[str, ...] = ()

    @property
    def needs_network(self) -> bool:
        """Whether it can only do its work with the network."""
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
    """One program that a command starts, for rules: its words with quotes removed, wrappers
    taken off; a word that is computed is None. `writes`: it also redirects into a file.
    """

    words: tuple[str | None, ...]
    source: str
    klass: CommandClass
    writes: bool = False


class Segment(NamedTuple):
    """One program that a command starts, for the allowlist: its first word with quotes
    removed (empty: it only assigns or redirects, None: computed), and whether it stands in
    a command or process substitution, or holds one.
    """

    word: str | None
    source: str
    substitutes: bool = False


class Judgement(NamedTuple):
    """The verdict on one command: its class, why, and what it would touch.

    `parts` and `segments` are the programs it starts, without their wrappers and with them;
    empty if it could not be read. `cwd` is where it would start. `unconfined`: the caller
    wants it outside the sandbox. `plain`: the parts tell all of it, for certain: there is no
    doubt, no variable is set for a program, and no wrapper hands one to another user, machine
    or list of arguments. Only plain commands can be allowed by a rule. `text` is the command.
    `told`: every program that it starts stands in `parts`, though not every word of it.
    """

    klass: CommandClass
    reasons: tuple[Reason, ...]
    effects: Effects
    unconfined: bool = False
    parts: tuple[CommandPart, ...] = ()
    cwd: str = ""
    segments: tuple[Segment, ...] = ()
    plain: bool = False
    text: str = ""
    told: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The JSON shape that `handrail explain` prints."""
        return {
            "class": self.klass.word,
            "reasons": [
                f"{one.text}: {one.part}" if one.part else one.text for one in self.reasons
            ],
            "effects": self.effects.to_dict(),
        }


class Surroundings(NamedTuple):
    """Where a command would run. `find_program` answers the absolute, resolved path of a
    program as the command's own search path would find it, None if there is none.
    `resolve` answers where an absolute path really leads, links followed.
    """

    cwd: str
    roots: tuple[str, ...]
    home: str
    find_program: Callable[[str], str | None]
    resolve: Callable[[str], str]


class ShellParser(Protocol):
    """Turns the text of a command into a tree that cannot hide a command."""

    def parse(self, command: str) -> Mapping[str, Any]:
        """The tree as shfmt's JSON; raises `Unreadable`."""


class Unreadable(Exception):
    """The text cannot be understood for certain; the message says why."""


class CommandJudge(Protocol):
    """Judges commands; what `run_command` and `handrail explain` ask."""

    def judge(self, command: str, *, cwd: str, env: Mapping[str, str]) -> Judgement:
        """The class, reasons and effects of a command run there, with these variables."""
