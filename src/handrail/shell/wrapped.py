"""What a wrapper runs: the value between the readers of options and the walk."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.shell.syntax import Assignment, Word


@dataclass(frozen=True, slots=True)
class Run:
    """One thing that is run. `kind`: "words" (a program and its arguments), "text" (read by
    a shell, the words joined with blanks), "input" (a shell reads its standard input), or
    "file" (a shell reads the file that the one word names).

    `extra`: further arguments come from elsewhere. `moves`: it runs in another directory.
    `inside`: by the very shell that reads the command. `dialect`: the shell that reads it.
    """

    kind: str
    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    extra: bool = False
    moves: bool = False
    remote: bool = False
    inside: bool = False
    dialect: str = "sh"


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """All that a wrapper runs, and why that may not be all.

    `open`: further arguments could name what is run.
    """

    runs: tuple[Run, ...]
    doubts: tuple[str, ...] = ()
    open: bool = False
