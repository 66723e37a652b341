"""Whether what a change asks for stands at its place already: then it was made before."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.bytetext import ByteText
from handrail.tools._lib.matching.blocks import Block, Op, block_of_lines
from handrail.tools._lib.matching.candidates import Tier, candidates_over
from handrail.tools._lib.matching.exact import Match, find_matches
from handrail.tools._lib.matching.fragments import differing
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.place import Placement
from handrail.tools._lib.matching.refusals import LEAST_EVIDENCE


def already_applied(path: str, line: int | None = None) -> ProblemRaised:
    """The change would do nothing, or would do again what was done."""
    where = f", at line {line}" if line is not None else ""
    return ProblemRaised(
        "already_applied",
        f"{path!r} already has exactly this text{where}",
        hint="nothing is left to do; read the file if in doubt",
    )


def stands_around(file: ByteText, match: Match, old: str, new: str) -> bool:
    """Whether a text that contains the old one stands where the old one was found."""
    above, found, below = new.partition(old)
    if not found or not (above + below).strip():
        return False
    for there in find_matches(file, new, 2):
        if there.start <= match.start and match.end <= there.end:
            return not file.splits_word(there.end)
    return False


def tells_itself(old: str, new: str) -> bool:
    """Whether the new text of a part of one line, if it is found, is there by no accident."""
    fresh = differing(old, new).strip()
    return "\n" not in old + new and len(new.strip()) >= LEAST_EVIDENCE and bool(fresh)


def alone_at(file: ByteText, found: Sequence[Match]) -> int | None:
    """The line of the only match, if no word goes on at its ends."""
    if len(found) != 1 or file.splits_word(found[0].start) or file.splits_word(found[0].end):
        return None
    return file.lines_between(0, found[0].start) + 1


def stands_there(
    file: FileLines, old: Sequence[str], new: Sequence[str], placement: Placement
) -> bool:
    """Whether the new lines, which have all the old ones in them, stand at a place."""
    block = block_of_lines(old, new, str.strip)
    added = [op for op in block.ops if op.kind == "insert" and op.text.strip()]
    if not added or any(op.kind == "delete" for op in block.ops):
        return False
    result = Block(tuple([Op("keep", line) for line in new]))
    loosest = max(Tier.LINE_ENDS, placement.tier)
    around = candidates_over(file, result, placement.first, placement.last)
    return any(one.tier <= loosest for one in around)
