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
from handrail.tools._lib.matching.candidates import Tier, candidate_at
from handrail.tools._lib.matching.ellipsis import elided
from handrail.tools._lib.matching.exact import already_applied
from handrail.tools._lib.matching.input_repairs import repairs
from handrail.tools._lib.matching.lines import (
    Block,
    FileLines,
    Hints,
    Op,
    Texts,
    block_of,
    block_of_lines,
)
from handrail.tools._lib.matching.pair import stands_there
from handrail.tools._lib.matching.placement import Placement, ambiguous, find, place
from handrail.tools._lib.matching.replay import replay
from handrail.tools._lib.patches.model import Hunk, Line, malformed


def block_of_hunk(hunk: Hunk) -> Block:
    """The hunk's operations; a line that is taken out and put back in is kept."""
    ops: list[Op] = []
    for context, run in groupby(hunk.lines, key=lambda line: line.sign == " "):
        lines = list(run)
        # The last line goes and comes back if only the newline behind it changes.
        if context or (lines[-1] is hunk.lines[-1] and hunk.old_ends != hunk.new_ends):
            ops += [_op(line) for line in lines]
        else:
            old = [line.text for line in lines if line.sign == "-"]
            new = [line.text for line in lines if line.sign == "+"]
            ops += block_of_lines(old, new, same=str).ops
    return Block(tuple(ops))


def _op(line: Line) -> Op:
    match line.sign:
        case " ":
            return Op("keep", line.text)
        case "-":
            return Op("delete", line.text)
        case "+":
            return Op("insert", line.text)


def without_wide_marks(hunks: Sequence[Hunk], file: FileLines) -> list[Hunk]:
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


def _narrow(line: Line, there: frozenset[str]) -> Line:
    if line.sign == " " and (line.text.rstrip() in there or line.text[1:].rstrip() not in there):
        return line
    return line._replace(text=line.text[1:])


def with_lost_marks(hunk: Hunk, file: FileLines) -> Hunk:
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
        Line(" ", " " + line.text) if anew else line
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


def _refuse_doubtful(hunk: Hunk, there: frozenset[str]) -> None:
    """A `+` may be the mark of a new line, or the first character of one that lost its mark."""
    for line in hunk.lines:
        if line.sign == "+" and line.text.strip() and "+" + line.text.rstrip() in there:
            raise ProblemRaised(
                "no_match",
                f"{'+' + line.text!r} may be a new line, or the file's own line without a mark",
                hint="put a blank before every line that stays",
            )


def _depth(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip())


# Fewer letters than this are found in any file by chance.
_LEAST_EVIDENCE: Final = 3
_FAR: Final = 8


class Placed(NamedTuple):
    """What to do to the file's bytes, and a remark if the hunk did not agree literally.

    `shift` is how many lines below its stated line the hunk was found.
    """

    splices: tuple[Splice, ...]
    note: str = ""
    shift: int = 0


def placed(file: FileLines, hunk: Hunk) -> Placed:
    """A hunk carried out; `no_match`, `ambiguous` or `already_applied`."""
    if hunk.changes_endings:
        raise malformed("it changes only how lines end, which a patch cannot do here")
    hunk = with_lost_marks(hunk, file)
    # Blank lines alone are no evidence; then only the exact line is.
    blank = hunk.old and not any(text.strip() for text in hunk.old)
    hints = Hints(hunk.line if blank else None, hunk.anchors, at_end=hunk.at_end)
    if hunk.numbered and hunk.line is not None and not hunk.anchors:
        hints = Hints(hunk.line + 1)
    block = block_of_hunk(hunk)
    found = _at_stated_line(file, hunk, block) or _decided(partial(find, file, block), hunk, hints)
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


def _at_stated_line(file: FileLines, hunk: Hunk, block: Block) -> Placement | None:
    """The place at exactly the stated line, if all lines are there literally: no other place
    can fit better, so none is looked for.
    """
    if hunk.line is None or hunk.anchors or hunk.at_end or hunk.numbered:
        return None
    one = candidate_at(file, block, hunk.line - 1)
    if one is None or one.tier is not Tier.EXACT:
        return None
    return Placement(one.first, one.end, one.tier, one.lines)


def _refuse_by_chance(hunk: Hunk, found: Placement) -> None:
    """Refuse a place far from the stated line that only blanks and brackets speak for."""
    letters = sum(char.isalnum() for text in hunk.old for char in text)
    if hunk.line is None or hunk.heading or letters >= _LEAST_EVIDENCE:
        return
    if abs(found.first + 1 - hunk.line) > _FAR:
        raise ProblemRaised(
            "no_match",
            f"its lines hold no words, and fit at line {found.first + 1} instead of {hunk.line}",
            hint="include lines around the change that occur only once",
        )


def _refuse_other_line(file: FileLines, hunk: Hunk, block: Block, found: Placement) -> None:
    """Refuse if the lines fit literally here, and but for blanks at exactly the stated line."""
    if hunk.line is None or hunk.numbered or hunk.anchors:
        return
    other = candidate_at(file, block, hunk.line - 1)
    if other is not None and other.first != found.first and other.tier <= Tier.TYPOGRAPHY:
        raise ambiguous(file, block, sorted((found.first, other.first)))


def _refuse_twin(file: FileLines, hunk: Hunk, found: Placement) -> None:
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
    file: FileLines, hunk: Hunk, block: Block, found: Placement, undone: str = ""
) -> Placed:
    if stands_there(file, block.old, block.new, found):
        raise already_applied(file.path, found.first + 1)
    newline = None if hunk.old_ends == hunk.new_ends else not hunk.new_ends
    splices = replay(file, block, found, final_newline=newline)
    ignored = "" if found.tier is Tier.EXACT else f"{found.tier.words} ignored"
    how = ", ".join([words for words in (undone and f"{undone} undone", ignored) if words])
    note = f"hunk {hunk.number} fits at line {found.first + 1} with {how}" if how else ""
    shift = 0 if hunk.line is None or hunk.numbered else found.first + 1 - hunk.line
    return Placed(splices, note, shift)


_Find = Callable[[Hints], Placement | None]


def _decided(look: _Find, hunk: Hunk, hints: Hints) -> Placement | None:
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


def _tie_breakers(hunk: Hunk, hints: Hints) -> Iterator[Hints]:
    if hunk.line is not None:
        yield replace(hints, line=hunk.line)
    if hunk.heading:
        yield replace(hints, anchors=(hunk.heading,))


def _repaired(file: FileLines, hunk: Hunk, hints: Hints) -> Placed | None:
    """The hunk with a slip of handing it over undone, if it then fits literally."""
    for several in repairs("\n".join(hunk.old), "\n".join(hunk.new)):
        fitting: list[tuple[Block, Placement, str]] = []
        for repair in several:
            block = block_of(repair.old, repair.new)
            look = partial(find, file, block, loosest=Tier.WHITESPACE)
            found = _decided(look, hunk, hints) if block.changes else None
            fitting += [(block, found, repair.how)] if found is not None else []
        places = sorted({found.first for _, found, _ in fitting})
        if len(places) > 1:
            raise ambiguous(file, fitting[0][0], places)
        if fitting:
            block, found, how = min(fitting, key=lambda one: one[1].tier)
            return _replayed(file, hunk, block, found, how)
    return None


def _elided(file: FileLines, hunk: Hunk) -> Placed | None:
    """The hunk piece by piece, if a line of dots stands for lines left out."""
    if hunk.anchors or hunk.at_end:
        return None
    pieces = elided(file, Texts(hunk.old, hunk.new))
    if not pieces:
        return None
    if any(stands_there(file, block.old, block.new, found) for block, found in pieces):
        raise already_applied(file.path, pieces[0][1].first + 1)
    splices = [splice for block, found in pieces for splice in replay(file, block, found)]
    return Placed(tuple(splices), f"hunk {hunk.number} fits around what it leaves out")


def _drifted(file: FileLines, block: Block, hunk: Hunk, hints: Hints) -> Placement:
    found = _decided(partial(place, file, block), hunk, hints)
    if found is None:
        raise LookupError("a search that must find or refuse did neither")
    return found
