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
from handrail.tools._lib import diff
from handrail.tools._lib.bytetext import ByteText, form_of
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.patches.model import Hunk
from handrail.tools._lib.patches.operations import without_wide_marks
from handrail.tools._lib.patches.placing import Placed, placed
from handrail.tools._lib.splice import Splice, composed, hunks_of, spliced


class Patched(NamedTuple):
    """The new bytes, what changed for a person to look at, and a remark on each hunk that
    did not agree literally.
    """

    data: bytes
    shown: Sequence[diff.Hunk]
    notes: Sequence[str]


def patched(data: bytes, hunks: Sequence[Hunk], path: str) -> Patched:
    """The file with all hunks carried out; `no_match`, `ambiguous` or `already_applied`."""
    file = _file(data, hunks, path)
    done = _carried_out(data, without_wide_marks(hunks, file), file)
    after = spliced(data, done.splices).tobytes()
    if not done.splices:
        return Patched(after, (), done.notes)
    line = file.file.lines_between(0, done.splices[0].start) + 1
    return Patched(after, hunks_of(file.file, done.splices, line), done.notes)


class _Done(NamedTuple):
    splices: Sequence[Splice]
    notes: Sequence[str]


def _carried_out(data: bytes, hunks: Sequence[Hunk], file: FileLines) -> _Done:
    try:
        done = [_placed(file, hunk) for hunk in hunks]
    except ProblemRaised as raised:
        if len(hunks) == 1 or raised.problem.code != "no_match":
            raise
        return _one_by_one(data, hunks, file.path)
    _refuse_doubtful_numbers(hunks, done)
    splices = sorted([splice for one in done for splice in one.splices])
    if any(_collide(one, two) for one, two in pairwise(splices)):
        return _one_by_one(data, hunks, file.path)
    return _Done(splices, [one.note for one in done if one.note])


def _refuse_doubtful_numbers(hunks: Sequence[Hunk], done: Sequence[Placed]) -> None:
    """Refuse a hunk that only its line number places if other hunks show numbers to be wrong."""
    numbered = next((hunk for hunk in hunks if hunk.numbered), None)
    shifted = next((one for one in done if one.shift), None)
    if numbered is not None and shifted is not None:
        raise ProblemRaised(
            "no_match",
            f"hunk {numbered.number} has no context lines, and its line number cannot be trusted: "
            f"another hunk was found {abs(shifted.shift)} lines away from the line it states",
            hint="read the file and give lines of context around the insertion",
            field="patch",
        )


def _one_by_one(data: bytes, hunks: Sequence[Hunk], path: str) -> _Done:
    splices: Sequence[Splice] = ()
    notes: list[str] = []
    grown = 0
    for hunk in hunks:
        least = 0 if hunk.numbered else 1
        moved = hunk if hunk.line is None else replace(hunk, line=max(hunk.line + grown, least))
        step = _placed(_file(data, [hunk], path), moved)
        data = spliced(data, step.splices).tobytes()
        splices = composed(splices, step.splices)
        notes += [step.note] if step.note else []
        grown += len(hunk.new) - len(hunk.old)
    return _Done(splices, notes)


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
