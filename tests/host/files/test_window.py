"""Lines of files of any size: the right ones, with little work and little memory."""

import errno
import hashlib
import os
import random
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.core.problems import ProblemRaised
from handrail.host.files import line_index, reading
from handrail.host.files.local_files import LocalFiles


def naive(text):
    """Lines by the book: split at LF, a CR before it belongs to the ending."""
    parts = text.split("\n")
    ended = [part.removesuffix("\r") for part in parts[:-1]]
    return ended + ([parts[-1]] if parts[-1] else [])


@pytest.fixture
def settled(monkeypatch):
    """A clock that is a minute ahead: every stat counts as settled."""
    real = reading.make_stat
    monkeypatch.setattr(reading, "make_stat", lambda info: real(info)._replace(settled=True))


@pytest.fixture
def small_limits(monkeypatch):
    """Tiny blocks, so that small files take the way of large ones."""
    monkeypatch.setattr(reading, "SMALL", 0)
    monkeypatch.setattr(line_index, "BLOCK", 16)
    monkeypatch.setattr(line_index, "_CHUNK", 64)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ()),
        (b"a", ("a",)),
        (b"a\n", ("a",)),
        (b"a\nb", ("a", "b")),
        (b"a\r\nb\r\n", ("a", "b")),
        (b"a\rb\n", ("a\rb",)),
        (b"a\r", ("a\r",)),
        (b"\n\n", ("", "")),
        (b"a\r\r\n", ("a\r",)),
        (b"\xef\xbb\xbfa\nb", ("a", "b")),
        ("a\u2028b\x0bc\n".encode(), ("a\u2028b\x0bc",)),
        ("\u00e9\r\n\u00fc".encode("utf-16"), ("\u00e9", "\u00fc")),
        ("caf\u00e9\n".encode("latin-1"), ("caf\u00e9",)),
    ],
)
def test_a_line_ends_at_lf_or_crlf_and_nowhere_else(work, files, data, expected):
    (work / "a").write_bytes(data)

    seen = files.window(files.locate("a"), 1, 100)

    assert seen.lines == expected
    assert (seen.total, seen.more, seen.whole) == (len(expected), False, True)
    assert seen.digest == seen.shown_digest == hashlib.sha256(data).hexdigest()


def test_a_window_says_what_follows_and_hashes_what_it_shows(work, files):
    data = b"one\ntwo\r\nthree\nfour"
    (work / "a").write_bytes(data)

    seen = files.window(files.locate("a"), 2, 2)

    assert (seen.lines, seen.first, seen.total) == (("two", "three"), 2, 4)
    assert (seen.more, seen.whole) == (True, False)
    assert seen.digest == hashlib.sha256(data).hexdigest()
    assert seen.shown_digest == hashlib.sha256(b"two\r\nthree\n").hexdigest()


def test_beyond_the_end_there_are_no_lines_but_the_number_is_known(work, files):
    (work / "a").write_bytes(b"one\ntwo\n")

    seen = files.window(files.locate("a"), 9, 5)

    assert (seen.lines, seen.total, seen.more, seen.whole) == ((), 2, False, False)


TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from("\n\r a\u00e9\u4f60\U0001f600"), st.characters(codec="utf-8")
    ),
    max_size=300,
)
CODECS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])


@given(TEXTS, CODECS, st.integers(1, 12), st.integers(0, 12))
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_small_and_large_files_give_the_same_lines_as_a_plain_split(
    work, files, small_limits, text, codec, first, count
):
    data = text.encode(codec, "replace")
    path = work / "a"
    path.write_bytes(data)
    form = reading.detect(data)
    if form is None:
        return
    expected = naive(form.show(form.decode(data)))
    place = files.locate("a")
    reading.SMALL = 1 << 20
    small = files.window(place, first, count)
    reading.SMALL = 0

    large = files.window(place, first, count)

    shown = tuple(expected[first - 1 : first - 1 + count])
    assert small.lines == shown
    assert (small.total, small.first) == (len(expected), first)
    assert small.more == (first - 1 + count < len(expected))
    if not expected:
        return
    assert large.lines == shown
    assert large.total in (None, len(expected))
    assert large.shown_digest == small.shown_digest
    if count:
        assert large.more == small.more
        assert large.total == len(expected) or large.more


@pytest.mark.parametrize("block", [16, 4096])
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_a_utf16_newline_across_two_characters_is_none(work, files, monkeypatch, block, codec):
    monkeypatch.setattr(reading, "SMALL", 0)
    monkeypatch.setattr(line_index, "BLOCK", block)
    monkeypatch.setattr(line_index, "_CHUNK", 4 * block)
    text = "\u0a41\u0100\u010a\u4100 x\n\u0a00\u000ay\n" * 20
    (work / "a").write_bytes(("\ufeff" + text).encode(codec))

    for first in (1, 5, 30):
        seen = files.window(files.locate("a"), first, 7)
        assert seen.lines == tuple(naive(text)[first - 1 : first + 6])


def test_a_broken_disk_is_told(work, files, monkeypatch):
    (work / "small").write_text("x")
    (work / "large").write_bytes(b"x\n" * reading.SMALL)
    places = [files.locate(name) for name in ("small", "large")]

    def fail(*args):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "read", fail)
    monkeypatch.setattr(os, "pread", fail)

    for place in places:
        with pytest.raises(ProblemRaised) as raised:
            files.window(place, 1, 1)
        assert raised.value.problem.code == "unavailable"


def test_a_small_file_with_broken_characters_is_shown_with_replacements(work, files):
    data = "\u4f60\u597d\u4e16\u754c".encode() + b" \xff\nend\n"
    (work / "a").write_bytes(data)

    seen = files.window(files.locate("a"), 1, 1)

    assert seen.lines == ("\u4f60\u597d\u4e16\u754c \ufffd",)
    assert seen.shown_digest == hashlib.sha256(data[:-4]).hexdigest()


@pytest.fixture
def big(work):
    """About 7 MB: line n says so."""
    path = work / "big.txt"
    path.write_bytes(b"".join(b"line %d of a file\n" % n for n in range(1, 300_001)))
    return path


def test_deep_lines_of_a_large_file_are_the_right_ones(files, big):
    place = files.locate("big.txt")

    for first in (1, 2, 123_456, 299_999, 50_000):
        seen = files.window(place, first, 3)
        last = min(first + 2, 300_000)
        assert seen.lines == tuple(f"line {n} of a file" for n in range(first, last + 1))
        assert seen.more == (last < 300_000)
        assert seen.digest is None
    assert files.window(place, 299_999, 100).total == 300_000
    past = files.window(place, 400_000, 5)
    assert (past.text, past.number, past.total, past.more) == ("", 0, 300_000, False)
    assert past.first == 400_000


def test_the_second_look_at_deep_lines_reads_one_block(files, big, settled, monkeypatch):
    place = files.locate("big.txt")
    files.window(place, 200_000, 10)
    read = []
    real = os.pread
    monkeypatch.setattr(line_index.os, "pread", lambda fd, n, at: read.append(n) or real(fd, n, at))
    monkeypatch.setattr(line_index.os, "preadv", lambda *a: pytest.fail("counted again"))

    seen = files.window(place, 200_000, 10)

    assert seen.lines[0] == "line 200000 of a file"
    assert len(read) <= 2


def test_an_index_is_not_trusted_for_a_file_that_was_changed(files, big, settled):
    place = files.locate("big.txt")
    files.window(place, 200_000, 1)
    data = big.read_bytes()
    big.write_bytes(b"\n" + data[1:])

    assert files.window(place, 200_000, 1).lines == ("line 199999 of a file",)


def test_an_index_of_a_file_that_was_just_written_is_not_kept(files, big, monkeypatch):
    real = reading.make_stat
    monkeypatch.setattr(reading, "make_stat", lambda info: real(info)._replace(settled=False))
    place = files.locate("big.txt")

    files.window(place, 200_000, 1)

    assert len(files._windows._large._indexes) == 0


def test_only_so_many_indexes_are_remembered(work, files, settled, monkeypatch):
    monkeypatch.setattr(reading, "SMALL", 0)
    monkeypatch.setattr(line_index, "_REMEMBERED", 3)
    for n in range(5):
        (work / f"f{n}").write_text("x\n")
        files.window(files.locate(f"f{n}"), 1, 1)

    assert len(files._windows._large._indexes) == 3


def test_a_file_cut_short_under_its_index_is_stale_not_a_crash(files, big, settled, monkeypatch):
    place = files.locate("big.txt")
    frozen = reading.make_stat(big.stat())
    monkeypatch.setattr(reading, "make_stat", lambda info: frozen)
    files.window(place, 290_000, 1)
    with big.open("r+b") as file:
        file.truncate(3_000_000)

    with pytest.raises(ProblemRaised) as raised:
        files.window(place, 250_000, 1)

    assert raised.value.problem.code == "stale"


def test_a_deep_look_needs_little_memory(files, big):
    place = files.locate("big.txt")
    files.window(place, 1, 1)
    tracemalloc.start()

    files.window(place, 290_000, 100)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_a_huge_line_is_cut_and_noted(work, files):
    (work / "a").write_bytes(b"short\n" + b"x" * 3_000_000 + b"\nend\n")
    place = files.locate("a")

    start = files.window(place, 1, 10)
    second = files.window(place, 2, 10)
    third = files.window(place, 3, 10)

    assert (start.lines, start.more) == (("short",), True)
    assert second.lines == ("x" * line_index.LONGEST_LINE,)
    assert "line 2 is very long" in second.note
    assert second.more
    assert (third.lines, third.total, third.more) == (("end",), 3, False)


def test_a_window_of_very_many_lines_stops_at_whole_lines(files, big):
    seen = files.window(files.locate("big.txt"), 1, 300_000)

    assert seen.more
    assert seen.lines == tuple(f"line {n} of a file" for n in range(1, len(seen.lines) + 1))
    after = files.window(files.locate("big.txt"), len(seen.lines) + 1, 1)
    assert after.lines == (f"line {len(seen.lines) + 1} of a file",)


def test_an_8_gib_sparse_file_is_called_binary_at_once(work, files, monkeypatch):
    with (work / "huge").open("wb") as file:
        file.truncate(8 << 30)
    monkeypatch.setattr(line_index.os, "preadv", lambda *a: pytest.fail("it was searched"))

    with pytest.raises(ProblemRaised) as raised:
        files.window(files.locate("huge"), 1, 100)

    assert raised.value.problem.code == "not_text"
    assert "max_bytes" in raised.value.problem.hint


def test_bytes_deep_in_a_large_file_that_do_not_decode_are_replaced(work, files):
    data = b"plain line\n" * 200_000 + b"caf\xe9 \xff\nend\n"
    (work / "a").write_bytes(data)

    seen = files.window(files.locate("a"), 200_001, 2)

    assert seen.lines == ("caf\ufffd \ufffd", "end")
    assert "\ufffd" in seen.note
    assert seen.shown_digest == hashlib.sha256(b"caf\xe9 \xff\nend\n").hexdigest()


def test_random_windows_of_a_file_with_ragged_lines(work, files):
    rng = random.Random(3)
    text = "".join("y" * rng.choice((0, 1, 80, 5000, 70_000)) + "\n" for _ in range(400))
    (work / "a").write_text(text)
    expected = naive(text)
    assert len(text) > reading.SMALL

    for _ in range(60):
        first, count = rng.randrange(1, 402), rng.randrange(1, 20)
        seen = files.window(files.locate("a"), first, count)
        got = len(seen.lines)
        assert seen.lines == tuple(expected[first - 1 : first - 1 + got])
        assert got == min(count, max(400 - first + 1, 0)) or seen.more


def test_lines_beyond_a_hole_are_no_text_and_are_not_searched_for(work, files):
    with (work / "sparse.txt").open("wb") as file:
        file.write(b"hello\n" * 3000)
        file.truncate(1 << 42)
    place = files.locate("sparse.txt")

    with pytest.raises(ProblemRaised) as raised:
        files.window(place, 1_000_000, 1)

    assert raised.value.problem.code == "not_text"
    assert files.window(place, 2999, 2).lines == ("hello", "hello")


def test_counting_lines_ends_when_the_files_are_closed(work, monkeypatch):
    (work / "big.txt").write_bytes(b"x\n" * (1 << 20))
    files = LocalFiles([work])
    place = files.locate("big.txt")
    filled = line_index._fill
    chunks = []

    def fill_and_close(descriptor, view, offset):
        chunks.append(offset)
        files.close()
        return filled(descriptor, view, offset)

    monkeypatch.setattr(line_index, "_fill", fill_and_close)
    with pytest.raises(ProblemRaised) as raised:
        files.window(place, 1_000_000, 1)

    assert raised.value.problem.code == "timeout"
    assert chunks == [0]


def test_counting_that_took_too_long_goes_on_from_where_it_stopped(
    work, files, settled, monkeypatch
):
    (work / "big.txt").write_bytes(b"x\n" * (1 << 20))
    place = files.locate("big.txt")
    filled = line_index._fill
    chunks = []

    def fill(descriptor, view, offset):
        chunks.append(offset)
        return filled(descriptor, view, offset)

    monkeypatch.setattr(line_index, "_fill", fill)
    clock = iter([0.0, 1.0, 31.0])
    monkeypatch.setattr(line_index.time, "monotonic", lambda: next(clock, 31.0))
    with pytest.raises(ProblemRaised) as raised:
        files.window(place, 1_000_000, 1)
    first = list(chunks)
    found = files.window(place, 1_000_000, 1)

    assert raised.value.problem.code == "timeout"
    assert "30 s" in raised.value.problem.message
    assert first == [0]
    assert chunks[1] > 0
    assert found.lines == ("x",)


def test_a_file_that_ends_with_a_chunk_is_counted_to_its_end(work, files):
    (work / "even.txt").write_bytes(b"0123456\n" * (2 << 17))

    assert files.window(files.locate("even.txt"), 10_000_000, 1).total == 2 << 17
