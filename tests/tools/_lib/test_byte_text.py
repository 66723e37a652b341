"""Looking by the rarest byte finds what looking for the whole finds."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.core.text.encoding import TextForm
from handrail.tools._lib import byte_text as module
from handrail.tools._lib.byte_text import ByteText, find_bytes

LARGE = 70_000
PIECES = st.lists(st.sampled_from([b"a", b"b", b"ab", b"ba", b"\n", b"z", b"zz", b"q"]), max_size=6)


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    filling=st.sampled_from([b"ab\n", b"z", b"abz", b"an ordinary line\n", b"\0"]),
    placed=st.lists(st.tuples(st.integers(0, LARGE), PIECES), max_size=5),
    needle=PIECES,
    start=st.integers(0, LARGE),
    less=st.integers(0, LARGE // 3),
)
def test_it_finds_what_find_finds(filling, placed, needle, start, less):
    data = bytearray((filling * LARGE)[: 2 * LARGE])
    wanted = b"".join(needle)
    for at, pieces in placed:
        piece = b"".join(pieces) + wanted
        data[at : at + len(piece)] = piece
    text, stop = bytes(data), len(data) - less

    assert find_bytes(text, wanted, start, stop) == text.find(wanted, start, stop)


def test_a_byte_that_is_rare_only_where_it_was_looked_for_costs_nothing_much():
    looks = 0

    class Counted(bytes):
        def startswith(self, *args):
            nonlocal looks
            looks += 1
            return super().startswith(*args)

    step = 2 * LARGE // module._SAMPLES
    rows = [b"a" * module._SAMPLE + b"z" * (step - module._SAMPLE) for _ in range(module._SAMPLES)]
    data = Counted(b"".join(rows) + b"zaz")

    # No sample has a z, and most of the rest is made of it.
    assert find_bytes(data, b"zaz", 0, len(data)) == data.find(b"zaz") == len(data) - 3
    assert looks == module._MISSES


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_text_is_found_and_replaced_in_every_encoding(encoding):
    once = "\u4100A\n".encode(encoding)
    file = ByteText(once * 2, TextForm(encoding))
    old, new = ("A\n".encode(encoding), "b".encode(encoding))
    at = len("\u4100".encode(encoding))

    assert file.replace_all(old, new).decode(encoding) == "\u4100b\u4100b"
    assert file.find(old) == at
    assert file.find(old, at + 1) == file.rfind(old, 0, len(file.data)) == len(once) + at
    assert file.find(old, at + 1, len(file.data) - 1) == -1
    assert file.rfind(old, 0, len(file.data) - 1) == at
    assert file.lines_between(0, len(once)) == 1


def test_half_a_character_is_not_replaced():
    file = ByteText("\u4142\u4142".encode("utf-16-be"), TextForm("utf-16-be"))
    halves = "\u4241".encode("utf-16-be")
    assert halves in file.data

    assert file.replace_all(halves, b"\0x") == file.data
    assert file.find(halves) == file.rfind(halves, 0, len(file.data)) == -1


def test_bytes_that_are_no_text_are_replaced_as_bytes():
    file = ByteText(b"a\xff\xffb", TextForm("utf-8"))

    assert file.replace_all(b"\xff", b"-") == b"a--b"
