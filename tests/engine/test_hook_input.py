"""What a hook reads about a call: fields, variables, and paths that are resolved."""

import json
from types import SimpleNamespace

import pytest

from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Status, ToolResult
from handrail.engine.hooking.callbacks import HookCall
from handrail.engine.hooking.hook_input import (
    MAX_OUTPUT_CHARS,
    ClaudeCall,
    HookInput,
    check_environment,
    own_payload,
    resolved_arguments,
)
from handrail.hooks.spec import HookEvent

SESSION = SimpleNamespace(
    id="s", roots=("/w",), working_directory=SimpleNamespace(directory="/w/sub")
)


def call(tool="read_file", arguments=None, **fields):
    return HookCall("c", tool, arguments or {}, 1, "main", **fields)


def payload(hook_call=None, *, file=None, result=None, foreign=None, extra=None):
    event = HookEvent.POST_TOOL_USE if result else HookEvent.PRE_TOOL_USE
    made = own_payload(HookInput(event, hook_call, result, extra or {}), SESSION, file, foreign)
    assert made.stdin.endswith(b"\n")
    assert made.stdin.count(b"\n") == 1
    return json.loads(made.stdin), made.env


def test_an_event_without_a_call():
    fields, env = payload(extra={"reason": "x"})

    assert fields == {
        "event": "pre_tool_use",
        "session_id": "s",
        "workspace": "/w",
        "cwd": "/w/sub",
        "reason": "x",
    }
    assert env == {
        f"{prefix}_{name}": value
        for prefix in ("HANDRAIL", "ARCHITECT")
        for name, value in {
            "REASON": "x",
            "EVENT": "pre_tool_use",
            "WORKSPACE": "/w",
            "SESSION_ID": "s",
        }.items()
    }


def test_a_call_about_a_file():
    made = call(arguments={"path": "a", "limit": 3}, paths={"path": "/w/a"})

    fields, env = payload(made, file="/w/a")

    assert fields["tool_name"] == "read_file"
    assert fields["call_id"] == "c"
    assert fields["tool_input"] == {"path": "a", "limit": 3}
    assert fields["file_path"] == env["HANDRAIL_FILE_PATH"] == "/w/a"
    assert env["HANDRAIL_TOOL_NAME"] == "read_file"
    assert "HANDRAIL_COMMAND" not in env
    assert "success" not in fields


@pytest.mark.parametrize(
    ("made", "command"),
    [
        (call("run_command", {"command": "ls"}), "ls"),
        (call("execute_code", {"code": "x()"}, runs_command=True), "x()"),
        (call("own", {"code": "x()"}), None),
        (call("own", {"command": ["ls"]}), None),
    ],
)
def test_a_command_is_a_variable(made, command):
    _, env = payload(made)

    assert env.get("HANDRAIL_COMMAND") == env.get("ARCHITECT_COMMAND") == command


def test_a_call_in_the_words_of_another_vocabulary_keeps_ours():
    fields, env = payload(
        call(arguments={"path": "a"}), foreign=ClaudeCall("Read", {"file_path": "a"})
    )

    assert (fields["tool_name"], fields["tool_input"]) == ("Read", {"file_path": "a"})
    assert fields["handrail"] == {"tool_name": "read_file", "tool_input": {"path": "a"}}
    assert env["HANDRAIL_TOOL_NAME"] == "Read"


@pytest.mark.parametrize(
    ("status", "problem", "expected"),
    [
        (Status.OK, None, {"success": True}),
        (Status.PLANNED, None, {"success": True}),
        (Status.FAILED, None, {"success": False, "error": "text", "error_code": "failed"}),
        (
            Status.FAILED,
            Problem("not_found", "why"),
            {"success": False, "error": "why", "error_code": "not_found"},
        ),
    ],
)
def test_the_outcome_of_a_call(status, problem, expected):
    fields, env = payload(call(), result=ToolResult("c", status, "text", problem=problem))

    shown = {name: fields[name] for name in ("success", "error", "error_code") if name in fields}
    assert shown == expected
    assert fields["tool_output"] == "text"
    assert env["HANDRAIL_TOOL_RESULT_SUCCESS"] == ("true" if expected["success"] else "false")


def test_output_is_cut():
    long = "a" * MAX_OUTPUT_CHARS + "b"
    fields, _ = payload(call(), result=ToolResult("c", Status.FAILED, long))

    assert fields["tool_output"] == fields["error"] == "a" * MAX_OUTPUT_CHARS


@pytest.mark.parametrize(
    ("arguments", "paths", "expected"),
    [
        ({"path": "a"}, {}, {"path": "a"}),
        ({"path": "a"}, {"path": "/w/a"}, {"path": "</w/a>"}),
        ({"path": "a", "other": "a"}, {"path": "/w/a"}, {"path": "</w/a>", "other": "a"}),
        ({"paths": ["a", "b"]}, {"paths[1]": "/w/b"}, {"paths": ["a", "</w/b>"]}),
        (
            {"edits": [{"path": "a", "n": 1}, {"path": "b"}]},
            {"edits[0].path": "/w/a", "edits[1].path": "/w/b"},
            {"edits": [{"path": "</w/a>", "n": 1}, {"path": "</w/b>"}]},
        ),
        ({"table": {"k": "a"}}, {"table['k']": "/w/a"}, {"table": {"k": "</w/a>"}}),
        (
            {"table": {"k": {"path": "a"}}},
            {"table['k'].path": "/w/a"},
            {"table": {"k": {"path": "</w/a>"}}},
        ),
        ({"n": 3}, {"n": "/w/3"}, {"n": 3}),
        ({"path": None}, {"path": "/w/a"}, {"path": None}),
    ],
)
def test_paths_are_resolved_also_inside_of_other_values(arguments, paths, expected):
    assert resolved_arguments(call(arguments=arguments, paths=paths), "<{}>".format) == expected


@pytest.mark.parametrize(
    ("path", "shown"), [("/w/a", "a"), ("/w", "."), ("/w2/a", "/w2/a"), ("/etc/x", "/etc/x")]
)
def test_a_path_of_the_workspace_is_relative_to_it(path, shown):
    fields, _ = payload(call(arguments={"path": "p"}, paths={"path": path}))

    assert fields["tool_input"] == {"path": shown}


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("a" * 100_000, True),
        ("a" * 100_001, False),
        ("ä" * 50_001, False),
        ("a\0b", False),
        ("", True),
    ],
)
def test_a_variable_that_a_program_cannot_get_is_a_problem(value, fits):
    try:
        check_environment({"A": value})
        code = None
    except ProblemRaised as raised:
        code = raised.problem.code

    assert code == (None if fits else "too_large")
