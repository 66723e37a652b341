import random

import pytest

from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import UTF8, TextForm
from handrail.tools._lib.byte_text import ByteText, Splice
from handrail.tools._lib.matching.exact import (
    FoundEdit,
    Match,
    drop_overlaps,
    encode_replacement,
    find_exact,
    find_matches,
    is_applied_around,
    keep_mark,
    replace_everywhere,
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


MARK = b"\xef\xbb\xbf"
MARKED = TextForm("utf-8", MARK)


@pytest.mark.parametrize(
    ("data", "splice", "expected"),
    [
        # An edit of the first line keeps the mark once, however it was matched.
        (MARK + b"ab", Splice(3, 4, b"x"), Splice(3, 4, b"x")),
        (MARK + b"ab", Splice(3, 4, MARK + b"x"), Splice(3, 4, b"x")),
        (MARK + b"ab", Splice(0, 4, b"x"), Splice(0, 4, MARK + b"x")),
        (MARK + b"ab", Splice(0, 4, MARK + b"x"), Splice(0, 4, MARK + b"x")),
        # Only an edit of the mark alone removes it.
        (MARK + b"ab", Splice(0, 3, b""), Splice(0, 3, b"")),
        # Further down it is text.
        (MARK + b"ab", Splice(4, 5, MARK + b"x"), Splice(4, 5, MARK + b"x")),
        (b"ab", Splice(0, 1, MARK + b"x"), Splice(0, 1, MARK + b"x")),
    ],
)
def test_the_byte_order_mark_stays_before_the_text(data, splice, expected):
    rest = Splice(4, 5, b"r")
    edit = FoundEdit((splice, rest), "tier", "how", 7)

    kept = keep_mark(ByteText(data, MARKED), edit)

    assert kept.splices == (expected, rest)
    assert (kept.tier, kept.how, kept.replacements, kept.result) == ("tier", "how", 7, None)


@pytest.mark.parametrize("result", [b"xx", MARK + b"xx", MARK + MARK + b"xx"])
def test_a_whole_result_has_the_mark_once(result):
    edit = FoundEdit((Splice(3, 4, b"x"),), result=result)

    assert keep_mark(ByteText(MARK + b"aa", MARKED), edit).result == MARK + b"xx"


@pytest.mark.parametrize(
    ("count", "lines", "words"),
    [
        (2, "1, 2", "occurs 2 times"),
        (10, "9, 10", "occurs 10 times"),
        (11, "9, 10, …", "occurs 11 times"),
        (999, "9, 10, …", "occurs 999 times"),
        (1000, "9, 10, …", "at least 1000 times"),
    ],
)
def test_a_text_that_occurs_several_times_is_named_with_its_lines(count, lines, words):
    file = ByteText(b"a\n" * count, UTF8)

    with pytest.raises(ProblemRaised) as raised:
        find_exact(file, "f", "a", "b")

    problem = raised.value.problem
    assert problem.code == "ambiguous"
    assert words in problem.message
    assert problem.message.endswith(f" {lines}")


@pytest.mark.parametrize(
    ("data", "old", "new", "splices"),
    [
        (b"a b a\n", "a", "x", [(0, 1), (4, 5)]),
        (b"aaa\n", "aa", "x", [(0, 2)]),
        (b"b\n", "a", "x", None),
        (b"a\r\nb\na\nb\n", "a\nb", "x\ny", [(0, 4), (5, 8)]),
    ],
)
def test_all_occurrences_are_replaced(data, old, new, splices):
    found = replace_everywhere(ByteText(data, UTF8), "f", old, new, 10)

    if splices is None:
        assert found is None
        return
    assert [(one.start, one.end) for one in found.splices] == splices
    assert (found.replacements, found.result) == (len(splices), None)


@pytest.mark.parametrize(
    ("most", "shown", "result"), [(4, 3, None), (3, 3, None), (2, 2, b"x x x"), (1, 1, b"x x x")]
)
def test_only_the_first_of_many_splices_are_made(most, shown, result):
    found = replace_everywhere(ByteText(b"a a a", UTF8), "f", "a", "x", most)

    assert (len(found.splices), found.replacements, found.result) == (shown, 3, result)


@pytest.mark.parametrize(
    ("data", "old", "new", "applied"),
    [
        (b"f(a)\n", "a", "f(a)", True),
        (b"g(a)\n", "a", "f(a)", False),
        (b"a b\n", "a", "a b", True),
        # The new text would end inside a longer word.
        (b"a bc\n", "a", "a b", False),
        (b"a\n", "a", "a\n", False),
        (b"a\n", "a", "b", False),
    ],
)
def test_a_text_that_is_around_its_match_already(data, old, new, applied):
    file = ByteText(data, UTF8)

    assert is_applied_around(file, find_matches(file, old, 1)[0], old, new) is applied
