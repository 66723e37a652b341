"""Models of JSON Schemas: which values they accept, and that what is unknown accepts everything."""

from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from handrail.core.arguments.model_builder import build_model, model_from_schema

PATH = {"type": "string", "x-handrail-path": "read"}
LARGE = 2**53


def accepts(schema, value):
    """Whether a property with this schema accepts the value."""
    document = {"type": "object", "properties": {"p": schema}, "required": ["p"]}
    if isinstance(schema, dict) and "$defs" in schema:
        document["$defs"] = schema["$defs"]
    try:
        model_from_schema("M", document).model_validate({"p": value})
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string"}, ["", "x"], [1, None, ["x"]]),
        ({"type": "string", "minLength": 2}, ["ab"], ["a"]),
        ({"type": "string", "maxLength": 2}, ["ab", ""], ["abc"]),
        ({"type": "string", "minLength": 2.0}, ["ab"], ["a"]),
        ({"type": "string", "minLength": 2.5}, ["a", ""], []),
        ({"type": "string", "minLength": -1}, [""], []),
        ({"type": "string", "minLength": True}, [""], []),
        ({"type": "string", "minLength": "2"}, [""], []),
        ({"type": "string", "minLength": LARGE}, ["a"], []),
        ({"type": "string", "minLength": LARGE - 1}, [], ["a"]),
        ({"type": "string", "minLength": 0, "maxLength": 0}, [""], ["a"]),
        ({"type": "integer"}, [0, -5], [1.5, "1", True, None]),
        ({"type": "integer", "minimum": 2}, [2, 3], [1]),
        ({"type": "integer", "maximum": 2}, [2, 1], [3]),
        ({"type": "integer", "minimum": -2}, [-2], [-3]),
        ({"type": "integer", "exclusiveMinimum": 2}, [3], [2]),
        ({"type": "integer", "exclusiveMaximum": 2}, [1], [2]),
        ({"type": "integer", "minimum": 2.5}, [2, 0], []),
        ({"type": "integer", "minimum": 2.0}, [2], [1]),
        ({"type": "integer", "minimum": -LARGE}, [-LARGE - 5], []),
        ({"type": "integer", "minimum": 1 - LARGE}, [1 - LARGE], [-LARGE]),
        ({"type": "number"}, [1, 1.5, -2], ["1", None]),
        ({"type": "number", "minimum": 2.5}, [2.5, 3], [2.4]),
        ({"type": "number", "exclusiveMaximum": 2.5}, [2.4], [2.5]),
        ({"type": "boolean"}, [True, False], [0, 1, "true"]),
        ({"type": "null"}, [None], [0, "", False]),
        ({"type": "array"}, [[], [1, "x"]], ["x", None]),
        ({"type": "array", "items": {"type": "integer"}}, [[1, 2], []], [["x"], [1, None]]),
        ({"type": "array", "minItems": 1, "maxItems": 2}, [[1], [1, 2]], [[], [1, 2, 3]]),
        ({"type": "object"}, [{}, {"a": 1}], ["x", []]),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            [{}, {"a": 1}],
            [{"a": "x"}],
        ),
        ({"properties": {"a": {"type": "integer"}}}, [{}, {"a": 1}, {"b": 2}], [{"a": "x"}, 1]),
        ({"type": ["string", "null"]}, ["x", None], [1, []]),
        ({"type": ["string", "unknown"]}, ["x", 1, None], []),
        ({"type": []}, ["x", 1, None], []),
        ({"type": {}}, ["x", 1], []),
        ({"type": "unknown"}, ["x", 1, None], []),
        ({}, ["x", 1, None, {}], []),
        (True, ["x", 1, None], []),
        (None, ["x", 1], []),
        ({"enum": ["a", None]}, ["a", None], ["b", 1]),
        ({"enum": [1, "a"]}, [1, "a"], [True, 1.0, "1", 2]),
        ({"enum": [True]}, [True], [1, False]),
        ({"enum": [[1], {"b": 1, "a": 2}]}, [[1], {"a": 2, "b": 1}], [[2], {"a": 2}, []]),
        ({"enum": []}, ["x", 1], []),
        ({"enum": "ab"}, ["x", 1], []),
        ({"const": "a"}, ["a"], ["b", None]),
        ({"const": None}, [None], ["a", 0]),
        ({"const": 1, "enum": [2]}, [1], [2]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, ["x", 1], [None, []]),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, ["x", None], [1]),
        ({"anyOf": [{"type": "string"}, {}]}, ["x", 1], []),
        ({"anyOf": [], "type": "string"}, ["x"], [1]),
        ({"anyOf": "x", "type": "string"}, ["x"], [1]),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, [1], ["x"]),
        ({"$ref": "#/$defs/a~1b~0", "$defs": {"a/b~": {"type": "integer"}}}, [1], ["x"]),
        ({"$ref": "#/$defs/missing", "$defs": {}}, [1, "x"], []),
        ({"$ref": "http://a.example/b", "$defs": {}}, [1, "x"], []),
        ({"$ref": "#/$defs/n/type/x", "$defs": {"n": {"type": "integer"}}}, [1, "x"], []),
        ({"$ref": 1, "type": "integer"}, [1], ["x"]),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}},
            },
            [[], [[]], ["anything"]],
            ["x"],
        ),
    ],
)
def test_a_schema_accepts_what_it_describes(schema, good, bad):
    assert [value for value in good if not accepts(schema, value)] == []
    assert [value for value in bad if accepts(schema, value)] == []


def test_a_schema_that_is_nested_deeply_accepts_anything_below_a_limit():
    def nested(levels):
        schema = {"type": "integer"}
        for _ in range(levels):
            schema = {"type": "array", "items": schema}
        return schema

    def value(levels):
        return [value(levels - 1)] if levels else "x"

    assert not accepts(nested(31), value(31))
    assert accepts(nested(32), value(32))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"required": ["a"]}, [{"a": 1}, {"a": None, "b": 2}], [{}]),
        ({"required": "a"}, [{}], []),
        ({"required": [1, "a"]}, [{"a": 1}], [{}]),
        ({"properties": []}, [{}, {"a": 1}], []),
        ({"properties": {"a": {"type": "string"}}}, [{}, {"a": "x"}], [{"a": 1}]),
        ({"properties": {"a": {}}, "additionalProperties": False}, [{"a": 1}], [{"b": 1}]),
        ({"additionalProperties": True}, [{"b": 1}], []),
        ({"additionalProperties": {"type": "integer"}}, [{"b": 1}, {}], [{"b": "x"}]),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"required": ["a"]}}}, [{"a": 1}], [{}]),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/x"}}}, [{}], []),
        ({"$ref": "#/$defs/x", "$defs": {"x": 1}}, [{}, {"a": 1}], []),
    ],
)
def test_the_arguments_of_a_tool(schema, good, bad):
    model = model_from_schema("M", schema)

    for given in good:
        model.model_validate(given)
    for given in bad:
        with pytest.raises(ValidationError):
            model.model_validate(given)


def test_defaults_and_descriptions_are_kept_if_they_are_plain():
    properties = {
        "a": {"type": "string", "default": "x", "description": "About a."},
        "b": {"type": "array", "default": [1], "description": 5},
        "c": True,
        "d": {"default": 2, "type": "integer"},
    }
    model = model_from_schema("M", {"properties": properties, "required": ["d"]})
    fields = model.model_fields

    assert (fields["a"].default, fields["a"].description) == ("x", "About a.")
    assert (fields["b"].default, fields["b"].description) == (None, None)
    assert fields["c"].default is None
    assert fields["d"].is_required()
    assert not fields["a"].is_required()


def test_a_number_is_checked_and_not_converted():
    model = model_from_schema("M", {"properties": {"n": {"type": "number"}}})

    assert repr(model.model_validate({"n": 5}).n) == "5"


def test_an_enum_of_plain_values_is_shown_in_the_schema():
    def shown(values):
        model = model_from_schema("M", {"properties": {"p": {"enum": values}}})
        return model.model_json_schema()["properties"]["p"].get("enum")

    assert shown([1, "a"]) == [1, "a"]
    assert shown([1, [2]]) is None


@pytest.mark.parametrize(
    "argument", ["-i", "_x", "model_x", "copy", "class", "a b", "\u00e9", "", "1a", "json"]
)
def test_an_argument_may_have_any_name(argument):
    model = build_model("M", {argument: (int, ...), "b": (int, 2)}, BaseModel)

    made = model.model_validate({argument: 1})

    assert made.model_dump(by_alias=True) == {argument: 1, "b": 2}
    assert argument not in model.model_fields


def test_names_that_stand_for_others_are_free():
    names = ["-a", "argument_1", "-b", "plain"]
    model = build_model("M", {name: (str, Field(...)) for name in names}, BaseModel)

    made = model.model_validate({name: name for name in names})

    assert made.model_dump(by_alias=True) == {name: name for name in names}
    assert {"argument_1", "plain"} <= set(model.model_fields)
    assert made.argument_1 == "argument_1"


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": PATH}},
        {"properties": {"a": {"type": "array", "items": PATH}}},
        {"properties": {"a": {"anyOf": [PATH, {"type": "null"}]}}},
        {"properties": {"a": {"type": "object", "additionalProperties": PATH}}},
        {"additionalProperties": PATH},
        {"properties": {"a": {"$ref": "#/$defs/p"}}, "$defs": {"p": PATH}},
    ],
)
def test_a_path_may_stand_where_it_is_found(schema):
    assert issubclass(model_from_schema("M", schema), BaseModel)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"anyOf": [PATH, {}]}}},
        {"properties": {"a": {"type": "array", "prefixItems": [PATH]}}},
        {"properties": {"a": {"type": ["string", "other"], "x-handrail-path": "read"}}},
        {"$defs": {"p": PATH}},
        {
            "properties": {"a": {"$ref": "#/$defs/p"}},
            "$defs": {
                "p": {"properties": {"x": PATH, "y": {"$ref": "#/$defs/p"}}, "type": "object"}
            },
        },
    ],
)
def test_a_path_that_would_not_be_found_is_an_error(schema):
    with pytest.raises(TypeError):
        model_from_schema("M", schema)


def test_a_schema_without_paths_may_refer_to_itself():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}
    schema = {"properties": {"a": {"$ref": "#/$defs/n"}, "p": PATH}, "$defs": {"n": node}}
    model: Any = model_from_schema("M", schema)

    assert model.model_validate({"a": {"next": {"next": 1}}, "p": "x"}).p == "x"
