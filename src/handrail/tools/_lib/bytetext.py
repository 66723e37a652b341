"""The bytes of a text file, searched and counted in place: never decoded as a whole.

Positions are byte offsets and always lie between characters, also in UTF-16.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handrail.core.text.encoding import UTF8_MIXED, TextForm, detect
from handrail.tools._lib.seek import seek

# Up to here finding out the encoding costs nothing that anybody would notice.
_SMALL: Final = 1_000_000


def form_of(data: bytes, *texts: str) -> TextForm:
    """The form in which these texts are looked for in, or put into, a file.

    Binary content counts as bytes that are mostly not characters. A large file is not
    decoded where it cannot matter: ASCII is the same in every form but UTF-16.
    """
    if len(data) > _SMALL and all(text.isascii() for text in texts) and not _may_be_wide(data):
        return UTF8_MIXED
    return detect(data) or UTF8_MIXED


def _may_be_wide(data: bytes) -> bool:
    return data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data


class ByteText:
    """What line endings look like in these bytes, and where lines begin and end."""

    __slots__ = ("cr", "data", "endings", "form", "lf", "width")

    def __init__(self, data: bytes, form: TextForm) -> None:
        self.data = data
        self.form = form
        self.lf = form.encode_part("\n")
        self.cr = form.encode_part("\r")
        self.width = form.unit
        # Longest first. A carriage return alone ends a line only where nothing else does,
        # and then only for matching: it is shown and counted as part of its line.
        self.endings: tuple[bytes, ...] = (self.cr + self.lf, self.lf)
        if self.find(self.lf) < 0 <= self.find(self.cr):
            self.endings = (self.cr,)

    def find(self, needle: bytes, start: int = 0, end: int | None = None) -> int:
        """Where these bytes stand next, -1 if nowhere; skips places inside a character."""
        stop = len(self.data) if end is None else end
        at = seek(self.data, needle, start, stop)
        while at >= 0 and at % self.width:
            at = self.data.find(needle, at + 1, stop)
        return at

    def rfind(self, needle: bytes, start: int, end: int) -> int:
        """Where these bytes stand last between two positions, -1 if nowhere."""
        at = self.data.rfind(needle, start, end)
        while at >= 0 and at % self.width:
            at = self.data.rfind(needle, start, at + len(needle) - 1)
        return at

    def find_all(self, needle: bytes) -> Iterator[int]:
        """Every place where these bytes stand, also those that overlap."""
        at = self.find(needle)
        while at >= 0:
            yield at
            at = self.find(needle, at + self.width)

    def ending_at(self, position: int) -> bytes | None:
        """The line ending that begins at a position."""
        for ending in self.endings:
            if self.data.startswith(ending, position):
                return ending
        return None

    def ending_before(self, position: int) -> bytes | None:
        """The line ending that ends at a position."""
        for ending in self.endings:
            start = position - len(ending)
            if start >= 0 and self.data.startswith(ending, start):
                return ending
        return None

    def ending_near(self, start: int, end: int) -> bytes:
        """The ending of the line at `end`, or else of the line before `start`."""
        mark = self.endings[-1]
        at = self.find(mark, end)
        if at < 0:
            at = self.rfind(mark, 0, start)
        if at < 0:
            return self.lf
        return self.ending_before(at + self.width) or self.lf

    def lines_between(self, start: int, end: int) -> int:
        """How many lines end between two positions."""
        return self.count(self.lf, start, end)

    def count(self, needle: bytes, start: int = 0, end: int | None = None) -> int:
        """How often these bytes stand between two positions, without overlaps."""
        stop = len(self.data) if end is None else end
        if self.width == 1:
            return self.data.count(needle, start, stop)
        found, at = 0, self.find(needle, start, stop)
        while at >= 0:
            found += 1
            at = self.find(needle, at + len(needle), stop)
        return found

    def line_start(self, position: int, floor: int = 0) -> int | None:
        """Where the line of a position begins; None if that is before `floor`."""
        at = self.rfind(self.lf, max(floor, 0), position)
        if at >= 0:
            return at + self.width
        return 0 if floor <= 0 else None

    def line_end(self, position: int, ceiling: int | None = None) -> int | None:
        """Where the line of a position ends, after its ending; None if past `ceiling`."""
        size = len(self.data)
        stop = size if ceiling is None else min(ceiling, size)
        at = self.find(self.lf, position, stop)
        if at >= 0:
            return at + self.width
        return size if stop == size else None

    def splits_word(self, position: int) -> bool:
        """Whether a position lies inside a word."""
        reach = 4 * self.width
        before = self.shown(self.data[max(position - reach, 0) : position])[-1:]
        after = self.shown(self.data[position : position + reach])[:1]
        return _in_word(before) and _in_word(after)

    def shown(self, data: bytes) -> str:
        """Bytes from inside the file, perhaps cut within a character, as text to look at."""
        return data.decode(self.form.encoding, "replace").removeprefix("\ufeff")


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"
