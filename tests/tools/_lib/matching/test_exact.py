import random

from handrail.core.text.encoding import UTF8, TextForm
from handrail.tools._lib.byte_text import ByteText
from handrail.tools._lib.matching.exact import (
    Match,
    drop_overlaps,
    encode_replacement,
    find_matches,
)


def found(data, text, form=UTF8):
    return [(one.start, one.end) for one in find_matches(ByteText(data, form), text, 100)]


def test_a_newline_matches_whatever_ends_the_line():
    data = b"a\r\nb\na\nb\r\nab"

    matches = find_matches(ByteText(data, UTF8), "a\nb", 10)

    assert matches == [Match(0, 4, (b"\r\n",)), Match(5, 8, (b"\n",))]


def test_newlines_alone_are_matched_as_whole_endings():
    assert found(b"a\r\n\r\nb\n\nc", "\n\n") == [(1, 5), (6, 8)]


def test_utf16_newlines_are_found_between_characters_only():
    form = TextForm("utf-16-le")
    # U+0A41 U+000A: the bytes 41 0A 0A 00 hold "\n\0" only at an even offset.
    data = "\u0a41\u0a00\nx".encode("utf-16-le")

    assert found(data, "\nx", form) == [(4, 8)]


def test_only_as_many_matches_are_collected_as_asked_for():
    assert len(find_matches(ByteText(b"a" * 50, UTF8), "a", 7)) == 7


def test_overlapping_matches_are_dropped_from_left_to_right():
    matches = find_matches(ByteText(b"aaaaa", UTF8), "aa", 10)

    assert [one.start for one in matches] == [0, 1, 2, 3]
    assert [one.start for one in drop_overlaps(matches)] == [0, 2]


def test_any_part_of_what_is_shown_can_be_replaced_and_nothing_else_changes():
    rng = random.Random(11)
    tried = 0
    for _ in range(600):
        form = rng.choice([UTF8, TextForm("utf-16-le"), TextForm("utf-16-be"), TextForm("latin-1")])
        lines = ["".join(rng.choices("abé ", k=rng.randrange(6))) for _ in range(8)]
        endings = rng.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
        text = "".join(line + rng.choice(endings) for line in lines)
        shown = text.replace("\r\n", "\n")
        start = rng.randrange(len(shown))
        old = shown[start : start + rng.randrange(1, 14)]
        new = "".join(rng.choices("xyZ\n", k=rng.randrange(6)))
        file = ByteText(form.encode_part(text), form)

        matches = find_matches(file, old, 100)

        places = [at for at in range(len(shown)) if shown.startswith(old, at)]
        assert len(matches) == len(places), (text, old)
        if len(matches) != 1:
            continue
        tried += 1
        match = matches[0]
        put = encode_replacement(file, match, old, new)
        after = file.data[: match.start] + put + file.data[match.end :]
        after_shown = after.decode(form.encoding).replace("\r\n", "\n")
        assert after_shown == shown[: places[0]] + new + shown[places[0] + len(old) :]
        if len(endings) == 1 and new.count("\n"):
            assert put.count(form.encode_part(endings[0])) == new.count("\n")
    assert tried > 200


def test_new_lines_take_the_endings_of_those_they_replace_in_order():
    file = ByteText(b"a\r\nb\nc\r\nd", UTF8)
    old = "a\nb\nc\nd"
    match = find_matches(file, old, 2)[0]

    assert encode_replacement(file, match, old, "1\n2\n3\n4\n5") == b"1\r\n2\n3\r\n4\r\n5"
    assert encode_replacement(file, match, old, "1\n2") == b"1\r\n2"


def test_lines_that_stay_keep_their_own_endings():
    file = ByteText(b"a\r\nb\nc\r\nd", UTF8)
    old = "a\nb\nc\nd"
    match = find_matches(file, old, 2)[0]

    assert encode_replacement(file, match, old, "0\na\nb\nc\nd") == b"0\r\na\r\nb\nc\r\nd"
    assert encode_replacement(file, match, old, "a\nc\nd") == b"a\r\nc\r\nd"
