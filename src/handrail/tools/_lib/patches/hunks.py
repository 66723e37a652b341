"""Hunks carried out on the bytes of one file.

All hunks are placed on the file as it is, because that is what a diff describes; only if
one of them builds on another are they carried out one after the other.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import replace
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
    """All hunks in as few rounds as they need: in each, all that fit the file as it is then.

    The first hunk that does not fit, or that changes what another one changes, begins the next
    round; a round that begins with a hunk that does not fit is the end.
    """
    done = _Done((), ())
    grown = 0
    rest = list(hunks)
    while rest:
        placed_now = _one_round(file, rest, grown, raises=len(hunks) == 1)
        splices = sorted([splice for one in placed_now for splice in one.splices])
        notes = [one.note for one in placed_now if one.note]
        done = _Done(
            composed(done.splices, splices) if done.splices else splices, [*done.notes, *notes]
        )
        now, rest = rest[: len(placed_now)], rest[len(placed_now) :]
        grown += sum(len(hunk.new) - len(hunk.old) for hunk in now)
        if rest:
            file = _file(spliced(data, done.splices).tobytes(), hunks, file.path)
    return done


def _one_round(file: FileLines, hunks: Sequence[Hunk], grown: int, *, raises: bool) -> list[Placed]:
    """The first hunks that fit the file together; raises if not even the first one does.

    `grown` is by how many lines earlier rounds made the file longer.
    """
    done: list[Placed] = []
    taken: list[Splice] = []
    for hunk in hunks:
        try:
            one = _placed(file, _moved(hunk, grown))
        except ProblemRaised as raised:
            if raises or not done or raised.problem.code != "no_match":
                raise
            break
        if any(_collides(taken, splice) for splice in one.splices):
            break
        for splice in one.splices:
            insort(taken, splice)
        done.append(one)
    _refuse_doubtful_numbers(hunks[: len(done)], done)
    return done


def _moved(hunk: Hunk, grown: int) -> Hunk:
    if hunk.line is None or not grown:
        return hunk
    return replace(hunk, line=max(hunk.line + grown, 0 if hunk.numbered else 1))


def _collides(taken: Sequence[Splice], splice: Splice) -> bool:
    """Whether a splice changes what one of these, which are in order, changes."""
    at = bisect_left(taken, splice)
    return any(_collide(*sorted((splice, one))) for one in taken[max(at - 1, 0) : at + 1])


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
