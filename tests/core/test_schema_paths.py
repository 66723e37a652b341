"""Schemas with paths in them: where the keyword is found, and copies with and without it."""

import pytest

from handrail.core.arguments.schema_paths import PATH_KEYWORD, copy_schema, has_path_keyword

PATH = {"type": "string", PATH_KEYWORD: "read"}


def nested(levels, leaf):
    for _ in range(levels):
        leaf = {"items": leaf}
    return leaf


@pytest.mark.parametrize(
    ("schema", "is_found"),
    [
        (PATH, True),
        ({"properties": {"a": {"type": "array", "items": PATH}}}, True),
        ({"anyOf": [{"type": "null"}, PATH]}, True),
        ({"$defs": {"place": PATH}}, True),
        ({"properties": {PATH_KEYWORD: {"type": "string"}}}, False),
        ({"default": PATH, "enum": [PATH], "const": PATH}, False),
        ({"type": "string"}, False),
    ],
)
def test_the_keyword_is_found_in_schemas_and_not_in_values(schema, is_found):
    assert has_path_keyword(schema) is is_found
    assert not has_path_keyword(copy_schema(schema, keyword=False))
    assert copy_schema(schema, keyword=True) == schema


def test_a_copy_loses_the_keyword_and_nothing_else():
    schema = {"properties": {"a": PATH, PATH_KEYWORD: PATH}, "default": PATH, "required": ["a"]}

    copied = copy_schema(schema, keyword=False)

    plain = {"type": "string"}
    assert copied["properties"] == {"a": plain, PATH_KEYWORD: plain}
    assert (copied["default"], copied["required"]) == (PATH, ["a"])


def test_places_that_share_a_part_have_their_own_in_a_copy():
    copied = copy_schema({"properties": {"a": PATH, "b": PATH}}, keyword=True)

    assert copied["properties"]["a"] == copied["properties"]["b"]
    assert copied["properties"]["a"] is not copied["properties"]["b"]


def test_a_schema_may_be_nested_up_to_a_limit():
    assert copy_schema(nested(99, PATH), keyword=True) == nested(99, PATH)
    assert has_path_keyword(nested(100, PATH))

    with pytest.raises(TypeError, match="nested too deeply"):
        copy_schema(nested(100, PATH), keyword=True)
