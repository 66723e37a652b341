"""Parses ripgrep's output. A truncated record is dropped.

A path ends at a NUL, but may contain line breaks and text that looks like a notice of ripgrep.
Notices precede paths without a separator, so a notice is only a hint.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_LINE: Final = re.compile(rb"([^\0]*)\0(\d+)([:-])([^\n]*)\n")
_COUNT: Final = re.compile(rb"([^\0]*)\0(\d+)\r?\n")
# Printed between records, with a name that may contain anything but NUL.
_BINARY: Final = re.compile(
    rb"((?s:.*?)): (?:WARNING: stopped searching binary file after match|binary file matches)"
    rb" \(found \"\\0\" byte around offset (\d+)\)\n"
)
_COMPLAINT: Final = re.compile(rb"^rg: (?:\./|/proc/self/fd/)", re.MULTILINE)


class OutputLine(NamedTuple):
    """One line of one file."""

    number: int
    matched: bool
    text: bytes


class ParsedOutput(NamedTuple):
    """Lines by path. `noticed` are files that ripgrep may have reported as binary, with the offset;
    `unclear` counts ambiguous names, which are dropped.
    """

    by_path: dict[bytes, list[OutputLine]]
    noticed: dict[bytes, int]
    unclear: int


def parse_lines(output: bytes, exists: Callable[[bytes], bool]) -> ParsedOutput:
    """The output of a content search; `exists` returns whether a path is a file."""
    by_path: dict[bytes, list[OutputLine]] = {}
    noticed: dict[bytes, int] = {}
    # Only a field with a line break can contain a notice; None marks an ambiguous one.
    read: dict[bytes, bytes | None] = {}
    end = 0
    for found in _LINE.finditer(output):
        field, number, separator, text = found.groups()
        end = found.end()
        path: bytes | None = field
        if b"\n" in field:
            if field not in read:
                read[field] = _match_path(field, exists)
                noticed |= _offsets(field)
            path = read[field]
        if path is not None:
            by_path.setdefault(path, []).append(OutputLine(int(number), separator == b":", text))
    noticed |= _offsets(output[end:])
    return ParsedOutput(by_path, noticed, list(read.values()).count(None))


def parse_counts(output: bytes) -> dict[bytes, int]:
    """The output of a counting search."""
    return {path: int(count) for path, count in _COUNT.findall(output)}


def parse_paths(output: bytes) -> list[str]:
    """Names that begin with `./` and end in NUL, without either."""
    complete = output[: output.rfind(b"\0") + 1]
    if not complete:
        return []
    # Decoded and split at once: one by one, a hundred thousand names take twice as long.
    return os.fsdecode(complete[2:-1]).split("\0./")


def unreadable_files(errors: bytes) -> int:
    """How many files or directories ripgrep could not read."""
    return len(_COMPLAINT.findall(errors))


def pattern_error(errors: bytes) -> str:
    """Why ripgrep did not start, in one line."""
    lines = errors.decode("utf-8", "replace").splitlines()
    for line in lines:
        if line.startswith("error: "):
            return line.removeprefix("error: ").rstrip(".")
    return lines[0].removeprefix("rg: ").rstrip(".") if lines else "it would not start"


class _Notice(NamedTuple):
    path: bytes
    offset: int
    end: int


def _match_path(field: bytes, exists: Callable[[bytes], bool]) -> bytes | None:
    """The path at the end of a field that may begin with notices; None if it is ambiguous."""
    starts = [0, *(notice.end for notice in _notices(field))]
    there = [field[start:] for start in starts if exists(field[start:])]
    return there[0] if len(there) == 1 else None


def _offsets(text: bytes) -> dict[bytes, int]:
    return {notice.path: notice.offset for notice in _notices(text)}


def _notices(text: bytes) -> Iterator[_Notice]:
    # Matched one after the other, because a search would try every position.
    found = _BINARY.match(text)
    while found is not None:
        yield _Notice(found[1], int(found[2]), found.end())
        found = _BINARY.match(text, found.end())
