"""Encodings at their edges: what is still text, and parts of longer files."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import UTF8, UTF8_MIXED, TextForm, detect

STEP = 256 * 1024
CJK = "\u4f60\u597d\u4e16\u754c"


@pytest.mark.parametrize(
    ("form", "name", "unit", "has_note"),
    [
        (UTF8, "utf-8", 1, False),
        (TextForm("utf-8", b"\xef\xbb\xbf"), "utf-8-sig", 1, False),
        (UTF8_MIXED, "utf-8", 1, True),
        (TextForm("utf-16-le"), "utf-16-le", 2, True),
        (TextForm("utf-16-be", b"\xfe\xff", "surrogatepass"), "utf-16-be", 2, True),
        (TextForm("cp1252"), "cp1252", 1, True),
    ],
)
def test_what_a_form_says_of_itself(form, name, unit, has_note):
    assert (form.name, form.unit, form.note is not None) == (name, unit, has_note)


@pytest.mark.parametrize(
    ("form", "tolerant"),
    [
        (UTF8, UTF8_MIXED),
        (TextForm("utf-16-le", b"\xff\xfe"), TextForm("utf-16-le", b"\xff\xfe", "surrogatepass")),
        (TextForm("utf-16-be"), TextForm("utf-16-be", b"", "surrogatepass")),
        (TextForm("cp1252"), TextForm("latin-1")),
    ],
)
def test_every_form_has_one_that_decodes_any_bytes(form, tolerant):
    assert form.tolerant == tolerant


def test_broken_bytes_are_shown_and_kept():
    text = UTF8_MIXED.decode(b"a\xff")

    assert UTF8_MIXED.show(text) == "a\ufffd"
    assert UTF8_MIXED.encode(text) == b"a\xff"
    assert UTF8.show("a\udcff") == "a\udcff"
    with pytest.raises(ProblemRaised) as raised:
        TextForm("cp1252").encode("\u4f60")
    assert raised.value.problem.code == "not_text"
    assert "U+4F60" in raised.value.problem.message


@pytest.mark.parametrize(
    ("data", "encoding", "errors"),
    [
        # Three whole characters for each broken byte are mostly UTF-8.
        ("\u00e9\u00e9\u00e9".encode() + b"\xff", "utf-8", "surrogateescape"),
        ("\u00e9\u00e9".encode() + b"\xff", "cp1252", "strict"),
        (b"\xef\xbb\xbfa\xff", "utf-8", "surrogateescape"),
        (b"a\xe9", "cp1252", "strict"),
        (b"a\x81", "latin-1", "strict"),
        (b"\xff\xfe\x00\xd8a\x00", "utf-16-le", "surrogatepass"),
        (b"\xfe\xff\x00a", "utf-16-be", "strict"),
        (b"\xff\xfea", "cp1252", "strict"),
    ],
)
def test_the_form_of_bytes(data, encoding, errors):
    form = detect(data)

    assert (form.encoding, form.errors) == (encoding, errors)
    assert form.encode(form.decode(data)) == data


@pytest.mark.parametrize("at", [STEP - 2, STEP - 1, STEP, STEP + 1])
def test_a_character_may_lie_across_two_steps(at):
    data = b"a" * at + "\u4f60".encode() + b"b" * 10

    assert detect(data) == UTF8
    assert detect(data[: at + 1]) != UTF8
    assert detect(data[: at + 1], partial=True) == UTF8
    assert detect(b"a" * at + b"\xff" + b"b" * STEP) != UTF8


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("text", "is_text"),
    [
        ("plain text\n", True),
        (CJK * 4 + "ab", True),
        (CJK * 4 + "\u4e16\u4e16ab", True),
        (CJK * 4 + "\u4e16\u4e16\u4e16ab", False),
        (CJK * 10 + "abc", False),
        ("a\x01b", False),
        ("a\x00b", False),
        ("tab\tline\u2028\u00a0\x1b[0m", True),
        ("a\ud800b", False),
    ],
)
def test_utf_16_without_a_mark_has_some_latin_characters(encoding, text, is_text):
    data = text.encode(encoding, "surrogatepass")

    assert (detect(data) == TextForm(encoding)) is is_text
    if not is_text:
        assert detect(data) is None


def test_ascii_words_between_nuls_are_binary():
    # Pairs of ASCII bytes with a NUL now and then, all of them on one side.
    words = b"abcdefg\0" * 20

    assert detect(words) is None
    assert detect("one two three".encode("utf-16-le") * 5) == TextForm("utf-16-le")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_part_of_utf_16_may_end_inside_a_character(encoding):
    data = "hello \U0001f601".encode(encoding)

    assert detect(data) == TextForm(encoding)
    for cut in (1, 2, 3):
        assert detect(data[:-cut], partial=True) == TextForm(encoding)
    assert detect(data[:-1]) is None
    assert detect(data[:-2]) is None
    marked = "\ufeffhi\U0001f601".encode(encoding)
    assert detect(marked[:-2], partial=True).errors == "strict"
    assert detect(marked[:-2]).errors == "surrogatepass"
    assert detect(marked[:-1], partial=True).bom == marked[:2]
