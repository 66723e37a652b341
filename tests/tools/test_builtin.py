import json
import os
import re

import pytest

from handrail.core.arguments.path_arguments import read_path_arguments
from handrail.core.arguments.schema import json_schema
from handrail.core.paths import PathUse
from handrail.tools.builtin import (
    builtin_tools,
    command_tools,
    filesystem_tools,
    remote_tools,
    search_tools,
    session_tools,
    task_tools,
    web_tools,
)

ACTING = {
    *("run_command", "execute_code", "job_kill"),
    *("enter_plan_mode", "exit_plan_mode", "lock_paths", "unlock_paths"),
    *("job_write", "ask_user", "todo_write", "task_create", "task_update", "mcp_call"),
    "subagent",
}
WRITING = {
    *("write_file", "edit_file", "apply_patch", "notebook_edit", "delete_file", "undo"),
    "lsp_rename",
}


@pytest.mark.feature("C14")
def test_tools_come_in_groups_that_make_up_the_whole(workspace):
    services = workspace.services

    filesystem = [tool.name for tool in filesystem_tools(services)]
    search = [tool.name for tool in search_tools(services)]
    commands = [tool.name for tool in command_tools(services)]

    assert search == ["find_files", "grep", "lsp"]
    jobs = ["job_output", "job_kill", "job_write", "job_list"]
    assert commands == ["run_command", *jobs, "execute_code"]
    session = [tool.name for tool in session_tools(services)]
    assert session[:2] == ["undo", "show_changes"]
    assert session[2:] == [
        *("enter_plan_mode", "exit_plan_mode", "lock_paths", "unlock_paths", "ask_user", "skill"),
        "subagent",
    ]
    tasks = [tool.name for tool in task_tools(services)]
    assert tasks == ["todo_write", "task_create", "task_update", "task_get", "task_list"]
    every = [tool.name for tool in builtin_tools(services)]
    web = [tool.name for tool in web_tools(services)]
    assert web == ["web_fetch", "web_search", "screenshot"]
    remote = [tool.name for tool in remote_tools(services)]
    assert remote == ["tool_search", "mcp_call"]
    listed = filesystem + session[:2] + search + commands + session[2:] + tasks + web + remote
    assert every == listed


def test_only_tools_that_plan_changes_write(workspace):
    for name, tool in workspace.tools.items():
        writes = PathUse.WRITE in read_path_arguments(tool.params).uses
        assert tool.plans == (name in WRITING)
        assert tool.idempotent == (name not in WRITING and name not in ACTING)
        # What an undo changes is named by the record, not by an argument.
        assert writes == (name in WRITING and name != "undo")


@pytest.mark.feature("A24", "B09")
def test_results_are_bounded_per_tool(workspace):
    limits = {name: tool.max_chars for name, tool in workspace.tools.items()}

    assert limits == dict.fromkeys(workspace.tools, 30_000) | {
        "read_file": 100_000,
        "grep": 20_000,
    }


def test_every_tool_has_prose_that_names_only_what_exists(workspace):
    for tool in workspace.tools.values():
        prose = tool.describe(workspace.session)
        schema = json_schema(tool.params)
        names = set(re.findall(r"\[\[(.*?)\]\]", prose + json.dumps(schema)))
        known = set(tool.params.model_fields) | {f"tool:{name}" for name in workspace.tools}

        assert len(prose) > 40
        assert names <= known


def test_every_argument_is_explained_or_speaks_for_itself(workspace):
    bare = {
        f"{tool.name}.{name}"
        for tool in workspace.tools.values()
        for name, field in tool.params.model_fields.items()
        if not field.description
    }

    assert bare == {"grep.ignore_case"}


def test_what_a_model_is_shown_stays_short(workspace):
    shown = [
        {
            "name": tool.name,
            "description": tool.describe(workspace.session),
            "parameters": json_schema(tool.params),
        }
        for tool in workspace.tools.values()
    ]

    assert len(json.dumps(shown)) < 1_250 * len(shown)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit_file", {"old_string": "a", "new_string": "b"}),
        ("write_file", {"content": "b"}),
        ("delete_file", {}),
    ],
)
async def test_a_file_too_large_to_hold_is_not_changed(workspace, name, arguments):
    target = workspace.write("sparse", "")
    os.truncate(target, 600_000_000)

    problem = await workspace.problem(name, path="sparse", **arguments)

    assert problem.code == "too_large"
    assert target.stat().st_size == 600_000_000


ODD = "x\nauth.py"
ESCAPED = r"'x\nauth.py'"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("list_files", {}, f"{ESCAPED}\nauth.py"),
        ("list_files", {"recursive": True}, f"auth.py\n{ESCAPED}"),
        ("find_files", {"pattern": "*.py"}, f"auth.py\n{ESCAPED}"),
        ("grep", {"pattern": "eval"}, f"auth.py\n{ESCAPED}"),
        ("grep", {"pattern": "eval", "output_mode": "count"}, f"auth.py:1\n{ESCAPED}:1"),
        (
            "grep",
            {"pattern": "eval", "output_mode": "content"},
            f"auth.py:1:eval\n{ESCAPED}:1:eval",
        ),
    ],
)
async def test_a_name_with_a_line_break_is_one_quoted_line(workspace, tool, arguments, expected):
    workspace.write("auth.py", "eval\n")
    workspace.write(ODD, "eval\n")

    output = await workspace.run(tool, **arguments)

    assert sorted(output.text.split("\n")) == sorted(expected.split("\n"))
    assert ODD in str(output.data).replace("\\n", "\n")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("'x\\n.py'", "\"'x\\\\n.py'\""),
        ("[nothing in .]", "'[nothing in .]'"),
        ("a\x1b[2J", r"'a\x1b[2J'"),
        ("a\u202eb", r"'a\u202eb'"),
        ("plain name-ü.txt", "plain name-ü.txt"),
        ("app[1].txt", "app[1].txt"),
    ],
)
async def test_a_name_is_quoted_only_if_it_could_be_taken_for_more(workspace, name, line):
    workspace.write(name, "x\n")

    assert (await workspace.run("list_files")).text == line


async def test_a_name_with_a_colon_forges_no_line_of_another_file(workspace):
    workspace.write("auth.py:7:eval(x)", "eval\n")

    output = await workspace.run("grep", pattern="eval", output_mode="content")

    assert output.text == "'auth.py:7:eval(x)':1:eval"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"content": "new\n"}),
        ("write_file", {"content": "new\n", "mode": "append"}),
        ("write_file", {"content": "old\n"}),
        ("edit_file", {"old_string": "old", "new_string": "new"}),
        ("delete_file", {}),
    ],
)
async def test_a_path_forges_no_line_of_what_a_person_is_shown(workspace, tool, arguments):
    name = "notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n+harmless"
    workspace.write(name, "old\n")

    plan = await workspace.plan(tool, path=name, **arguments)
    created = await workspace.plan("write_file", path=f"{name}2", content="x\n")

    for text in (plan.text, plan.preview, created.text, created.preview):
        assert "+harmless" not in text.split("\n")
        assert "+++ b/notes.txt" not in text.split("\n")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"content": "new\n"}),
        ("write_file", {"content": "new\n", "mode": "append"}),
        ("edit_file", {"old_string": "old", "new_string": "new"}),
        ("delete_file", {}),
    ],
)
async def test_a_read_only_file_is_not_changed(workspace, tool, arguments):
    workspace.write("ro.txt", "old\n").chmod(0o444)

    problem = await workspace.problem(tool, path="ro.txt", **arguments)

    assert problem.code == "denied"
    assert "read-only" in problem.message
    assert "chmod" in problem.hint
