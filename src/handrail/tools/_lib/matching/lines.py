"""A file as decoded lines, each with its own ending and its own bytes.

Line numbers are 0-based here; positions are byte offsets into the file.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Final, TypeVar

from handrail.tools._lib.bytetext import ByteText
from handrail.tools._lib.matching.keys import squeeze

T = TypeVar("T")

_ONE_BYTE: Final = ("cp1252", "latin-1")


class FileLines:
    """The lines of a file; made only when the exact text was not found, for it reads all.

    `scopes` has the line at which the block that a line opens ends, as far as it was asked for.
    """

    def __init__(self, file: ByteText, path: str = "") -> None:
        self.file = file
        self.path = path
        # How often a block was looked for; after the first few times an index is worth it.
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
        # What follows the last ending is a line only if there is something.
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
        """What ends a line in the file, empty for a last line without an ending."""
        end = self.starts[line + 1]
        return self.file.ending_before(end) or b"" if end > self.starts[line] else b""

    def ending_for(self, line: int) -> bytes:
        """The ending that a new line before this line takes: that of the line above, or below."""
        for near in (line - 1, line):
            if 0 <= near < len(self.texts) and (ending := self.ending(near)):
                return ending
        return self.file.ending_near(self.starts[line], self.starts[line])

    @cached_property
    def squeezed(self) -> Sequence[str]:
        """Every line without its blanks and with quotes and dashes folded."""
        return squeeze(self.text).split("\n")[: len(self.texts)]

    @cached_property
    def solid(self) -> Sequence[int]:
        """The numbers of the lines that hold more than blanks."""
        return [number for number, line in enumerate(self.squeezed) if line]

    @cached_property
    def joined(self) -> str:
        """The squeezed solid lines, each between line feeds, to be searched in one go."""
        return "\n" + "\n".join(self.solid_keys) + "\n"

    @cached_property
    def solid_keys(self) -> Sequence[str]:
        """The squeezed text of every solid line."""
        return [line for line in self.squeezed if line]

    @cached_property
    def trimmed(self) -> frozenset[str]:
        """The different lines, without blanks at their ends."""
        return frozenset([text.rstrip() for text in self.texts])

    def memo(self, make: Callable[[FileLines], T]) -> T:
        """What `make` makes of the file, made once."""
        if make not in self._memo:
            self._memo[make] = make(self)
        made: T = self._memo[make]
        return made

    def solid_with(self, key: str) -> Sequence[int]:
        """The positions in `solid` of all lines with this squeezed text."""
        return self._positions.get(key, ())

    def solid_with_pair(self, key: str, below: str) -> Sequence[int]:
        """The positions in `solid` of all lines with this text and that text below it."""
        return self._pairs.get((key, below), ())

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for position, key in enumerate(self.solid_keys):
            found.setdefault(key, []).append(position)
        return found

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], list[int]] = {}
        for position, pair in enumerate(pairwise(self.solid_keys)):
            found.setdefault(pair, []).append(position)
        return found

    def _starts(self, first: int, pieces: Sequence[str]) -> list[int]:
        width, size = self.file.width, len(self.file.data)
        if self.file.form.encoding in _ONE_BYTE or (width == 1 and self.text.isascii()):
            lengths = [len(piece) + 1 for piece in pieces]
        else:
            encode = self.file.form.encode_part
            lengths = [len(encode(piece)) + width for piece in pieces]
        starts = list(accumulate(lengths, initial=first))
        starts[-1] = size
        return starts
