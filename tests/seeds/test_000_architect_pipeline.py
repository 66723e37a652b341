"""Architect's document, from the check of paths to dry runs: registry, steps of a call,
confirmation, hooks, guardrails.
"""

import json

import pytest

import handrail

SETTINGS = {"dialect": "architect", "mode": "yolo", "config": {"accept_no_sandbox": True}}
SENSITIVE = {
    "write_file": {"path": "w.txt", "content": "x"},
    "delete_file": {"path": "a.txt"},
    "edit_file": {"path": "a.txt", "old_str": "one", "new_str": "two"},
    "apply_patch": {"path": "a.txt", "patch": "@@ -1 +1 @@\n-one\n+two\n"},
}
READING = {
    "read_file": {"path": "a.txt"},
    "list_files": {},
    "search_code": {"pattern": "x"},
    "grep": {"pattern": "x"},
    "find_files": {"pattern": "*"},
}
EVENTS = {
    # Event → whether its hooks can stop what it is about.
    "pre_tool_use": True,
    "post_tool_use": False,
    "pre_llm_call": True,
    "post_llm_call": False,
    "session_start": False,
    "session_end": False,
    "on_error": False,
    "budget_warning": False,
    "context_compress": False,
    "agent_complete": False,
}


def hook(command, **fields):
    return {"name": "h", "command": command, **fields}


class TestPaths:
    @pytest.mark.feature("I01", "I02", "I06")
    @pytest.mark.parametrize(
        "path", ["../../etc/passwd", "/etc/passwd", "link/passwd", "sub/../../x"]
    )
    def test_what_leads_out_of_the_workspace_is_refused(self, walk, path):
        walk.write("sub/a.txt", "inside\n")
        if not (walk.root / "link").is_symlink():
            (walk.root / "link").symlink_to("/etc")

        assert walk.code("read_file", path=path) == "outside_workspace"
        assert walk.code("write_file", path=path, content="") == "outside_workspace"

    @pytest.mark.feature("I01", "I03")
    def test_a_path_that_stays_inside_is_normalised(self, walk):
        walk.write("sub/a.txt", "inside\n")

        assert walk.call("read_file", path="sub/../sub/a.txt").text == "inside"
        assert walk.call("read_file", path=str(walk.root / "sub/a.txt")).text == "inside"


class TestRegistry:
    @pytest.mark.feature("C01", "C03", "C04", "C06")
    def test_registering_and_finding(self, open_walk):
        @handrail.tool(reads_only=True)
        def one() -> str:
            """One."""
            return "1"

        with open_walk(tools=[one]) as walk:
            registry = walk.rt.registry
            with pytest.raises(handrail.DuplicateToolError):
                walk.rt.register(one)
            walk.rt.register(one, allow_override=True)
            with pytest.raises(handrail.ToolNotFoundError):
                registry.get("none")
            names = [tool.name for tool in registry.list_all()]
            assert names == sorted(names)
            assert registry.has_tool("one")
            assert not registry.has_tool("none")
            assert registry.count() == len(names)
            assert registry.filter_by_names(["one", "none"]).count() == 1

    @pytest.mark.feature("C05")
    def test_schemas_of_all_or_of_those_that_are_named(self, walk):
        registry = walk.rt.registry
        named = registry.get_schemas(["read_file", "list_files", "no_such_tool"])

        assert [one["function"]["name"] for one in named] == ["read_file", "list_files"]
        assert len(registry.get_schemas()) == registry.count()
        assert registry.get_schemas([]) == []

    @pytest.mark.feature("C05")
    def test_declaring_a_name_that_no_tool_has_is_an_error(self, walk):
        """Decided: the registry ignores an unknown name; `declare`, which decides what a model may
        call, raises."""
        with pytest.raises(handrail.ProblemRaised) as raised:
            walk.rt.declare("openai", allowed=["read_fil"])

        assert raised.value.problem.code == "invalid_arguments"

    @pytest.mark.feature("C01")
    def test_a_built_in_tool_is_never_replaced(self, walk):
        """Decided: `allow_override` is for tools of your own."""

        @handrail.tool(name="read_file", reads_only=True)
        def other() -> str:
            """Other."""
            return ""

        with pytest.raises(handrail.DuplicateToolError):
            walk.rt.register(other, allow_override=True)

    @pytest.mark.feature("C06")
    def test_a_registry_of_a_test_is_cleared(self):
        registry = handrail.Registry()
        registry.clear()

        assert registry.count() == 0

    @pytest.mark.feature("C17", "Y06")
    def test_an_agent_is_limited_by_its_allowed_tools(self, open_walk):
        agents = {"build": {"allowed_tools": ["read_file", "write_file"]}}
        with open_walk(mode="yolo", config={"agents": agents}) as walk:
            shown = walk.rt.declare("openai", agent="build")
            refused = walk.rt.call("run_command", {"command": "ls"}, agent="build")
            assert walk.rt.registry.has_tool("run_command")

        assert [one["function"]["name"] for one in shown] == ["read_file", "write_file"]
        assert refused.problem.code == "unknown_tool"


class TestSteps:
    @pytest.mark.feature("F01", "F02", "F04", "B07")
    def test_an_unknown_tool_and_wrong_arguments_are_results(self, walk):
        unknown, invalid = walk.call("no_such_tool"), walk.call("read_file", file=3.5, x=1)

        assert (unknown.ok, unknown.problem.code) == (False, "unknown_tool")
        assert (invalid.ok, invalid.problem.code) == (False, "invalid_arguments")
        assert invalid.text.startswith("Invalid arguments: ")

    @pytest.mark.feature("F05", "F06", "F07", "F18", "J01", "K14")
    def test_guardrails_hooks_confirmation_execution_hooks(self, open_walk):
        guards = {"protected_files": ["*.lock"]}
        hooks = {
            "pre_tool_use": [hook("exit 0")],
            "post_tool_use": [hook('echo \'{"additionalContext": "checked"}\'')],
        }
        with open_walk(
            mode="confirm-sensitive", config={"guardrails": guards, "hooks": hooks}
        ) as walk:
            blocked = walk.call("write_file", path="a.lock", content="")
            before = walk.types()
            walk.events.clear()
            done = walk.call("write_file", path="a.txt", content="x\n")

        assert blocked.text.startswith("Guardrail: ")
        assert "hook_ran" not in before
        assert len(walk.user.asked) == 1
        ran = [event.event for event in walk.events if event.type == "hook_ran"]
        assert ran == ["pre_tool_use", "post_tool_use"]
        assert "checked" in done.text

    @pytest.mark.feature("F07", "G03")
    def test_without_anybody_to_ask_the_call_is_refused_with_advice(self, command_line):
        """Decided: the advice names the mode that allows this call, not `yolo`."""
        done = command_line("--dialect", "architect", "call", "write_file", "path=a", "content=x")

        assert done.code == 3
        assert "--mode accept-edits" in done.out + done.err

    @pytest.mark.feature("F07", "G02")
    @pytest.mark.parametrize(
        ("answer", "status", "aborted"),
        [
            (handrail.Answer.YES, "ok", False),
            (handrail.Answer.NO, "refused", False),
            (handrail.Answer.ABORT, "interrupted", True),
        ],
    )
    def test_the_user_says_yes_no_or_abort(self, open_walk, answer, status, aborted):
        with open_walk(mode="confirm-sensitive", answer=answer) as walk:
            assert walk.call("write_file", path="a.txt", content="x").status == status
            assert walk.rt.aborted is aborted
            assert walk.call("list_files").ok is not aborted

    @pytest.mark.feature("F20", "K13")
    def test_the_result_is_logged(self, walk, caplog):
        with caplog.at_level("DEBUG", logger="handrail"):
            walk.call("read_file", path="none.txt")

        assert any("read_file" in record.getMessage() for record in caplog.records)

    @pytest.mark.feature("B07", "B08")
    def test_results_are_messages_of_the_conversation(self, walk):
        walk.write("a.txt", "one\n")
        response = {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "call_abc",
                    "type": "function",
                    "function": {
                        "name": "edit_file",
                        "arguments": json.dumps(SENSITIVE["edit_file"]),
                    },
                }
            ],
        }
        walk.rt.declare("openai")
        (message,) = walk.rt.answer(response)

        assert (message["role"], message["tool_call_id"]) == ("tool", "call_abc")
        assert "-one\n+two" in message["content"]


class TestConfirmation:
    @pytest.mark.feature("E63", "G01", "A07")
    @pytest.mark.parametrize("mode", ["yolo", "confirm-sensitive", "confirm-all"])
    def test_which_tools_are_asked_about(self, open_walk, mode):
        with open_walk(mode=mode, answer=False, allow_delete=True) as walk:
            walk.write("a.txt", "one\n")
            asked = set()
            for name, arguments in {**READING, **SENSITIVE}.items():
                walk.user.asked.clear()
                walk.call(name, **arguments)
                asked |= {name} if walk.user.asked else set()

        expected = {"yolo": set(), "confirm-sensitive": set(SENSITIVE)}
        assert asked == expected.get(mode, {*READING, *SENSITIVE})


class TestHooks:
    @pytest.mark.feature("K01", "K02", "K05")
    @pytest.mark.parametrize("event", EVENTS)
    def test_every_event_takes_hooks(self, open_walk, event):
        with open_walk(config={"hooks": {event: [hook("exit 0")]}}) as walk:
            assert walk.call("list_files").ok
        stops = {**hook("exit 0"), "on_failure": "deny"}
        if EVENTS[event]:
            with open_walk(config={"hooks": {event: [stops]}}):
                return
        with (
            pytest.raises(handrail.ProblemRaised) as raised,
            open_walk(config={"hooks": {event: [stops]}}),
        ):
            pass
        assert raised.value.problem.field == f"hooks.{event}[0].on_failure"

    @pytest.mark.feature("K04", "K05", "K07", "K10", "B15")
    def test_exit_codes_and_printed_objects(self, open_walk):
        update = json.dumps({"updatedInput": {"path": "b.txt", "content": "changed\n"}})
        scripts = {
            "block.txt": "echo because >&2; exit 2",
            "change.txt": f"printf %s '{update}'",
            "say.txt": """printf '{"additionalContext": "be careful"}'""",
            "env.txt": 'test "$ARCHITECT_EVENT:$ARCHITECT_TOOL_NAME" = pre_tool_use:write_file',
        }
        guards = [hook(script, file_patterns=[path]) for path, script in scripts.items()]
        with open_walk(mode="yolo", config={"hooks": {"pre_tool_use": guards}}) as walk:
            results = {path: walk.call("write_file", path=path, content="x") for path in scripts}

        assert results["block.txt"].text.startswith("Blocked by hook: because")
        assert walk.read("b.txt") == "changed\n"
        assert not (walk.root / "change.txt").exists()
        assert "be careful" in results["say.txt"].text
        assert results["env.txt"].ok

    @pytest.mark.feature("K06")
    def test_a_guard_that_fails_is_a_warning(self, open_walk):
        """Decided (0031): only a guard that failed in the sandbox, or could not be started, denies."""
        failing = {"pre_tool_use": [hook("exit 3", unconfined=True)]}
        with open_walk(mode="yolo", config={"hooks": failing}) as walk:
            assert walk.call("write_file", path="a.txt", content="x").ok
        failing["pre_tool_use"][0]["on_failure"] = "deny"
        with open_walk(mode="yolo", config={"hooks": failing}) as walk:
            assert walk.code("write_file", path="a.txt", content="x") == "blocked"

    @pytest.mark.feature("K05", "K06", "K12")
    def test_a_hook_behind_a_call_cannot_stop_it(self, open_walk):
        hooks = {"post_tool_use": [hook("echo found; exit 1"), hook("echo also >&2; exit 2")]}
        with open_walk(mode="yolo", config={"hooks": hooks}) as walk:
            result = walk.call("write_file", path="a.py", content="x = 1\n")

        assert result.ok
        assert "[Hook h: FAILED (exit 1)]\nfound" in result.text
        assert "also" in result.text

    @pytest.mark.feature("K11", "K12", "K09")
    def test_hooks_after_edits_of_older_configurations(self, open_walk):
        lint = {
            "name": "python-lint",
            "command": "echo checked {file}; exit 1",
            "file_patterns": ["*.py"],
        }
        with open_walk(mode="yolo", config={"hooks": {"post_edit": [lint]}}) as walk:
            walk.write("main.py", "x = 1\n")
            edited = walk.call("edit_file", path="main.py", old_str="1", new_str="2")
            read = walk.call("read_file", path="main.py")

        line = f"[Hook python-lint: FAILED (exit 1)]\nchecked {walk.root}/main.py"
        assert line in edited.text
        assert "Hook" not in read.text


GUARDRAILS = {
    "protected_files": ["*.lock"],
    "blocked_commands": [r"npm\s+publish"],
    "max_lines_changed": 3,
    "code_rules": [{"pattern": r"\beval\(", "message": "no eval", "severity": "block"}],
    "quality_gates": [{"name": "tests", "command": "false"}],
}


class TestGuardrails:
    @pytest.mark.feature("J02", "J03", "J04", "J05", "J08", "F05")
    def test_each_check_blocks(self, open_walk):
        with open_walk(mode="yolo", config={"guardrails": GUARDRAILS}) as walk:
            texts = [
                walk.call("write_file", path="uv.lock", content="").text,
                walk.call("run_command", command="npm  publish").text,
                walk.call("write_file", path="a.txt", content="1\n2\n3\n4\n").text,
                walk.call("write_file", path="a.py", content="eval(x)\n").text,
            ]

        assert [text.startswith("Guardrail: ") for text in texts] == [True] * 4

    @pytest.mark.feature("J06")
    def test_quality_gates_run_at_the_end(self, open_walk):
        rules = {"guardrails": GUARDRAILS, "accept_no_sandbox": True}
        with open_walk(mode="yolo", config=rules) as walk:
            (gate,) = walk.rt.wait(walk.rt.runtime.run_quality_gates())

        assert (gate.name, gate.passed) == ("tests", False)

    @pytest.mark.feature("J01", "J04")
    def test_what_only_the_plan_shows_is_checked_after_the_hooks(self, open_walk):
        """Decided (D3): files and commands are checked before hooks, which then do not run; what a
        change contains is checked after them, since a hook may replace the arguments."""
        config = {"guardrails": GUARDRAILS, "hooks": {"pre_tool_use": [hook("exit 0")]}}
        with open_walk(mode="yolo", config=config) as walk:
            walk.call("write_file", path="uv.lock", content="")
            static = walk.types().count("hook_ran")
            walk.call("write_file", path="a.py", content="eval(x)\n")
            by_content = walk.types().count("hook_ran")

        assert (static, by_content) == (0, 1)
