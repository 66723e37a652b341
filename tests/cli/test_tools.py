import json

import pytest


def test_the_table_names_every_tool_with_its_group_and_access(handrail):
    lines = handrail("tools").out.splitlines()

    assert lines[0].split() == ["NAME", "GROUP", "ACCESS", "SUMMARY"]
    rows = {line.split()[0]: line.split()[1:3] for line in lines[1:]}
    assert rows["read_file"] == ["search", "read"]
    assert rows["edit_file"] == ["edit", "write"]
    assert rows["grep"] == ["search", "read"]


def test_the_table_speaks_the_chosen_dialect(handrail):
    names = [line.split()[0] for line in handrail("--dialect", "claude", "tools").out.splitlines()]

    assert {"Read", "Edit", "Write", "Grep", "Glob"} <= set(names)


def test_json_is_one_object_per_tool(handrail):
    tools = {tool["name"]: tool for tool in handrail("tools", "--json").lines}

    assert tools["read_file"] == {
        "name": "read_file",
        "tool": "read_file",
        "group": "search",
        "reads_only": True,
        "summary": tools["read_file"]["summary"],
    }


@pytest.mark.feature("A19")
@pytest.mark.parametrize(
    ("form", "schema_of"),
    [
        ("openai", lambda tool: tool["function"]["parameters"]),
        ("openai-responses", lambda tool: tool["parameters"]),
        ("anthropic", lambda tool: tool["input_schema"]),
        ("mcp", lambda tool: tool["inputSchema"]),
    ],
)
def test_a_format_is_what_the_provider_takes(handrail, form, schema_of):
    tools = json.loads(handrail("tools", "--format", form).out)

    assert all("path" in schema_of(tool)["properties"] for tool in tools)
    assert len(tools) == len(handrail("tools", "--json").lines)


def test_looking_at_the_tools_leaves_no_record(handrail, own_home):
    handrail("tools")

    assert [path for path in own_home.rglob("*") if path.is_file()] == []
