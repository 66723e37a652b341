"""What is let in as arguments, and how the rest is refused."""

import json
import sys
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.call import ToolCall
from handrail.core.problems import Problem, ProblemRaised
from handrail.engine.prepare.arguments import MAX_CHARS, check_plain, parse_arguments
from handrail.engine.prepare.preparer import plain_arguments


def refusal(arguments: object) -> Problem:
    with pytest.raises(ProblemRaised) as caught:
        if isinstance(arguments, str):
            parse_arguments(arguments)
        else:
            check_plain(arguments)  # type: ignore[arg-type]
    assert caught.value.problem.code == "invalid_arguments"
    assert caught.value.problem.message.startswith("Invalid arguments: ")
    return caught.value.problem


def nested(depth: int) -> dict[str, object]:
    """An object that is `depth` levels deep, itself included."""
    value: object = 1
    for _ in range(depth - 1):
        value = [value]
    return {"a": value}


@pytest.mark.parametrize("text", ["", "  ", "\n", "{}", "null"])
def test_no_text_means_no_arguments(text):
    assert parse_arguments(text) == {}


def test_an_object_is_read_as_it_is():
    text = '{"path": "ä.py", "n": 1, "f": -2.5e3, "b": true, "z": null, "l": [{"x": []}]}'

    assert parse_arguments(text) == {
        "path": "ä.py",
        "n": 1,
        "f": -2500.0,
        "b": True,
        "z": None,
        "l": [{"x": []}],
    }


def test_raw_line_breaks_inside_a_string_are_taken_as_they_are():
    assert parse_arguments('{"content": "one\n\ttwo"}') == {"content": "one\n\ttwo"}


def test_ten_megabytes_are_taken():
    content = "é" * 10_000_000

    assert parse_arguments(json.dumps({"content": content}, ensure_ascii=False)) == {
        "content": content
    }


def test_more_than_the_limit_is_refused_before_it_is_read():
    problem = refusal('{"content": "' + "x" * MAX_CHARS)

    assert "the limit is 33,554,432" in problem.message
    assert problem.hint.startswith("send large content")
    assert problem.hint.endswith("in several calls")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[1]", "an array"),
        ('"{}"', "a string"),
        ("true", "a boolean"),
        ("5", "a number"),
    ],
)
def test_arguments_that_are_no_object_are_refused_by_their_kind(text, kind):
    assert f"the arguments are {kind}, not a JSON object" in refusal(text).message


@pytest.mark.parametrize("text", ['{"a": 1, "b": 2, "a": 1}', '{"l": [{"a": 1, "a": 2}]}'])
def test_a_name_given_twice_is_refused_even_with_equal_values(text):
    assert "given more than once" in refusal(text).message


def test_many_names_do_not_slow_the_search_for_the_double_one():
    text = "{" + ",".join(f'"k{n}": {n}' for n in range(200_000)) + ', "k0": 0}'

    assert "given more than once" in refusal(text).message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_json_does_not_have_are_refused(number):
    assert "which is not JSON" in refusal(f'{{"a": [{number}]}}').message


@pytest.mark.parametrize("digits", [400, 5_000])
def test_a_number_too_long_to_be_written_back_is_refused(digits):
    assert "too many digits" in refusal(f'{{"a": {"9" * digits}}}').message


@pytest.mark.parametrize(
    "text", [r'{"a": "x\ud800"}', r'{"\udfff": 1}', r'{"a": [{"b": "\ud83d"}]}']
)
def test_half_of_a_surrogate_pair_is_refused_in_words_that_can_be_printed(text):
    problem = refusal(text)

    assert "half of a surrogate pair" in problem.message
    assert (problem.message + (problem.field or "")).encode("utf-8")


def test_a_whole_surrogate_pair_is_one_character():
    assert parse_arguments(r'{"a": "\ud83d\ude00"}') == {"a": "😀"}


def test_sixty_four_levels_are_the_limit():
    assert parse_arguments(json.dumps(nested(64))) == nested(64)
    assert "nested more than 64 levels" in refusal(json.dumps(nested(65))).message


def test_any_depth_is_refused_without_a_crash():
    assert "nested more than 64 levels" in refusal("[" * 500_000).message
    assert "nested more than 64 levels" in refusal('{"a":' * 100_000).message


@pytest.mark.parametrize(
    "text", ["{", '{"a": "x', '{"a": 1', '{"a": 1,', '{"a"', '{"content": "a\\']
)
def test_text_that_was_cut_off_is_told_apart(text):
    problem = refusal(text)

    assert "ends too early" in problem.message
    assert problem.hint is not None
    assert "send the call again" in problem.hint


def test_text_that_is_not_json_is_quoted_where_it_goes_wrong():
    problem = refusal("{path: 'a.py'}")

    assert "character 1, near \"{path: 'a.py'}\"" in problem.message


# --- mappings -----------------------------------------------------------------------------


class Word(StrEnum):
    ONE = "one"


@pytest.mark.parametrize(
    "value",
    ["", "ä", 0, -(2**70), 2.5, True, None, [], {}, [{"a": [1, "ö"]}], Word.ONE],
    ids=repr,
)
def test_plain_values_pass(value):
    check_plain({"a": value})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "holds nan, which is not JSON"),
        ([float("inf")], "holds inf, which is not JSON"),
        (2**2000, "too many digits"),
        ("\ud800", "half of a surrogate pair"),
        (["ok", {"b": "x\udc00"}], "half of a surrogate pair"),
        (b"bytes", "holds a bytes, which is not a JSON value"),
        (Path("a"), "which is not a JSON value"),
        ((1, 2), "holds a tuple, which is not a JSON value"),
        ({1: 2}, "the argument name 1 is not a string"),
        (nested(64), "'a' is nested more than 64 levels deep"),
    ],
    ids=repr,
)
def test_what_json_text_could_not_have_said_is_refused(value, reason):
    assert reason in refusal({"a": value}).message


def test_a_mapping_that_contains_itself_is_refused():
    loop: dict[str, object] = {}
    loop["again"] = loop

    assert "nested more than 64 levels" in refusal(loop).message


def test_a_name_that_is_not_text_is_refused():
    assert "is not a string" in refusal({1: "a"}).message
    assert "half of a surrogate pair" in refusal({"\ud800": "a"}).message


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_text_and_mapping_are_judged_alike(arguments):
    try:
        check_plain(arguments)
    except ProblemRaised:
        with pytest.raises(ProblemRaised):
            parse_arguments(json.dumps(arguments))
    else:
        assert parse_arguments(json.dumps(arguments)) == arguments


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text(alphabet='{}[]":,\\ud8 \n01eN-.'))
def test_no_text_raises_anything_but_a_problem(text):
    try:
        parsed = parse_arguments(text)
    except ProblemRaised as raised:
        assert raised.problem.code == "invalid_arguments"
    else:
        assert isinstance(parsed, dict)


def test_a_check_of_everyday_arguments_calls_no_other_function():
    # Cheap by construction rather than by the clock: the loop alone decides.
    called = []
    arguments = {"path": "src/app.py", "offset": 1, "limit": 200, "number_lines": True, "x": None}
    call = ToolCall("c1", "read_file", arguments)

    def note(frame, event, _argument):
        if event == "call" and "handrail" in frame.f_code.co_filename:
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        plain_arguments(call)
    finally:
        sys.setprofile(None)

    assert called == ["plain_arguments"]
