"""Hunks carried out on the bytes of one file.

All hunks are placed on the file as it is, because that is what a diff describes; only if
one of them builds on another are they carried out one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.bytetext import ByteText, form_of
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.patches.model import Hunk
from handrail.tools._lib.patches.operations import without_wide_marks
from handrail.tools._lib.patches.placing import Placed, placed
from handrail.tools._lib.splice import Splice, spliced


class Patched(NamedTuple):
    """The new bytes, and a remark on each hunk that did not agree literally."""

    data: bytes
    notes: tuple[str, ...]


def patched(data: bytes, hunks: Sequence[Hunk], path: str) -> Patched:
    """The file with all hunks carried out; `no_match`, `ambiguous` or `already_applied`."""
    file = _file(data, hunks, path)
    hunks = without_wide_marks(hunks, file)
    try:
        done = [_placed(file, hunk) for hunk in hunks]
    except ProblemRaised as raised:
        if len(hunks) == 1 or raised.problem.code != "no_match":
            raise
        return _one_by_one(data, hunks, path)
    splices = sorted([splice for one in done for splice in one.splices])
    if any(_collide(one, two) for one, two in pairwise(splices)):
        return _one_by_one(data, hunks, path)
    notes = tuple([one.note for one in done if one.note])
    return Patched(spliced(data, splices).tobytes(), notes)


def _one_by_one(data: bytes, hunks: Sequence[Hunk], path: str) -> Patched:
    notes: list[str] = []
    grown = 0
    for hunk in hunks:
        moved = hunk if hunk.line is None else replace(hunk, line=max(hunk.line + grown, 1))
        step = _placed(_file(data, [hunk], path), moved)
        data = spliced(data, step.splices).tobytes()
        notes += [step.note] if step.note else []
        grown += len(hunk.new) - len(hunk.old)
    return Patched(data, tuple(notes))


def _collide(one: Splice, two: Splice) -> bool:
    return two.start < one.end or (one.start, one.end) == (two.start, two.end)


def _file(data: bytes, hunks: Sequence[Hunk], path: str) -> FileLines:
    texts = [line.text for hunk in hunks for line in hunk.lines]
    return FileLines(ByteText(data, form_of(data, *texts)), path)


def _placed(file: FileLines, hunk: Hunk) -> Placed:
    try:
        return placed(file, hunk)
    except ProblemRaised as raised:
        told = raised.problem
        message = f"hunk {hunk.number} of {file.path!r}: {told.message}"
        raise ProblemRaised.of(replace(told, message=message, field="patch")) from raised
