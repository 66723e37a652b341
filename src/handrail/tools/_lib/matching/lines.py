"""The lines of a call as operations, and the lines of a file with their endings and byte offsets.

Line numbers are 0-based here; positions are byte offsets into the file.
"""

from __future__ import annotations

import codecs
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Final, Literal, NamedTuple, TypeVar

from handrail.tools._lib.byte_text import ByteText
from handrail.tools._lib.matching.normalize import squeeze

# SequenceMatcher is quadratic; beyond this the middle of a pair is one replacement.
_MAX_PAIRS: Final = 1_000_000


class LineOp(NamedTuple):
    """One line without its ending: kept, deleted or inserted."""

    kind: Literal["keep", "delete", "insert"]
    text: str


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Operations on neighbouring lines, in order."""

    ops: tuple[LineOp, ...]

    @property
    def old(self) -> tuple[str, ...]:
        """The lines before the change, according to the call."""
        return tuple([op.text for op in self.ops if op.kind != "insert"])

    @property
    def new(self) -> tuple[str, ...]:
        """The lines after the change."""
        return tuple([op.text for op in self.ops if op.kind != "delete"])

    @property
    def changes(self) -> bool:
        """Whether any line is deleted or inserted."""
        return any(op.kind != "keep" for op in self.ops)


@dataclass(frozen=True, slots=True)
class PlacementHints:
    """What a hunk states about its place besides its lines.

    `line` is the 1-based number of its first old line and only decides between equal places.
    `anchors` are lines above the place, in order; a missing one refuses the hunk. `at_end` prefers
    the end of the file. Lines before `after` (0-based) are not considered.
    """

    line: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    after: int = 0


class PairLines(NamedTuple):
    """The lines of an (old, new) pair."""

    old: list[str]
    new: list[str]


def split_pair(old: str, new: str) -> PairLines:
    """Split a pair into lines. A newline at the end of the old text begins no line in either text;
    one at the end of the new text alone begins an empty line, as it does literally.
    """
    before = old.replace("\r\n", "\n").split("\n")
    after = new.replace("\r\n", "\n").split("\n") if new else []
    if not before[-1]:
        before.pop()
        if after and not after[-1]:
            after.pop()
    return PairLines(before, after)


def diff_texts(old: str, new: str, same: Callable[[str], str] = str.rstrip) -> LineBlock:
    """Return the line difference of a pair. Lines for which `same` returns equal values are kept."""
    return diff_lines(*split_pair(old, new), same)


def diff_lines(
    old: Sequence[str], new: Sequence[str], same: Callable[[str], str] = str.rstrip
) -> LineBlock:
    """Return the line difference of two lists of lines; a kept line has the text of `old`."""
    before, after = [same(line) for line in old], [same(line) for line in new]
    ops: list[LineOp] = []
    for tag, a0, a1, b0, b1 in _opcodes(before, after):
        if tag == "equal":
            ops += [LineOp("keep", line) for line in old[a0:a1]]
        else:
            ops += [LineOp("delete", line) for line in old[a0:a1]]
            ops += [LineOp("insert", line) for line in new[b0:b1]]
    return LineBlock(tuple(ops))


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


T = TypeVar("T")

_ONE_BYTE: Final = ("cp1252", "latin-1")


class FileLines:
    """The lines of a file; built only if the exact text was not found, because it reads the whole
    file.

    `scopes` caches, for a line that opens a block, the line at which the block ends.
    """

    def __init__(self, file: ByteText, path: str = "") -> None:
        self.file = file
        self.path = path
        # How often a block was searched; after a few searches an index is worth building.
        self.searches = 0
        self.scopes: dict[int, int] = {}
        self._memo: dict[Callable[[FileLines], Any], Any] = {}
        bom = file.form.bom
        if not bom and file.width == 1 and file.data.startswith(codecs.BOM_UTF8):
            bom = codecs.BOM_UTF8
        self.text = file.form.decode_part(file.data[len(bom) :])
        if file.endings == (file.cr,):
            self.text = self.text.replace("\r", "\n")
        pieces = self.text.split("\n")
        # Text after the last ending counts as a line only if it is not empty.
        self.ended = not pieces[-1]
        if self.ended:
            pieces.pop()
        self.starts: Sequence[int] = self._starts(len(bom), pieces)
        self.texts: Sequence[str] = (
            [piece.removesuffix("\r") for piece in pieces] if "\r" in self.text else pieces
        )

    def __len__(self) -> int:
        return len(self.texts)

    def ending(self, line: int) -> bytes:
        """Return the ending of a line; empty for a last line without one."""
        end = self.starts[line + 1]
        return self.file.ending_before(end) or b"" if end > self.starts[line] else b""

    def ending_for(self, line: int) -> bytes:
        """Return the ending for a new line before this line: that of the line above, or else below."""
        for near in (line - 1, line):
            if 0 <= near < len(self.texts) and (ending := self.ending(near)):
                return ending
        return self.file.ending_near(self.starts[line], self.starts[line])

    @cached_property
    def squeezed(self) -> Sequence[str]:
        """Every line without blanks, with quotes and dashes folded."""
        return squeeze(self.text).split("\n")[: len(self.texts)]

    @cached_property
    def solid(self) -> Sequence[int]:
        """The numbers of the lines that are not blank."""
        return array("q", (number for number, line in enumerate(self.squeezed) if line))

    @cached_property
    def joined(self) -> str:
        """The squeezed solid lines, each between line feeds, for a single search."""
        return "\n" + "\n".join(self.solid_keys) + "\n"

    @cached_property
    def solid_keys(self) -> Sequence[str]:
        """The squeezed text of every solid line."""
        return [line for line in self.squeezed if line]

    @cached_property
    def trimmed(self) -> frozenset[str]:
        """The distinct lines, without trailing blanks."""
        return frozenset([text.rstrip() for text in self.texts])

    def memo(self, make: Callable[[FileLines], T]) -> T:
        """Return `make(self)`, computed once."""
        if make not in self._memo:
            self._memo[make] = make(self)
        result: T = self._memo[make]
        return result

    def solid_with(self, key: str) -> Sequence[int]:
        """Return the positions in `solid` of all lines with this squeezed text."""
        return self._positions.get(key, ())

    def solid_with_pair(self, key: str, below: str) -> Sequence[int]:
        """Return the positions in `solid` of all lines with the text `key` and the text `below`
        after it.
        """
        return self._pairs.get((key, below), ())

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for position, key in enumerate(self.solid_keys):
            positions.setdefault(key, []).append(position)
        return positions

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], list[int]]:
        positions: dict[tuple[str, str], list[int]] = {}
        for position, pair in enumerate(pairwise(self.solid_keys)):
            positions.setdefault(pair, []).append(position)
        return positions

    def _starts(self, first: int, pieces: Sequence[str]) -> Sequence[int]:
        width, size = self.file.width, len(self.file.data)
        if self.file.form.encoding in _ONE_BYTE or (width == 1 and self.text.isascii()):
            lengths = (len(piece) + 1 for piece in pieces)
        else:
            encode = self.file.form.encode_part
            lengths = (len(encode(piece)) + width for piece in pieces)
        # An array takes a fifth of the memory of a list of integers.
        starts = array("q", accumulate(lengths, initial=first))
        starts[-1] = size
        return starts


def shared_ends(old: str, new: str) -> tuple[int, int]:
    """Return the lengths of the common prefix and the common suffix of two texts."""
    head = _common_prefix(old, new)
    return head, _common_prefix(old[head:][::-1], new[head:][::-1])


def _common_prefix(first: str, second: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
