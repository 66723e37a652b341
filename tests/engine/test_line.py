"""Calls that end in any order are heard of in the order in which they were made."""

from hypothesis import given
from hypothesis import strategies as st

from handrail.engine.line import line_up


@given(st.permutations(range(8)), st.sets(st.integers(0, 7)))
def test_any_order_of_ends_is_heard_in_the_order_of_calls(ends, silent):
    ranks = line_up(range(8))
    heard, said = [], {}

    for number in ends:
        hear = None if number in silent else (lambda n=number: heard.append(n) or f"words {n}")
        said[number] = ranks[number].tell(hear)

    assert heard == [number for number in range(8) if number not in silent]
    for place, number in enumerate(ends):
        last = set(range(number)) <= set(ends[:place])
        assert said[number] == (f"words {number}" if last and number not in silent else None)


def test_only_what_is_told_first_counts():
    first, second = line_up("ab")
    heard = []

    second.tell(lambda: heard.append("second"))
    second.tell(lambda: heard.append("again"))
    first.tell(None)
    first.tell(lambda: heard.append("late"))

    assert heard == ["second"]


def test_equal_calls_know_how_many_were_made_before_them():
    assert [one.same for one in line_up("abaab")] == [0, 0, 1, 2, 1]
