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

    assert all("properties" in schema_of(tool) for tool in tools)
    assert len(tools) == len(handrail("tools", "--json").lines)


def test_one_tool_is_shown_with_its_description_and_arguments(handrail, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    out = handrail("tools", "grep").out
    lines = out.splitlines()

    assert lines[0] == "grep  (search, read)"
    assert any(line.startswith("Narrow the search with") for line in lines)
    at = lines.index("ARGUMENT     TYPE                      ABOUT")
    assert lines[at + 1].split()[:4] == ["pattern", "string", "Required.", "Regular"]
    assert "(default: 100)" in out
    assert [line for line in lines if len(line) > 80 or "…" in line] == []


def test_one_tool_is_known_by_the_names_of_every_dialect_and_told_in_the_chosen_one(handrail):
    claude = handrail("--dialect", "claude", "tools", "read_file").out
    both = handrail("--dialect", "architect", "tools", "Grep").out
    grep = handrail("--dialect", "architect", "tools", "grep").out
    code = handrail("--dialect", "architect", "tools", "search_code").out

    assert claude.startswith("Read  (search, read; canonical name read_file)\n")
    assert "file_path" in claude
    # Two names of one tool, each with its own description; another dialect's name means both.
    assert grep.startswith("grep  (")
    assert code.startswith("search_code  (")
    assert [name for name in ("search_code  (", "grep  (") if name not in both] == []


def test_one_tool_as_json_carries_its_schema(handrail):
    tool = handrail("tools", "edit_file", "--json").json
    declared = json.loads(handrail("tools", "edit_file", "--format", "anthropic").out)

    assert tool["schema"]["required"] == ["path", "old_string", "new_string"]
    assert [(one["name"], one["input_schema"]) for one in declared] == [
        ("edit_file", tool["schema"])
    ]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (
            "reed_file",
            "unknown_tool: there is no tool named 'reed_file'\nhint: did you mean read_f",
        ),
        ("\x1b[2J", "unknown_tool: there is no tool named"),
        ("delete_file", "unavailable: the tool 'delete_file' is disabled"),
    ],
)
def test_a_tool_that_is_not_shown_says_why(handrail, name, complaint):
    done = handrail("tools", name)

    assert (done.code, done.out) == (2 if "unknown_tool" in complaint else 1, "")
    assert done.err.startswith(complaint)
    assert "\x1b" not in done.err


def test_looking_at_the_tools_leaves_no_record(handrail, own_home):
    handrail("tools")

    assert [path for path in own_home.rglob("*") if path.is_file()] == []
