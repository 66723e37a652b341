"""A flattened command: every program that it starts, and how."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.core.commands import Reason
from handrail.shell.parse.syntax import Assignment, Redirect, Word


@dataclass(frozen=True, slots=True)
class Invocation:
    """One program that the command starts.

    A wrapper (`env`, `sudo`, `xargs` …) is an invocation of its own with `is_wrapper` set; what it
    runs is another invocation with the name of the wrapper in `wrapped_by`.
    """

    # The program and its arguments; empty for a bare assignment or redirect.
    words: tuple[Word, ...]
    source: str
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    # The invocations whose output this one reads from a pipe.
    piped_from: tuple[Invocation, ...] = ()
    is_wrapper: bool = False
    # The wrappers around it, outermost first.
    wrapped_by: tuple[str, ...] = ()
    # It gets further arguments that are unknown (xargs, find -exec).
    extra_arguments: bool = False
    background: bool = False
    # Its directory relative to the start of the command; None if unknown.
    cwd: str | None = ""
    # The function whose body contains it.
    function: str | None = None
    # It runs inside `$( )` or `<( )`.
    in_substitution: bool = False
    # It runs on another machine (ssh).
    remote: bool = False
    # The arguments of the shell text that it stands in; None if they are not known.
    arguments: tuple[Word, ...] | None = None
    # It writes to `head`, which ends it.
    feeds_head: bool = False
    # The variables of the loops around it.
    bound: frozenset[str] = frozenset()

    @property
    def program(self) -> str | None:
        """The program as written, without quotes; None if unknown before run time."""
        return self.words[0].value if self.words else None


@dataclass(frozen=True, slots=True)
class FlatCommand:
    """Everything a command runs."""

    invocations: tuple[Invocation, ...]
    # Functions that the command defines; their bodies are in `invocations`.
    functions: frozenset[str] = frozenset()
    # Reasons why the list may be incomplete; with any doubt the command is not safe.
    doubts: tuple[Reason, ...] = ()
    changes_directory: bool = False
    # Variables that are evaluated as arithmetic, which can run commands.
    evaluates: frozenset[str] = frozenset()
    # It contains a loop without a fixed number of rounds.
    may_loop_forever: bool = False
    # Variables whose values may not begin with a dash.
    places: frozenset[str] = frozenset()

    @property
    def is_one_shell(self) -> bool:
        """Whether all of it is the text of one shell: `sh -c '…'` and nothing else."""
        outside = [one for one in self.invocations if not one.wrapped_by]
        return len(outside) == 1 and outside[0].is_wrapper and not outside[0].assignments


@dataclass(frozen=True, slots=True)
class WrappedRun:
    """One program or text that a wrapper runs."""

    # "words": a program and its arguments; "text": shell code, the words joined with blanks;
    # "input": shell code on standard input; "file": shell code in the file that the word names.
    kind: str
    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    # Further arguments come from elsewhere.
    extra_arguments: bool = False
    # It runs in another directory.
    moves: bool = False
    remote: bool = False
    # The shell that reads the command runs it.
    inside: bool = False
    # The shell that parses it.
    dialect: str = "sh"
    # The arguments of the shell, `$0` first.
    arguments: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class UnwrapResult:
    """Everything a wrapper runs."""

    runs: tuple[WrappedRun, ...]
    doubts: tuple[str, ...] = ()
    # Further arguments could name what is run.
    open: bool = False
    # Variables whose values may not begin with a dash.
    places: frozenset[str] = frozenset()
