import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.text.nesting import nested_deeper

VALUES = st.recursive(
    st.none() | st.text('[]{}()"\\ ab', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[{"', max_size=3), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "deepest"),
    [
        ("", 0),
        ("[[]]", 2),
        ("{[(", 3),
        ('["[[[[", [1]]', 2),
        ('["\\"[[[", [1]]', 2),
        ("]]]][", 1),
        ('"[[[[[[', 0),
        ("[" * 100_000, 100_000),
        ('["]",' * 300, 300),
    ],
)
def test_brackets_outside_strings_are_counted(text, deepest):
    assert not nested_deeper(text, deepest)
    assert deepest == 0 or nested_deeper(text, deepest - 1)


def test_without_strings_every_bracket_counts():
    assert nested_deeper("'[[['", 2, strings=False)
    assert not nested_deeper("'[[['", 3, strings=False)


@given(VALUES, st.booleans())
def test_the_answer_is_exact_for_json(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    deepest = depth_of(value)

    assert not nested_deeper(text, deepest)
    assert deepest == 0 or nested_deeper(text, deepest - 1)


def depth_of(value):
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0
