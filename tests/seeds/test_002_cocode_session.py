"""Cocode's document, its tools for a session, the model of concurrency and the table of tools, in
Claude Code's vocabulary. Subagents and remote tools are in files of their own.
"""

import asyncio
import json

import pytest
from tests.support.waiting import wait_until

import handrail
import handrail.sync

SETTINGS = {"dialect": "claude", "mode": "yolo", "config": {"accept_no_sandbox": True}}

WRITE = {"file_path": "made.txt", "content": "x\n"}
QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "SQLite"}, {"label": "Postgres"}],
    "multiSelect": False,
}
# Tool → (required arguments, all arguments)
SCHEMAS = {
    "TodoWrite": ({"todos"}, {"todos"}),
    "EnterPlanMode": (set(), set()),
    "KillShell": ({"shell_id"}, {"shell_id"}),
    "TaskOutput": ({"task_id"}, {"task_id", "block", "timeout"}),
    "NotebookEdit": (
        {"notebook_path"},
        {"notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"},
    ),
    "WebFetch": ({"url"}, {"url", "prompt"}),
    "WebSearch": ({"query"}, {"query"}),
    "AskUserQuestion": ({"questions"}, {"questions"}),
    "Skill": ({"skill"}, {"skill", "args"}),
    "LSP": ({"operation"}, {"operation", "file_path", "line", "column", "query"}),
}


def waits(walk, *calls):
    """For each call of a batch, whether it waits for an earlier one."""
    made = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return [bool(one) for one in walk.rt.plan(made).waits]


class TestSchemas:
    @pytest.mark.feature("E37", "E38", "E39", "E45", "E48", "E52", "E53", "E54", "E55")
    @pytest.mark.parametrize("name", SCHEMAS)
    def test_arguments(self, walk, name):
        """Decided: an argument with a default is not required, so of TaskOutput only `task_id` is."""
        schema = walk.schema(name)

        required, arguments = SCHEMAS[name]
        assert set(schema.get("required", ())) == required
        assert set(schema["properties"]) == arguments

    @pytest.mark.feature("E40")
    def test_the_three_required_arguments_of_task(self, walk):
        given = {"description": "Find it", "prompt": "Where is it?", "subagent_type": "Explore"}

        assert walk.schema("Task")["required"] == [*given]
        for name in given:
            left = {key: value for key, value in given.items() if key != name}
            problem = walk.call("Task", **left).problem
            assert (problem.code, problem.field) == ("invalid_arguments", name)

    @pytest.mark.feature("E53", "E55")
    def test_defaults_and_choices(self, walk):
        output = walk.schema("TaskOutput")["properties"]
        operations = walk.schema("LSP")["properties"]["operation"]["enum"]

        assert (output["block"]["default"], output["timeout"]["default"]) == (True, 30_000)
        assert output["timeout"]["maximum"] == 600_000
        assert {"goto_definition", "hover", "find_references"} <= set(operations)


REGISTERED = {
    *("Read", "Write", "Edit", "Glob", "Grep", "NotebookEdit", "Bash", "WebFetch", "WebSearch"),
    *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "TodoWrite", "TaskOutput", "KillShell"),
    "Skill",
}


class TestRegistration:
    @pytest.mark.feature("C15")
    def test_the_set_and_its_flags(self, walk):
        declared = walk.rt.declare("anthropic", allowed=handrail.tool_set("claude"))

        assert {one["name"] for one in declared} == REGISTERED
        more = set(handrail.tool_set("claude", lsp=True, subagents=True))
        assert more - REGISTERED == {"LSP", "Task"}


class TestTodos:
    ONE = ({"content": "Run tests", "status": "in_progress", "activeForm": "Running tests"},)

    @pytest.mark.feature("E45", "E46")
    def test_the_list_is_replaced_and_the_active_item_is_named(self, walk):
        first = walk.call("TodoWrite", todos=[*self.ONE, {"content": "b", "status": "pending"}])
        plain = walk.call("TodoWrite", todos=[{"content": "Build", "status": "in_progress"}])
        done = walk.call("TodoWrite", todos=[{"content": "Build", "status": "completed"}])

        assert first.text == f"Todo list updated. Active: {self.ONE[0]['activeForm']}"
        assert plain.text == "Todo list updated. Active: Build"
        assert done.text == "Todo list updated."
        assert [one["content"] for one in done.data["todos"]] == ["Build"]

    @pytest.mark.feature("E46")
    def test_two_items_in_progress_are_refused(self, walk):
        """Decided (D9): at most one item is in progress; none is fine."""
        assert walk.code("TodoWrite", todos=[*self.ONE, *self.ONE]) == "conflict"
        assert walk.call("TodoWrite", todos=[]).ok

    @pytest.mark.feature("E45")
    @pytest.mark.parametrize(
        "todo", [{"content": "a"}, {"status": "pending"}, {"content": "a", "status": "x"}]
    )
    def test_content_and_status_are_required(self, walk, todo):
        assert walk.code("TodoWrite", todos=[todo]) == "invalid_arguments"


class TestPlanMode:
    @pytest.mark.feature("E48", "E49", "G07", "L04")
    def test_plan_queue_and_approval(self, open_walk):
        with open_walk(mode="yolo") as walk:
            plan_file = walk.call("EnterPlanMode").data["plan_file"]
            assert walk.call("Write", file_path=plan_file, content="# The plan\n").ok
            queued = walk.call("Write", **WRITE)
            read = walk.call("Glob", pattern="*")
            prompts = [{"tool": "Bash", "prompt": "run tests"}]
            left = walk.call("ExitPlanMode", allowedPrompts=prompts, pushToRemote=True)
            (request,) = walk.user.asked
            assert walk.rt.planning.active is False
            assert not (walk.root / "made.txt").exists()

        assert (queued.status, read.status, left.status) == ("planned", "ok", "ok")
        assert "# The plan" in request.preview

    @pytest.mark.feature("G07", "E36", "E37")
    def test_the_web_is_asked_about_and_never_queued(self, open_walk):
        """Decided (0032): a rule or the user lets a request pass, as in the mode below."""

        def search(query, number):
            return [{"title": query, "url": "https://example.org/", "snippet": str(number)}]

        allowed = {"permissions": {"allow": ["WebSearch"]}}
        with open_walk(mode="plan", search=search, config=allowed) as walk:
            found = walk.call("WebSearch", query="sqlite")
            assert walk.user.asked == []
        with open_walk(mode="plan", search=search, answer=False) as walk:
            denied = walk.call("WebSearch", query="sqlite")
            fetched = walk.call("WebFetch", url="https://example.org/")
            assert [one.tool for one in walk.user.asked] == ["web_search", "web_fetch"]
            assert walk.rt.plan_queue.items() == ()

        assert found.ok
        assert (denied.problem.code, fetched.problem.code) == ("denied", "denied")

    @pytest.mark.feature("E49")
    def test_a_plan_that_is_not_approved_is_not_carried_out(self, open_walk):
        with open_walk(mode="yolo", answer=False) as walk:
            plan_file = walk.call("EnterPlanMode").data["plan_file"]
            walk.call("Write", file_path=plan_file, content="# The plan\n")
            assert walk.code("ExitPlanMode") == "denied"
            assert walk.rt.planning.active

    @pytest.mark.feature("E51")
    def test_a_leader_is_asked_while_the_call_waits(self, tmp_path):
        """Decided (0030): the call waits; the question has an id, and the record says who answered."""
        root = tmp_path / "work"
        root.mkdir()
        given = {"dialect": "claude", "approver": "events", "store": ":memory:"}
        answers = []

        def lead(event):
            if event.type == "question":
                reply = rt.runtime.reply(event.question_id, "yes", who="leader")
                answers.append(asyncio.ensure_future(reply))

        with handrail.sync.open(root, **given) as rt:
            rt.subscribe(lead)
            plan_file = rt.call("EnterPlanMode").data["plan_file"]
            rt.call("Write", {"file_path": plan_file, "content": "# The plan\n"})
            left = rt.call("ExitPlanMode", {})
            (record,) = rt.store.calls(call_id=left.call_id)

        assert left.ok
        assert len(answers) == 1
        assert record.completed["answered_by"]["who"] == "leader"


class TestJobs:
    @pytest.mark.feature("E30", "E52", "E53", "Z01", "Z02", "Z03", "Z04")
    def test_start_look_wait_and_kill(self, walk):
        started = walk.call("Bash", command="echo up; sleep 60", run_in_background=True)
        number = started.data["job"]
        look = walk.call("TaskOutput", task_id=number, block=False, timeout=1000)
        listed = [job.id for job in walk.rt.jobs.list()]
        killed = walk.call("KillShell", shell_id=number)
        ended = walk.call("TaskOutput", task_id=number, block=True, timeout=30_000)

        assert started.text == f"Background task started: {number}"
        assert look.data["retrieval_status"] == "not_ready"
        assert look.data["task"]["is_completed"] is False
        assert number in listed
        assert killed.text == f"Successfully killed shell: {number}"
        assert ended.data["retrieval_status"] == "success"
        assert ended.data["task"]["is_completed"] is True

    @pytest.mark.feature("E52", "E53")
    def test_a_number_that_no_job_has(self, walk):
        assert walk.code("KillShell", shell_id="99") == "not_found"
        assert walk.code("TaskOutput", task_id="99", block=False, timeout=0) == "not_found"

    @pytest.mark.feature("E53")
    def test_waiting_is_limited(self, walk):
        number = walk.call("Bash", command="sleep 60", run_in_background=True).data["job"]
        waited = walk.call("TaskOutput", task_id=number, timeout=100)

        assert waited.data["retrieval_status"] == "timeout"
        assert walk.code("TaskOutput", task_id=number, timeout=600_001) == "invalid_arguments"
        walk.call("KillShell", shell_id=number)


class TestOtherTools:
    @pytest.mark.feature("E38")
    def test_cells_of_a_notebook_are_edited(self, walk):
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
        book = {"cells": [{**cell, "id": "c1", "source": "x = 1"}], "metadata": {}}
        walk.write("n.ipynb", json.dumps({**book, "nbformat": 4, "nbformat_minor": 5}))
        given = {"notebook_path": "n.ipynb", "cell_id": "c1"}
        walk.call("Read", file_path="n.ipynb")

        assert walk.call("NotebookEdit", **given, new_source="x = 2").ok
        assert walk.call("NotebookEdit", **given, new_source="y", edit_mode="insert").ok
        assert walk.call("NotebookEdit", **given, edit_mode="delete").ok
        cells = json.loads(walk.read("n.ipynb"))["cells"]
        assert ["".join(one["source"]) for one in cells] == ["y"]

    @pytest.mark.feature("E39")
    @pytest.mark.parametrize("number", [0, 5])
    def test_one_to_four_questions(self, walk, number):
        assert walk.code("AskUserQuestion", questions=[QUESTION] * number) == "invalid_arguments"

    @pytest.mark.feature("E39")
    def test_without_anybody_to_answer_a_question_fails(self, open_walk):
        with open_walk(approver=None) as walk:
            assert walk.code("AskUserQuestion", questions=[QUESTION]) == "needs_answer"

    @pytest.mark.feature("E54", "O02")
    def test_a_skill_is_loaded_by_name(self, tmp_path, open_walk):
        folder = tmp_path / "skills" / "notes"
        folder.mkdir(parents=True)
        text = "---\nname: notes\ndescription: Writes notes.\n---\nGroup the commits.\n"
        (folder / "SKILL.md").write_text(text)
        with open_walk(config={"skills": {"folders": [str(folder.parent)]}}) as walk:
            loaded = walk.call("Skill", skill="notes", args="1.2")
            assert walk.code("Skill", skill="none") == "not_found"

        assert "Group the commits." in loaded.text
        assert "1.2" in loaded.text

    @pytest.mark.feature("E55")
    def test_an_unknown_question_to_a_language_server_is_an_error(self, walk):
        given = {"operation": "rename", "file_path": "a.py", "line": 1, "column": 1}

        assert walk.code("LSP", **given) == "invalid_arguments"

    @pytest.mark.feature("E37", "E36")
    def test_hosts_are_asked_about_or_refused(self, open_walk):
        config = {"web": {"deny": ["internal.example.org"]}}
        with open_walk(mode="yolo", config=config) as walk:
            refused = walk.call("WebFetch", url="https://internal.example.org/x", prompt="?")

        assert refused.ok is False


class TestConcurrency:
    @pytest.mark.feature("L03")
    def test_tools_that_run_together(self, walk):
        walk.write("a.txt", "x\n")
        calls = [
            ("Read", {"file_path": "a.txt"}),
            ("Glob", {"pattern": "*"}),
            ("Grep", {"pattern": "x"}),
            ("WebFetch", {"url": "https://example.org/"}),
            ("WebSearch", {"query": "x"}),
            ("Bash", {"command": "ls"}),
            ("TaskOutput", {"task_id": "1"}),
            ("KillShell", {"shell_id": "2"}),
            ("LSP", {"operation": "hover", "file_path": "a.txt", "line": 1, "column": 1}),
        ]

        assert waits(walk, *calls) == [False] * 9

    @pytest.mark.feature("L10")
    def test_a_read_runs_while_the_model_still_writes(self, walk):
        """A read has its result before the stream has ended; a change waits for the end."""
        walk.write("a.txt", "x\n")
        made = [("Read", {"file_path": "a.txt"}), ("Write", WRITE)]
        walk.rt.declare("openai")
        walk.events.clear()

        def chunks():
            for index, (name, given) in enumerate(made):
                function = {"name": name, "arguments": json.dumps(given)}
                call = {"index": index, "id": f"s{index}", "function": function}
                yield {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
            wait_until(lambda: "tool_call_end" in walk.types())
            ended.extend(event.tool for event in walk.events if event.type == "tool_call_end")
            yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}

        ended = []
        with walk.rt.stream(chunks()) as turn:
            for _ in turn:
                pass

        assert ended == ["read_file"]
        assert [one.ok for one in turn.results] == [True, True]

    @pytest.mark.feature("L04")
    def test_tools_that_wait_for_each_other(self, walk):
        todos = ("TodoWrite", {"todos": []})
        edit = {"file_path": "made.txt", "old_string": "x", "new_string": "y"}
        pairs = [
            (("Write", WRITE), ("Edit", edit)),
            (("Bash", {"command": "make"}), ("Bash", {"command": "make"})),
            (("EnterPlanMode", {}), ("ExitPlanMode", {})),
            (todos, todos),
        ]

        assert [waits(walk, *pair) for pair in pairs] == [[False, True]] * 4

    @pytest.mark.feature("L02", "B13")
    def test_the_example_keeps_the_order_of_calls(self, walk):
        """Decided (D10): calls wait for those that they conflict with. A read behind an edit of the
        same file sees the edit; results come in the order of the calls."""
        for name in ("a.txt", "b.txt"):
            walk.write(name, "1\n")
            walk.call("Read", file_path=name)
        edit = {"file_path": "b.txt", "old_string": "1", "new_string": "2"}
        calls = [
            ("Read", {"file_path": "a.txt"}),
            ("Edit", edit),
            ("Read", {"file_path": "b.txt"}),
            ("Bash", {"command": "ls"}),
        ]
        assert waits(walk, *calls)[:3] == [False, False, True]
        results = walk.rt.batch([{"name": name, "arguments": given} for name, given in calls])

        assert [one.ok for one in results] == [True] * 4
        assert results[2].text.endswith("2")
