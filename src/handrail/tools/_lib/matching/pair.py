"""Where an (old, new) pair of texts belongs, and the bytes it becomes: exact first.

The order is the rule: the text as given, then blanks, then the pair with a slip of handing
it over undone, then typography, then elisions, then comments. The first reading that fits
anywhere decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.bytetext import ByteText
from handrail.tools._lib.matching.applied import (
    alone_at,
    already_applied,
    stands_around,
    stands_there,
    tells_itself,
)
from handrail.tools._lib.matching.blocks import (
    Block,
    Hints,
    Texts,
    block_of,
    block_of_lines,
    lines_of,
)
from handrail.tools._lib.matching.candidates import Tier
from handrail.tools._lib.matching.ellipsis import elided
from handrail.tools._lib.matching.exact import Match, exact_splice, find_matches, torn
from handrail.tools._lib.matching.fragments import find_fragments
from handrail.tools._lib.matching.frames import framed
from handrail.tools._lib.matching.handed import Repair
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.place import Placement, comment_drift, find
from handrail.tools._lib.matching.refusals import ambiguous, made_before, no_match
from handrail.tools._lib.matching.repairs import repairs
from handrail.tools._lib.matching.replay import replay
from handrail.tools._lib.splice import Splice

_MOST_COUNTED: Final = 1_000
_LINES_NAMED: Final = 10
# A file read line by line takes several times its size in memory.
_MOST_BYTES: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """The splices of an edit, how it matched, and the same in words unless it was exact."""

    splices: tuple[Splice, ...]
    tier: str = "exact"
    how: str = ""
    replacements: int = 1


def find_pair(file: ByteText, path: str, old: str, new: str) -> Found:
    """The one place of a pair; `no_match`, `ambiguous` or `already_applied`."""
    matches = exact_matches(file, old, _MOST_COUNTED)
    if len(matches) > 1:
        raise ambiguous_text(file, path, [match.start for match in matches])
    if matches and (exact := _exact(file, path, matches[0], old, new)):
        return exact
    if len(file.data) > _MOST_BYTES:
        raise ProblemRaised(
            "no_match",
            f"old_string is not in {path!r}, which is too large to look for anything like it",
            hint="copy the text exactly, blanks and punctuation included",
            field="old_string",
        )
    lines = FileLines(file, path)
    texts = lines_of(old, new)
    block = block_of_lines(*texts)
    if not block.changes:
        raise _no_change(path)
    undone = list(repairs(old, new))
    found = (
        _by_lines(lines, texts, undone, find(lines, block, loosest=Tier.WHITESPACE))
        or _placed(lines, texts, find(lines, block))
        or _repaired(lines, texts, undone, Tier.TYPOGRAPHY)
        or _fragment(lines, old, new)
        or _elided(lines, texts)
        or _placed(lines, texts, comment_drift(lines, block))
    )
    if found is None:
        raise _parts_of_lines(file, path, matches) or _nowhere(lines, block, old, new)
    return found


def exact_matches(file: ByteText, text: str, most: int) -> list[Match]:
    """Where the text stands literally; nowhere if the file cannot hold its characters."""
    try:
        return find_matches(file, text, most)
    except ProblemRaised:
        return []


def ambiguous_text(
    file: ByteText, path: str, starts: Sequence[int], what: str = "old_string"
) -> ProblemRaised:
    """Text that stands in several places, by their lines."""
    numbers: list[int] = []
    line, at = 1, 0
    for start in starts[:_LINES_NAMED]:
        line += file.lines_between(at, start)
        at = start
        numbers.append(line)
    named = ", ".join(map(str, numbers))
    more = ", …" if len(starts) > _LINES_NAMED else ""
    least = "at least " if len(starts) == _MOST_COUNTED else ""
    return ProblemRaised(
        "ambiguous",
        f"{what} occurs {least}{len(starts)} times in {path!r}: lines {named}{more}",
        hint="include more surrounding lines so that it is unique, or set replace_all",
        field="old_string",
    )


def _exact(file: ByteText, path: str, match: Match, old: str, new: str) -> Found | None:
    """The edit of one match; None if lines that say more than the call would be torn."""
    if stands_around(file, match, old, new):
        raise already_applied(path, file.lines_between(0, match.start) + 1)
    if torn(file, match, old, new):
        return None
    return Found((exact_splice(file, match, old, new),))


def _nowhere(lines: FileLines, block: Block, old: str, new: str) -> ProblemRaised:
    missing = no_match(lines, block, "old_string was")
    if missing.problem.code != "no_match" or not tells_itself(old, new):
        return missing
    line = alone_at(lines.file, exact_matches(lines.file, new, 2))
    return made_before(lines.path, line, "old_string was") if line is not None else missing


def _parts_of_lines(file: ByteText, path: str, matches: Sequence[Match]) -> ProblemRaised | None:
    if not matches:
        return None
    line = file.lines_between(0, matches[0].start) + 1
    return ProblemRaised(
        "no_match",
        f"old_string was found at line {line} of {path!r} only as a part of longer lines, which "
        "the edit would tear apart",
        hint="read the lines and give the first and the last one whole",
        field="old_string",
    )


def _placed(
    lines: FileLines, texts: Texts, placement: Placement | None, how: str = ""
) -> Found | None:
    if placement is None:
        return None
    if stands_there(lines, *texts, placement):
        raise already_applied(lines.path, placement.first + 1)
    splices = framed(lines, texts, placement, repaired=bool(how))
    if not splices:
        raise already_applied(lines.path, placement.first + 1)
    words = [f"{how} undone"] if how else []
    if placement.tier is not Tier.EXACT:
        words.append(f"{placement.tier.words} ignored")
    tier = placement.tier.name.lower()
    return Found(splices, f"repaired+{tier}" if how else tier, ", ".join(words))


def _by_lines(
    lines: FileLines, texts: Texts, undone: Sequence[list[Repair]], as_given: Placement | None
) -> Found | None:
    """The text as given, or with slips undone, whichever agrees more literally."""
    if as_given is not None and as_given.tier < Tier.INDENTATION:
        return _placed(lines, texts, as_given)
    stricter = Tier.WHITESPACE if as_given is None else Tier(as_given.tier - 1)
    return (
        _repaired(lines, texts, undone, stricter, as_given)
        or _placed(lines, texts, as_given)
        or _inside_line(lines, undone)
    )


def _repaired(
    lines: FileLines,
    texts: Texts,
    undone: Sequence[list[Repair]],
    loosest: Tier,
    as_given: Placement | None = None,
) -> Found | None:
    """With one slip undone, or else with two; all that agree best must mean one place."""
    for several in undone:
        placed = [(one, at) for one in several if (at := _repair(lines, one, loosest))]
        if not placed:
            continue
        tier = min(at.tier for _, at in placed)
        best = [one for one in placed if one[1].tier is tier]
        places = {at.first for _, at in best} | ({as_given.first} if as_given else set())
        if len(places) > 1:
            raise ambiguous(lines, block_of_lines(*texts), sorted(places))
        return _one_reading(lines, best)
    return None


def _one_reading(lines: FileLines, best: Sequence[tuple[Repair, Placement]]) -> Found | None:
    """What all repairs of one place come to; `no_match` if they do not come to the same."""
    found: list[Found | None] = []
    for repair, at in best:
        texts = lines_of(repair.old, repair.new)
        if not block_of_lines(*texts).changes:
            raise _no_change(lines.path)
        found.append(_placed(lines, texts, at, repair.how))
    if len({one.splices for one in found if one is not None}) > 1:
        raise ProblemRaised(
            "no_match",
            f"old_string fits line {best[0][1].first + 1} of {lines.path!r}, but what new_string "
            "means there can be read in two ways",
            hint="give both exactly as they stand, or should stand, in the file",
            field="new_string",
        )
    return found[0]


def _repair(lines: FileLines, repair: Repair, loosest: Tier) -> Placement | None:
    block = block_of(repair.old, repair.new)
    placed = find(lines, block, Hints(line=repair.line), loosest=loosest)
    if placed is None or (repair.there and placed.first + 1 != repair.line):
        return None
    return placed


def _inside_line(lines: FileLines, undone: Sequence[list[Repair]]) -> Found | None:
    """A repaired text that is no whole line, but stands in one place."""
    for repair in [one for several in undone for one in several if one.line is None]:
        matches = exact_matches(lines.file, repair.old, _MOST_COUNTED)
        if len(matches) > 1:
            raise ambiguous_text(lines.file, lines.path, [match.start for match in matches])
        if not matches or repair.old == repair.new:
            continue
        found = _exact(lines.file, lines.path, matches[0], repair.old, repair.new)
        if found is not None:
            return Found(found.splices, "repaired+exact", f"{repair.how} undone")
    return None


def _fragment(lines: FileLines, old: str, new: str) -> Found | None:
    splices = find_fragments(lines, old, new)
    if len(splices) > 1:
        raise ambiguous_text(lines.file, lines.path, [splice.start for splice in splices])
    if not splices:
        return None
    return Found(tuple(splices), Tier.TYPOGRAPHY.name.lower(), f"{Tier.TYPOGRAPHY.words} ignored")


def _elided(lines: FileLines, texts: Texts) -> Found | None:
    pieces = elided(lines, texts)
    if not pieces:
        return None
    if any(stands_there(lines, block.old, block.new, placed) for block, placed in pieces):
        raise already_applied(lines.path, pieces[0][1].first + 1)
    splices = [splice for block, placed in pieces for splice in replay(lines, block, placed)]
    return Found(tuple(splices), "elided", "pieces placed around what was left out")


def _no_change(path: str) -> ProblemRaised:
    return ProblemRaised(
        "invalid_arguments",
        f"old_string and new_string differ only in blanks at line ends, so {path!r} would not "
        "change",
        field="new_string",
    )
