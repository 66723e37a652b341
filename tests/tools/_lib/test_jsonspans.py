import json
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handrail.tools._lib.notebook import read_array, read_document, read_object, read_value

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)
READ = partial(
    read_document,
    readers={"list": partial(read_array, reader=read_value), "object": read_object},
)


@given(
    st.dictionaries(st.sampled_from(["list", "object", "a", "b", '"\\é']), VALUES),
    st.sampled_from([None, 0, 1, "\t"]),
    st.booleans(),
)
def test_every_span_is_the_json_of_its_value(document, indent, ascii_only):
    document["object"] = {"x": document.get("a")}
    text = " " + json.dumps(document, indent=indent, ensure_ascii=ascii_only) + "\n"

    read = READ(text)

    assert text[read.start : read.end] == text.strip()
    assert list(read.value) == list(document)
    for key, member in read.value.items():
        assert json.loads(text[member.key_start : member.key_end]) == key
        assert json.loads(text[member.of.start : member.of.end]) == document[key]
    for item in read.value["object"].of.value.values():
        assert json.loads(text[item.of.start : item.of.end]) == document["object"]["x"]
    if isinstance(document.get("list"), list):
        spans = [text[item.start : item.end] for item in read.value["list"].of.value]
        assert [json.loads(span) for span in spans] == document["list"]


@given(st.text('{}[]",:\\ \n01ax\ud800', max_size=12))
@example('{"list": [1,]}')
@example('{"list": [,1]}')
@example('{"a": 1,}')
@example("{,}")
@example('{"a"; 1}')
@example('{"a": 1} 2')
@example('{"list": [1 2]}')
@example('{"object": {"a": 1 "b": 2}}')
@example("[1]")
@example("")
def test_what_json_refuses_is_refused(text):
    try:
        expected = isinstance(json.loads(text), dict)
    except ValueError:
        expected = False

    try:
        READ(text)
        accepted = True
    except json.JSONDecodeError:
        accepted = False

    assert accepted == expected


def test_an_integer_too_long_for_python_is_read():
    assert READ('{"a": %s}' % ("9" * 5_000)).value["a"].of.value > 0


@pytest.mark.parametrize("text", ['{"list": 1}', '{"list": {"a": 1}}', '{"list": "x"}'])
def test_an_array_that_is_none_is_read_as_it_is(text):
    assert READ(text).value["list"].of.value == json.loads(text)["list"]
