"""Matches in the text of one file, and the lines that are shown of them."""

import pytest

from handrail.core.places import Kind, Place
from handrail.core.ports.machine import GrepMode, GrepQuery
from handrail.core.problems import ProblemRaised
from handrail.host.search.decode import PIECE
from handrail.host.search.fallback.matcher import Matcher, MatchSpan, line_end, lines_around
from handrail.host.search.fallback.tree_walk import SearchBudget
from handrail.host.search.limits import MAX_HITS

PLACE = Place(0, "", ".", "/w", Kind.DIRECTORY)
TEXT = b"one\ntwo\nthree\nfour\nfive\nsix"


def match(data, pattern, mode=GrepMode.CONTENT, budget=None, **options):
    query = GrepQuery(pattern, PLACE, mode, **options)
    return Matcher(query).match(data, budget or SearchBudget(60))


def shown(data, pattern, **options):
    """The numbers of the lines to show; matches are marked."""
    lines = match(data, pattern, **options).lines
    return [f"{number}{'!' if matched else ''}" for number, matched, _ in lines]


@pytest.mark.parametrize(("position", "end"), [(0, 3), (3, 3), (4, 7), (8, 13), (24, 27), (27, 27)])
def test_a_line_ends_before_its_line_break(position, end):
    assert line_end(TEXT, position) == end


@pytest.mark.parametrize(
    ("pattern", "options", "expected"),
    [
        ("three", {}, ["3!"]),
        ("one", {}, ["1!"]),
        ("six", {}, ["6!"]),
        ("o", {}, ["1!", "2!", "4!"]),
        ("zzz", {}, []),
        ("three", {"before": 1}, ["2", "3!"]),
        ("three", {"before": 2}, ["1", "2", "3!"]),
        ("three", {"before": 9}, ["1", "2", "3!"]),
        ("three", {"after": 1}, ["3!", "4"]),
        ("five", {"after": 5}, ["5!", "6"]),
        ("one|four", {"before": 1, "after": 1}, ["1!", "2", "3", "4!", "5"]),
        ("one|four", {"before": 2, "after": 2}, ["1!", "2", "3", "4!", "5", "6"]),
        ("one|six", {"after": 1}, ["1!", "2", "6!"]),
        ("one|six", {"before": 1}, ["1!", "5", "6!"]),
        ("one|two", {"before": 3, "after": 1}, ["1!", "2!", "3"]),
        ("ONE", {}, []),
        ("ONE", {"ignore_case": True}, ["1!"]),
        ("^t", {}, ["2!", "3!"]),
        ("e$", {}, ["1!", "3!", "5!"]),
        ("t.*e", {}, ["3!"]),
        ("two\nthree", {"multiline": True}, ["2!", "3!"]),
        ("two.three", {"multiline": True}, ["2!", "3!"]),
        ("two.three", {}, []),
        ("two\n", {"multiline": True}, ["2!"]),
        ("o", {"multiline": True}, ["1!", "2!", "4!"]),
        ("e\nt|o\nt", {"multiline": True}, ["1!", "2!", "3!"]),
        ("e|i", {"multiline": True}, ["1!", "3!", "5!", "6!"]),
        ("three", {"multiline": True, "before": 1, "after": 1}, ["2", "3!", "4"]),
        (".", {"literal": True}, []),
    ],
)
def test_the_lines_that_are_shown(pattern, options, expected):
    assert shown(TEXT, pattern, **options) == expected


def test_the_text_of_a_line_is_shown_without_its_end():
    assert match(b"a\nbb\n", "b").lines == [(2, True, "bb")]
    assert match(b"a\r\nbb\r\n", "b$").lines == [(2, True, "bb")]
    assert match(b"\xff b\n", "b").lines == [(1, True, "\ufffd b")]
    assert match(b"a.c\nabc", ".", literal=True).lines == [(1, True, "a.c")]


def test_an_empty_match_shows_every_line():
    assert shown(b"a\n\nb\n", "") == ["1!", "2!", "3!"]
    assert shown(b"a\n\nb\n", "x*", multiline=True) == ["1!", "2!", "3!"]
    assert shown(b"", "") == []


@pytest.mark.parametrize(
    ("mode", "times"), [(GrepMode.FILES, 1), (GrepMode.COUNT, 3), (GrepMode.CONTENT, 3)]
)
def test_matches_are_counted(mode, times):
    found = match(TEXT, "o", mode)

    assert found.times == times
    assert bool(found.lines) is (mode is GrepMode.CONTENT)
    assert match(TEXT, "zzz", mode).times == 0
    assert not found.turned_binary


def test_a_file_is_binary_from_the_piece_with_a_nul():
    later = b"o\n" * PIECE + b"\0o\n"

    assert match(b"o\n\0", "o") == (0, [], False)
    assert match(later, "o", GrepMode.COUNT) == (0, [], False)
    found = match(b"o\n" + b"x" * PIECE + b"\no\n\0", "o")
    assert [number for number, _, _ in found.lines] == [1]
    assert found.turned_binary
    assert not match(b"a\n" + b"x" * PIECE + b"\no\n\0", "o").turned_binary
    assert match(later, "o", GrepMode.FILES).times == 1


def test_the_number_of_lines_is_limited():
    assert match(b"o\n" * (MAX_HITS + 5), "o").times == MAX_HITS + 1


def test_a_search_that_was_stopped_finds_nothing_more():
    budget = SearchBudget(60)
    budget.stop()

    assert budget.over
    assert match(TEXT, "o", budget=budget).lines == []
    assert match(TEXT, "o", budget=budget, multiline=True).lines == []
    assert not budget.timed_out


def test_a_search_ends_after_its_time():
    budget = SearchBudget(-1)

    assert budget.over
    assert budget.timed_out


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        ("(", {}),
        ("a\\nb", {}),
        ("(a)" * 101, {}),
        ("a" * 10_001, {}),
        ("(?=a)", {}),
    ],
)
def test_a_pattern_that_is_not_supported_is_a_problem(pattern, options):
    with pytest.raises(ProblemRaised) as raised:
        match(TEXT, pattern, **options)

    assert raised.value.problem.code == "invalid_arguments"


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        ("a\\nb", {"literal": True}),
        ("a\\nb", {"multiline": True}),
        ("a\\\\nb", {}),
        ("(a)" * 100, {}),
        ("a" * 10_000, {}),
        ("a" * 10_001, {"literal": True}),
    ],
)
def test_a_pattern_at_the_limit_is_accepted(pattern, options):
    assert match(TEXT, pattern, **options).times == 0


def test_context_is_never_shown_twice_and_never_backwards():
    spans = [MatchSpan(1, 0, 3), MatchSpan(3, 8, 13)]

    assert [number for number, _, _ in lines_around(TEXT, spans, 5, 5)] == [1, 2, 3, 4, 5, 6]
    assert [one[:2] for one in lines_around(TEXT, spans, 0, 0)] == [(1, True), (3, True)]
    assert list(lines_around(TEXT, [], 5, 5)) == []
