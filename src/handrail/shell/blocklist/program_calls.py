"""The programs of a command with their names and arguments expanded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from handrail.core.commands import ExecutionContext, Reason
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.blocklist.critical_paths import CriticalPaths, fnmatch_pattern
from handrail.shell.blocklist.dry_runs import is_dry_run
from handrail.shell.expand import UNKNOWN, UNSET, Expander, plain_text

# Where a program that is spelled with a glob (`/???/rm`) would be found.
_FOLDERS: Final = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")

_MOST_MOVES: Final = 8


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """One program that would run."""

    # Without its directory.
    name: str
    arguments: tuple[str, ...]
    cwd: str | None
    invocation: Invocation
    # A program of the workspace: it only shares its name with the one that is known.
    in_workspace: bool = False

    @property
    def operands(self) -> list[str]:
        """The arguments that are not options; all arguments after `--`."""
        found: list[str] = []
        for number, field in enumerate(self.arguments):
            if field == "--":
                return [*found, *self.arguments[number + 1 :]]
            if not field.startswith("-") or field == "-":
                found.append(field)
        return found

    def has_option(self, letters: str, *names: str) -> bool:
        """Whether one of the short options, alone or in a cluster, or a long option is given.

        A long option may be abbreviated, as getopt allows.
        """
        for field in self.options:
            if field.startswith("--"):
                given = field[2:].partition("=")[0]
                if given and any(name.startswith(given) for name in names):
                    return True
            elif any(letter in field[1:] for letter in letters):
                return True
        return False

    @property
    def options(self) -> list[str]:
        """The arguments that are options, up to `--`."""
        fields = (
            self.arguments[: self.arguments.index("--")]
            if "--" in self.arguments
            else self.arguments
        )
        return [field for field in fields if field.startswith("-") and field != "-"]

    def option_value(self, short: str, *names: str) -> str | None:
        """The value of an option: `-t X`, `-tX`, `--target=X`, `--target X`."""
        for number, field in enumerate(self.arguments):
            after = self.arguments[number + 1] if number + 1 < len(self.arguments) else None
            if field.startswith("--") and field != "--":
                given, equals, value = field[2:].partition("=")
                if given and any(name.startswith(given) for name in names):
                    return value if equals else after
            elif short and len(field) > 1 and field[0] == "-" and short in field[1:]:
                return field.partition(short)[2] or after
        return None

    @property
    def is_dry_run(self) -> bool:
        """Whether an option asks only for what would be done, or for the program's help."""
        return is_dry_run(self.name, self.arguments)

    def reason(self, what: str, instead: str) -> Reason:
        """The reason for a refusal, with what to do instead."""
        return Reason(f"{what}; {instead}", self.invocation.source)


@dataclass(frozen=True, slots=True)
class ExpandedCommand:
    """A command with everything that the checks use."""

    flat: FlatCommand
    calls: tuple[ProgramCall, ...]
    expander: Expander
    critical_paths: CriticalPaths
    where: ExecutionContext
    directories: tuple[str | None, ...]

    def cwds(self, invocation: Invocation) -> Sequence[str | None]:
        """The directories in which the invocation may run."""
        return _cwds(invocation, self.where, self.directories)


def expand_command(
    flat: FlatCommand, where: ExecutionContext, expander: Expander, names: Sequence[str]
) -> ExpandedCommand:
    """Expand a command. `names` are the programs that a glob may stand for."""
    critical_paths = CriticalPaths(where)
    directories = _visited_directories(flat, expander, where)
    calls = tuple(
        call
        for one in flat.invocations
        for cwd in _cwds(one, where, directories)
        for call in _program_calls(one, expander, cwd, critical_paths, names)
    )
    return ExpandedCommand(flat, calls, expander, critical_paths, where, directories)


def program_basename(program: str) -> str:
    """A program's name without its directory."""
    return program.rstrip("/").rpartition("/")[2]


def _program_calls(
    invocation: Invocation,
    expander: Expander,
    cwd: str | None,
    critical_paths: CriticalPaths,
    names: Sequence[str],
) -> Iterator[ProgramCall]:
    for fields in expander.likely(invocation.words, cwd):
        if fields:
            in_workspace = "/" in fields[0] and critical_paths.is_in_workspace(fields[0], cwd)
            for name in _programs(fields[0], names):
                yield ProgramCall(name, fields[1:], cwd, invocation, in_workspace)


def _cwds(
    invocation: Invocation, where: ExecutionContext, moves: Sequence[str | None]
) -> Sequence[str | None]:
    if invocation.cwd is None:
        return moves
    if invocation.cwd.startswith("/"):
        return (invocation.cwd,)
    return (f"{where.cwd}/{invocation.cwd}" if invocation.cwd else where.cwd,)


def _visited_directories(
    flat: FlatCommand, expander: Expander, where: ExecutionContext
) -> tuple[str | None, ...]:
    """The directories that the command changes to, as far as they are known."""
    if not flat.changes_directory:
        return (where.cwd,)
    moves = dict.fromkeys(_moves(flat.invocations, expander, where))
    return tuple(islice(moves, _MOST_MOVES)) or (None,)


def _moves(
    invocations: Sequence[Invocation], expander: Expander, where: ExecutionContext
) -> Iterator[str]:
    for one in invocations:
        if one.program not in ("cd", "pushd", "chdir"):
            continue
        for fields in expander.likely(one.words[1:], where.cwd):
            targets = [field for field in fields if not field.startswith("-")] or [where.home]
            if targets[0].startswith("/"):
                yield targets[0]
            elif not targets[0].startswith((UNKNOWN, UNSET)):
                yield f"{where.cwd}/{targets[0]}"


def _programs(field: str, names: Sequence[str]) -> Iterator[str]:
    folder, slash, name = field.rpartition("/")
    if not any(char in name for char in "*?["):
        yield plain_text(name)
        return
    if slash and any(fnmatchcase(one, fnmatch_pattern(folder) or "/") for one in _FOLDERS):
        yield from (one for one in names if fnmatchcase(one, fnmatch_pattern(name)))
