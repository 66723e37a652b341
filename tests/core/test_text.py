"""Which bytes are text, and that they come back."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import UTF8, TextForm, detect


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "utf-8"),
        (b"plain\n", "utf-8"),
        ("h\u00e9llo \U0001f600\n".encode(), "utf-8"),
        (b"\xef\xbb\xbfwith bom\r\n", "utf-8-sig"),
        ("h\u00e9llo\n".encode("utf-16-le"), "utf-16-le"),
        ("h\u00e9llo\n".encode("utf-16-be"), "utf-16-be"),
        (b"\xff\xfe" + "\u4f60\u597d".encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + "h\u00e9llo\n".encode("utf-16-be"), "utf-16-be"),
        (b"\xff\xfe", "utf-16-le"),
        ("caf\u00e9 \u2013 \u20ac\n".encode("cp1252"), "cp1252"),
        (b"caf\xe9 \x81\n", "latin-1"),
        ("\u4f60\u597d\u4e16\u754c \u4f60\u597d\n".encode() + b"\xff\n", "utf-8"),
        ("\u3053\u3093\u306b\u3061\u306f\n".encode("shift-jis"), "cp1252"),
        (
            "\u0442\u0435\u043a\u0441\u0442 \u0438 \u0435\u0449\u0451\n".encode("utf-16-le"),
            "utf-16-le",
        ),
        ("\u4f60\u597d \u4e16\u754c\u4e2d\n".encode("utf-16-be"), "utf-16-be"),
        ("one \u4e2d two\n".encode("utf-16-le"), "utf-16-le"),
    ],
)
def test_text_is_recognised_and_comes_back_byte_for_byte(data, name):
    form = detect(data)

    assert form is not None
    assert form.name == name
    assert form.encode(form.decode(data)) == data
    assert "\ufeff" not in form.decode(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"text then\0nul\n",
        b"\x7fELF\x02\x01\x01\0\0\0",
        bytes(range(256)) * 4,
        b"\0" * 1000,
        "utf-32\n".encode("utf-32"),
        "utf-32\n".encode("utf-32-le"),
        b"".join(n.to_bytes(2, "little") for n in range(1, 400)),
        b"a\0b\0c",
        b"one\0two\0three\0",
        b"\xff\xfe\0\0a\0",
    ],
)
def test_any_other_nul_means_binary(data):
    assert detect(data) is None


def test_a_foreign_character_is_refused_by_name():
    form = detect("caf\u00e9\n".encode("latin-1"))

    with pytest.raises(ProblemRaised) as raised:
        form.encode("caf\u00e9 \u4f60")

    assert raised.value.problem.code == "not_text"
    assert "U+4F60" in raised.value.problem.message


def test_bytes_that_are_not_utf8_are_shown_as_replacement_characters():
    data = "\u4f60\u597d\u4e16\u754c".encode() + b" \xff end"
    form = detect(data)

    assert form.show(form.decode(data)) == "\u4f60\u597d\u4e16\u754c \ufffd end"
    assert "kept" in form.note


def test_a_lone_surrogate_in_utf16_survives_and_is_shown_as_a_replacement_character():
    data = b"\xff\xfe" + "ab".encode("utf-16-le") + b"\x00\xd8" + "cd".encode("utf-16-le")
    form = detect(data)

    assert form.show(form.decode(data)) == "ab\ufffdcd"
    assert form.encode(form.decode(data)) == data


def test_a_start_that_ends_inside_a_character_is_not_taken_for_another_encoding():
    data = ("x" * 9 + "\u00e9\U0001f600").encode()

    assert [detect(data[:end], partial=True) for end in range(len(data))] == [UTF8] * len(data)
    assert detect("ab\U0001f600".encode("utf-16-le")[:6], partial=True) == TextForm("utf-16-le")


@given(st.binary(max_size=400))
@settings(max_examples=300, deadline=None)
def test_whatever_is_called_text_survives_a_round_trip(data):
    form = detect(data)

    if form is None:
        assert b"\0" in data
    else:
        assert form.encode(form.decode(data)) == data
        form.show(form.decode(data)).encode("utf-8")


@given(st.binary(max_size=200).map(lambda data: data[: len(data) // 2 * 2]))
@settings(max_examples=200, deadline=None)
def test_a_tolerant_form_takes_any_bytes(data):
    for encoding in ("utf-8", "utf-16-le", "utf-16-be", "cp1252", "latin-1"):
        form = TextForm(encoding).tolerant
        assert form.encode_part(form.decode_part(data)) == data


@pytest.mark.parametrize("char", ["\u00e9", "\u4f60", "\U0001f600"])
@pytest.mark.parametrize("shift", range(4))
def test_large_utf8_is_checked_in_steps_that_may_cut_characters(char, shift):
    data = b"x" * shift + (char * 400_000).encode()

    assert detect(data) == UTF8
    assert detect(data[:-1], partial=True) == UTF8
    assert detect(data[:-1]).errors == "surrogateescape"
    assert detect(data + b"\xff\n").errors == "surrogateescape"


def test_a_nul_or_half_a_pair_late_in_utf16_makes_it_binary():
    data = ("plain line\n" * 60_000).encode("utf-16-le")

    assert detect(data) == TextForm("utf-16-le")
    assert detect(data + b"\0\0") is None
    assert detect(data + b"\x00\xd8") is None
    assert detect(data + b"\0") is None


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252", "gbk")
ENDINGS = ("\n", "\r\n", "\r", "mixed")
WORDS = ("def", "return", "caf\u00e9", "na\u00efve", "x = 1", "\u00fcber", "\ttab", "", "  blank ")


def odd_file(rng):
    """One generated file with an odd encoding and odd endings, ASCII word included."""
    encoding, ending = rng.choice(ENCODINGS), rng.choice(ENDINGS)
    parts = []
    for _ in range(rng.randrange(1, 30)):
        words = [
            *rng.choices(WORDS, k=rng.randrange(1, 6)),
            *(["\u4f60"] if encoding == "gbk" else []),
        ]
        parts.append(" ".join(words))
        parts.append(rng.choice(ENDINGS[:3]) if ending == "mixed" else ending)
    parts.insert(rng.randrange(0, len(parts), 2), "needle ")
    if rng.random() < 0.3:
        parts.pop()
    return "".join(parts).encode(encoding, "replace")


def test_five_hundred_odd_files_change_only_where_a_word_was_changed():
    rng = random.Random(7)
    refused = 0
    for _ in range(500):
        data = odd_file(rng)
        form = detect(data)
        if form is None:
            refused += 1
            continue
        old, new = form.encode_part("needle"), form.encode_part("thread!")

        edited = form.encode(form.decode(data).replace("needle", "thread!"))

        assert edited == data.replace(old, new)
        assert edited != data
    assert refused <= 25
