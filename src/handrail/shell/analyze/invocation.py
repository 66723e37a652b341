"""A command flattened: every program it would start, with all that is known of how."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.core.commands import Reason
from handrail.shell.parse.syntax import Assignment, Redirect, Word


@dataclass(frozen=True, slots=True)
class Invocation:
    """One program that the command starts.

    `words` starts with the program; empty for a bare assignment or redirect. A wrapper
    (`env`, `sudo`, `xargs` …) is an invocation of its own with `is_wrapper` set, and what it runs
    is another one with the wrapper's name in `wrapped_by` (outermost first).
    `piped_from`: the commands whose output it reads from a pipe. `extra_arguments`: it gets further
    arguments that nobody can know (xargs, find -exec). `cwd`: where it runs, relative to
    where the command starts, None if it cannot be known. `function`: it is in the body of
    that function. `in_substitution`: it runs inside `$( )` or `<( )`. `remote`: it runs on
    another machine (ssh).
    """

    words: tuple[Word, ...]
    source: str
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    piped_from: tuple[Invocation, ...] = ()
    is_wrapper: bool = False
    wrapped_by: tuple[str, ...] = ()
    extra_arguments: bool = False
    background: bool = False
    cwd: str | None = ""
    function: str | None = None
    in_substitution: bool = False
    remote: bool = False

    @property
    def program(self) -> str | None:
        """The program as named, quotes removed; None if it is computed or there is none."""
        return self.words[0].value if self.words else None


@dataclass(frozen=True, slots=True)
class FlatCommand:
    """Everything a command runs. `doubts`: why part of it cannot be vouched for (a computed
    program, text from elsewhere that is run): with any doubt the command is never safe.
    `functions`: names that the command defines as functions (their bodies are listed); where
    such a name may mean a program as well, there is a doubt. `evaluates`: variables whose
    value is worked out as arithmetic, which can run commands. `may_loop_forever`: it holds a loop that
    may never end.
    """

    invocations: tuple[Invocation, ...]
    functions: frozenset[str] = frozenset()
    doubts: tuple[Reason, ...] = ()
    changes_directory: bool = False
    evaluates: frozenset[str] = frozenset()
    may_loop_forever: bool = False


@dataclass(frozen=True, slots=True)
class WrappedRun:
    """One thing that is run. `kind`: "words" (a program and its arguments), "text" (read by
    a shell, the words joined with blanks), "input" (a shell reads its standard input), or
    "file" (a shell reads the file that the one word names).

    `extra_arguments`: further arguments come from elsewhere. `moves`: it runs in another directory.
    `inside`: by the very shell that reads the command. `dialect`: the shell that reads it.
    """

    kind: str
    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    extra_arguments: bool = False
    moves: bool = False
    remote: bool = False
    inside: bool = False
    dialect: str = "sh"


@dataclass(frozen=True, slots=True)
class UnwrapResult:
    """All that a wrapper runs, and why that may not be all.

    `open`: further arguments could name what is run.
    """

    runs: tuple[WrappedRun, ...]
    doubts: tuple[str, ...] = ()
    open: bool = False
