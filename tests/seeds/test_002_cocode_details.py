"""Cocode's document, small print: units, what a result says of its call, what a hook and a tool of the
user's own are told.
"""

import json
import os

import pytest

import handrail
from handrail import Output
from handrail.dialects.convert import from_ms
from handrail.dialects.known import DIALECTS, find_vocabulary

SETTINGS = {"dialect": "claude", "mode": "yolo", "config": {"accept_no_sandbox": True}}
# Commands with a time limit in milliseconds, in the words of each dialect.
IN_MS = sorted(
    (view.name, arg.name)
    for name in DIALECTS
    for view in find_vocabulary(name).dialect.views
    for arg in view.args
    if view.tool == "run_command" and arg.read is from_ms and not arg.hidden
)


class TestUnits:
    @pytest.mark.feature("E30")
    @pytest.mark.parametrize(("tool", "argument"), IN_MS)
    def test_a_limit_in_milliseconds_may_come_as_text(self, walk, tool, argument):
        ended = walk.call(tool, command="sleep 30", **{argument: "200"})
        allowed = walk.call(tool, command="true", **{argument: "5000"})
        refused = walk.call(tool, command="true", **{argument: "600001"})

        assert ended.problem.code == "timeout"
        assert "0.2 s" in ended.text
        assert allowed.ok
        assert refused.problem.code == "invalid_arguments"
        assert "600,001 ms" in refused.text

    @pytest.mark.feature("E23")
    def test_a_limit_of_zero_may_come_as_text(self, walk):
        walk.write("many.txt", "q\n" * 150)
        given = {"pattern": "q", "path": "many.txt", "output_mode": "content"}

        shown = [len(walk.call("Grep", **given, head_limit=none).data["hits"]) for none in (0, "0")]

        assert shown == [150, 150]


class TestFiles:
    @pytest.mark.feature("E26")
    def test_glob_lists_as_many_paths_as_fit_in_30_000_characters(self, walk):
        for number in range(450):
            walk.write(f"deep/{'d' * 80}/{number:03}.c")

        found = walk.call("Glob", pattern="*.c", path="deep")

        assert 29_000 < len(found.text) <= 30_000
        assert 300 < len(found.data["paths"]) < 450
        assert "450 files in all" in found.text

    @pytest.mark.feature("E06")
    def test_a_directory_is_answered_with_a_tool_that_is_shown(self, walk):
        walk.write("folder/a.txt")
        shown = walk.rt.declare("anthropic", allowed=handrail.tool_set("claude"))
        (about,) = (one["description"] for one in shown if one["name"] == "Read")
        use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "folder"}}
        reply = {
            "role": "assistant",
            "content": [use],
            "stop_reason": "tool_use",
            "type": "message",
        }
        (message,) = walk.rt.answer(reply)
        text = json.dumps(message)

        assert "Directories cannot" in about
        assert "Glob finds" in text
        assert "list_files" not in text

    @pytest.mark.feature("Y04", "E16")
    def test_can_edit_is_false_once_the_file_was_rewritten(self, walk):
        path = walk.write("seen.txt", "one\n")
        walk.call("Read", file_path="seen.txt")
        reads = walk.rt.session.reads

        assert reads.can_edit(str(path))
        os.utime(path, (1_700_000_000, 1_700_000_000))
        assert reads.can_edit(str(path))
        path.write_text("two\n")
        assert not reads.can_edit(str(path))
        path.unlink()
        assert not reads.can_edit(str(path))


class TestCommands:
    @pytest.mark.needs_bubblewrap
    @pytest.mark.feature("E30", "J01")
    def test_a_result_says_that_its_command_was_not_confined(self, open_walk):
        with open_walk() as walk:
            inside = walk.call("Bash", command="touch a")
            outside = walk.call("Bash", command="touch b", dangerously_disable_sandbox=True)

        assert (inside.meta["sandbox"], outside.meta["sandbox"]) == ("bubblewrap", "none")

    @pytest.mark.feature("K14", "K03")
    def test_a_hook_is_told_what_a_command_printed(self, open_walk, tmp_path):
        told = tmp_path / "work" / "told.jsonl"
        entry = {"matcher": "Bash", "hooks": [{"type": "command", "command": f"cat >> {told}"}]}
        settings = tmp_path / "settings.json"
        settings.write_text(json.dumps({"hooks": {"PostToolUse": [entry]}}))
        config = {"accept_no_sandbox": True, "hooks": {"claude": str(settings)}}
        with open_walk(mode="yolo", config=config) as walk:
            for command in ("touch q1", "echo out; echo err >&2"):
                assert walk.call("Bash", command=command).ok
            told = [json.loads(line)["tool_response"] for line in told.read_text().splitlines()]

        assert [(one["stdout"], one["stderr"]) for one in told] == [("", ""), ("out", "err")]
        assert told[0]["output"] == "exit_code: 0"


class TestDescriptions:
    @pytest.mark.feature("E65", "E66")
    def test_what_a_model_is_told_to_do_and_to_leave(self, walk):
        shown = walk.rt.declare("anthropic", allowed=handrail.tool_set("claude", subagents=True))
        about = {one["name"]: " ".join(one["description"].split()) for one in shown}
        types = walk.schema("Task")["properties"]["subagent_type"]["description"]

        assert all("emojis only" in about[name] for name in ("Edit", "Write"))
        assert "work for Task" in about["Grep"]
        for rule in (
            *("several calls", "absolute paths", "warn whoever"),
            *("git status, diff", "Co-Authored-By", "a hook fails", "Test plan"),
        ):
            assert rule in about["Bash"]
        assert "very thorough" in types
        assert "asks for a list" in about["TodoWrite"]
        assert "whether that worked" in about["KillShell"]

    @pytest.mark.feature("E65")
    def test_a_list_whose_tools_are_not_shown_has_no_heading(self, walk):
        for allowed, there in ((["Bash"], False), (["Bash", "Read"], True)):
            shown = walk.rt.declare("anthropic", allowed=allowed)
            (about,) = (one["description"] for one in shown if one["name"] == "Bash")
            assert ("which other tools" in about) is there


class TestOwnTools:
    @pytest.mark.feature("B02", "B05")
    def test_modifiers_may_be_a_list(self, open_walk):
        @handrail.tool(reads_only=True)
        def asks() -> Output:
            """Asks."""
            return Output("ok", modifiers=[handrail.QueueCommand("/compact")])

        with open_walk(tools=[asks]) as walk:
            result = walk.call("asks")

        assert result.modifiers == (handrail.QueueCommand("/compact"),)

    @pytest.mark.feature("Y02")
    def test_options_name_the_model_and_the_agents(self, open_walk, tmp_path):
        script = tmp_path / "script.jsonl"
        script.write_text('{"text": "hi"}\n')
        with open_walk(model=f"script:{script}") as walk:
            options = walk.rt.session.options
            definitions = dict(options.agent_definitions)
            model = options.main_loop_model

        assert model == f"script:{script}"
        assert {"explore", "plan", "general", "shell"} <= set(definitions)
        assert "only reads" in definitions["explore"].description


def task(**more):
    given = {"description": "Find x", "prompt": "Where is x set?", "subagent_type": "Explore"}
    return {"calls": [{"name": "Task", "arguments": {**given, **more}}]}


class TestTask:
    @pytest.fixture
    def run(self, open_walk, tmp_path):
        def run(*lines):
            script = tmp_path / "script.jsonl"
            script.write_text("\n".join(json.dumps(line) for line in lines))
            with open_walk(model=f"script:{script}") as walk:
                walk.write("app.py", "x = 1\n")
                agent = walk.rt.runtime.agent(allowed=["Task", "Read", "Bash", "Grep"])
                return walk.rt.wait(agent.run("Find x"))

        return run

    @pytest.mark.feature("E40", "P03")
    def test_tools_that_do_not_exist_are_refused(self, run):
        result = run(
            task(allowed_tools=["Read", "Zzz"]), {"expect": "no tool 'Zzz'"}, {"text": "ok"}
        )

        assert (result.status, result.report.children) == ("done", ())

    @pytest.mark.feature("E40", "P03")
    def test_tools_are_named_in_the_words_of_the_dialect(self, run):
        read = {"calls": [{"name": "Read", "arguments": {"file_path": "app.py"}}]}
        search = {"calls": [{"name": "Grep", "arguments": {"pattern": "x"}}]}
        lines = [task(allowed_tools=["Read"]), {"text": "ok"}]
        result = run(*lines, {"agent": "explore"}, read, search, {"text": "looked"})
        (child,) = result.report.children

        assert child.reads == ("app.py",)
        assert len(child.refused) == 1

    @pytest.mark.feature("E40")
    def test_a_task_that_ends_at_its_limit_says_so_in_one_line(self, run):
        read = {"calls": [{"name": "Read", "arguments": {"file_path": "app.py"}}]}
        lines = [task(max_turns=1), {"expect": r"after 1 steps \(hint: [^\\]+\)"}, {"text": "ok"}]
        result = run(*lines, {"agent": "explore"}, read, read)

        assert result.status == "done"
