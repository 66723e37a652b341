"""What a model is told when a block has no place, several, or was applied before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.lines import clip, numbered
from handrail.tools._lib.matching.blocks import Block
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.nearest import nearest_lines

_SHOWN: Final = 5
_WIDTH: Final = 200


def no_match(file: FileLines, block: Block) -> ProblemRaised:
    """Not there; with the nearest lines if any are alike."""
    message = f"the lines to change were not found in {file.path!r}"
    near = nearest_lines(file.file, "\n".join(block.old))
    if near is None:
        hint = "nothing in the file is like them; read the file and copy the lines exactly"
        return ProblemRaised("no_match", message, hint=hint)
    return ProblemRaised(
        "no_match",
        f"{message}; the nearest lines are\n{near}",
        hint="copy the lines exactly, blanks and punctuation included, without line numbers",
    )


def ambiguous(file: FileLines, block: Block, places: Sequence[int]) -> ProblemRaised:
    """Several places fit equally; the first few are shown."""
    shown = [numbered([clip(file.texts[line], _WIDTH)], line + 1)[0] for line in places[:_SHOWN]]
    more = f"\n[{len(places) - _SHOWN} more]" if len(places) > _SHOWN else ""
    return ProblemRaised(
        "ambiguous",
        f"the {len(block.old)} lines to change fit {len(places)} places in {file.path!r}:\n"
        + "\n".join(shown)
        + more,
        hint="include more surrounding lines so that only one place fits",
    )
