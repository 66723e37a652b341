"""Which files a search regards as binary, and how text is decoded for it."""

import codecs

import pytest

from handrail.host.search import decode
from handrail.host.search.decode import (
    PIECE,
    Binary,
    binary_behind,
    binary_start,
    contains_nul,
    read_all,
    to_utf8,
)

LE, BE, MARK8 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", b""),
        (b"plain\xff", b"plain\xff"),
        (MARK8 + b"x", b"x"),
        (LE + "h\u00e9".encode("utf-16-le"), "h\u00e9".encode()),
        (BE + "h\u00e9".encode("utf-16-be"), "h\u00e9".encode()),
        (LE + b"a", "\ufffd".encode()),
    ],
)
def test_text_is_utf_8_without_a_mark(data, text):
    assert to_utf8(data) == text


@pytest.mark.parametrize(
    ("data", "binary"),
    [
        (b"text", False),
        (b"a\0b", True),
        (LE + "ab".encode("utf-16-le"), False),
        (LE + "a\0b".encode("utf-16-le"), True),
        (MARK8 + b"a", False),
    ],
)
def test_a_nul_in_the_first_block_is_binary(data, binary):
    assert binary_start(data) is binary


@pytest.mark.parametrize(
    ("data", "offset", "expected"),
    [
        (b"text", 0, Binary.NOWHERE),
        (b"a\0b", 0, Binary.AT_ONCE),
        (b"a\0b", 5 * PIECE, Binary.AT_ONCE),
        (b"x" * PIECE + b"\0", PIECE, Binary.LATER),
        (b"x" * PIECE + b"\0", 2 * PIECE, Binary.LATER),
        (b"x" * PIECE + b"\0", 2 * PIECE + 1, Binary.NOWHERE),
        (b"x" * 3 * PIECE + b"\0", 0, Binary.NOWHERE),
        (b"x" * 3 * PIECE + b"\0", 3 * PIECE - 5, Binary.LATER),
        (LE + "ab".encode("utf-16-le"), 0, Binary.LATER),
    ],
)
def test_a_reported_nul_is_looked_for_near_its_offset(opened, data, offset, expected):
    assert binary_behind(opened(data), offset) is expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", False),
        (b"text", False),
        (b"a\0", True),
        (b"x" * (3 << 20) + b"\0", True),
        (b"x" * (3 << 20), False),
        (LE + "ab".encode("utf-16-le"), False),
        (LE + "a\0".encode("utf-16-le"), True),
        (BE + ("a" * PIECE + "\0").encode("utf-16-be"), True),
    ],
)
def test_whether_a_file_has_a_nul_anywhere(opened, data, expected):
    assert contains_nul(opened(data)) is expected


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", b""),
        (b"text", b"text"),
        (b"a\0b", b"\0"),
        (MARK8 + b"a", b"a"),
        (b"x" * (2 * PIECE) + b"\0", b"x" * (2 * PIECE) + b"\0"),
        (LE + ("a" * PIECE).encode("utf-16-le"), b"a" * PIECE),
    ],
)
def test_a_whole_file_is_read(opened, data, text):
    assert read_all(opened(data)) == text


def test_a_file_that_is_too_large_is_not_read(opened, monkeypatch):
    monkeypatch.setattr(decode, "MAX_FILE", 100)

    assert read_all(opened(b"x" * 100)) == b"x" * 100
    assert read_all(opened(b"x" * 101)) is None
    assert contains_nul(opened(LE + b"a\0" * 50)) is True
    assert contains_nul(opened(LE + b"a\0" * 49)) is False
