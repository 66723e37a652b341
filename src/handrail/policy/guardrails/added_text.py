"""The text that a change adds, at a cost that follows the change and not the file.

A line counts as added only if the new content holds it more often than the old one.
"""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

from handrail.core.plan import Change
from handrail.core.text.content import Buffer, Content

_CHUNK: Final = 1 << 16
# Of a line that reaches out of what was changed, so much is looked at.
_AROUND: Final = 2_000
_WIDE: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOTEBOOK: Final = ".ipynb"


class AddedText:
    """The new text of one file beside its old one; both are looked at no more than needed."""

    def __init__(self, before: Content | None, after: Content, path: str = "") -> None:
        self._before = before
        self._after = after
        self._notebook = path.lower().endswith(_NOTEBOOK)

    def blocks(self) -> Iterator[bytes]:
        """Whole lines among which every added one is found, and others as well."""
        spliced = self._before is not None and not self._special and self._splices()
        if spliced:
            yield from spliced
        else:
            yield from changed_middle(self.old, self.new)[1]

    def is_new(self, line: bytes) -> bool:
        """Whether the line was added."""
        if self._before is None:
            return True
        old, new = self._counts
        # Of a long line only a part is seen, which is none of the lines.
        return new[line] > old[line] or not (new[line] or old[line])

    @cached_property
    def old(self) -> bytes:
        """All of the old text, as UTF-8."""
        return b"" if self._before is None else self._text(self._before)

    @cached_property
    def new(self) -> bytes:
        """All of the new text, as UTF-8."""
        return self._text(self._after)

    @cached_property
    def _counts(self) -> tuple[Counter[bytes], Counter[bytes]]:
        return Counter(self.old.splitlines()), Counter(self.new.splitlines())

    @property
    def _special(self) -> bool:
        return self._notebook or _wide(bytes(self._after.parts[0][:4])) is not None

    def _splices(self) -> list[bytes]:
        """The places where the new content is not a piece of the old one; empty if it is not
        made of such pieces.
        """
        assert self._before is not None  # noqa: S101 - for the type checker
        whole, parts = self._before.tobytes(), self._after.parts
        kept = [isinstance(part, memoryview) and part.obj is whole for part in parts]
        if not any(kept):
            return []
        found = [one for one in (_head(parts[0]), _tail(parts[-1])) if len(one) < _AROUND]
        for at, part in enumerate(parts):
            if not kept[at]:
                above = _tail(parts[at - 1]) if at else b""
                below = _head(parts[at + 1]) if at + 1 < len(parts) else b""
                found.append(above + bytes(part) + below)
            elif at and kept[at - 1]:
                found.append(_tail(parts[at - 1]) + _head(part))
        return found

    def _text(self, content: Content) -> bytes:
        data = content.tobytes()
        encoding = _wide(data[:4])
        if encoding is not None:
            data = data.decode(encoding, "replace").encode("utf-8", "replace")
        return _cells(data) if self._notebook else data


def added_text(change: Change) -> AddedText | None:
    """What a change adds; None if it only takes away."""
    if change.after is None or not change.after.size:
        return None
    return AddedText(change.before, change.after, change.place.path)


def changed_middle(old: bytes, new: bytes) -> tuple[list[bytes], list[bytes]]:
    """Both texts without the lines that they begin and end with alike; nothing: no text."""
    head = _common_head(old, new)
    head = max(old.rfind(b"\n", 0, head), -1) + 1
    tail = _common_tail(old, new, min(len(old), len(new)) - head)
    if tail:
        # The line that the common end begins in may differ further up.
        at = new.find(b"\n", len(new) - tail)
        whole = _at_line(old, len(old) - tail) and _at_line(new, len(new) - tail)
        tail = tail if whole else (0 if at < 0 else len(new) - at - 1)
    middles = old[head : len(old) - tail], new[head : len(new) - tail]
    return [one for one in middles[:1] if one], [one for one in middles[1:] if one]


def _at_line(text: bytes, at: int) -> bool:
    return at == 0 or text[at - 1 : at] == b"\n"


def _common_head(old: bytes, new: bytes) -> int:
    most, at = min(len(old), len(new)), 0
    while at < most and old[at : at + _CHUNK] == new[at : at + _CHUNK]:
        at += _CHUNK
    step = _CHUNK
    while step:
        if at + step <= most and old[at : at + step] == new[at : at + step]:
            at += step
        else:
            step //= 2
    return min(at, most)


def _common_tail(old: bytes, new: bytes, most: int) -> int:
    at, step = 0, _CHUNK
    ends = len(old), len(new)
    while step:
        upto = at + step
        same = upto <= most and (
            old[ends[0] - upto : ends[0] - at] == new[ends[1] - upto : ends[1] - at]
        )
        if same:
            at = upto
        else:
            step //= 2
    return at


def _tail(part: Buffer) -> bytes:
    """The unfinished last line of a piece."""
    return bytes(part[-_AROUND:]).rpartition(b"\n")[2]


def _head(part: Buffer) -> bytes:
    """The first line of a piece."""
    return bytes(part[:_AROUND]).partition(b"\n")[0]


def _wide(start: bytes) -> str | None:
    return next((name for mark, name in _WIDE if start.startswith(mark)), None)


def _cells(data: bytes) -> bytes:
    """The sources of a notebook's cells; what is no notebook stays as it is."""
    try:
        cells = json.loads(data)["cells"]
        return "\n".join(_source(cell["source"]) for cell in cells).encode("utf-8", "replace")
    except (ValueError, LookupError, TypeError, RecursionError):
        return data


def _source(source: Any) -> str:
    return source if isinstance(source, str) else "".join(map(str, source))
