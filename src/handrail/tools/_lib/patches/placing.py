"""Finds the place of one hunk in a file, and makes its splices.

The lines decide. A stated line number or heading only chooses between equal places; an anchor or
the end of the file limits which places count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from math import gcd
from typing import Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.byte_text import Splice
from handrail.tools._lib.matching.candidates import Tier, find_candidate_at
from handrail.tools._lib.matching.ellipsis import find_elided
from handrail.tools._lib.matching.exact import already_applied_problem
from handrail.tools._lib.matching.input_repairs import find_repairs
from handrail.tools._lib.matching.lines import (
    FileLines,
    LineBlock,
    LineOp,
    PairLines,
    PlacementHints,
    diff_lines,
    diff_texts,
)
from handrail.tools._lib.matching.omission import find_omission
from handrail.tools._lib.matching.pair import is_applied_at
from handrail.tools._lib.matching.placement import (
    Placement,
    ambiguous_problem,
    find_block,
    place_block,
)
from handrail.tools._lib.matching.replay import replay_block
from handrail.tools._lib.new_text.leftovers import find_leftover
from handrail.tools._lib.new_text.marks import shows_marks
from handrail.tools._lib.patches.model import PatchHunk, PatchLine, malformed_problem


def hunk_block(hunk: PatchHunk) -> LineBlock:
    """Return the operations of a hunk; a line that is deleted and added again is kept."""
    ops: list[LineOp] = []
    for context, run in groupby(hunk.lines, key=lambda line: line.sign == " "):
        lines = list(run)
        # The last line is replaced if only the newline after it changes.
        if context or (lines[-1] is hunk.lines[-1] and hunk.old_ends != hunk.new_ends):
            ops += [_op(line) for line in lines]
        else:
            old = [line.text for line in lines if line.sign == "-"]
            new = [line.text for line in lines if line.sign == "+"]
            ops += diff_lines(old, new, same=str).ops
    return LineBlock(tuple(ops))


def _op(line: PatchLine) -> LineOp:
    match line.sign:
        case " ":
            return LineOp("keep", line.text)
        case "-":
            return LineOp("delete", line.text)
        case "+":
            return LineOp("insert", line.text)


def without_wide_marks(hunks: Sequence[PatchHunk], file: FileLines) -> list[PatchHunk]:
    """Return the hunks without the blank after each `-` and `+`, if all have one that is not
    indentation: the file has none of the deleted lines with it, and all of them without.
    """
    file_lines = file.trimmed
    marked = [line for hunk in hunks for line in hunk.lines if line.sign != " " and line.text]
    deleted = [line.text.rstrip() for line in marked if line.sign == "-"]
    wide = all(line.text.startswith(" ") for line in marked)
    if (
        not deleted
        or not wide
        or any(text in file_lines or text[1:] not in file_lines for text in deleted)
    ):
        return list(hunks)
    return [
        replace(hunk, lines=tuple([_narrow(line, file_lines) for line in hunk.lines]))
        for hunk in hunks
    ]


def _narrow(line: PatchLine, file_lines: frozenset[str]) -> PatchLine:
    if line.sign == " " and (
        line.text.rstrip() in file_lines or line.text[1:].rstrip() not in file_lines
    ):
        return line
    return line._replace(text=line.text[1:])


def with_lost_marks(hunk: PatchHunk, file: FileLines) -> PatchHunk:
    """Return the hunk with context lines completed that lost the blank before them.

    Such a line looks indented by one blank less. It is changed only if the file has it with the
    blank and not without, and if the rest of the hunk is not indented less as well.
    """
    file_lines = file.trimmed
    lost_mark = [
        line.sign == " " and text not in file_lines and " " + text in file_lines
        for line in hunk.lines
        for text in [line.text.rstrip()]
    ]
    if not hunk.counted:
        _refuse_doubtful(hunk, file_lines)
    if not any(lost_mark):
        return hunk
    lines = [
        PatchLine(" ", " " + line.text) if is_lost else line
        for line, is_lost in zip(hunk.lines, lost_mark, strict=True)
    ]
    others = [
        line for line, is_lost in zip(lines, lost_mark, strict=True) if not is_lost and line.text
    ]
    old = [line for line in others if line.sign != "+"]
    if old:
        literal = all(line.text.rstrip() in file_lines for line in old)
    else:
        unit = gcd(
            *[_depth(line) for line, is_lost in zip(lines, lost_mark, strict=True) if is_lost]
        )
        literal = all(_depth(line) % unit == 0 for line in others)
    return replace(hunk, lines=tuple(lines)) if literal else hunk


def _refuse_doubtful(hunk: PatchHunk, file_lines: frozenset[str]) -> None:
    """Raise `no_match` for a `+` that may be the mark of a new line, or the first character of a
    line without its mark.
    """
    for line in hunk.lines:
        if line.sign == "+" and line.text.strip() and "+" + line.text.rstrip() in file_lines:
            raise ProblemRaised(
                "no_match",
                f"{'+' + line.text!r} may be a new line, or the file's own line without a mark",
                hint="put a blank before every line that stays",
            )


def _depth(line: PatchLine) -> int:
    return len(line.text) - len(line.text.lstrip())


# Fewer letters than this are in any file by chance.
_LEAST_EVIDENCE: Final = 3
_FAR: Final = 8


class PlacedHunk(NamedTuple):
    """The splices of a hunk, and a note if it did not agree exactly.

    `shift` is how many lines below its stated line the hunk was found.
    """

    splices: tuple[Splice, ...]
    note: str = ""
    shift: int = 0


def place_hunk(file: FileLines, hunk: PatchHunk) -> PlacedHunk:
    """Return a hunk with its splices; raises `no_match`, `ambiguous` or `already_applied`."""
    if hunk.changes_endings:
        raise malformed_problem("it changes only how lines end, which a patch cannot do here")
    hunk = with_lost_marks(hunk, file)
    said = find_omission("\n".join(hunk.old), "\n".join(hunk.new), file.path)
    if said is not None:
        raise malformed_problem(f"{said!r} stands for lines that it would delete")
    # Blank lines alone are no evidence; then only the exact line is.
    blank = hunk.old and not any(text.strip() for text in hunk.old)
    hints = PlacementHints(hunk.line if blank else None, hunk.anchors, at_end=hunk.at_end)
    if hunk.numbered and hunk.line is not None and not hunk.anchors:
        hints = PlacementHints(hunk.line + 1)
    block = hunk_block(hunk)
    placement = _at_stated_line(file, hunk, block) or _choose_place(
        partial(find_block, file, block), hunk, hints
    )
    if placement is not None:
        _refuse_leftover(file, hunk)
        _refuse_by_chance(hunk, placement)
        _refuse_other_line(file, hunk, block, placement)
        _refuse_twin(file, hunk, placement)
        return _replayed(file, hunk, block, placement)
    return (
        _repaired(file, hunk, hints)
        or _elided(file, hunk)
        or _replayed(file, hunk, block, _drifted(file, block, hunk, hints))
    )


def _refuse_leftover(file: FileLines, hunk: PatchHunk) -> None:
    if shows_marks(file.path):
        return
    what = find_leftover("\n".join(hunk.old), "\n".join(hunk.new), file.path)
    if what is not None:
        raise malformed_problem(f"its added lines have {what}, which would be written to the file")


def _at_stated_line(file: FileLines, hunk: PatchHunk, block: LineBlock) -> Placement | None:
    """Return the place at exactly the stated line, if all lines are there literally; no other place
    can fit better, so none is searched.
    """
    if hunk.line is None or hunk.anchors or hunk.at_end or hunk.numbered:
        return None
    candidate = find_candidate_at(file, block, hunk.line - 1)
    if candidate is None or candidate.tier is not Tier.EXACT:
        return None
    return Placement(candidate.first, candidate.end, candidate.tier, candidate.lines)


def _refuse_by_chance(hunk: PatchHunk, placement: Placement) -> None:
    """Raise `no_match` for a place far from the stated line that only blanks and brackets match."""
    letters = sum(char.isalnum() for text in hunk.old for char in text)
    if hunk.line is None or hunk.heading or letters >= _LEAST_EVIDENCE:
        return
    if abs(placement.first + 1 - hunk.line) > _FAR:
        raise ProblemRaised(
            "no_match",
            f"its lines hold no words, and fit at line {placement.first + 1} instead of {hunk.line}",
            hint="include lines around the change that occur only once",
        )


def _refuse_other_line(
    file: FileLines, hunk: PatchHunk, block: LineBlock, placement: Placement
) -> None:
    """Raise `ambiguous` if the lines fit exactly here, and except for blanks at the stated line."""
    if hunk.line is None or hunk.numbered or hunk.anchors:
        return
    other = find_candidate_at(file, block, hunk.line - 1)
    if other is not None and other.first != placement.first and other.tier <= Tier.TYPOGRAPHY:
        raise ambiguous_problem(file, block, sorted((placement.first, other.first)))


def _refuse_twin(file: FileLines, hunk: PatchHunk, placement: Placement) -> None:
    """Raise `ambiguous` if most lines are at exactly the stated line and all of them elsewhere: the
    intended lines have changed, and the others only resemble them.
    """
    first = (hunk.line or 0) - 1
    if first < 0 or abs(placement.first - first) <= _FAR:
        return
    file_lines = file.texts[first : first + len(hunk.old)]
    pairs = [pair for pair in zip(hunk.old, file_lines, strict=False) if pair[0].strip()]
    equal = [old for old, actual in pairs if old.strip() == actual.strip()]
    if len(equal) > 1 and 3 * len(equal) >= 2 * len(pairs):
        raise ProblemRaised(
            "ambiguous",
            f"line {first + 1}, which it names, has almost the same lines as line "
            f"{placement.first + 1}, where all of them are",
            hint="read both places; give more surrounding lines, or the right line number",
        )


def _replayed(
    file: FileLines, hunk: PatchHunk, block: LineBlock, placement: Placement, undone: str = ""
) -> PlacedHunk:
    if is_applied_at(file, block.old, block.new, placement):
        raise already_applied_problem(file.path, placement.first + 1)
    newline = None if hunk.old_ends == hunk.new_ends else not hunk.new_ends
    splices = replay_block(file, block, placement, final_newline=newline)
    ignored = "" if placement.tier is Tier.EXACT else f"{placement.tier.words} ignored"
    how = ", ".join([words for words in (undone and f"{undone} undone", ignored) if words])
    note = f"hunk {hunk.number} fits at line {placement.first + 1} with {how}" if how else ""
    shift = 0 if hunk.line is None or hunk.numbered else placement.first + 1 - hunk.line
    return PlacedHunk(splices, note, shift)


_Find = Callable[[PlacementHints], Placement | None]


def _choose_place(search: _Find, hunk: PatchHunk, hints: PlacementHints) -> Placement | None:
    """Return the result of a search; of several places the one at exactly the stated line, or the
    one that a nearby line number or the heading indicates, unless these two disagree.
    """
    try:
        return search(hints)
    except ProblemRaised as raised:
        if raised.problem.code != "ambiguous":
            raise
        ambiguous = raised
    placements: list[Placement] = []
    for hint in _tie_breakers(hunk, hints):
        try:
            placement = search(hint)
        except ProblemRaised:
            continue
        if placement is not None and hint.line is not None and placement.lines[0] == hint.line - 1:
            return placement
        placements += [placement] if placement is not None else []
    if not placements or any(placement.first != placements[0].first for placement in placements):
        raise ambiguous
    return placements[0]


def _tie_breakers(hunk: PatchHunk, hints: PlacementHints) -> Iterator[PlacementHints]:
    if hunk.line is not None:
        yield replace(hints, line=hunk.line)
    if hunk.heading:
        yield replace(hints, anchors=(hunk.heading,))


def _repaired(file: FileLines, hunk: PatchHunk, hints: PlacementHints) -> PlacedHunk | None:
    """Return the hunk with a transcription error undone, if it then fits exactly."""
    for alternatives in find_repairs("\n".join(hunk.old), "\n".join(hunk.new)):
        fitting: list[tuple[LineBlock, Placement, str]] = []
        for repair in alternatives:
            block = diff_texts(repair.old, repair.new)
            look = partial(find_block, file, block, loosest=Tier.WHITESPACE)
            placement = _choose_place(look, hunk, hints) if block.changes else None
            fitting += [(block, placement, repair.how)] if placement is not None else []
        places = sorted({placement.first for _, placement, _ in fitting})
        if len(places) > 1:
            raise ambiguous_problem(file, fitting[0][0], places)
        if fitting:
            block, placement, how = min(fitting, key=lambda fit: fit[1].tier)
            return _replayed(file, hunk, block, placement, how)
    return None


def _elided(file: FileLines, hunk: PatchHunk) -> PlacedHunk | None:
    """Return the hunk placed piece by piece, if a line of dots replaces omitted lines."""
    if hunk.anchors or hunk.at_end:
        return None
    pieces = find_elided(file, PairLines(hunk.old, hunk.new))
    if not pieces:
        return None
    if any(is_applied_at(file, block.old, block.new, placement) for block, placement in pieces):
        raise already_applied_problem(file.path, pieces[0][1].first + 1)
    splices = [
        splice for block, placement in pieces for splice in replay_block(file, block, placement)
    ]
    return PlacedHunk(tuple(splices), f"hunk {hunk.number} fits around what it leaves out")


def _drifted(
    file: FileLines, block: LineBlock, hunk: PatchHunk, hints: PlacementHints
) -> Placement:
    placement = _choose_place(partial(place_block, file, block), hunk, hints)
    if placement is None:
        raise LookupError("a search that must find or refuse did neither")
    return placement
