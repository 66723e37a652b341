"""Replays a pair whose new text may be indented otherwise than its old text.

Mostly both are shifted alike and one rule serves them. Where the old text alone is shifted, the new
one is taken as it is. Lines that are in both texts and in the file decide; where they disagree, the
edit is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple

from handrail.core.names.caller_words import arg_name
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.byte_text import Splice
from handrail.tools._lib.matching.candidates import Tier
from handrail.tools._lib.matching.indentation import leading_blanks
from handrail.tools._lib.matching.lines import FileLines, PairLines, diff_lines
from handrail.tools._lib.matching.placement import Placement
from handrail.tools._lib.matching.replay import replay_block

_OPENERS: Final = (":", "{", "(", "[")
Frame = Literal["old", "file"]


def map_indents(
    file: FileLines, texts: PairLines, placement: Placement, *, repaired: bool = False
) -> tuple[Splice, ...]:
    """The splices of a placed pair; `no_match` if its indentation is not certain."""
    texts, placement = _without_missing(texts, placement)
    texts = _first_restored(file, texts, placement)
    block = diff_lines(*texts)
    agrees = placement.tier < Tier.INDENTATION
    if (agrees and not repaired) or not any(line.strip() for line in texts.new):
        return replay_block(file, block, placement)
    shared = _shared(file, texts, placement)
    frame = _frame(shared, file, texts, placement)
    if frame == "old" and (agrees or not _flattened(file, texts, placement)):
        return replay_block(file, block, placement)
    if frame == "file":
        lines = _indent_like(file, texts.old, placement)
        return replay_block(file, diff_lines(lines, texts.new), placement, as_given=True)
    raise ProblemRaised(
        "no_match",
        f"{arg_name('old_string')} and {arg_name('new_string')} are indented differently, and not both as {file.path!r} is",
        hint="read the lines and give both with exactly the file's indentation",
        field="old_string",
    )


class _MappedLine(NamedTuple):
    """The indentation of a line that is in the old text, the new text and the file."""

    old: str
    new: str
    file: str

    @property
    def as_old(self) -> bool:
        return self.new == self.old

    @property
    def as_file(self) -> bool:
        return self.new == self.file != self.old


class _SharedIndent(NamedTuple):
    """The lines that old, new and file share, and whether there are others beside them."""

    lines: list[_MappedLine]
    inserts: bool
    deletes: bool

    def explains(self, steps: Iterable[int]) -> bool:
        """Whether lines may be that much deeper: within new lines, or no longer within old."""
        return all((step <= 0 or self.inserts) and (step >= 0 or self.deletes) for step in steps)


def _shared(file: FileLines, texts: PairLines, placement: Placement) -> _SharedIndent:
    wanted, numbers = iter(texts.new), iter(placement.lines)
    lines: list[_MappedLine] = []
    ops = diff_lines(*texts, str.strip).ops
    for op in ops:
        text = next(wanted) if op.kind != "delete" else ""
        number = next(numbers) if op.kind != "insert" else None
        if op.kind == "keep" and number is not None and text.strip():
            indents = (
                leading_blanks(op.text),
                leading_blanks(text),
                leading_blanks(file.texts[number]),
            )
            lines.append(_MappedLine(*indents))
    kinds = {op.kind for op in ops if op.text.strip()}
    return _SharedIndent(lines, "insert" in kinds, "delete" in kinds)


def _frame(
    shared: _SharedIndent, file: FileLines, texts: PairLines, placement: Placement
) -> Frame | None:
    """By what the new text is indented: as the old text, or as the file; None if unclear."""
    lines = shared.lines
    if not any(one.as_file for one in lines):
        return _without_witness(lines, file, texts, placement)
    as_old = shared.explains(len(one.new) - len(one.old) for one in lines)
    as_file = shared.explains(len(one.new) - len(one.file) for one in lines)
    if as_old != as_file:
        return "old" if as_old else "file"
    if not any(one.as_old for one in lines):
        # All lines are deeper by just what the file is: wrapped, if what wraps them is new.
        return "old" if _wrapped(texts, lines) else "file"
    edges = (lines[0], lines[-1])
    if all(one.as_old for one in edges):
        return "old"
    return "file" if all(one.as_file for one in edges) else None


def _without_witness(
    lines: Sequence[_MappedLine], file: FileLines, texts: PairLines, placement: Placement
) -> Frame | None:
    """The mapping if no shared line shows the indentation of the file."""
    if _outside(texts, lines):
        return None
    if any(one.as_old for one in lines) or _wrapped(texts, lines):
        return "old"
    return "file" if not lines and _begins_as(file, texts, placement) else None


def _wrapped(texts: PairLines, lines: Sequence[_MappedLine]) -> bool:
    """Whether the new text begins as far out as the old one, with a line of its own if there
    are shared ones, which are then deeper.
    """
    start = next(line for line in texts.new if line.strip())
    if lines and start.strip() in {line.strip() for line in texts.old}:
        return False
    if any(len(one.new) <= len(one.old) for one in lines):
        return False
    first = next(line for line in texts.old if line.strip())
    return leading_blanks(start) in (_base(texts.old), leading_blanks(first))


def _outside(texts: PairLines, lines: Sequence[_MappedLine]) -> bool:
    """Whether a new line lies further out than all old ones, just as far as the file does:
    it may be meant for the file as it is, and the rest be wrapped in it.
    """
    depth = min((len(one.file) for one in lines), default=0)
    least = len(_base(texts.old))
    known = {line.strip() for line in texts.old}
    fresh = [line for line in texts.new if line.strip() and line.strip() not in known]
    return any(len(leading_blanks(line)) == depth < least for line in fresh)


def _begins_as(file: FileLines, texts: PairLines, placement: Placement) -> bool:
    first = next(line for line in placement.lines if line is not None and file.squeezed[line])
    start = next(line for line in texts.new if line.strip())
    return leading_blanks(start) == leading_blanks(file.texts[first])


def _indent_like(file: FileLines, old: Sequence[str], placement: Placement) -> list[str]:
    return [
        text if line is None else leading_blanks(file.texts[line]) + text.lstrip()
        for text, line in zip(old, placement.lines, strict=True)
    ]


def _without_missing(texts: PairLines, placement: Placement) -> tuple[PairLines, Placement]:
    """The pair without the blank lines that the file does not have.

    The new text loses one only where it has it beside the same line: any other is new.
    """
    missing = [at for at, line in enumerate(placement.lines) if line is None]
    if not missing or not any(line.strip() for line in texts.old):
        return texts, placement
    new = list(texts.new)
    for at in missing:
        beside = _beside(texts.old, at)
        same = (one for one, line in enumerate(new) if not line.strip())
        gone = next((one for one in same if _touches(beside, _beside(new, one))), None)
        if gone is not None:
            del new[gone]
    old = [line for at, line in enumerate(texts.old) if at not in missing]
    lines = tuple([line for line in placement.lines if line is not None])
    return PairLines(old, new), replace(placement, lines=lines)


def _beside(lines: Sequence[str], at: int) -> tuple[str, str]:
    """The nearest lines above and below that are not blank; empty where there is none."""
    above = (line.strip() for line in reversed(lines[:at]) if line.strip())
    below = (line.strip() for line in lines[at + 1 :] if line.strip())
    return next(above, ""), next(below, "")


def _touches(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return one[0] == other[0] or one[1] == other[1]


def _first_restored(file: FileLines, texts: PairLines, placement: Placement) -> PairLines:
    """The pair with the new text's first line as it stands in the old one, if all it lacks is
    its indentation, as text from inside a line does.
    """
    old, new = texts
    if not new or not new[0] or new[0] != new[0].lstrip() or new[0] in old:
        return texts
    alike = [at for at, line in enumerate(old) if line.strip() == new[0].strip()]
    if len(alike) != 1:
        return texts
    if alike[0] == 0:
        same = any(line in old[1:] and line[:1].isspace() for line in new[1:] if line.strip())
        fits = same and placement.tier < Tier.INDENTATION
    else:
        lines = [placement.lines[0], placement.lines[alike[0]]]
        depths = {leading_blanks(file.texts[line]) for line in lines if line is not None}
        fits = len(depths) == 1 and not leading_blanks(old[0])
    return PairLines(old, [old[alike[0]], *new[1:]]) if fits else texts


def _flattened(file: FileLines, texts: PairLines, placement: Placement) -> bool:
    """Whether indentation seems to be lost: a new line opens a block that nothing is in."""
    if any(line != line.lstrip() for line in [*texts.old[1:], *texts.new[1:]]):
        return False
    if not any(leading_blanks(file.texts[line]) for line in placement.lines if line is not None):
        return False
    known = {line.strip() for line in texts.old}
    return any(line.rstrip().endswith(_OPENERS) and line.strip() not in known for line in texts.new)


def _base(lines: Sequence[str]) -> str:
    """The smallest indentation."""
    return min((leading_blanks(line) for line in lines if line.strip()), key=len, default="")
