"""Arguments as a model and as JSON Schema, both ways."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handrail.core.arguments.params import Params
from handrail.core.arguments.schema import dump_given, full_schema, json_schema, model_from_schema


def shown(annotation: Any, default: Any = ...) -> dict[str, Any]:
    """How one argument of this type is shown."""
    model = type("Args", (Params,), {"__annotations__": {"x": annotation}, "x": default})
    if default is ...:
        model = type("Args", (Params,), {"__annotations__": {"x": annotation}})
    return json_schema(model)["properties"]["x"]


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Spot(Params):
    line: int = Field(description="From 1.")
    column: int = 0


# --- model to schema ----------------------------------------------------------------------


@pytest.mark.feature("S01", "A04")
@pytest.mark.parametrize(
    ("annotation", "default", "expected"),
    [
        (str, ..., {"type": "string"}),
        (float, ..., {"type": "number"}),
        (bool, ..., {"type": "boolean"}),
        (list[str], ..., {"type": "array", "items": {"type": "string"}}),
        (Colour, ..., {"enum": ["red", "blue"], "type": "string"}),
        (Optional[int], None, {"type": "integer"}),  # noqa: UP045 - the spelling of older code
        (int, 5, {"type": "integer", "default": 5}),
        (int | str, ..., {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Literal["a", "b"], ..., {"enum": ["a", "b"], "type": "string"}),
        (
            Spot,
            ...,
            {
                "type": "object",
                "properties": {
                    "line": {"type": "integer", "description": "From 1."},
                    "column": {"type": "integer", "default": 0},
                },
                "required": ["line"],
                "additionalProperties": False,
            },
        ),
    ],
    ids=[
        "string",
        "number",
        "boolean",
        "array",
        "enum",
        "optional",
        "default",
        "union",
        "literal",
        "object",
    ],
)
def test_each_of_the_ten_kinds_has_its_schema(annotation, default, expected):
    assert shown(annotation, default) == expected


@pytest.mark.feature("S02")
def test_only_arguments_without_a_default_are_required_and_descriptions_are_kept():
    class Args(Params):
        """For programmers, not for models."""

        path: str = Field(description="The file.")
        limit: int = Field(10, description="How many.")
        note: str | None = None

    assert json_schema(Args) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "limit": {"type": "integer", "description": "How many.", "default": 10},
            "note": {"type": "string"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("default", [None, False, "", []])
def test_a_default_that_says_nothing_is_not_shown(default):
    assert "default" not in shown(Any, default)


@pytest.mark.parametrize("default", [0, True, ".", [1]])
def test_a_default_that_says_something_is_shown(default):
    assert shown(Any, default)["default"] == default


def test_an_argument_may_be_named_like_a_keyword_of_json_schema():
    class Args(Params):
        title: str
        properties: dict[str, int]
        anyOf: bool = True

    assert json_schema(Args)["properties"] == {
        "title": {"type": "string"},
        "properties": {"type": "object", "additionalProperties": {"type": "integer"}},
        "anyOf": {"type": "boolean", "default": True},
    }


def test_an_optional_union_shows_its_alternatives_without_null():
    assert shown(str | list[str] | None, None) == {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    }


def test_a_model_that_takes_unknown_arguments_does_not_forbid_them():
    class Loose(BaseModel):
        model_config = ConfigDict(extra="allow")
        x: int

    class Careless(BaseModel):
        x: int

    assert json_schema(Loose)["additionalProperties"] is True
    assert json_schema(Careless)["additionalProperties"] is False


class Tree(Params):
    name: str
    children: list["Tree"] = Field([])


def test_a_recursive_model_is_shown_down_to_where_it_repeats():
    class Args(Params):
        tree: Tree

    assert json_schema(Args)["properties"]["tree"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {}},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_arguments_that_are_recursive_themselves_are_shown_without_definitions():
    assert list(json_schema(Tree)) == ["additionalProperties", "properties", "required", "type"]
    assert json_schema(Tree)["properties"]["children"] == {"type": "array", "items": {}}


# --- schema to model ----------------------------------------------------------------------


def accepts(schema: Any, value: Any, **document: Any) -> bool:
    model = model_from_schema("m", {"type": "object", "properties": {"x": schema}, **document})
    try:
        given = dump_given(model.model_validate({"x": value}))
    except ValidationError:
        return False
    assert given == {"x": value}, "what was accepted must arrive unchanged"
    return True


@pytest.mark.feature("S03", "A05")
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string"}, ["", "a"], [1, None, ["a"]]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab"], ["a", "abcd"]),
        ({"type": "integer"}, [0, -3], ["0", 1.5, True, None]),
        ({"type": "integer", "minimum": 1, "maximum": 5}, [1, 5], [0, 6]),
        ({"type": "number"}, [1, 1.5], ["1", True]),
        ({"type": "number", "exclusiveMinimum": 0}, [0.1], [0]),
        ({"type": "boolean"}, [True, False], [1, "true"]),
        ({"type": "null"}, [None], [0]),
        ({"type": "array", "items": {"type": "string"}}, [[], ["a"]], ["a", [1]]),
        ({"type": "array", "minItems": 1}, [[None]], [[]]),
        ({"type": "object"}, [{}, {"a": [1]}], [[], "{}"]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [{"a": 1}], [{"a": ""}]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"enum": ["a", "b"]}, ["a"], ["c", None]),
        ({"enum": [1, 2.5, None, [1]]}, [1, 2.5, None, [1]], [True, "1", [2]]),
        ({"const": "only"}, ["only"], ["other"]),
        ({"const": {"a": 1}}, [{"a": 1}], [{"a": 2}]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], [1.5]),
        ({"oneOf": [{"type": "boolean"}, {"enum": ["auto"]}]}, [True, "auto"], ["no"]),
    ],
    ids=str,
)
def test_a_schema_becomes_a_model_that_accepts_the_same(schema, good, bad):
    assert [value for value in good if not accepts(schema, value)] == []
    assert [value for value in bad if accepts(schema, value)] == []


@pytest.mark.feature("S03")
def test_arguments_that_were_not_given_are_left_out_and_not_sent_as_null():
    model = model_from_schema(
        "m",
        {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"type": "integer", "default": 5},
                "c": {"type": "object", "properties": {"d": {"type": "string"}}},
            },
            "required": ["a"],
        },
    )

    assert dump_given(model.model_validate({"a": "x", "c": {}})) == {"a": "x", "c": {}}
    with pytest.raises(ValidationError):
        model.model_validate({"b": 1})


@pytest.mark.feature("S03")
def test_an_optional_argument_does_not_become_nullable():
    assert not accepts({"type": "string"}, None)


ODD_NAMES = [
    "-i",
    "_private",
    "__dunder__",
    "copy",
    "model_dump",
    "schema",
    "class",
    "größe",
    "a b",
]


@pytest.mark.feature("S03")
@pytest.mark.parametrize("name", [*ODD_NAMES, "argument_1", ""])
def test_an_argument_may_have_any_name(name):
    schema = {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}
    model = model_from_schema("m", schema)

    assert dump_given(model.model_validate({name: 3})) == {name: 3}
    assert list(json_schema(model)["properties"]) == [name]
    with pytest.raises(ValidationError) as caught:
        model.model_validate({name: "x"})
    assert caught.value.errors()[0]["loc"] == (name,)


def test_odd_names_do_not_get_in_each_others_way():
    names = [*ODD_NAMES, "argument_1", "argument_2"]
    model = model_from_schema("m", {"properties": {name: {"type": "string"} for name in names}})
    values = {name: f"value of {name}" for name in names}

    assert dump_given(model.model_validate(values)) == values


def test_extra_arguments_follow_additional_properties():
    closed = model_from_schema("m", {"properties": {}, "additionalProperties": False})
    typed = model_from_schema("m", {"properties": {}, "additionalProperties": {"type": "integer"}})
    default = model_from_schema("m", {"properties": {}})

    assert dump_given(default.model_validate({"more": [1]})) == {"more": [1]}
    assert dump_given(typed.model_validate({"more": 1})) == {"more": 1}
    for model, bad in ((closed, {"more": 1}), (typed, {"more": "x"})):
        with pytest.raises(ValidationError):
            model.model_validate(bad)


def test_references_are_followed():
    defs = {"$defs": {"A/B": {"type": "integer"}, "up": {"$ref": "#/$defs/A~1B"}}}

    assert accepts({"$ref": "#/$defs/up"}, 1, **defs)
    assert not accepts({"$ref": "#/$defs/up"}, "1", **defs)


def test_a_document_may_be_a_reference_itself():
    model = model_from_schema(
        "m", {"$ref": "#/$defs/args", "$defs": {"args": {"properties": {"x": {"type": "integer"}}}}}
    )

    with pytest.raises(ValidationError):
        model.model_validate({"x": "no"})


def test_a_recursive_reference_is_checked_once_and_then_accepts_anything():
    node = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
    }

    assert accepts({"$ref": "#/$defs/node"}, {"next": {"next": 5}}, **{"$defs": {"node": node}})
    assert not accepts({"$ref": "#/$defs/node"}, {"name": 5}, **{"$defs": {"node": node}})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.org/schema.json"},
        {"type": "string", "pattern": "(?<!a)b\\1"},
        {"type": "martian"},
        {"type": []},
        {"type": {}},
        {"enum": []},
        {"anyOf": []},
        {"anyOf": "x"},
        {"allOf": [{"type": "string"}]},
        {"not": {"type": "string"}},
        {"type": "string", "minLength": -1, "maxLength": 1.5},
        {"type": ["string", "integer"], "minimum": True, "maximum": 1e300},
        True,
        False,
        None,
        "string",
    ],
    ids=str,
)
def test_what_is_not_understood_accepts_anything(schema):
    assert accepts(schema, "b")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"type": "object", "properties": None, "required": "path"},
        {"properties": [], "required": [1, {}]},
        {"anyOf": [{"type": "object"}]},
    ],
)
def test_a_document_of_any_shape_becomes_a_model(document):
    assert dump_given(model_from_schema("m", document).model_validate({"x": 1})) == {"x": 1}


def test_a_required_argument_without_a_schema_is_still_required():
    model = model_from_schema("m", {"type": "object", "required": ["x"]})

    with pytest.raises(ValidationError):
        model.model_validate({})


def test_a_document_cannot_make_the_work_explode():
    # Each level mentions the next one twice: written out, this would have 2**60 leaves.
    defs = {
        f"d{n}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/$defs/d{n + 1}"} for side in ("left", "right")},
        }
        for n in range(60)
    }
    model = model_from_schema("m", {"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs})

    assert "x" in full_schema(model)["properties"]
    assert len(str(json_schema(model))) < 200_000


def test_a_document_nested_without_end_is_read_to_a_depth():
    schema: Any = {"type": "integer"}
    for _ in range(5_000):
        schema = {"type": "array", "items": schema}

    value: Any = "not an integer"
    for _ in range(50):
        value = [value]
    assert accepts(schema, value)
    assert not accepts(schema, [[["not a list"]]])


ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "required",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "$ref",
        "$defs",
        "additionalProperties",
        "minimum",
        "maximum",
        "minLength",
        "maxItems",
        "default",
        "description",
        "x",
    ]
)
KINDS = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
JUNK = st.recursive(
    ATOMS | KINDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(KEYWORDS, JUNK, max_size=5))
def test_no_document_fails_to_be_read(document):
    model = model_from_schema("m", document)

    json_schema(model)


def test_a_path_type_is_an_ordinary_string_in_the_schema():
    assert shown(Annotated[str, "any metadata"]) == {"type": "string"}


def test_a_schema_is_made_once_and_each_caller_has_a_copy(monkeypatch):
    class Once(Params):
        names: list[str] = Field(default=["a"], description="first")

    made = []
    make = BaseModel.model_json_schema.__func__
    monkeypatch.setattr(
        Once,
        "model_json_schema",
        classmethod(lambda cls, **how: made.append(cls) or make(cls, **how)),
    )
    first = json_schema(Once)
    first["properties"]["names"]["default"].append("changed")
    first["properties"]["names"]["description"] = "changed"

    again = json_schema(Once)
    assert again["properties"]["names"]["default"] == ["a"]
    assert again["properties"]["names"]["description"] == "first"
    assert made == [Once]

    Once.model_fields["names"].description = "second"
    Once.model_rebuild(force=True)
    assert json_schema(Once)["properties"]["names"]["description"] == "second"
