"""Detects the encoding of a file such that decoding and encoding return the same bytes.

UTF-8, UTF-16 (with or without BOM) and single-byte encodings are text; other bytes with NUL are binary.
A byte that was not edited is written back unchanged.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.core.text.invisible import FORMAT_CHARACTERS

_BOM8: Final = codecs.BOM_UTF8
_BOMS16: Final = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NON_ASCII: Final = re.compile("[^\x00-\x7f]")
# How many bytes are examined at once, or at all where examining everything would be slow.
_STEP: Final = 256 * 1024
# Characters of ordinary text for which `str.isprintable` is False.
_PLAIN: Final = dict.fromkeys(
    [
        *FORMAT_CHARACTERS,
        *map(ord, "\t\n\r\f\v\x1b\xa0\u2000\u2001\u2002\u2003\u2009\u2028\u2029\u202f\u3000"),
    ]
)
_IS_ASCII: Final = bytes(0x20 <= byte < 0x7F or byte in b"\t\n\r" for byte in range(256))
_NOTES: Final = {
    ("utf-8", "surrogateescape"): "mostly UTF-8; bytes that are not are shown as \ufffd and kept",
    ("utf-16-le", "strict"): "UTF-16 text; it stays UTF-16",
    ("utf-16-be", "strict"): "UTF-16 text (big-endian); it stays UTF-16",
    ("utf-16-le", "surrogatepass"): "UTF-16 text with broken characters, shown as \ufffd and kept",
    ("utf-16-be", "surrogatepass"): "UTF-16 text with broken characters, shown as \ufffd and kept",
    ("cp1252", "strict"): "not UTF-8, shown as Windows-1252 (Latin-1) text; the bytes are kept",
    ("latin-1", "strict"): "not UTF-8, shown as Latin-1 text; the bytes are kept",
}


@dataclass(frozen=True, slots=True)
class TextForm:
    """The encoding of a file: a codec, the byte order mark, and the error handler, which represents
    invalid bytes as lone surrogates so that they are written back unchanged.
    """

    encoding: str
    bom: bytes = b""
    errors: str = "strict"

    @property
    def name(self) -> str:
        """The codec's usual name, with `-sig` for UTF-8 behind a BOM."""
        return "utf-8-sig" if self.bom == _BOM8 else self.encoding

    @property
    def unit(self) -> int:
        """Bytes per code unit: 2 in UTF-16, else 1."""
        return 2 if self.encoding.startswith("utf-16") else 1

    @property
    def note(self) -> str | None:
        """A note for the reader of the text; None for plain UTF-8."""
        return _NOTES.get((self.encoding, self.errors))

    @property
    def tolerant(self) -> TextForm:
        """The most similar form that can decode any bytes, for a part that this form cannot decode."""
        match self.encoding:
            case "utf-8":
                return TextForm("utf-8", self.bom, "surrogateescape")
            case "utf-16-le" | "utf-16-be":
                return TextForm(self.encoding, self.bom, "surrogatepass")
            case _:
                return TextForm("latin-1")

    def decode(self, data: bytes) -> str:
        """The text of a whole file, without its BOM."""
        return self.decode_part(data.removeprefix(self.bom))

    def decode_part(self, data: bytes) -> str:
        """The text of bytes from inside a file."""
        return data.decode(self.encoding, self.errors)

    def encode(self, text: str) -> bytes:
        """The bytes of a whole file, including the BOM; raises `not_text` for a character that the
        encoding does not have.
        """
        return self.bom + self.encode_part(text)

    def encode_part(self, text: str) -> bytes:
        """The bytes of a part of a text; raises `not_text` for a character that the encoding does not
        have.
        """
        try:
            return text.encode(self.encoding, self.errors)
        except UnicodeEncodeError as error:
            char = error.object[error.start]
            raise ProblemRaised(
                "not_text",
                f"the file is {self.name} text, which cannot hold {char!r} (U+{ord(char):04X})",
                hint="leave that character out, or write the whole file anew as UTF-8",
            ) from error

    def show(self, text: str) -> str:
        """Decoded text with U+FFFD in place of invalid bytes; for display only."""
        return text if self.errors == "strict" else _SURROGATE.sub("\ufffd", text)


UTF8: Final = TextForm("utf-8")
UTF8_MIXED: Final = TextForm("utf-8", errors="surrogateescape")


def detect(data: bytes, *, partial: bool = False) -> TextForm | None:
    """The form of a file's bytes, None if they are binary.

    `partial`: the data is the beginning of a longer file and may end inside a character.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        form = _with_bom16(data, partial=partial)
        if form is not None:
            return form
    if b"\0" in data:
        return _without_bom16(data, partial=partial)
    bom = _BOM8 if data.startswith(_BOM8) else b""
    if _is_utf8(data, partial=partial):
        return TextForm("utf-8", bom) if bom else UTF8
    if bom or _mostly_utf8(data):
        return TextForm("utf-8", bom, "surrogateescape")
    return _single_byte(data)


def _is_utf8(data: bytes, *, partial: bool) -> bool:
    if data.isascii():
        return True
    # In steps: decoded as a whole, a large file could take four times its size in memory.
    view = memoryview(data)
    at, end = 0, len(data)
    try:
        while at < end:
            final = at + _STEP >= end and not partial
            used = codecs.utf_8_decode(view[at : at + _STEP], "strict", final)[1]
            if not used:
                break
            at += used
    except UnicodeDecodeError:
        return False
    return True


def _mostly_utf8(data: bytes) -> bool:
    text = data[:_STEP].decode("utf-8", "surrogateescape")
    broken = len(_SURROGATE.findall(text))
    whole = len(_NON_ASCII.findall(text)) - broken
    return whole >= 3 * broken


def _single_byte(data: bytes) -> TextForm:
    # cp1252 leaves five bytes undefined; Latin-1 defines all of them.
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return TextForm("latin-1")
    return TextForm("cp1252")


def _with_bom16(data: bytes, *, partial: bool) -> TextForm | None:
    bom, encoding = next(pair for pair in _BOMS16 if data.startswith(pair[0]))
    text = _decode16(data[2:], encoding, partial=partial)
    # U+0000 indicates UTF-32 or binary data.
    if text is None or "\0" in text:
        return None
    return TextForm(encoding, bom, "surrogatepass" if _SURROGATE.search(text) else "strict")


def _without_bom16(data: bytes, *, partial: bool) -> TextForm | None:
    start = data[:_STEP]
    low, high = start[::2].count(0), start[1::2].count(0)
    units, latin = len(start) // 2, max(low, high)
    if low and high:
        return None
    # Few Latin characters or blanks indicate binary numbers, or ASCII words separated by NULs.
    if 10 * latin < units or (2 * latin < units and _ascii_pairs(start) > 0.9 * (units - latin)):
        return None
    encoding = "utf-16-le" if high else "utf-16-be"
    text = _decode16(data, encoding, partial=partial)
    if text is None or "\0" in text or _SURROGATE.search(text):
        return None
    return TextForm(encoding) if text[:_STEP].translate(_PLAIN).isprintable() else None


def _ascii_pairs(data: bytes) -> int:
    marks = data.translate(_IS_ASCII)
    low, high = int.from_bytes(marks[::2], "little"), int.from_bytes(marks[1::2], "little")
    return (low & high).bit_count()


def _decode16(data: bytes, encoding: str, *, partial: bool) -> str | None:
    if partial:
        text = data[: len(data) & ~1].decode(encoding, "surrogatepass")
        # The last unit may be the first half of a surrogate pair.
        return text[:-1] if text and "\ud800" <= text[-1] <= "\udbff" else text
    return None if len(data) % 2 else data.decode(encoding, "surrogatepass")
