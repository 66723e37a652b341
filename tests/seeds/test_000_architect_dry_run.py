"""Architect's document on dry runs and quality gates: what is planned, what happens, and the plan at the
end.
"""

import json

import pytest
from tests.seeds.test_000_architect_pipeline import READING, SENSITIVE

SETTINGS = {"dialect": "architect"}


def scripted_call(name, arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


class TestQualityGates:
    @pytest.mark.feature("J06", "H08")
    def test_quality_gates_run_where_commands_are_switched_off(self, open_walk, command_line):
        gates = [
            {"name": "style", "command": "echo loose; false"},
            {"name": "ok", "command": "true"},
        ]
        rules = {"quality_gates": gates}
        config = {"guardrails": rules, "commands": {"enabled": False}, "accept_no_sandbox": True}
        with open_walk(config=config) as walk:
            style, ok = walk.rt.wait(walk.rt.runtime.run_quality_gates())
            assert walk.code("run_command", command="true") == "unavailable"
        file = command_line.root.parent / "architect.yaml"
        file.write_text(json.dumps({"guardrails": rules, "accept_no_sandbox": True}))
        done = command_line("--config", file, "--no-commands", "gates")

        assert (style.passed, ok.passed) == (False, True)
        assert "loose" in style.feedback
        assert done.code == 1
        assert "style: FAILED" in done.out
        assert "ok: passed" in done.out

    @pytest.mark.feature("J06", "W01")
    def test_a_dry_run_waits_for_no_quality_gate(self, open_walk):
        gates = [{"name": "tests", "command": "touch made"}]
        with open_walk(
            mode="yolo", dry_run=True, config={"guardrails": {"quality_gates": gates}}
        ) as walk:
            (gate,) = walk.rt.wait(walk.rt.runtime.run_quality_gates())
            assert not (walk.root / "made").exists()

        assert (gate.passed, gate.required) == (False, False)
        assert "dry run" in gate.feedback


class TestDryRun:
    @pytest.mark.feature("W01", "W02", "W03", "F08")
    def test_changes_are_planned_and_reads_happen(self, open_walk):
        changing = {**SENSITIVE, "run_command": {"command": "touch made"}}
        with open_walk(mode="yolo", dry_run=True, allow_delete=True) as walk:
            walk.write("a.txt", "one\n")
            planned = {name: walk.call(name, **given) for name, given in changing.items()}
            read = {name: walk.call(name, **given).status for name, given in READING.items()}
            actions = walk.rt.planned_actions
            summary = walk.rt.plan_summary()
            assert sorted(path.name for path in walk.root.iterdir()) == ["a.txt"]

        prefix = "[DRY-RUN] Would execute: "
        assert all(
            one.ok and one.text.startswith(f"{prefix}{name}(") for name, one in planned.items()
        )
        assert "old_str='one'" in planned["edit_file"].text
        assert set(read.values()) == {"ok"}
        assert [one.tool_name for one in actions] == list(changing)
        assert all(one.description and one.tool_input for one in actions)
        assert "5 actions" in summary

    @pytest.mark.feature("W03", "P01")
    def test_an_agent_is_started_and_its_calls_are_planned(self, tmp_path, open_walk):
        """Only calls that would change something are recorded. Starting a subagent is none; what it
        calls is judged by itself."""
        ask = {"task": "Look", "agent_type": "test"}
        lines = [
            scripted_call("dispatch_subagent", ask),
            scripted_call("write_file", SENSITIVE["write_file"]),
            {"text": "done"},
            {"agent": "test"},
            scripted_call("read_file", {"path": "a.txt"}),
            {"expect": "one"},
            scripted_call("run_command", {"command": "make test"}),
            {"text": "looked"},
        ]
        (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, lines)))
        settings = {"model": f"script:{tmp_path}/script.jsonl", "mode": "yolo", "dry_run": True}
        with open_walk(config={"accept_no_sandbox": True}, **settings) as walk:
            walk.write("a.txt", "one\n")
            allowed = ["read_file", "write_file", "run_command", "subagent"]
            result = walk.rt.wait(walk.rt.runtime.agent(allowed=allowed).run("Go"))
            planned = [one.tool_name for one in walk.rt.planned_actions]
            assert sorted(path.name for path in walk.root.iterdir()) == ["a.txt"]

        (child,) = result.report.children
        assert (child.answer, child.reads) == ("looked", ("a.txt",))
        assert planned == ["run_command", "write_file"]

    @pytest.mark.feature("W03", "J06")
    @pytest.mark.parametrize("flags", [(), ("--json",), ("--quiet",)])
    def test_a_task_ends_with_the_plan(self, command_line, flags):
        lines = [
            scripted_call("write_file", {"path": "new.txt", "content": "x\n"}),
            scripted_call("run_command", {"command": "touch made"}),
            {"text": "done"},
        ]
        (command_line.root / "script.jsonl").write_text("\n".join(map(json.dumps, lines)))
        words = ("--dry-run", "--dialect", "architect", "run", "--once", *flags)
        done = command_line(*words, "--model", "script:script.jsonl", "Make it")
        shown = done.err if flags else done.out

        assert done.code == 0
        assert "\n1. write_file: create new.txt\n2. run_command: touch made" in shown
        assert not (command_line.root / "new.txt").exists()

    @pytest.mark.feature("W01", "W03")
    def test_the_flag_of_the_command_line(self, command_line):
        words = ("--dry-run", "--dialect", "architect", "call", "write_file", "path=a", "content=x")
        done = command_line(*words)

        assert done.code == 0
        assert "[DRY-RUN] Would execute: write_file(" in done.out
        assert not (command_line.root / "a").exists()
