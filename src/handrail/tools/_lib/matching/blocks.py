"""What a call says about a run of lines, as operations; nothing here has seen the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal, NamedTuple

# SequenceMatcher is quadratic; beyond this the middle of a pair is one replacement.
_MAX_PAIRS: Final = 1_000_000


class Op(NamedTuple):
    """One line without its ending: it stays, it goes, or it is new."""

    kind: Literal["keep", "delete", "insert"]
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """Operations on neighbouring lines, in order."""

    ops: tuple[Op, ...]

    @property
    def old(self) -> tuple[str, ...]:
        """The lines as the call believes them to be now."""
        return tuple([op.text for op in self.ops if op.kind != "insert"])

    @property
    def new(self) -> tuple[str, ...]:
        """The lines as the call wants them."""
        return tuple([op.text for op in self.ops if op.kind != "delete"])

    @property
    def changes(self) -> bool:
        """Whether any line goes or is new."""
        return any(op.kind != "keep" for op in self.ops)


@dataclass(frozen=True, slots=True)
class Hints:
    """What a hunk says about its place beside its lines.

    `line` is the 1-based number of its first old line and only decides between equals.
    `anchors` are lines that stand above the place, in order; one that is missing refuses.
    `at_end` prefers the end of the file. Lines before `after` (0-based) are not considered.
    """

    line: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    after: int = 0


class Texts(NamedTuple):
    """The lines of an (old, new) pair."""

    old: list[str]
    new: list[str]


def lines_of(old: str, new: str) -> Texts:
    """A pair as lines. A newline at the end of the old text begins no line, in either of
    them; at the end of the new text alone, it begins an empty one, as it would literally.
    """
    before = old.replace("\r\n", "\n").split("\n")
    after = new.replace("\r\n", "\n").split("\n") if new else []
    if not before[-1]:
        before.pop()
        if after and not after[-1]:
            after.pop()
    return Texts(before, after)


def block_of(old: str, new: str, same: Callable[[str], str] = str.rstrip) -> Block:
    """The line difference of a pair. Lines that are the `same` but for blanks are kept."""
    return block_of_lines(*lines_of(old, new), same)


def block_of_lines(
    old: Sequence[str], new: Sequence[str], same: Callable[[str], str] = str.rstrip
) -> Block:
    """The line difference of two runs of lines; a kept line has the text of `old`."""
    before, after = [same(line) for line in old], [same(line) for line in new]
    ops: list[Op] = []
    for tag, a0, a1, b0, b1 in _opcodes(before, after):
        if tag == "equal":
            ops += [Op("keep", line) for line in old[a0:a1]]
        else:
            ops += [Op("delete", line) for line in old[a0:a1]]
            ops += [Op("insert", line) for line in new[b0:b1]]
    return Block(tuple(ops))


_Opcode = tuple[str, int, int, int, int]


def _opcodes(before: Sequence[str], after: Sequence[str]) -> list[_Opcode]:
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shorter - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    a1, b1 = len(before) - tail, len(after) - tail
    middle: list[_Opcode]
    if (a1 - head) * (b1 - head) > _MAX_PAIRS:
        middle = [("replace", head, a1, head, b1)]
    else:
        matcher = SequenceMatcher(None, before[head:a1], after[head:b1], autojunk=False)
        middle = [
            (tag, i0 + head, i1 + head, j0 + head, j1 + head)
            for tag, i0, i1, j0, j1 in matcher.get_opcodes()
        ]
    top: list[_Opcode] = [("equal", 0, head, 0, head)]
    bottom: list[_Opcode] = [("equal", a1, len(before), b1, len(after))]
    return [*top, *middle, *bottom]
