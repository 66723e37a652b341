"""Arguments checked by a server's schema, in a limited number of steps."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from handrail.mcp.client.schema_check import argument_model


def _doubling(keyword: str, **more: Any) -> dict[str, Any]:
    """A schema whose check takes twice as long with each of 40 references."""
    parts: dict[str, Any] = {"p0": {"type": "integer"}}
    for number in range(1, 41):
        parts[f"p{number}"] = {keyword: [{"$ref": f"#/$defs/p{number - 1}"}] * 2}
    return {"type": "object", **more, "$defs": parts}


_LAST = {"$ref": "#/$defs/p40"}
_NESTED: dict[str, Any] = {"items": {"$ref": "#/$defs/list"}}
_LISTS = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/list"}},
    "$defs": {"list": {"allOf": [_NESTED, _NESTED]}},
}
_DEPENDING = {
    "type": "object",
    "unevaluatedProperties": False,
    "$ref": "#/$defs/p40",
    "$defs": {
        "p0": {},
        **{
            f"p{number}": {
                "dependentSchemas": {key: {"$ref": f"#/$defs/p{number - 1}"} for key in "ab"}
            }
            for number in range(1, 41)
        },
    },
}


def _nest(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        (_doubling("allOf", properties={"a": _LAST}), {"a": 1}),
        (_doubling("anyOf", properties={"a": _LAST}), {"a": "text"}),
        (_doubling("oneOf", properties={"a": _LAST}), {"a": 1}),
        (_doubling("allOf", allOf=[_LAST], unevaluatedProperties=False), {"a": 1}),
        (_DEPENDING, {"a": 1, "b": 2}),
        (_LISTS, {"a": _nest(40)}),
    ],
    ids=["all", "any", "one", "unevaluated", "depending", "nested"],
)
def test_a_check_that_would_not_end_is_an_error(schema: dict[str, Any], given: Any) -> None:
    with pytest.raises(ValidationError, match="cannot be applied"):
        argument_model("tool", schema).model_validate(given)


def test_types_are_looked_for_in_a_limited_number_of_parts() -> None:
    many = {"anyOf": [{"items": {"$ref": "#/$defs/many"}}] * 500}
    schema = {"type": "object", "properties": {"a": many}, "$defs": {"many": many}}
    argument_model("tool", schema).model_validate({"a": 1})


def test_large_arguments_are_checked_whole() -> None:
    row = {"type": "object", "properties": {"a": {"minimum": 0}, "b": {"enum": ["x", "y"]}}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": row}}}
    rows: list[Any] = [{"a": 1, "b": "x"} for _ in range(3_000)]
    model = argument_model("tool", schema)
    model.model_validate({"rows": rows})
    rows[-1] = {"a": -1, "b": "z"}
    with pytest.raises(ValidationError, match=r"2999\.a.*2999\.b"):
        model.model_validate({"rows": rows})


@pytest.mark.parametrize(
    ("items", "unique"), [([1, 2, {"a": 1}], True), ([{"a": 1}, 2, {"a": 1}], False)]
)
def test_equal_items_are_found(items: list[Any], unique: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"uniqueItems": True}}}
    model = argument_model("tool", schema)
    if unique:
        model.model_validate({"a": items})
    else:
        with pytest.raises(ValidationError, match="equal"):
            model.model_validate({"a": items})
