"""Searches, counts and replaces text in the bytes of a file, without decoding the whole file.

Positions are byte offsets between characters, also in UTF-16. Replacing bytes copies only what
changes, so an edit in a file of 50 MB costs as much as one in a small file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from handrail.core.text.content import Buffer, Content
from handrail.core.text.encoding import UTF8_MIXED, TextForm, detect

# In smaller content, looking for the rarest byte saves no time.
_LARGE: Final = 64 * 1024
_SAMPLES: Final = 8
_SAMPLE: Final = 512
_RARE: Final = 4
# A byte with this many occurrences that are not the needle counts as common.
_MISSES: Final = 500


def find_bytes(data: bytes, needle: bytes, start: int, stop: int) -> int:
    """Same result as `data.find(needle, start, stop)`."""
    rare = _rarest(data, needle, start, stop) if stop - start >= _LARGE else None
    if rare is None:
        return data.find(needle, start, stop)
    offset, byte = rare
    at, last = start + offset, stop - len(needle) + offset + 1
    for _ in range(_MISSES):
        at = data.find(byte, at, last)
        if at < 0:
            return -1
        if data.startswith(needle, at - offset):
            return at - offset
        at += 1
    return data.find(needle, at - offset, stop)


def _rarest(data: bytes, needle: bytes, start: int, stop: int) -> tuple[int, bytes] | None:
    """Return the offset of the rarest byte in the needle, and that byte; None if all are common."""
    if len(needle) < 2:
        return None
    step = (stop - start) // _SAMPLES
    sample = b"".join([data[at : at + _SAMPLE] for at in range(start, stop - _SAMPLE, step)])
    fewest, rarest = _RARE + 1, -1
    for byte in dict.fromkeys(needle):
        count = sample.count(byte)
        if count < fewest:
            fewest, rarest = count, byte
            if not count:
                break
    return None if rarest < 0 else (needle.index(rarest), bytes([rarest]))


# Up to this size, detecting the encoding is cheap.
_SMALL: Final = 1_000_000


def detect_form(data: bytes, *texts: str) -> TextForm:
    """Return the text form in which these texts are searched for in a file, or inserted.

    Binary content gets the form for bytes that are not text. A large file is decoded only if it may
    be UTF-16: in every other form, ASCII text has the same bytes.
    """
    if len(data) > _SMALL and all(text.isascii() for text in texts) and not _may_be_wide(data):
        return UTF8_MIXED
    return detect(data) or UTF8_MIXED


def _may_be_wide(data: bytes) -> bool:
    return data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data


class ByteText:
    """The bytes of a text file: its line endings, and where lines begin and end."""

    __slots__ = ("cr", "data", "endings", "form", "lf", "width")

    def __init__(self, data: bytes, form: TextForm) -> None:
        self.data = data
        self.form = form
        self.lf = "\n".encode(form.encoding)
        self.cr = "\r".encode(form.encoding)
        self.width = len(self.lf)
        # Longest first. A carriage return alone ends a line only where nothing else does,
        # and then only for matching: it is shown and counted as part of its line.
        self.endings: tuple[bytes, ...] = (self.cr + self.lf, self.lf)
        if self.find(self.lf) < 0 <= self.find(self.cr):
            self.endings = (self.cr,)

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text in this file; raises `not_text` for a character that its
        encoding lacks.
        """
        try:
            return text.encode(self.form.encoding, self.form.errors)
        except UnicodeEncodeError:
            return self.form.encode_part(text)

    @property
    def has_one_ending(self) -> bool:
        """Whether all lines of the file have the same ending."""
        returns = self.count(self.cr)
        if not returns:
            return True
        feeds = self.count(self.lf)
        return not feeds or feeds == returns == self.count(self.cr + self.lf)

    def replace_all(self, old: bytes, new: bytes) -> bytes:
        """Return the file with every occurrence of some bytes replaced, from left to right."""
        if self.width == 1:
            return self.data.replace(old, new)
        text, before, after = (
            data.decode(self.form.encoding, "surrogatepass") for data in (self.data, old, new)
        )
        return text.replace(before, after).encode(self.form.encoding, "surrogatepass")

    def find(self, needle: bytes, start: int = 0, end: int | None = None) -> int:
        """The next position of these bytes, or -1; positions inside a character are skipped."""
        stop = len(self.data) if end is None else end
        at = find_bytes(self.data, needle, start, stop)
        while at >= 0 and at % self.width:
            at = self.data.find(needle, at + 1, stop)
        return at

    def rfind(self, needle: bytes, start: int, end: int) -> int:
        """Return the last position of these bytes between two positions, or -1."""
        at = self.data.rfind(needle, start, end)
        while at >= 0 and at % self.width:
            at = self.data.rfind(needle, start, at + len(needle) - 1)
        return at

    def find_all(self, needle: bytes) -> Iterator[int]:
        """Yield every position of these bytes, overlapping ones included."""
        at = self.find(needle)
        while at >= 0:
            yield at
            at = self.find(needle, at + self.width)

    def ending_at(self, position: int) -> bytes | None:
        """Return the line ending that begins at a position."""
        for ending in self.endings:
            if self.data.startswith(ending, position):
                return ending
        return None

    def ending_before(self, position: int) -> bytes | None:
        """Return the line ending that ends at a position."""
        for ending in self.endings:
            start = position - len(ending)
            if start >= 0 and self.data.startswith(ending, start):
                return ending
        return None

    def ending_near(self, start: int, end: int) -> bytes:
        """Return the ending of the line at `end`, or else of the line before `start`."""
        mark = self.endings[-1]
        at = self.find(mark, end)
        if at < 0:
            at = self.rfind(mark, 0, start)
        if at < 0:
            return self.lf
        return self.ending_before(at + self.width) or self.lf

    def lines_between(self, start: int, end: int) -> int:
        """Return how many lines end between two positions."""
        return self.count(self.lf, start, end)

    def count(self, needle: bytes, start: int = 0, end: int | None = None) -> int:
        """The number of occurrences of these bytes between two positions, without overlaps."""
        stop = len(self.data) if end is None else end
        if self.width == 1:
            return self.data.count(needle, start, stop)
        total, at = 0, self.find(needle, start, stop)
        while at >= 0:
            total += 1
            at = self.find(needle, at + len(needle), stop)
        return total

    def line_start(self, position: int, floor: int = 0) -> int | None:
        """Return where the line of a position begins; None if that is before `floor`."""
        at = self.rfind(self.lf, max(floor, 0), position)
        if at >= 0:
            return at + self.width
        return 0 if floor <= 0 else None

    def line_end(self, position: int, ceiling: int | None = None) -> int | None:
        """Return where the line of a position ends, after its ending; None if past `ceiling`."""
        size = len(self.data)
        stop = size if ceiling is None else min(ceiling, size)
        at = self.find(self.lf, position, stop)
        if at >= 0:
            return at + self.width
        return size if stop == size else None

    def splits_word(self, position: int) -> bool:
        """Return whether a position lies inside a word."""
        reach = 4 * self.width
        before = self.shown(self.data[max(position - reach, 0) : position])[-1:]
        after = self.shown(self.data[position : position + reach])[:1]
        return _in_word(before) and _in_word(after)

    def shown(self, data: bytes) -> str:
        """Decode bytes of the file for display; characters that are cut become U+FFFD."""
        return data.decode(self.form.encoding, "replace").removeprefix("\ufeff")


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


# With more pieces than this, one copy is cheaper than passing them on one by one.
_MAX_PARTS: Final = 64


class Splice(NamedTuple):
    """Bytes `start` to `end` of a file become `new`."""

    start: int
    end: int
    new: bytes


def apply_splices(data: bytes, splices: Sequence[Splice]) -> Content:
    """Return the content after all splices, which are in order and do not overlap."""
    return Content(*splice_parts(data, splices))


def splice_parts(data: bytes, splices: Sequence[Splice]) -> list[Buffer]:
    """Return the pieces of the content after all splices; many pieces are joined to one."""
    view = memoryview(data)
    parts: list[Buffer] = []
    at = 0
    for splice in splices:
        parts += (view[at : splice.start], splice.new)
        at = splice.end
    parts.append(view[at:])
    return [b"".join(parts)] if len(parts) > _MAX_PARTS else [part for part in parts if len(part)]


def compose_splices(earlier: Sequence[Splice], later: Sequence[Splice]) -> tuple[Splice, ...]:
    """Splices of the first content that have the effect of `earlier` and then `later`.

    Both are in order. Splices that touch become one; the work is linear in their number.
    """
    result: list[Splice] = []
    grown = earlier_at = later_at = 0
    while earlier_at < len(earlier) or later_at < len(later):
        group = _SpliceGroup(earlier, later, earlier_at, later_at, grown)
        result += group.splices()
        earlier_at, later_at, grown = group.earlier_at, group.later_at, group.grown
    return tuple(result)


def compose_all(steps: Sequence[Sequence[Splice]]) -> tuple[Splice, ...]:
    """Splices of the first content that have the effect of all steps, one after the other."""
    if not steps:
        return ()
    rest = list(steps)
    while len(rest) > 1:
        pairs = zip_longest(rest[::2], rest[1::2], fillvalue=())
        rest = [compose_splices(first, second) if second else first for first, second in pairs]
    return tuple(rest[0])


class _SpliceGroup:
    """Splices of two steps that overlap or touch, in positions between the two steps."""

    def __init__(
        self,
        earlier: Sequence[Splice],
        later: Sequence[Splice],
        earlier_at: int,
        later_at: int,
        grown: int,
    ) -> None:
        starts = [earlier[earlier_at].start + grown] if earlier_at < len(earlier) else []
        starts += [later[later_at].start] if later_at < len(later) else []
        self._start = self._end = min(starts)
        self._grown_before = grown
        self.earlier_at, self.later_at, self.grown = earlier_at, later_at, grown
        self._pieces: list[tuple[int, Splice]] = []
        self._later: list[Splice] = []
        while self._take_earlier(earlier) or self._take_later(later):
            pass

    def splices(self) -> list[Splice]:
        """Return the splices of the first content that have the effect of the group."""
        if not self._later:
            return [splice for _, splice in self._pieces]
        parts: list[bytes] = []
        position = self._start
        pieces = iter(self._pieces)
        piece = next(pieces, None)
        for splice in [*self._later, None]:
            stop = self._end if splice is None else splice.start
            while piece is not None:
                low, old = piece
                parts.append(old.new[max(position - low, 0) : max(stop - low, 0)])
                if low + len(old.new) > stop:
                    break
                piece = next(pieces, None)
            if splice is not None:
                parts.append(splice.new)
                position = splice.end
        start, end = self._start - self._grown_before, self._end - self.grown
        return [Splice(start, end, b"".join(parts))]

    def _take_earlier(self, earlier: Sequence[Splice]) -> bool:
        if (
            self.earlier_at >= len(earlier)
            or earlier[self.earlier_at].start + self.grown > self._end
        ):
            return False
        splice = earlier[self.earlier_at]
        low = splice.start + self.grown
        self._pieces.append((low, splice))
        self._end = max(self._end, low + len(splice.new))
        self.grown += len(splice.new) - (splice.end - splice.start)
        self.earlier_at += 1
        return True

    def _take_later(self, later: Sequence[Splice]) -> bool:
        if self.later_at >= len(later) or later[self.later_at].start > self._end:
            return False
        self._later.append(later[self.later_at])
        self._end = max(self._end, later[self.later_at].end)
        self.later_at += 1
        return True
