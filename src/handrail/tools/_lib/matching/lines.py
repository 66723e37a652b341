"""A file as decoded lines, each with its own ending and its own bytes.

Line numbers are 0-based here; positions are byte offsets into the file.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final

from handrail.tools._lib.bytetext import ByteText
from handrail.tools._lib.matching.keys import squeeze

_ONE_BYTE: Final = ("cp1252", "latin-1")


class FileLines:
    """The lines of a file; made only when the exact text was not found, for it reads all."""

    def __init__(self, file: ByteText, path: str = "") -> None:
        self.file = file
        self.path = path
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
        return "\n" + "\n".join([line for line in self.squeezed if line]) + "\n"

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
