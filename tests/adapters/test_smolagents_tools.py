"""The tools for smolagents, without the framework."""

import pytest
from tests.support.framework_doubles import load_adapter

import handrail.sync


class Tool:
    pass


@pytest.fixture
def adapter(monkeypatch):
    return load_adapter(monkeypatch, "smolagents", "smolagents", Tool=Tool)


@pytest.fixture
def rt(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    with handrail.sync.open(tmp_path, store=":memory:") as opened:
        yield opened


def test_a_tool_is_called_with_values_and_names(adapter, rt):
    (tool,) = adapter.handrail_tools(rt, tools=["read_file"])

    assert tool.name == "read_file"
    assert tool.description
    assert next(iter(tool.inputs)) == "path"
    assert "nullable" not in tool.inputs["path"]
    assert tool.inputs["limit"]["nullable"] is True
    assert "one" in tool.forward("a.txt")
    second = tool.forward(path="a.txt", offset=2)
    assert "two" in second
    assert "one" not in second
    with pytest.raises(adapter.ToolCallFailed) as raised:
        tool.forward("nope.txt")
    assert raised.value.result.problem.code == "not_found"
    assert "nope.txt" in str(raised.value)


def test_all_tools_that_a_model_is_shown_are_offered(adapter, rt):
    tools = adapter.handrail_tools(rt)

    assert len(tools) > 3
    assert all(tool.name.isidentifier() for tool in tools)


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "integer"]}, ["string", "integer"]),
        ({"type": ["string", "nope"]}, "any"),
        ({"type": "nope"}, "any"),
        ({}, "any"),
        ({"anyOf": [{"type": "string"}, {"type": "boolean"}]}, ["string", "boolean"]),
        ({"anyOf": [{"type": "string"}, {"type": "string"}]}, "string"),
        ({"oneOf": [{"type": "integer"}]}, "integer"),
        ({"anyOf": [{"type": "string"}, {"$ref": "x"}]}, "string"),
        ({"anyOf": [{"$ref": "x"}]}, "any"),
    ],
)
def test_the_type_of_an_argument(adapter, schema, found):
    assert adapter._type(schema) == found


def test_arguments_have_a_description_and_may_be_missing(adapter):
    parameters = {
        "required": ["a"],
        "properties": {"a": {"type": "string", "description": "A."}, "b": {"type": "integer"}},
    }

    assert adapter._inputs(parameters) == {
        "a": {"type": "string", "description": "A."},
        "b": {"type": "integer", "description": "b", "nullable": True},
    }
    assert adapter._inputs({}) == {}
