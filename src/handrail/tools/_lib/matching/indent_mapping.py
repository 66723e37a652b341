"""Replays a pair whose new text may be indented differently from its old text.

Usually both texts are shifted alike and one rule serves both. If only the old text is shifted, the
new text is used as it is. Lines that are in both texts and in the file decide; if they disagree,
the edit is refused.
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
    """Return the splices of a placed pair; raises `no_match` if the indentation is not certain."""
    texts, placement = _without_missing(texts, placement)
    texts = _first_restored(file, texts, placement)
    block = diff_lines(*texts)
    agrees = placement.tier < Tier.INDENTATION
    if (agrees and not repaired) or not any(line.strip() for line in texts.new):
        return replay_block(file, block, placement)
    shared = _shared(file, texts, placement)
    frame = _frame(shared, file, texts, placement)
    if frame == "old" and (agrees or not _lost_indentation(file, texts, placement)):
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
    """The lines that the old text, the new text and the file share, and whether there are other
    lines.
    """

    lines: list[_MappedLine]
    inserts: bool
    deletes: bool

    def explains(self, steps: Iterable[int]) -> bool:
        """Return whether lines may be deeper by these amounts: inside new lines, or no longer
        inside old ones.
        """
        return all((step <= 0 or self.inserts) and (step >= 0 or self.deletes) for step in steps)


def _shared(file: FileLines, texts: PairLines, placement: Placement) -> _SharedIndent:
    new_texts, numbers = iter(texts.new), iter(placement.lines)
    lines: list[_MappedLine] = []
    ops = diff_lines(*texts, str.strip).ops
    for op in ops:
        text = next(new_texts) if op.kind != "delete" else ""
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
    """Return whether the new text is indented like the old text or like the file; None if unclear."""
    lines = shared.lines
    if not any(one.as_file for one in lines):
        return _without_witness(lines, file, texts, placement)
    as_old = shared.explains(len(one.new) - len(one.old) for one in lines)
    as_file = shared.explains(len(one.new) - len(one.file) for one in lines)
    if as_old != as_file:
        return "old" if as_old else "file"
    if not any(one.as_old for one in lines):
        # All lines are deeper by the difference to the file: they were wrapped, if the outer lines
        # are new.
        return "old" if _wrapped(texts, lines) else "file"
    edges = (lines[0], lines[-1])
    if all(one.as_old for one in edges):
        return "old"
    return "file" if all(one.as_file for one in edges) else None


def _without_witness(
    lines: Sequence[_MappedLine], file: FileLines, texts: PairLines, placement: Placement
) -> Frame | None:
    """Return the mapping if no shared line shows the indentation of the file."""
    if _outside(texts, lines):
        return None
    if any(one.as_old for one in lines) or _wrapped(texts, lines) or _unwrapped(texts, lines):
        return "old"
    return "file" if not lines and _begins_as(file, texts, placement) else None


def _wrapped(texts: PairLines, lines: Sequence[_MappedLine]) -> bool:
    """Return whether the new text begins at the indentation of the old text, and with a new line if
    there are shared lines, which must all be deeper.
    """
    start = next(line for line in texts.new if line.strip())
    if lines and start.strip() in {line.strip() for line in texts.old}:
        return False
    if any(len(one.new) <= len(one.old) for one in lines):
        return False
    first = next(line for line in texts.old if line.strip())
    return leading_blanks(start) in (_base(texts.old), leading_blanks(first))


def _unwrapped(texts: PairLines, lines: Sequence[_MappedLine]) -> bool:
    """Whether lines stay, less deep, of which the first now begins where the old text did."""
    first = next(line for line in texts.old if line.strip())
    start = next(line for line in texts.new if line.strip())
    kept = {line.strip() for line in texts.new}
    return (
        bool(lines)
        and first.strip() not in kept
        and all(len(one.new) < len(one.old) for one in lines)
        and leading_blanks(start) == leading_blanks(first) == _base(texts.old) == _base(texts.new)
    )


def _outside(texts: PairLines, lines: Sequence[_MappedLine]) -> bool:
    """Return whether a new line is further out than all old lines, at the depth of the file: it may
    be meant for the file as it is, with the rest wrapped in it.
    """
    depth = min((len(one.file) for one in lines), default=0)
    old_depth = len(_base(texts.old))
    old_lines = {line.strip() for line in texts.old}
    fresh = [line for line in texts.new if line.strip() and line.strip() not in old_lines]
    return any(len(leading_blanks(line)) == depth < old_depth for line in fresh)


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
    """Return the pair without the blank lines that the file does not have.

    The new text loses such a line only next to the same neighbour; any other blank line is new.
    """
    missing = [at for at, line in enumerate(placement.lines) if line is None]
    if not missing or not any(line.strip() for line in texts.old):
        return texts, placement
    new = list(texts.new)
    for at in missing:
        neighbours = _neighbours(texts.old, at)
        same = (index for index, line in enumerate(new) if not line.strip())
        dropped = next(
            (index for index in same if _touches(neighbours, _neighbours(new, index))), None
        )
        if dropped is not None:
            del new[dropped]
    old = [line for at, line in enumerate(texts.old) if at not in missing]
    lines = tuple([line for line in placement.lines if line is not None])
    return PairLines(old, new), replace(placement, lines=lines)


def _neighbours(lines: Sequence[str], index: int) -> tuple[str, str]:
    """The nearest lines above and below that are not blank; empty strings where there are none."""
    above = (line.strip() for line in reversed(lines[:index]) if line.strip())
    below = (line.strip() for line in lines[index + 1 :] if line.strip())
    return next(above, ""), next(below, "")


def _touches(first: tuple[str, str], second: tuple[str, str]) -> bool:
    return first[0] == second[0] or first[1] == second[1]


def _first_restored(file: FileLines, texts: PairLines, placement: Placement) -> PairLines:
    """Return the pair with the new text's first line as in the old text, if it lacks only the
    indentation, like text that was copied from inside a line.
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


def _lost_indentation(file: FileLines, texts: PairLines, placement: Placement) -> bool:
    """Return whether indentation seems to be lost: a new line opens a block that is empty."""
    if any(line != line.lstrip() for line in [*texts.old[1:], *texts.new[1:]]):
        return False
    if not any(leading_blanks(file.texts[line]) for line in placement.lines if line is not None):
        return False
    old_lines = {line.strip() for line in texts.old}
    return any(
        line.rstrip().endswith(_OPENERS) and line.strip() not in old_lines for line in texts.new
    )


def _base(lines: Sequence[str]) -> str:
    """Return the smallest indentation."""
    return min((leading_blanks(line) for line in lines if line.strip()), key=len, default="")
