"""One call with its only right outcome, and how patches are written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.tools.editing_cases.sources import INNERS, OUTERS, Source

State = Mapping[str, bytes | None]


class Case(NamedTuple):
    """A call on some files. `after` are the files that change; None: it must be refused."""

    group: str
    name: str
    tool: str
    arguments: dict[str, Any]
    before: Mapping[str, bytes]
    after: State | None


class Change(NamedTuple):
    """`count` lines from `first` (0-based) on become `new`."""

    first: int
    count: int
    new: tuple[str, ...]


def changed(lines: Sequence[str], *changes: Change) -> list[str]:
    """The lines after all changes, which do not overlap."""
    result = list(lines)
    for change in sorted(changes, reverse=True):
        result[change.first : change.first + change.count] = change.new
    return result


def data(lines: Sequence[str], ending: str = "\n", encoding: str = "utf-8") -> bytes:
    """A file of these lines."""
    return "".join([line + ending for line in lines]).encode(encoding)


def body(lines: Sequence[str], change: Change, above: int, below: int) -> list[str]:
    """The lines of a hunk."""
    end = change.first + change.count
    return [
        *[f" {line}" for line in lines[max(change.first - above, 0) : change.first]],
        *[f"-{line}" for line in lines[change.first : end]],
        *[f"+{line}" for line in change.new],
        *[f" {line}" for line in lines[end : end + below]],
    ]


def hunk(
    lines: Sequence[str],
    change: Change,
    above: int = 2,
    below: int = 2,
    *,
    grown: int = 0,
    off: tuple[int, int] = (0, 0),
) -> list[str]:
    """A unified hunk; `off` is how wrong its counts are."""
    text = body(lines, change, above, below)
    old = sum(line[0] != "+" for line in text)
    new = sum(line[0] != "-" for line in text)
    first = max(change.first - above, 0) + (1 if old else 0)
    counts = f"-{first},{old + off[0]} +{first + grown + (0 if old else 1)},{new + off[1]}"
    return [f"@@ {counts} @@", *text]


def unified(path: str, *hunks: Sequence[str], git: bool = False) -> list[str]:
    """A unified diff of one file."""
    top = [f"diff --git a/{path} b/{path}", "index 1f3c2a1..9be0c44 100644"] if git else []
    lines = [line for one in hunks for line in one]
    return [*top, f"--- a/{path}", f"+++ b/{path}", *lines]


def envelope(*parts: Sequence[str]) -> list[str]:
    """A patch in the `*** Begin Patch` format."""
    return ["*** Begin Patch", *[line for part in parts for line in part], "*** End Patch"]


def update(path: str, *hunks: Sequence[str]) -> list[str]:
    """The part of an envelope about one file."""
    return [f"*** Update File: {path}", *[line for one in hunks for line in one]]


def text(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def patch_case(
    group: str,
    name: str,
    patch: Sequence[str] | str,
    before: Mapping[str, bytes],
    after: State | None,
) -> Case:
    """A call of apply_patch."""
    given = patch if isinstance(patch, str) else text(patch)
    return Case(group, name, "apply_patch", {"patch": given}, before, after)


def edit_case(
    group: str, name: str, path: str, before: bytes, pair: tuple[str, str], after: bytes | None
) -> Case:
    """A call of edit_file."""
    arguments = {"path": path, "old_string": pair[0], "new_string": pair[1]}
    return Case(
        group,
        name,
        "edit_file",
        arguments,
        {path: before},
        None if after is None else {path: after},
    )


def pick(number: int) -> tuple[str, str]:
    """A part of a file, spread over all of them."""
    return OUTERS[number % len(OUTERS)], INNERS[(number // 2) % len(INNERS)]


def naming_change(source: Source, number: int) -> Change:
    """A change of the line that occurs once in its file."""
    at = source.naming(*pick(number))
    return Change(
        at,
        1,
        (
            source.lines[at].replace(" ", " new ", 1)
            if not source.lines[at].startswith(" ")
            else source.lines[at].replace(*_swap(source.lines[at])),
        ),
    )


def _swap(line: str) -> tuple[str, str]:
    word = next(one for one in ("needs a value", "panel", "job", "page", "entry") if one in line)
    return word, f"{word} now"


def common_change(source: Source, outer: str, inner: str) -> Change:
    """A change of a line that every part of the file has."""
    return Change(source.common(outer, inner), 1, (source.language.changed,))
