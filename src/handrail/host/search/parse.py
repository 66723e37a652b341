"""What ripgrep printed, as values. A record that was cut off in the middle is dropped."""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple

from handrail.host.search.decode import PIECE

_LINE: Final = re.compile(rb"([^\0]*)\0(\d+)([:-])([^\n]*)\n")
_COUNT: Final = re.compile(rb"([^\0]*)\0(\d+)\r?\n")
# Printed between the records, with a name but without a NUL.
_BINARY: Final = re.compile(
    rb"((?s:.*?)): (?:WARNING: stopped searching binary file after match|binary file matches)"
    rb" \(found \"\\0\" byte around offset (\d+)\)\n"
)
_COMPLAINT: Final = re.compile(rb"^rg: \./", re.MULTILINE)


class Line(NamedTuple):
    """One line of one file."""

    number: int
    matched: bool
    text: bytes


class Lines(NamedTuple):
    """Lines by path, and the files that turned out to be binary further down."""

    by_path: dict[bytes, list[Line]]
    turned_binary: set[bytes]


def parse_lines(output: bytes) -> Lines:
    """The output of a content search.

    Whether ripgrep shows lines of a file with a NUL in its first piece depends on the
    pattern; here it never does.
    """
    by_path: dict[bytes, list[Line]] = {}
    binary: dict[bytes, int] = {}
    end = 0
    for found in _LINE.finditer(output):
        path, number, separator, text = found.groups()
        end = found.end()
        if path not in by_path:
            path = _take_notices(path, binary)
        by_path.setdefault(path, []).append(Line(int(number), separator == b":", text))
    _take_notices(output[end:], binary)
    for path, offset in binary.items():
        if offset < PIECE:
            by_path.pop(path, None)
    return Lines(by_path, binary.keys() & by_path.keys())


def parse_counts(output: bytes) -> dict[bytes, int]:
    """The output of a counting search."""
    return {path: int(count) for path, count in _COUNT.findall(output)}


def parse_paths(output: bytes) -> list[str]:
    """Names that each begin with `./` and end in NUL, without either."""
    complete = output[: output.rfind(b"\0") + 1]
    if not complete:
        return []
    # Decoded and split as a whole: a hundred thousand names one by one take twice as long.
    return os.fsdecode(complete[2:-1]).split("\0./")


def unreadable_files(errors: bytes) -> int:
    """How many files or directories it complained about."""
    return len(_COMPLAINT.findall(errors))


def pattern_error(errors: bytes) -> str:
    """Why it would not start, in one line."""
    lines = errors.decode("utf-8", "replace").splitlines()
    for line in lines:
        if line.startswith("error: "):
            return line.removeprefix("error: ").rstrip(".")
    return lines[0].removeprefix("rg: ").rstrip(".") if lines else "it would not start"


def _take_notices(text: bytes, binary: dict[bytes, int]) -> bytes:
    """Note the binary files that are told of in front of a path; returns the path alone."""
    while (found := _BINARY.match(text)) is not None:
        binary[found[1]] = int(found[2])
        text = text[found.end() :]
    return text
