"""Pages of results: what they say about the rest."""

import pytest

from handrail.core.names.caller_words import CallerWords, current_words
from handrail.tools._lib.stored_output import ROOM_FOR_NOTES, Page, how_many_fit, how_to_continue


@pytest.mark.parametrize(
    ("page", "end", "next_offset"),
    [
        (Page(0, 5, 5), 5, None),
        (Page(0, 5, 6), 5, 5),
        (Page(5, 1, 6), 6, None),
        (Page(9, 0, 6), 9, None),
        (Page(3, 0, 6), 3, None),
    ],
)
def test_where_a_page_ends(page, end, next_offset):
    assert (page.end, page.next_offset) == (end, next_offset)


@pytest.mark.parametrize(
    ("page", "notes"),
    [
        (Page(0, 5, 5), []),
        (Page(0, 5, 9), ["9 lines in all, shown: 1-5; go on with offset=5"]),
        (Page(5, 2, 9), ["9 lines in all, shown: 6-7; go on with offset=7"]),
        (Page(5, 4, 9), ["the last of 9 lines in all"]),
        (Page(9, 0, 9), ["offset 9 is past the end: 9 lines in all"]),
    ],
)
def test_notes_on_what_a_page_leaves_out(page, notes):
    assert page.notes("line") == notes


def test_a_search_that_was_stopped_does_not_say_all():
    [note] = Page(5, 1, 6).notes("line", complete=False)

    assert note.endswith("the search was stopped")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"offset": "skip"}, "go on with skip=7"),
        ({"line_range": "lines"}, 'go on with lines="7-2006"'),
        ({"limit": "max"}, "narrow it down, or raise max"),
        ({"offset": "skip", "limit": "max"}, "go on with skip=7"),
        ({}, "narrow it down"),
    ],
)
def test_only_arguments_that_the_caller_has_are_named(words, text):
    token = current_words.set(CallerWords(words, False, str, dict))
    try:
        assert how_to_continue(7) == text
    finally:
        current_words.reset(token)


@pytest.mark.parametrize(
    ("lines", "room", "count"),
    [
        (["abc"] * 5, 12, 3),
        (["abc"] * 5, 11, 2),
        (["abc"] * 5, 100, 5),
        (["a" * 99], 1, 1),
        ([], 10, 0),
    ],
)
def test_whole_lines_are_shown_and_at_least_one(lines, room, count):
    assert how_many_fit(lines, room + ROOM_FOR_NOTES) == count
