"""Where one hunk belongs in a file, and the splices that carry it out there.

The lines decide. A stated line number or heading only chooses between places that fit equally; an
anchor or the end of the file limits which places count.
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
from handrail.tools._lib.matching.pair import is_applied_at
from handrail.tools._lib.matching.placement import (
    Placement,
    ambiguous_problem,
    find_block,
    place_block,
)
from handrail.tools._lib.matching.replay import replay_block
from handrail.tools._lib.patches.model import PatchHunk, PatchLine, malformed_problem


def hunk_block(hunk: PatchHunk) -> LineBlock:
    """The hunk's operations; a line that is taken out and put back in is kept."""
    ops: list[LineOp] = []
    for context, run in groupby(hunk.lines, key=lambda line: line.sign == " "):
        lines = list(run)
        # The last line goes and comes back if only the newline behind it changes.
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
    """The hunks without a blank after each `-` and `+`, if all have one that is no indentation:
    the file has no line that is to go with it, and all of them without.
    """
    there = file.trimmed
    marked = [line for hunk in hunks for line in hunk.lines if line.sign != " " and line.text]
    gone = [line.text.rstrip() for line in marked if line.sign == "-"]
    wide = all(line.text.startswith(" ") for line in marked)
    if not gone or not wide or any(text in there or text[1:] not in there for text in gone):
        return list(hunks)
    return [
        replace(hunk, lines=tuple([_narrow(line, there) for line in hunk.lines])) for hunk in hunks
    ]


def _narrow(line: PatchLine, there: frozenset[str]) -> PatchLine:
    if line.sign == " " and (line.text.rstrip() in there or line.text[1:].rstrip() not in there):
        return line
    return line._replace(text=line.text[1:])


def with_lost_marks(hunk: PatchHunk, file: FileLines) -> PatchHunk:
    """The hunk with context lines whole that lost the blank before them.

    Such a line looks indented by one blank less. It is read anew only if the file has it
    that way and not the other, and if the rest of the hunk is not indented less as well.
    """
    there = file.trimmed
    lost = [
        line.sign == " " and text not in there and " " + text in there
        for line in hunk.lines
        for text in [line.text.rstrip()]
    ]
    if not hunk.counted:
        _refuse_doubtful(hunk, there)
    if not any(lost):
        return hunk
    lines = [
        PatchLine(" ", " " + line.text) if anew else line
        for line, anew in zip(hunk.lines, lost, strict=True)
    ]
    others = [line for line, anew in zip(lines, lost, strict=True) if not anew and line.text]
    old = [line for line in others if line.sign != "+"]
    if old:
        literal = all(line.text.rstrip() in there for line in old)
    else:
        unit = gcd(*[_depth(line) for line, anew in zip(lines, lost, strict=True) if anew])
        literal = all(_depth(line) % unit == 0 for line in others)
    return replace(hunk, lines=tuple(lines)) if literal else hunk


def _refuse_doubtful(hunk: PatchHunk, there: frozenset[str]) -> None:
    """A `+` may be the mark of a new line, or the first character of one that lost its mark."""
    for line in hunk.lines:
        if line.sign == "+" and line.text.strip() and "+" + line.text.rstrip() in there:
            raise ProblemRaised(
                "no_match",
                f"{'+' + line.text!r} may be a new line, or the file's own line without a mark",
                hint="put a blank before every line that stays",
            )


def _depth(line: PatchLine) -> int:
    return len(line.text) - len(line.text.lstrip())


# Fewer letters than this are found in any file by chance.
_LEAST_EVIDENCE: Final = 3
_FAR: Final = 8


class PlacedHunk(NamedTuple):
    """What to do to the file's bytes, and a remark if the hunk did not agree literally.

    `shift` is how many lines below its stated line the hunk was found.
    """

    splices: tuple[Splice, ...]
    note: str = ""
    shift: int = 0


def place_hunk(file: FileLines, hunk: PatchHunk) -> PlacedHunk:
    """A hunk carried out; `no_match`, `ambiguous` or `already_applied`."""
    if hunk.changes_endings:
        raise malformed_problem("it changes only how lines end, which a patch cannot do here")
    hunk = with_lost_marks(hunk, file)
    # Blank lines alone are no evidence; then only the exact line is.
    blank = hunk.old and not any(text.strip() for text in hunk.old)
    hints = PlacementHints(hunk.line if blank else None, hunk.anchors, at_end=hunk.at_end)
    if hunk.numbered and hunk.line is not None and not hunk.anchors:
        hints = PlacementHints(hunk.line + 1)
    block = hunk_block(hunk)
    found = _at_stated_line(file, hunk, block) or _decided(
        partial(find_block, file, block), hunk, hints
    )
    if found is not None:
        _refuse_by_chance(hunk, found)
        _refuse_other_line(file, hunk, block, found)
        _refuse_twin(file, hunk, found)
        return _replayed(file, hunk, block, found)
    return (
        _repaired(file, hunk, hints)
        or _elided(file, hunk)
        or _replayed(file, hunk, block, _drifted(file, block, hunk, hints))
    )


def _at_stated_line(file: FileLines, hunk: PatchHunk, block: LineBlock) -> Placement | None:
    """The place at exactly the stated line, if all lines are there literally: no other place
    can fit better, so none is looked for.
    """
    if hunk.line is None or hunk.anchors or hunk.at_end or hunk.numbered:
        return None
    one = find_candidate_at(file, block, hunk.line - 1)
    if one is None or one.tier is not Tier.EXACT:
        return None
    return Placement(one.first, one.end, one.tier, one.lines)


def _refuse_by_chance(hunk: PatchHunk, found: Placement) -> None:
    """Refuse a place far from the stated line that only blanks and brackets match."""
    letters = sum(char.isalnum() for text in hunk.old for char in text)
    if hunk.line is None or hunk.heading or letters >= _LEAST_EVIDENCE:
        return
    if abs(found.first + 1 - hunk.line) > _FAR:
        raise ProblemRaised(
            "no_match",
            f"its lines hold no words, and fit at line {found.first + 1} instead of {hunk.line}",
            hint="include lines around the change that occur only once",
        )


def _refuse_other_line(
    file: FileLines, hunk: PatchHunk, block: LineBlock, found: Placement
) -> None:
    """Refuse if the lines fit literally here, and but for blanks at exactly the stated line."""
    if hunk.line is None or hunk.numbered or hunk.anchors:
        return
    other = find_candidate_at(file, block, hunk.line - 1)
    if other is not None and other.first != found.first and other.tier <= Tier.TYPOGRAPHY:
        raise ambiguous_problem(file, block, sorted((found.first, other.first)))


def _refuse_twin(file: FileLines, hunk: PatchHunk, found: Placement) -> None:
    """Refuse if most lines stand at exactly the stated line, and all of them elsewhere: the
    lines meant have changed since, and these are others that look like them.
    """
    first = (hunk.line or 0) - 1
    if first < 0 or abs(found.first - first) <= _FAR:
        return
    here = file.texts[first : first + len(hunk.old)]
    pairs = [pair for pair in zip(hunk.old, here, strict=False) if pair[0].strip()]
    equal = [old for old, own in pairs if old.strip() == own.strip()]
    if len(equal) > 1 and 3 * len(equal) >= 2 * len(pairs):
        raise ProblemRaised(
            "ambiguous",
            f"line {first + 1}, which it names, has almost the same lines as line "
            f"{found.first + 1}, where all of them are",
            hint="read both places; give more surrounding lines, or the right line number",
        )


def _replayed(
    file: FileLines, hunk: PatchHunk, block: LineBlock, found: Placement, undone: str = ""
) -> PlacedHunk:
    if is_applied_at(file, block.old, block.new, found):
        raise already_applied_problem(file.path, found.first + 1)
    newline = None if hunk.old_ends == hunk.new_ends else not hunk.new_ends
    splices = replay_block(file, block, found, final_newline=newline)
    ignored = "" if found.tier is Tier.EXACT else f"{found.tier.words} ignored"
    how = ", ".join([words for words in (undone and f"{undone} undone", ignored) if words])
    note = f"hunk {hunk.number} fits at line {found.first + 1} with {how}" if how else ""
    shift = 0 if hunk.line is None or hunk.numbered else found.first + 1 - hunk.line
    return PlacedHunk(splices, note, shift)


_Find = Callable[[PlacementHints], Placement | None]


def _decided(look: _Find, hunk: PatchHunk, hints: PlacementHints) -> Placement | None:
    """What a search finds; of several places the one at exactly the stated line, or the one
    that a line nearby or the heading names, unless those two disagree.
    """
    try:
        return look(hints)
    except ProblemRaised as raised:
        if raised.problem.code != "ambiguous":
            raise
        several = raised
    found: list[Placement] = []
    for hint in _tie_breakers(hunk, hints):
        try:
            one = look(hint)
        except ProblemRaised:
            continue
        if one is not None and hint.line is not None and one.lines[0] == hint.line - 1:
            return one
        found += [one] if one is not None else []
    if not found or any(one.first != found[0].first for one in found):
        raise several
    return found[0]


def _tie_breakers(hunk: PatchHunk, hints: PlacementHints) -> Iterator[PlacementHints]:
    if hunk.line is not None:
        yield replace(hints, line=hunk.line)
    if hunk.heading:
        yield replace(hints, anchors=(hunk.heading,))


def _repaired(file: FileLines, hunk: PatchHunk, hints: PlacementHints) -> PlacedHunk | None:
    """The hunk with a slip of handing it over undone, if it then fits literally."""
    for several in find_repairs("\n".join(hunk.old), "\n".join(hunk.new)):
        fitting: list[tuple[LineBlock, Placement, str]] = []
        for repair in several:
            block = diff_texts(repair.old, repair.new)
            look = partial(find_block, file, block, loosest=Tier.WHITESPACE)
            found = _decided(look, hunk, hints) if block.changes else None
            fitting += [(block, found, repair.how)] if found is not None else []
        places = sorted({found.first for _, found, _ in fitting})
        if len(places) > 1:
            raise ambiguous_problem(file, fitting[0][0], places)
        if fitting:
            block, found, how = min(fitting, key=lambda one: one[1].tier)
            return _replayed(file, hunk, block, found, how)
    return None


def _elided(file: FileLines, hunk: PatchHunk) -> PlacedHunk | None:
    """The hunk piece by piece, if a line of dots replaces omitted lines."""
    if hunk.anchors or hunk.at_end:
        return None
    pieces = find_elided(file, PairLines(hunk.old, hunk.new))
    if not pieces:
        return None
    if any(is_applied_at(file, block.old, block.new, found) for block, found in pieces):
        raise already_applied_problem(file.path, pieces[0][1].first + 1)
    splices = [splice for block, found in pieces for splice in replay_block(file, block, found)]
    return PlacedHunk(tuple(splices), f"hunk {hunk.number} fits around what it leaves out")


def _drifted(
    file: FileLines, block: LineBlock, hunk: PatchHunk, hints: PlacementHints
) -> Placement:
    found = _decided(partial(place_block, file, block), hunk, hints)
    if found is None:
        raise LookupError("a search that must find or refuse did neither")
    return found
