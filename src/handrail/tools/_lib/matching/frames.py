"""Replaying a pair whose new text is indented otherwise than its old text.

Mostly both are shifted alike and one rule serves them. Where the old text alone is shifted,
the new one is taken as it is, but only if the lines it shares with the file stand right.
"""

from __future__ import annotations

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.matching.blocks import Block, block_of_lines, split
from handrail.tools._lib.matching.candidates import Tier
from handrail.tools._lib.matching.indents import indent_of
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.place import Placement
from handrail.tools._lib.matching.replay import replay
from handrail.tools._lib.splice import Splice


def framed(
    file: FileLines, old: str, new: str, block: Block, placement: Placement
) -> tuple[Splice, ...]:
    """The splices of a placed pair; `no_match` if its indentation is not certain."""
    if placement.tier < Tier.INDENTATION or _depth(new) == _depth(old) or not new.strip():
        return replay(file, block, placement)
    again = block_of_lines(split(old), split(new), str.strip)
    if _in_step(again, split(new)):
        return replay(file, block, placement)
    if _fits(file, again, split(new), placement):
        return replay(file, again, placement, as_given=True)
    raise ProblemRaised(
        "no_match",
        f"old_string and new_string are indented differently, and neither as {file.path!r} is",
        hint="read the lines and give both with exactly the file's indentation",
        field="old_string",
    )


def _depth(text: str) -> str:
    indents = [indent_of(line) for line in split(text) if line.strip()]
    return min(indents, key=len, default="")


def _in_step(again: Block, new: list[str]) -> bool:
    """Whether any line that stays is indented alike in the old and the new text."""
    kept = [op for op in again.ops if op.kind != "delete"]
    return any(
        op.kind == "keep" and text.strip() and indent_of(op.text) == indent_of(text)
        for op, text in zip(kept, new, strict=True)
    )


def _fits(file: FileLines, again: Block, new: list[str], placement: Placement) -> bool:
    """Whether every line of the new text that the file has is indented as in the file."""
    wanted, lines = iter(new), iter(placement.lines)
    shared = 0
    for op in again.ops:
        text = next(wanted) if op.kind != "delete" else op.text
        line = next(lines) if op.kind != "insert" else None
        if op.kind == "keep" and line is not None and text.strip():
            shared += 1
            if indent_of(text) != indent_of(file.texts[line]):
                return False
    if shared:
        return True
    first = next(line for line in placement.lines if line is not None and file.squeezed[line])
    start = next(line for line in new if line.strip())
    return indent_of(start) == indent_of(file.texts[first])
