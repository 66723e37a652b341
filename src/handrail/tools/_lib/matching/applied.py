"""Whether what a change adds stands beside its place already: then it was made before."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.bytetext import ByteText
from handrail.tools._lib.matching.blocks import Block
from handrail.tools._lib.matching.exact import Match, find_matches
from handrail.tools._lib.splice import Splice


def already_applied(path: str, line: int | None = None) -> ProblemRaised:
    """The change would do nothing, or would do again what was done."""
    where = f", at line {line}" if line is not None else ""
    return ProblemRaised(
        "already_applied",
        f"{path!r} already has exactly this text{where}",
        hint="nothing is left to do; read the file if in doubt",
    )


def stands_around(file: ByteText, match: Match, old: str, new: str) -> bool:
    """Whether whole lines that a text gets above or below it stand there in the file."""
    above, found, below = new.partition(old)
    if not found or not (above + below).strip():
        return False
    if (above and not above.endswith("\n")) or (below and "\n" not in (below[0], old[-1])):
        return False
    for there in find_matches(file, new, 2):
        if there.start <= match.start and match.end <= there.end:
            ends = there.end == len(file.data) or file.ending_at(there.end) is not None
            return ends or new.endswith("\n") or not below
    return False


def stands_beside(file: ByteText, block: Block, splices: Sequence[Splice]) -> bool:
    """Whether the lines that a block adds at its edges stand there in the file."""
    kinds = "".join([op.kind[0] for op in block.ops])
    if "d" in kinds or "i" in kinds.strip("i"):
        return False
    return all(_is_there(file.data, splice) for splice in splices)


def _is_there(data: bytes, splice: Splice) -> bool:
    if not splice.new.strip():
        return False
    before = data[max(splice.start - len(splice.new), 0) : splice.start]
    return data.startswith(splice.new, splice.end) or before == splice.new
