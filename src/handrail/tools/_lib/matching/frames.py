"""Replaying a pair whose new text may be indented otherwise than its old text.

Mostly both are shifted alike and one rule serves them. Where the old text alone is shifted,
the new one is taken as it is. Lines that stand in both, and in the file, tell which it is;
where they do not agree, nothing is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.matching.blocks import Texts, block_of_lines
from handrail.tools._lib.matching.candidates import Tier
from handrail.tools._lib.matching.indents import indent_of
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.place import Placement
from handrail.tools._lib.matching.replay import replay
from handrail.tools._lib.splice import Splice

_OPENERS: Final = (":", "{", "(", "[")


def framed(
    file: FileLines, texts: Texts, placement: Placement, *, repaired: bool = False
) -> tuple[Splice, ...]:
    """The splices of a placed pair; `no_match` if its indentation is not certain."""
    block = block_of_lines(*texts)
    literal = placement.tier < Tier.INDENTATION and not repaired
    if literal or not any(line.strip() for line in texts.new):
        return replay(file, block, placement)
    shared = _shared(file, texts, placement)
    if _as_old(shared, texts) and not _flattened(file, texts, placement):
        return replay(file, block, placement)
    if _as_file(shared, file, texts, placement):
        lines = _as_indented(file, texts.old, placement)
        return replay(file, block_of_lines(lines, texts.new), placement, as_given=True)
    raise ProblemRaised(
        "no_match",
        f"old_string and new_string are indented differently, and not both as {file.path!r} is",
        hint="read the lines and give both with exactly the file's indentation",
        field="old_string",
    )


class _Shared(NamedTuple):
    """The indentation of a line that stands in the old text, the new text and the file."""

    old: str
    new: str
    file: str

    @property
    def as_old(self) -> bool:
        return self.new == self.old

    @property
    def as_file(self) -> bool:
        return self.new == self.file != self.old


def _shared(file: FileLines, texts: Texts, placement: Placement) -> list[_Shared]:
    wanted, lines = iter(texts.new), iter(placement.lines)
    shared: list[_Shared] = []
    for op in block_of_lines(*texts, str.strip).ops:
        text = next(wanted) if op.kind != "delete" else ""
        line = next(lines) if op.kind != "insert" else None
        if op.kind == "keep" and line is not None and text.strip():
            indents = (indent_of(op.text), indent_of(text), indent_of(file.texts[line]))
            shared.append(_Shared(*indents))
    return shared


def _as_old(shared: Sequence[_Shared], texts: Texts) -> bool:
    """Whether the new text is indented in step with the old one."""
    same_base = _base(texts.old) == _base(texts.new)
    alike = [one for one in shared if one.as_old]
    if not any(one.as_file for one in shared):
        return bool(alike) or same_base
    if not alike:
        # All lines are deeper by just what the file is: wrapped, if what wraps them is new.
        return same_base
    # Some lines were wrapped, and lie by chance as the other reading would have them.
    return shared[0].as_old and shared[-1].as_old


def _as_file(
    shared: Sequence[_Shared], file: FileLines, texts: Texts, placement: Placement
) -> bool:
    """Whether the new text is indented as the file is."""
    if any(one.as_file for one in shared):
        return shared[0].as_file and shared[-1].as_file
    if shared:
        return False
    first = next(line for line in placement.lines if line is not None and file.squeezed[line])
    start = next(line for line in texts.new if line.strip())
    return indent_of(start) == indent_of(file.texts[first])


def _as_indented(file: FileLines, old: Sequence[str], placement: Placement) -> list[str]:
    return [
        text if line is None else indent_of(file.texts[line]) + text.lstrip()
        for text, line in zip(old, placement.lines, strict=True)
    ]


def _flattened(file: FileLines, texts: Texts, placement: Placement) -> bool:
    """Whether indentation seems to be lost: a new line opens a block that nothing is in."""
    if any(line != line.lstrip() for line in [*texts.old, *texts.new]):
        return False
    if not any(indent_of(file.texts[line]) for line in placement.lines if line is not None):
        return False
    known = {line.strip() for line in texts.old}
    return any(line.rstrip().endswith(_OPENERS) and line.strip() not in known for line in texts.new)


def _base(lines: Sequence[str]) -> str:
    return min((indent_of(line) for line in lines if line.strip()), key=len, default="")
