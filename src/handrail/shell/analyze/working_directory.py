"""The directories in which the shell may be after each command, on success and on failure.

A directory is relative to where the command starts; None is an unknown directory.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.shell.parse.syntax import Word

Directories = frozenset[str | None]

START: Final[Directories] = frozenset({""})
UNKNOWN: Final[Directories] = frozenset({None})
NOWHERE: Final[Directories] = frozenset()
# With more, a list of everything that could be touched says nothing any more.
_MAX_PLACES: Final = 4

MOVERS: Final = frozenset({"cd", "chdir", "pushd", "popd"})


class DirectoryFlow(NamedTuple):
    """The directories after success and after failure; empty: that outcome never happens."""

    ok: Directories
    failed: Directories

    @property
    def after(self) -> Directories:
        """The directories after either outcome."""
        return either(self.ok, self.failed)


def unchanged(places: Directories) -> DirectoryFlow:
    """The flow of a command that does not change the directory."""
    return DirectoryFlow(places, places)


def either(first: Directories, second: Directories) -> Directories:
    """The directories of two branches; too many of them, or an unknown one, make the result
    unknown.
    """
    places = first | second
    return UNKNOWN if None in places or len(places) > _MAX_PLACES else places


def change_directory(words: Sequence[Word], places: Directories) -> DirectoryFlow:
    """The flow of `cd`, `pushd` or `popd`; on failure the directory stays."""
    target = _target([word for word in words[1:] if word.value not in ("-L", "-P", "-e", "--")])
    if target is None or words[0].value == "popd":
        return DirectoryFlow(UNKNOWN, places)
    reached = frozenset(None if at is None else _joined(at, target) for at in places)
    if target.startswith("/"):
        reached = frozenset({_joined("", target)})
    return DirectoryFlow(either(reached, NOWHERE), places)


def _target(operands: Sequence[Word]) -> str | None:
    if len(operands) != 1:
        return None
    word = operands[0]
    value = word.value
    if not value or word.globs or word.tilde or value[0] in "-+":
        return None
    return value


def _joined(at: str, target: str) -> str:
    path = posixpath.normpath(posixpath.join(at, target))
    return "" if path == "." else path
