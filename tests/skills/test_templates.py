"""Tools that skills define: the limits of every field from both sides, and what is expanded."""

import pytest

from handrail.skills.templates import ToolTemplate, read_templates

TOOL = {"name": "count", "description": "Count.", "cmd": "wc"}


def template(**fields):
    return read_templates([{**TOOL, **fields}])[0]


def arguments(count):
    return {f"a{n}": {} for n in range(count)}


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "abc"},
        {"name": "a" * 64},
        {"name": "a_1"},
        {"description": "d" * 500},
        {"cmd": "c" * 2000},
        {"timeout_ms": 1},
        {"timeout_ms": 600_000},
        {"args": {}},
        {"args": arguments(10)},
        {"args": {"a": {"type": "integer", "default": 3}}},
        {"args": {"a": {"type": "number", "default": 0.5}}},
        {"args": {"a": {"type": "number", "default": 1}}},
        {"args": {"a": {"type": "boolean", "default": False}}},
        {"args": {"a" * 40: {}}},
        {"args": {"a": {"description": "d" * 500}}},
        {"returns": "text"},
    ],
)
def test_a_definition_within_its_limits(fields):
    assert isinstance(template(**fields), ToolTemplate)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "ab"},
        {"name": "a" * 65},
        {"name": "1ab"},
        {"name": 3},
        {"description": "d" * 501},
        {"description": "  "},
        {"description": 3},
        {"cmd": "c" * 2001},
        {"cmd": "  "},
        {"cmd": ["wc"]},
        {"timeout_ms": 0},
        {"timeout_ms": 600_001},
        {"timeout_ms": 5.0},
        {"timeout_ms": True},
        {"args": []},
        {"args": arguments(11)},
        {"args": {"a": 3}},
        {"args": {"a": {"kind": "string"}}},
        {"args": {"A": {}}},
        {"args": {"a" * 41: {}}},
        {"args": {"a": {"type": "integer", "default": True}}},
        {"args": {"a": {"type": "integer", "default": 0.5}}},
        {"args": {"a": {"type": "boolean", "default": 1}}},
        {"args": {"a": {"required": 1}}},
        {"args": {"a": {"description": 1}}},
        {"args": {"a": {"description": "d" * 501}}},
        {"cmd": "wc {{b}}", "args": {"a": {}}},
        {"cmd": "wc {{a", "args": {"a": {}}},
        {"cmd": "wc a}}"},
        {"cmd": "wc 'x"},
        {"cmd": "wc # {{a}}", "args": {"a": {}}},
        {"cmd": "wc x{{a}}", "args": {"a": {}}},
        {"cmd": "wc '{{a}}'", "args": {"a": {}}},
        {"unknown": 1},
    ],
)
def test_a_definition_beyond_its_limits(fields):
    with pytest.raises(ValueError):
        template(**fields)


def test_there_are_ten_tools_at_most_and_each_has_a_name_of_its_own():
    many = [{**TOOL, "name": f"count_{n}"} for n in range(11)]

    assert len(read_templates(many[:10])) == 10
    for wrong in (many, [TOOL, TOOL], TOOL, None):
        with pytest.raises(ValueError):
            read_templates(wrong)


def test_what_a_definition_leaves_out():
    one = template(description=" two  words ", args={"a": {}, "b": {"default": "x"}})

    assert one.description == "two words"
    assert one.timeout_s == 30
    assert template(timeout_ms=1500).timeout_s == 1.5
    first, second = one.arguments
    assert (first.type, first.required, first.default) == ("string", True, None)
    assert (second.type, second.required, second.default) == ("string", False, "x")


def test_the_schema_of_the_arguments():
    args = {
        "a": {"description": "First."},
        "b": {"type": "integer", "default": 3},
        "c": {"type": "boolean", "required": False},
    }

    assert template(cmd="wc {{a}} {{b}} {{c}}", args=args).schema() == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "First.", "maxLength": 4000},
            "b": {"type": "integer", "description": "b", "default": 3},
            "c": {"type": "boolean", "description": "c"},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("command", "value", "expanded"),
    [
        ("wc {{a}}", "x", "wc x"),
        ("wc {{ a }}", "x y", "wc 'x y'"),
        ("wc {{a}}", None, "wc ''"),
        ("wc {{a}}", True, "wc true"),
        ("wc {{a}}", False, "wc false"),
        ("wc {{a}}", -3, "wc -3"),
        ("wc -- {{a}}", "-x", "wc -- -x"),
        ("wc {{a}} $SKILL_DIR", "x", "wc x '/my dir'"),
        ("wc {{a}} ${SKILL_DIR}/b", "x", "wc x '/my dir'/b"),
        ('wc {{a}} "$SKILL_DIR"', "x", 'wc x "/my dir"'),
        ("wc {{a}} '$SKILL_DIR'", "x", "wc x '$SKILL_DIR'"),
        ("wc {{a}} \\$SKILL_DIR", "x", "wc x \\$SKILL_DIR"),
        ("wc {{a}} $SKILL_DIRS", "x", "wc x $SKILL_DIRS"),
        ("wc 'q' {{a}} $SKILL_DIR", "x", "wc 'q' x '/my dir'"),
    ],
)
def test_a_value_and_the_folder_are_words_of_the_command(command, value, expanded):
    one = template(cmd=command, args={"a": {}})

    assert one.expand({"a": value}, "/my dir") == expanded


@pytest.mark.parametrize(
    ("command", "value"),
    [("wc {{a}}", "-x"), ("wc {{a}}", "x\0"), ("wc -- y; wc {{a}}", "-x"), ("wc {{a}} --", "-x")],
)
def test_a_value_that_would_be_an_option_is_refused(command, value):
    with pytest.raises(ValueError):
        template(cmd=command, args={"a": {}}).expand({"a": value}, "/d")
