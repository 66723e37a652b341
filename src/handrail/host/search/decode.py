"""Decodes a file for a search: UTF-8 without BOM, or binary."""

from __future__ import annotations

import codecs
import os
from enum import Enum
from typing import Final

from handrail.core.places import Kind, Place
from handrail.host.search.messages import BINARY_NOT_SEARCHED
from handrail.host.search.search_roots import SearchRoot, open_beneath

# ripgrep looks for NUL in blocks of this size, and skips a file that has one in its first block.
PIECE: Final = 64 << 10
MAX_FILE: Final = 256 << 20
_READ_SIZE: Final = 1 << 20

_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def check_text(root: SearchRoot, place: Place) -> None:
    """Raise `not_text` for a binary file that is searched by its own name."""
    if place.kind is not Kind.FILE:
        return
    handle = open_beneath(root, place.rel)
    if handle is None:
        return
    try:
        start = os.read(handle, PIECE)
    finally:
        os.close(handle)
    if binary_start(start):
        raise BINARY_NOT_SEARCHED.error(path=place.path, field="path")


def binary_start(start: bytes) -> bool:
    """Return whether the first block of a file shows that it is binary."""
    return b"\0" in to_utf8(start)


class Binary(Enum):
    """The offset from which on a file is binary."""

    NOWHERE = "nowhere"
    AT_ONCE = "at once"
    LATER = "later"


def binary_from(root: SearchRoot, rel: str, offset: int) -> Binary:
    """Return whether ripgrep would consider a file binary, by its first block and by the NUL that
    ripgrep reported near `offset`. File names can forge such a report, so it is checked.
    """
    handle = open_beneath(root, rel)
    if handle is None:
        return Binary.NOWHERE
    try:
        return binary_behind(handle, offset)
    finally:
        os.close(handle)


def binary_behind(handle: int, offset: int) -> Binary:
    """`binary_from` for an open file."""
    start = os.pread(handle, PIECE, 0)
    around = os.pread(handle, 2 * PIECE, max(offset - PIECE, 0))
    if binary_start(start):
        return Binary.AT_ONCE
    # In UTF-16 the reported offset is not an offset in the file.
    later = b"\0" in around or start.startswith(_UTF16_MARKS)
    return Binary.LATER if later else Binary.NOWHERE


def contains_nul(handle: int) -> bool:
    """Return whether an open file contains a NUL; True if the file is too large to check."""
    start = os.pread(handle, PIECE, 0)
    if start.startswith(_UTF16_MARKS):
        os.lseek(handle, 0, os.SEEK_SET)
        data = read_all(handle)
        return data is None or b"\0" in data
    position = 0
    while piece := os.pread(handle, _READ_SIZE, position):
        if b"\0" in piece:
            return True
        position += len(piece)
    return False


def to_utf8(data: bytes) -> bytes:
    """Convert UTF-16 with a BOM to UTF-8 and remove a UTF-8 BOM; other data stays unchanged."""
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    if data.startswith(_UTF16_MARKS):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data


def read_all(handle: int) -> bytes | None:
    """Return a whole file as UTF-8; None if it is far too large.

    A file that is binary from the start is returned as a single NUL, which marks it as binary.
    """
    start = os.read(handle, PIECE)
    if binary_start(start):
        return b"\0"
    if os.fstat(handle).st_size > MAX_FILE:
        return None
    pieces = [start]
    total = len(start)
    while piece := os.read(handle, _READ_SIZE):
        pieces.append(piece)
        total += len(piece)
        if total > MAX_FILE:
            return None
    return to_utf8(b"".join(pieces))
