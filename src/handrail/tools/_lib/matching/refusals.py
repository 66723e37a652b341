"""What a model is told when a change has no place, several, or was made before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.lines import clip, numbered
from handrail.tools._lib.matching.blocks import Block, Op
from handrail.tools._lib.matching.candidates import Tier, candidates
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.nearest import nearest_lines

_SHOWN: Final = 5
_AROUND: Final = 2
_WIDTH: Final = 200
# Shorter texts stand in any file by chance.
LEAST_EVIDENCE: Final = 12


def no_match(
    file: FileLines, block: Block, what: str = "the lines to change were"
) -> ProblemRaised:
    """Not there; `already_applied` if the result is, else with the nearest lines."""
    done = already_there(file, block)
    if done is not None:
        return made_before(file.path, done + 1, what)
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


def made_before(path: str, line: int, what: str) -> ProblemRaised:
    """What should go is not there, but what should come is."""
    return ProblemRaised(
        "already_applied",
        f"{what} not found in {path!r}, but what should take its place is there, at line {line}",
        hint="the change seems to be made already; read the file if in doubt",
    )


def ambiguous(file: FileLines, block: Block, places: Sequence[int]) -> ProblemRaised:
    """Several places fit equally; the first few are shown with what stands around them."""
    shown = [
        "\n".join(numbered(_around(file, line), max(line - _AROUND, 0) + 1))
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


def already_there(file: FileLines, block: Block) -> int | None:
    """The line where the block's result stands, if that can be no accident."""
    fresh = any(op.kind == "insert" and op.text.strip() for op in block.ops)
    if not fresh or sum(len(line.strip()) for line in block.new) < LEAST_EVIDENCE:
        return None
    result = Block(tuple([Op("keep", line) for line in block.new]))
    found = [one for one in candidates(file, result) if one.tier <= Tier.LINE_ENDS]
    return found[0].first if len(found) == 1 else None


def _around(file: FileLines, line: int) -> list[str]:
    low = max(line - _AROUND, 0)
    return [clip(text, _WIDTH) for text in file.texts[low : line + _AROUND + 1]]
