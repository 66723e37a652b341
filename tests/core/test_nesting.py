import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.text.nesting import MAX_JSON_DEPTH, nested_deeper, parse_json

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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32-le", None])
def test_json_is_parsed_up_to_a_depth(encoding):
    def parse(text):
        return parse_json(text if encoding is None else text.encode(encoding))

    deep = "[" * (MAX_JSON_DEPTH - 1) + '"é["' + "]" * (MAX_JSON_DEPTH - 1)
    value = parse(f"[{deep}]")
    for _ in range(MAX_JSON_DEPTH):
        (value,) = value
    assert value == "é["
    with pytest.raises(ValueError, match="nested deeper than 500"):
        parse(f"[[{deep}]]")
    with pytest.raises(ValueError, match="nested"):
        parse("[" * 100_000)
    with pytest.raises(ValueError, match="Expecting"):
        parse("{")


def test_line_ends_within_json_strings():
    assert parse_json('"a\nb"', strict=False) == "a\nb"
    with pytest.raises(ValueError, match="control character"):
        parse_json('"a\nb"')


def test_finalizers_run_while_json_is_refused():
    finished = []

    class Finalized:
        def __init__(self, number):
            self.cycle, self.number = self, number

        def __del__(self):
            finished.append(descend(100, self.number))

    def descend(levels, number):
        return descend(levels - 1, number) if levels else number

    thresholds = gc.get_threshold()
    gc.collect()
    gc.set_threshold(1, 1, 1)
    try:
        for number in range(20):
            Finalized(number)
            with pytest.raises(ValueError, match="nested"):
                parse_json("[" * 100_000)
    finally:
        gc.set_threshold(*thresholds)
        gc.collect()

    assert sorted(finished) == list(range(20))


def depth_of(value):
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0
