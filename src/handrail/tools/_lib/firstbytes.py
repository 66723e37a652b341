"""The first bytes of a file, binary or not, as something a model can read."""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass
from typing import Final

from handrail.core.context import ReadRecord
from handrail.core.places import Place, Stat
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import TextForm, detect
from handrail.tools._lib.diff import split_lines
from handrail.tools._lib.paging import ROOM_FOR_NOTES

_ESCAPED: Final = re.compile(r"[^\t\n\x20-\x7e]|\\")
_LONGEST_ESCAPE: Final = 4


@dataclass(frozen=True, slots=True)
class Start:
    """The beginning of a file and how it is shown; `form` is None for binary content."""

    data: bytes
    stat: Stat
    form: TextForm | None
    text: str

    @property
    def whole(self) -> bool:
        """Whether these are all bytes of the file."""
        return len(self.data) >= self.stat.size

    @property
    def encoding(self) -> str:
        """The name of the encoding, `binary` if there is none."""
        return self.form.name if self.form else "binary"

    @property
    def lines(self) -> int:
        """How many lines are shown, the last one perhaps in part."""
        return len(split_lines(self.text))

    @property
    def notes(self) -> list[str]:
        """What a reader must know."""
        notes = []
        if not self.data:
            notes.append("the file exists but is empty")
        elif not self.whole:
            notes.append(f"the first {len(self.data):,} of {self.stat.size:,} bytes")
        if self.form is None:
            notes.append("binary content; bytes that are not plain text are shown as \\xNN")
        elif self.form.note:
            notes.append(self.form.note)
        return notes

    def record(self, read_at: float) -> ReadRecord:
        """What the model has seen by this."""
        digest = hashlib.sha256(self.data).hexdigest() if self.whole else None
        return ReadRecord(read_at, 1, self.lines, self.stat, self.whole, digest)


def first_bytes(files: Files, place: Place, count: int, max_chars: int) -> Start:
    """Up to `count` bytes, fewer if their text would not fit."""
    room = max_chars - ROOM_FOR_NOTES
    data = files.read_part(place, 0, min(count, room))
    stat = files.stat(place)
    if stat is None:
        raise ProblemRaised("not_found", f"{place.path!r} has just disappeared", field="path")
    form = detect(data, partial=len(data) < stat.size)
    if form is None:
        data = data[: room // _LONGEST_ESCAPE]
        return Start(data, stat, None, _ESCAPED.sub(_escape, data.decode("latin-1")))
    decoder = codecs.getincrementaldecoder(form.encoding)(form.errors)
    text = decoder.decode(data.removeprefix(form.bom), len(data) >= stat.size)
    return Start(data, stat, form, form.show(text))


def _escape(found: re.Match[str]) -> str:
    return "\\\\" if found[0] == "\\" else f"\\x{ord(found[0]):02x}"
