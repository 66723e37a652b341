"""Programs that decode text: base64, base32, hexadecimal digits, compressed data."""

from __future__ import annotations

import base64
import binascii
import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

_LONGEST: Final = 20_000
_DECODES: Final = re.compile(r"-[a-zA-Z]*[dD]i?|--decode")
_OPENSSL: Final = frozenset(("base64", "enc"))
_BLANK: Final = re.compile(r"\s+")


def is_decoder(name: str, arguments: Sequence[str]) -> bool:
    """Whether the program decodes what it reads."""
    return _decoding(name, arguments) is not None


def decode_text(name: str, arguments: Sequence[str], text: str) -> str | None:
    """What a decoder prints for a text; None if it is none, or cannot decode it."""
    decode = _decoding(name, arguments)
    if decode is None:
        return None
    try:
        return _unpacked(decode(_BLANK.sub("", text))).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None


def decoded_texts(text: str) -> list[str]:
    """What a text may stand for, whichever code it is in."""
    found = []
    for decode in _CODES.values():
        with suppress(binascii.Error, ValueError, UnicodeDecodeError):
            plain = _unpacked(decode(_BLANK.sub("", text)[:_LONGEST])).decode()
            found += [plain] if plain.strip() and plain.strip().isprintable() else []
    return found


def _decoding(name: str, arguments: Sequence[str]) -> Callable[[str], bytes] | None:
    if name in ("xxd", "hex"):
        reverses = any("r" in one for one in arguments if one.startswith("-"))
        return _from_hex if reverses else None
    if name == "basenc":
        name = next((one[2:] for one in arguments if one.startswith("--base")), "")
    if name == "openssl":
        name = "base64" if arguments and arguments[0] in _OPENSSL else ""
    return _CODES.get(name) if any(map(_DECODES.fullmatch, arguments)) else None


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text + "==", altchars=b"-_" if {"-", "_"} & set(text) else None)


def _from_base32(text: str) -> bytes:
    bare = text.rstrip("=").upper()
    return base64.b32decode(bare + "=" * (-len(bare) % 8))


def _from_hex(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "").removeprefix("0x"))


_CODES: Final[Mapping[str, Callable[[str], bytes]]] = {
    **dict.fromkeys(("base64", "base64url"), _from_base64),
    **dict.fromkeys(("base32", "base32hex"), _from_base32),
    "base16": _from_hex,
}


def _unpacked(content: bytes) -> bytes:
    """The content, unpacked if it is compressed: an unpacker must follow."""
    with suppress(zlib.error, OSError, lzma.LZMAError, EOFError):
        if content.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content, _LONGEST)
        if content.startswith(b"BZh"):
            return bz2.BZ2Decompressor().decompress(content, _LONGEST)
        if content.startswith(b"\xfd7zXZ"):
            return lzma.LZMADecompressor().decompress(content, _LONGEST)
    return content
