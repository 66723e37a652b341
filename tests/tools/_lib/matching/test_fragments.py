"""Texts inside a line: where they are found, whatever quotes and dashes the file has."""

import re
from difflib import SequenceMatcher

import pytest

from handrail.core.text.encoding import UTF8
from handrail.tools._lib.byte_text import ByteText, apply_splices
from handrail.tools._lib.matching.exact import Match
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.pair import (
    different_part,
    find_fragments,
    find_single_line,
    is_distinctive,
)
from handrail.tools._lib.matching.replay import ReplacedLine, merge_line


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("abc", "abc", ""),
        ("abc", "axc", "x"),
        ("abc", "abcd", "d"),
        ("abc", "ac", ""),
        ("", "new", "new"),
        ("aa", "aaa", "a"),
    ],
)
def test_the_part_that_differs(old, new, part):
    assert different_part(old, new) == part


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("say “hello” now\n", 'say "hello"', 'say "bye"', "say “bye” now\n"),
        ("a \u2013 b \u2013 c\n", "a - b", "a - x", "a \u2013 x \u2013 c\n"),
        ("it\u2019s one, it\u2019s two\n", "it's", "it is", "it is one, it is two\n"),
        # A word goes on before or after the text.
        ("xit\u2019s one\n", "it's", "it is", "xit\u2019s one\n"),
        ("it\u2019s_ one\n", "it's", "it is", "it\u2019s_ one\n"),
        ("it\u2019s1\n", "it's", "it is", "it\u2019s1\n"),
        ("(it\u2019s)\n", "it's", "it is", "(it is)\n"),
        ("it\u2019s", "it's", "it is", "it is"),
        # Too short, of several lines, or without anything but ASCII.
        ("a\u2019b\n", "a'b", "c", "a\u2019b\n"),
        ("it\u2019s\nx\n", "it's\nx", "y", "it\u2019s\nx\n"),
        ("it's\n", "it's", "it is", "it's\n"),
    ],
)
def test_a_fragment_is_found_in_other_typography(text, old, new, result):
    file = FileLines(ByteText(text.encode(), UTF8), "a.md")

    splices = find_fragments(file, old, new)

    assert apply_splices(file.file.data, splices).tobytes().decode() == result


@pytest.mark.parametrize(
    ("old", "new", "distinctive"),
    [
        ("count = 1", "count = total_of_all", True),
        ("a", "b", False),
        ("count = 1", "count = total\n", False),
        ("count\n= 1", "count = total_of_all", False),
        ("count = total_of_all", "count = total_of", False),
    ],
)
def test_a_new_text_that_is_unlikely_by_chance(old, new, distinctive):
    assert is_distinctive(old, new) is distinctive


@pytest.mark.parametrize(
    ("places", "line"),
    [
        ([(0, 3)], 1),
        ([(4, 7)], 2),
        ([(8, 11)], 3),
        ([(9, 11)], None),
        ([(8, 10)], None),
        ([(0, 3), (4, 7)], None),
        ([], None),
    ],
)
def test_the_line_of_a_single_match(places, line):
    file = ByteText(b"abc\nabc\nabc\n", UTF8)

    assert find_single_line(file, [Match(start, end, ()) for start, end in places]) == line


TOKEN = re.compile(r"[\w\u0300-\u036f]+|\s+|.", re.DOTALL)


@pytest.mark.parametrize(
    ("call", "file", "new", "merged"),
    [
        # What is repeated has the characters of the file.
        ('say("hi", 1)', "say(“hi”, 1)", 'say("hi", 2)', "say(“hi”, 2)"),
        ("a - b", "a \u2013 b", "a - c", "a \u2013 c"),
        # Blanks that only the file has stay.
        ("f(a,b)", "f(a, b)", "f(a,c)", "f(a, c)"),
        ("x=1", "x = 1", "x=2", "x = 2"),
        # Lines that do not agree are not merged.
        ("abc", "xyz", "abd", "abd"),
        # A sign that stands for several letters is not split.
        ("wait...now", "wait…now", "wait...then", "wait...then"),
    ],
)
def test_a_new_line_keeps_the_characters_of_the_file(call, file, new, merged):
    matcher = SequenceMatcher(None, TOKEN.findall(call), TOKEN.findall(new), False)

    assert merge_line(ReplacedLine(call, file), new, matcher) == merged
