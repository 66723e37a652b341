"""Finds the only place where a block belongs, or raises a problem that says what to do.

The best tier with any candidate decides, and several candidates in it are refused: a looser tier is
never tried because a stricter one was ambiguous.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.diff import nearest_lines
from handrail.tools._lib.matching.candidates import Candidate, Tier, find_candidates
from handrail.tools._lib.matching.comment_drift import find_drifted
from handrail.tools._lib.matching.indentation import leading_blanks
from handrail.tools._lib.matching.lines import FileLines, LineBlock, LineOp, PlacementHints
from handrail.tools._lib.matching.normalize import canonical, squeeze
from handrail.tools._lib.tool_base import clip, number_lines

_SHOWN: Final = 5
_AROUND: Final = 2
_WIDTH: Final = 200
# Shorter texts are in any file by chance.
LEAST_EVIDENCE: Final = 12


def no_match_problem(
    file: FileLines, block: LineBlock, what: str = "the lines to change were"
) -> ProblemRaised:
    """Return the problem of a block that is not in the file: `already_applied` if its result is,
    else `no_match` with the nearest lines.
    """
    result_line = find_result(file, block)
    if result_line is not None:
        return made_before_problem(file.path, result_line + 1, what)
    message = f"{what} not found in {file.path!r}"
    near = nearest_lines(file.file, "\n".join(block.old))
    if near is None:
        hint = "nothing in the file is like it; read the file and copy the text exactly"
        return ProblemRaised("no_match", message, hint=hint)
    return ProblemRaised(
        "no_match",
        f"{message}; the nearest lines are\n{near}",
        hint="copy the text exactly, blanks and punctuation included, without line numbers",
    )


def made_before_problem(path: str, line: int, what: str) -> ProblemRaised:
    """Return the problem of a block whose old lines are missing and whose new lines are present."""
    return ProblemRaised(
        "already_applied",
        f"{what} not found in {path!r}, but what should take its place is there, at line {line}",
        hint="the change seems to be made already; read the file if in doubt",
    )


def ambiguous_problem(file: FileLines, block: LineBlock, places: Sequence[int]) -> ProblemRaised:
    """Return the problem of several equal places; shows the first few with their context."""
    shown = [
        "\n".join(number_lines(_context_lines(file, line), max(line - _AROUND, 0) + 1))
        for line in places[:_SHOWN]
    ]
    more = f"\n[{len(places) - _SHOWN} more places]" if len(places) > _SHOWN else ""
    numbers = ", ".join([str(line + 1) for line in places[:_SHOWN]])
    return ProblemRaised(
        "ambiguous",
        f"the lines to change fit {len(places)} places in {file.path!r}, at lines {numbers}:\n"
        + "\n...\n".join(shown)
        + more,
        hint="include more surrounding lines so that only one place fits",
    )


def find_result(file: FileLines, block: LineBlock) -> int | None:
    """Return the line of the block's result in the file, if it is too long to be there by chance."""
    fresh = any(op.kind == "insert" and op.text.strip() for op in block.ops)
    if not fresh or sum(len(line.strip()) for line in block.new) < LEAST_EVIDENCE:
        return None
    result = LineBlock(tuple([LineOp("keep", line) for line in block.new]))
    results = [
        candidate for candidate in find_candidates(file, result) if candidate.tier <= Tier.LINE_ENDS
    ]
    return results[0].first if len(results) == 1 else None


def _context_lines(file: FileLines, line: int) -> list[str]:
    low = max(line - _AROUND, 0)
    return [clip(text, _WIDTH) for text in file.texts[low : line + _AROUND + 1]]


_HEADING: Final = re.compile(r"(#{1,6}) ")


def filter_beneath(
    file: FileLines, candidates: Sequence[Candidate] | None, anchors: Sequence[str]
) -> list[Candidate]:
    """Return the candidates below the last anchor; raises `no_match` if an anchor is not in the
    file.

    Of several candidates, those inside the block that the anchor opens are preferred. With None for
    candidates, return the places directly below the anchor.
    """
    named = [anchor for anchor in anchors if anchor.strip()]
    if not named:
        return list(candidates or ())
    one_place = candidates is not None and len({candidate.first for candidate in candidates}) < 2
    lines = _anchored(file, named, one_place=one_place)
    if candidates is None:
        return [Candidate(Tier.EXACT, (line + 1,)) for line in lines]
    below = [
        candidate for candidate in candidates if any(line <= candidate.first for line in lines)
    ]
    if one_place:
        return below
    within = [
        candidate
        for candidate in below
        if any(
            line <= candidate.first and lines_inside(file, line, candidate.first) for line in lines
        )
    ]
    if below and not within and any(_opens(file, line) for line in lines):
        # The block that the anchor opens has changed; a similar one further down is not meant.
        places = ", ".join([str(candidate.first + 1) for candidate in below[:_SHOWN]])
        raise ProblemRaised(
            "no_match",
            f"the lines to change are not inside {named[-1].strip()!r} in {file.path!r}, but "
            f"further down, at line {places}",
            hint="read the lines, and name the line above the change that they belong to",
        )
    return within or below


def _anchored(file: FileLines, anchors: Sequence[str], *, one_place: bool) -> list[int]:
    """Return the lines that the last anchor may mean; each anchor is searched below the one before
    it. `one_place`: the lines of the hunk are in one place only.
    """
    lines: list[int] = []
    for number, anchor in enumerate(anchors):
        matching = _lines_like(file, anchor)
        above = lines[0] if number else -1
        if number:
            anywhere = one_place or _may_follow(anchors[number - 1], anchor)
            lines = _next_anchors(file, lines, matching, anywhere=anywhere)
        else:
            lines = matching
        if not lines:
            raise ProblemRaised(
                "no_match",
                f"no line {anchor.strip()!r} is in {file.path!r}"
                if above < 0
                else f"no line {anchor.strip()!r} follows line {above + 1} of {file.path!r}, "
                "inside what that opens",
                hint="name a line above the change exactly as it is in the file",
            )
    return lines


def _next_anchors(
    file: FileLines, above: Sequence[int], lines: Sequence[int], *, anywhere: bool
) -> list[int]:
    """Return the lines of an anchor inside the block that the anchor above opens.

    If there are none: below an anchor that opens no block, the next line; below one that does, any
    line if `anywhere`.
    """
    nested = [line for line in lines if any(_nested(file, anchor, line) for anchor in above)]
    if nested:
        return nested
    below = [line for line in lines if line > above[0]]
    if any(_opens(file, anchor) for anchor in above):
        return below if anywhere else []
    first = [next((line for line in below if line > anchor), None) for anchor in above]
    return sorted({line for line in first if line is not None})


def _may_follow(above: str, anchor: str) -> bool:
    """Return whether an anchor may name a sibling of the one above instead of a part of it: both
    begin with the same word (`def a`, `def b`), and it is not indented more.
    """
    same_word = above.split(maxsplit=1)[0] == anchor.split(maxsplit=1)[0]
    return same_word and len(leading_blanks(anchor)) <= len(leading_blanks(above))


def _nested(file: FileLines, anchor: int, line: int) -> bool:
    """Return whether a line is deeper than an earlier one and inside the block that it opens."""
    if line <= anchor:
        return False
    outer, inner = (_HEADING.match(file.texts[number].strip()) for number in (anchor, line))
    if outer is not None:
        deeper = inner is None or len(inner[1]) > len(outer[1])
    else:
        deeper = nesting_depth(file, line) > nesting_depth(file, anchor)
    return deeper and lines_inside(file, anchor, line)


def _lines_like(file: FileLines, anchor: str) -> list[int]:
    """Return the lines with the content of an anchor, or if there are none, those that contain it."""
    key, squeezed = canonical(anchor), squeeze(anchor).strip("\n")
    same = [file.solid[position] for position in file.solid_with(squeezed)]
    equal = [line for line in same if canonical(file.texts[line]) == key]
    if equal or len(key) < 4:
        return equal
    return [line for line in _containing(file, squeezed) if key in canonical(file.texts[line])]


def _containing(file: FileLines, squeezed: str) -> Iterator[int]:
    """Yield the solid lines whose squeezed text contains this text."""
    text = file.joined
    at, position, counted_to = text.find(squeezed), 0, 1
    while at >= 0 and squeezed:
        position += text.count("\n", counted_to, at)
        yield file.solid[position]
        counted_to = at
        end = text.find("\n", at)
        at = text.find(squeezed, end)


def lines_inside(file: FileLines, anchor: int, first: int) -> bool:
    """Whether a line belongs to the block that an earlier line opens, by indentation or heading."""
    if anchor not in file.scopes:
        file.scopes[anchor] = _scope_end(file, anchor)
    return first <= file.scopes[anchor]


def _scope_end(file: FileLines, anchor: int) -> int:
    """Return the first line after the block that a line opens."""
    below = range(bisect_right(file.solid, anchor), len(file.solid))
    lines = (file.solid[position] for position in below)
    heading = _HEADING.match(file.texts[anchor].strip())
    opened = nesting_depth(file, anchor)
    for line in lines:
        text = file.texts[line]
        if heading is not None:
            mark = _HEADING.match(text)
            ends = mark is not None and len(mark[1]) <= len(heading[1])
        else:
            closes = text.lstrip().startswith(("{", ")", "]", "#"))
            ends = nesting_depth(file, line) <= opened and not closes
        if ends:
            return line
    return len(file)


def _opens(file: FileLines, line: int) -> bool:
    position = bisect_right(file.solid, line)
    below = file.solid[position] if position < len(file.solid) else None
    return below is not None and nesting_depth(file, below) > nesting_depth(file, line)


def nesting_depth(file: FileLines, line: int) -> int:
    """Return how far a line is indented."""
    return len(leading_blanks(file.texts[line]).expandtabs())


# How far off a stated line may be, and how much nearer than any other place.
_NEAR: Final = 8
_NEARER: Final = 4
_NO_HINTS: Final = PlacementHints()


@dataclass(frozen=True, slots=True)
class Placement:
    """Lines `first` up to, not including, `last` (0-based) are the lines that the block changes.

    `lines` has the line of the file for each kept or deleted line of the block, in order; None for
    a blank line that the file lacks.
    """

    first: int
    last: int
    tier: Tier
    lines: tuple[int | None, ...]


def place_block(
    file: FileLines,
    block: LineBlock,
    hints: PlacementHints = _NO_HINTS,
    loosest: Tier = Tier.COMMENTS,
) -> Placement:
    """Return where the block belongs; raises `no_match`, `ambiguous` or `already_applied`.

    Agreement looser than `loosest` does not count.
    """
    placement = find_block(file, block, hints, loosest)
    if placement is None and loosest is Tier.COMMENTS:
        placement = find_comment_drift(file, block, hints)
    if placement is None:
        raise no_match_problem(file, block)
    return placement


def find_block(
    file: FileLines,
    block: LineBlock,
    hints: PlacementHints = _NO_HINTS,
    loosest: Tier = Tier.QUOTES,
) -> Placement | None:
    """Return the place whose lines agree at least as exactly as `loosest`; None if there is none.
    Raises `ambiguous`.
    """
    if not any(line.strip() for line in block.old):
        return _without_lines(file, block, hints)
    return _choose(find_candidates(file, block), file, block, hints, loosest)


def find_comment_drift(
    file: FileLines, block: LineBlock, hints: PlacementHints = _NO_HINTS
) -> Placement | None:
    """Return the place where only comments beside the change differ, by mistyped words; None if
    there is none.
    """
    return _choose(find_drifted(file, block), file, block, hints)


def _choose(
    candidates: Sequence[Candidate],
    file: FileLines,
    block: LineBlock,
    hints: PlacementHints,
    loosest: Tier = Tier.COMMENTS,
) -> Placement | None:
    candidates = [candidate for candidate in candidates if candidate.first >= hints.after]
    if all(candidate.tier > loosest for candidate in candidates):
        candidates = ()
    candidates = filter_beneath(file, candidates, hints.anchors)
    best = min((candidate.tier for candidate in candidates), default=Tier.COMMENTS)
    if not candidates or best > loosest:
        return None
    # Exact agreement decides. Otherwise, places that differ only in blanks are equal: which blanks
    # a call got wrong does not tell the places apart.
    equal = best if best is Tier.EXACT else max(best, Tier.TYPOGRAPHY)
    chosen = _choose_one(
        [candidate for candidate in candidates if candidate.tier <= equal], file, block, hints
    )
    if chosen.tier > loosest:
        return None
    return Placement(chosen.first, chosen.end, chosen.tier, chosen.lines)


def _choose_one(
    candidates: Sequence[Candidate], file: FileLines, block: LineBlock, hints: PlacementHints
) -> Candidate:
    if len(candidates) > 1 and hints.at_end:
        last = file.solid[-1]
        candidates = [candidate for candidate in candidates if candidate.end > last] or candidates
    if len(candidates) > 1 and hints.line is not None:
        candidates = _nearest(candidates, hints.line - 1) or candidates
    if len(candidates) > 1:
        raise ambiguous_problem(file, block, [candidate.first for candidate in candidates])
    return candidates[0]


def _nearest(candidates: Sequence[Candidate], line: int) -> list[Candidate]:
    ranked = sorted(candidates, key=lambda candidate: abs(candidate.stated - line))
    best, next_best = (abs(candidate.stated - line) for candidate in ranked[:2])
    if best == 0 or (best <= _NEAR and best * _NEARER <= next_best):
        return ranked[:1] if best < next_best else []
    return []


def _without_lines(file: FileLines, block: LineBlock, hints: PlacementHints) -> Placement | None:
    # The block has no lines to compare: only the hints can decide.
    count = len(block.old)
    if hints.anchors:
        places = filter_beneath(file, None, hints.anchors)
        at = places[0].first if len(places) == 1 else None
    elif hints.at_end or not len(file):
        at = len(file)
    else:
        at = hints.line - 1 if hints.line is not None else None
    if at is None or not hints.after <= at <= len(file):
        return None
    lines = range(at, min(at + count, len(file)))
    if len(lines) < count or any(file.texts[line].strip() for line in lines):
        if count and not (hints.at_end or not len(file)):
            return None
        lines = range(at, at)
    missing: tuple[int | None, ...] = (None,) * (count - len(lines))
    return Placement(at, at + len(lines), Tier.EXACT, (*lines, *missing))
