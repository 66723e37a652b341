"""Architect's document: what its vocabulary declares is enforced, and names mean what it says."""

import json
import shlex

import pytest
from tests.seeds.test_remote_tools import remote  # noqa: F401

SETTINGS = {"dialect": "architect", "mode": "yolo", "config": {"accept_no_sandbox": True}}


def hook(command, **fields):
    return {"name": "guard", "command": command, **fields}


class TestDeclaredValues:
    @pytest.mark.feature("E42", "P02", "P03")
    @pytest.mark.parametrize(
        ("tool", "arguments"),
        [
            ("dispatch_subagent", {"task": "Do", "agent_type": "general"}),
            ("dispatch_subagent", {"task": "Do", "agent": "shell"}),
            ("dispatch_subagent", {"task": "Do"}),
            ("Task", {"prompt": "Do", "description": "Do", "subagent_type": "general"}),
            ("create_subtask_general", {"task": "Do"}),
            ("subagent", {"task": "Do", "agent": "general"}),
        ],
    )
    def test_no_name_starts_an_agent_that_may_change_files(self, walk, tool, arguments):
        problem = walk.call(tool, **arguments).problem

        assert problem.message.startswith("Invalid arguments: ")
        assert {problem.field} <= {"agent_type", "agent", "subagent_type"}

    @pytest.mark.feature("E42")
    def test_the_three_types_are_required_and_named(self, walk):
        shown = walk.schema("dispatch_subagent")
        problem = walk.call("dispatch_subagent", task="Do", agent_type="nobody").problem

        assert shown["required"] == ["task", "agent_type"]
        assert shown["properties"]["agent_type"]["enum"] == ["explore", "test", "review"]
        assert "'explore', 'test', 'review'" in problem.message
        assert "general" not in problem.message
        # A type in any case is one of them.
        called = walk.call("dispatch_subagent", task="Do", agent_type="Explore")
        assert "no model" in called.problem.message

    @pytest.mark.feature("E28")
    @pytest.mark.parametrize("seconds", [0.5, "0.5", 601])
    def test_a_time_outside_of_the_declared_one_is_refused(self, walk, seconds):
        assert walk.code("run_command", command="echo x", timeout=seconds) == "invalid_arguments"

    @pytest.mark.feature("E28", "Y06")
    def test_the_time_of_the_settings_is_the_declared_default(self, open_walk):
        with open_walk(config={"commands": {"default_timeout": 2}}) as walk:
            timeout = walk.schema("run_command")["properties"]["timeout"]

        assert (timeout["default"], timeout["minimum"], timeout["maximum"]) == (2, 1, 600)

    @pytest.mark.feature("E18")
    def test_a_patch_for_another_file_is_not_told_to_leave_out_the_path(self, walk):
        walk.write("a.txt", "one\n")
        patch = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+two\n"
        walk.write("b.txt", "one\n")

        problem = walk.call("apply_patch", path="a.txt", patch=patch).problem

        assert problem.code == "invalid_arguments"
        assert "leave" not in problem.hint
        assert walk.read("b.txt") == "one\n"


class TestNames:
    @pytest.mark.feature("C03", "C04", "C06")
    def test_the_registry_knows_the_shown_names(self, walk):
        registry = walk.rt.registry
        chosen = registry.filter_by_names(["search_code", "read_file", "none"])

        assert registry.has_tool("search_code")
        assert registry.get("search_code") is registry.get("grep")
        assert not registry.has_tool("Bash")
        assert registry.missing(["search_code", "none"]) == ["none"]
        assert [tool.name for tool in chosen] == ["grep", "read_file"]
        assert len(chosen) == 2

    @pytest.mark.feature("A07")
    def test_starting_an_agent_is_not_sensitive(self, walk):
        assert walk.rt.registry.get("dispatch_subagent").sensitive is False

    @pytest.mark.feature("C17", "Y06")
    @pytest.mark.parametrize("enabled", [True, False])
    def test_the_tool_for_commands_is_there_only_if_they_are_enabled(self, open_walk, enabled):
        with open_walk(config={"commands": {"enabled": enabled}}) as walk:
            assert walk.rt.has_tool("run_command") is enabled
            assert walk.rt.has_tool("read_file")

    @pytest.mark.feature("W02", "W03")
    def test_planned_actions_have_the_words_of_the_caller(self, open_walk):
        edit = {"path": "a.txt", "old_str": "one", "new_str": "two"}
        with open_walk(dry_run=True) as walk:
            walk.write("a.txt", "one\n")
            walk.call("edit_file", **edit)
            walk.call("run_command", command="touch x", timeout=5)
            actions = walk.rt.planned_actions

        assert [(one.tool_name, one.tool_input) for one in actions] == [
            ("edit_file", edit),
            ("run_command", {"command": "touch x", "timeout": 5}),
        ]

    @pytest.mark.feature("N03")
    @pytest.mark.parametrize("dialect", ["architect", "claude"])
    def test_the_short_name_of_a_declared_remote_tool(self, remote, dialect):  # noqa: F811
        with remote(dialect=dialect, mode="yolo") as walk:
            result = walk.call("mcp_demo_add", a=2, b=3)

        assert (result.ok, "5" in result.text) == (True, True), result.text


class TestHooks:
    @pytest.mark.feature("K08")
    @pytest.mark.parametrize("named", ["grep", "search_code"])
    def test_a_matcher_means_one_of_the_two_search_tools(self, open_walk, named):
        guard = hook("exit 2", matcher=named, unconfined=True)
        config = {"hooks": {"pre_tool_use": [guard]}}
        with open_walk(mode="yolo", config=config) as walk:
            codes = {
                tool: walk.code(tool, pattern="x", file_pattern="*", max_results=100)
                for tool in ("grep", "search_code")
            }
            # The name of another vocabulary is that of the tool that takes a pattern.
            foreign = walk.code("Grep", pattern="x")

        assert {tool for tool, code in codes.items() if code} == {named}
        assert (foreign is not None) == (named == "search_code")

    @pytest.mark.feature("K04")
    def test_updated_arguments_are_merged_into_the_others(self, open_walk):
        answer = shlex.quote(json.dumps({"updatedInput": {"content": "changed\n"}}))
        guard = hook(f"echo {answer}", matcher="write_file", unconfined=True)
        with open_walk(mode="yolo", config={"hooks": {"pre_tool_use": [guard]}}) as walk:
            result = walk.call("write_file", path="a.txt", content="mine\n")
            written = walk.read("a.txt")

        assert result.ok, result.text
        assert written == "changed\n"
