"""The programs of a command as the checks see them: name and arguments fully spelled out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from handrail.core.commands import Reason, Surroundings
from handrail.shell.blocked.places import Places, plain_glob
from handrail.shell.blocked.words import Values, plain
from handrail.shell.invocation import Flat, Invocation

# Where a program that is spelled with a glob (`/???/rm`) would be found.
_FOLDERS: Final = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")


@dataclass(frozen=True, slots=True)
class Act:
    """One program that would run: `name` without its directory, `fields` its arguments."""

    name: str
    fields: tuple[str, ...]
    cwd: str | None
    invocation: Invocation

    @property
    def operands(self) -> list[str]:
        """The arguments that are no options; all of them after `--`."""
        found: list[str] = []
        for number, field in enumerate(self.fields):
            if field == "--":
                return [*found, *self.fields[number + 1 :]]
            if not field.startswith("-") or field == "-":
                found.append(field)
        return found

    def has(self, letters: str, *names: str) -> bool:
        """Whether one of the short letters, alone or in a cluster, or a long name is given.

        A long name may be shortened, as getopt lets it.
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
        fields = self.fields[: self.fields.index("--")] if "--" in self.fields else self.fields
        return [field for field in fields if field.startswith("-") and field != "-"]

    def value(self, short: str, *names: str) -> str | None:
        """What an option is given: `-t X`, `-tX`, `--target=X`, `--target X`."""
        for number, field in enumerate(self.fields):
            after = self.fields[number + 1] if number + 1 < len(self.fields) else None
            if field.startswith("--") and field != "--":
                given, equals, value = field[2:].partition("=")
                if given and any(name.startswith(given) for name in names):
                    return value if equals else after
            elif short and len(field) > 1 and field[0] == "-" and short in field[1:]:
                return field.partition(short)[2] or after
        return None

    def because(self, what: str, instead: str) -> Reason:
        """Why this is refused, and what to do in its place."""
        return Reason(f"{what}; {instead}", self.invocation.source)


@dataclass(frozen=True, slots=True)
class Scene:
    """One command with all that the checks know of it."""

    flat: Flat
    acts: tuple[Act, ...]
    values: Values
    places: Places
    where: Surroundings


def scene(flat: Flat, where: Surroundings, names: Sequence[str]) -> Scene:
    """The command spelled out; `names` are the programs that a glob could stand for."""
    values = Values(flat.invocations, where.home)
    acts = tuple(act for one in flat.invocations for act in _acts(one, values, where, tuple(names)))
    return Scene(flat, acts, values, Places(where), where)


def base(program: str) -> str:
    """A program's name without its directory."""
    return program.rstrip("/").rpartition("/")[2]


def _acts(
    invocation: Invocation, values: Values, where: Surroundings, names: Sequence[str]
) -> Iterator[Act]:
    cwd = _cwd(invocation, where)
    for fields in values.readings(invocation.words, cwd):
        if fields:
            for name in _programs(fields[0], names):
                yield Act(name, fields[1:], cwd, invocation)


def _cwd(invocation: Invocation, where: Surroundings) -> str | None:
    if invocation.cwd is None:
        return None
    if invocation.cwd.startswith("/"):
        return invocation.cwd
    if invocation.cwd.startswith("~"):
        return where.home + invocation.cwd[1:]
    return f"{where.cwd}/{invocation.cwd}" if invocation.cwd else where.cwd


def _programs(field: str, names: Sequence[str]) -> Iterator[str]:
    folder, slash, name = field.rpartition("/")
    if not any(char in name for char in "*?["):
        yield plain(name)
        return
    if slash and any(fnmatchcase(one, plain_glob(folder) or "/") for one in _FOLDERS):
        yield from (one for one in names if fnmatchcase(one, plain_glob(name)))
