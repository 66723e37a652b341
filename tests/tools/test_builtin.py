import json
import os
import re

import pytest

from handrail.core.paths import PathUse, path_fields
from handrail.core.schema import schema_of
from handrail.tools.builtin import builtin_tools, filesystem_tools, search_tools

WRITING = {"write_file", "edit_file", "notebook_edit", "delete_file"}


@pytest.mark.feature("C14")
def test_tools_come_in_groups_that_make_up_the_whole(workspace):
    services = workspace.services

    filesystem = [tool.name for tool in filesystem_tools(services)]
    search = [tool.name for tool in search_tools(services)]

    assert search == ["find_files", "grep"]
    assert [tool.name for tool in builtin_tools(services)] == filesystem + search


def test_only_tools_that_plan_changes_write(workspace):
    for name, tool in workspace.tools.items():
        writes = PathUse.WRITE in path_fields(tool.params).values()
        assert (writes, tool.plans, tool.idempotent) == (
            name in WRITING,
            name in WRITING,
            name not in WRITING,
        )


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
        schema = schema_of(tool.params)
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
            "parameters": schema_of(tool.params),
        }
        for tool in workspace.tools.values()
    ]

    assert len(json.dumps(shown)) < 8_800


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
