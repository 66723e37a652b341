"""Coauthor's document in its vocabulary: contract, exposure, risk, context, audit, batches,
recovery. Subtasks are in a file of their own.
"""

import asyncio
import json
import subprocess
import sys

import pytest
from tests.support.waiting import wait_until_async

import handrail
import handrail.sync
from handrail import Effects, Output, ProblemRaised

SETTINGS = {"dialect": "coauthor", "mode": "yolo", "config": {"accept_no_sandbox": True}}

# Tool → (its canonical name, whether it is risky, its group)
TOOLS = {
    "readFile": ("read_file", False, "search"),
    "editFile": ("edit_file", True, "edit"),
    "listFiles": ("list_files", False, "search"),
    "runCommand": ("run_command", True, "exec"),
    "glob": ("find_files", False, "search"),
    "grep": ("grep", False, "search"),
}


ENDS_AT_A_QUESTION = """
import asyncio, os, sys
import handrail

async def end(request):
    os._exit(9)

async def main():
    root, store, model = sys.argv[1:]
    given = {"store": store, "model": model, "dialect": "coauthor"}
    async with handrail.open(root, approver=end, **given) as rt:
        agent = rt.agent()
        print(agent.session, flush=True)
        await agent.run("change it")

asyncio.run(main())
"""


@pytest.fixture(scope="module", autouse=True)
def project(walk):
    walk.write("src/app.ts", "let x = 1;\n")


class TestContract:
    @pytest.mark.feature("A01", "A02", "A05", "A10", "A11")
    @pytest.mark.parametrize("name", TOOLS)
    def test_a_tool_has_a_schema_a_risk_and_a_group(self, walk, name):
        canonical, risky, group = TOOLS[name]
        shown = walk.tool(name)
        tool = walk.rt.registry.get(canonical)

        assert shown["description"]
        assert shown["parameters"]["type"] == "object"
        assert (tool.sensitive, tool.group) == (risky, group)

    @pytest.mark.feature("A10")
    def test_tools_of_which_every_call_is_safe_are_not_risky(self, walk):
        names = ("subagent", "task_create", "task_get", "task_list", "task_update", "skill")
        assert not any(walk.rt.registry.get(name).sensitive for name in names)
        walk.call("task_create", content="Look")
        (started,) = [one for one in walk.events if getattr(one, "tool", "") == "task_create"][:1]
        assert walk.rt.registry.get("edit_file").sensitive
        assert walk.user.asked == []
        assert started.type == "tool_call_start"

    @pytest.mark.feature("A11")
    def test_an_unknown_group_is_an_error(self, walk):
        assert {"search", "edit", "exec", "subtask"} <= set(handrail.Group)
        with pytest.raises(ValueError, match="group"):
            walk.rt.declare("openai", groups=["other"])

    @pytest.mark.feature("A12", "A15")
    def test_what_cannot_be_executed_is_refused_before_the_user_is_asked(self, open_walk):
        class Guarded(handrail.Tool):
            name = "guarded"
            summary = "Works on even numbers."
            effects = Effects.OPEN_ENDED

            class params(handrail.Params):
                number: int

            async def preflight(self, args, ctx):
                if args.number % 2:
                    raise ProblemRaised("invalid_arguments", "the number is odd")

            async def run(self, args, ctx):
                return Output("even")

        with open_walk(tools=[Guarded()]) as walk:
            assert walk.code("guarded", number=1) == "invalid_arguments"
            assert walk.user.asked == []
            assert walk.call("guarded", number=2).text == "even"
            assert len(walk.user.asked) == 1


class TestExposure:
    @pytest.mark.feature("C04", "C08", "A19")
    def test_listing_and_export_by_groups(self, walk):
        exported = walk.rt.declare("openai", groups=["search"])
        listed = walk.rt.registry.list_all(groups=["search"])

        assert all(one["type"] == "function" for one in exported)
        names = {one["function"]["name"] for one in exported}
        assert {"readFile", "listFiles", "glob", "grep"} <= names
        assert not names & {"editFile", "runCommand"}
        assert {tool.group for tool in listed} == {"search"}

    @pytest.mark.feature("C16")
    def test_the_built_in_set(self, walk):
        declared = walk.rt.declare("openai", allowed=handrail.tool_set("coauthor"))

        assert handrail.tool_set("coauthor") == list(TOOLS)
        assert {one["function"]["name"] for one in declared} == set(TOOLS)

    @pytest.mark.feature("C21", "A19")
    def test_behind_mcp_and_the_command_line(self, mcp, command_line):
        (command_line.root / "a.ts").write_text("let x = 1;\n")
        edit = {"path": "a.ts", "oldString": "1", "newString": "2"}
        call = {"name": "editFile", "arguments": edit}
        words = ("--dialect", "coauthor", "--mode", "accept-edits")
        listed, edited = mcp(("tools/list", {}), ("tools/call", call), words=words)
        done = command_line("--dialect", "coauthor", "call", "readFile", "path=a.ts")

        assert set(TOOLS) <= {tool["name"] for tool in listed["tools"]}
        assert edited["isError"] is False
        assert (done.code, done.out.strip()) == (0, "let x = 2;")


CALLS = {
    "readFile": {"path": "a.ts"},
    "listFiles": {},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "x"},
    "editFile": {"path": "a.ts", "oldString": "1", "newString": "2"},
    "runCommand": {"command": "make"},
}


class TestRisk:
    @pytest.mark.feature("G12", "A10", "A26")
    def test_safe_tools_run_and_risky_ones_are_confirmed(self, open_walk):
        with open_walk(answer=False) as walk:
            walk.write("a.ts", "let x = 1;\n")
            asked = {}
            for name, arguments in CALLS.items():
                walk.user.asked.clear()
                walk.call(name, **arguments)
                asked[name] = bool(walk.user.asked)

        assert asked == {name: TOOLS[name][1] for name in CALLS}

    @pytest.mark.feature("A26", "G03")
    def test_the_boundary_needs_no_user_interface(self, open_walk):
        with open_walk(approver=None) as walk:
            walk.write("a.ts", "let x = 1;\n")
            assert walk.code("editFile", **CALLS["editFile"]) == "needs_approval"
            assert walk.read("a.ts") == "let x = 1;\n"

    @pytest.mark.feature("G14")
    def test_a_confirmation_is_good_for_one_call(self, open_walk):
        with open_walk() as walk:
            walk.call("editFile", path="a.ts", oldString="", newString="1\n")
            walk.call("editFile", path="b.ts", oldString="", newString="1\n")

        bindings = [one.binding for one in walk.user.asked]
        assert len(set(bindings)) == 2


class TestContext:
    @pytest.mark.feature("Y03", "U04", "Y08", "G14")
    def test_a_tool_gets_its_context(self, open_walk):
        seen = {}

        @handrail.tool
        def look(ctx: handrail.ToolContext) -> str:
            """Looks at its context."""
            seen.update(
                turn=ctx.turn_id,
                actor=ctx.agent_id,
                base=ctx.cwd,
                artifact=ctx.artifacts.load(ctx.artifacts.save("a.txt", b"kept")),
                confirmed=ctx.confirmed,
                cancelled=ctx.signal.cancelled,
            )
            return "ok"

        with open_walk(tools=[look]) as walk:
            assert walk.call("look").ok
            assert seen.pop("base") == str(walk.root)

        assert seen.pop("confirmed")
        assert seen.pop("turn")
        assert seen == {"actor": "main", "artifact": b"kept", "cancelled": False}


class TestExecutor:
    @pytest.mark.feature("F22", "U01", "R-20")
    def test_every_call_has_a_request_and_a_completion_on_record(self, walk):
        done = walk.call("readFile", path="src/app.ts")
        refused = walk.call("readFile", path="../x")
        unknown = walk.call("noSuchTool")

        for result in (done, refused, unknown):
            (record,) = walk.rt.store.calls(call_id=result.call_id)
            assert record.requested["agent"] == "main"
            assert record.completed["is_error"] is not result.ok
            assert record.completed_ns >= record.requested_ns
        assert record.requested["called"] == "noSuchTool"

    @pytest.mark.feature("G15", "U02")
    def test_a_rejection_is_on_record(self, open_walk):
        with open_walk(answer=False) as walk:
            result = walk.call("editFile", path="a.ts", oldString="", newString="x")
            (record,) = walk.rt.store.calls(call_id=result.call_id)

        assert record.completed["problem"]["code"] == "denied"
        assert record.completed["asked"] is True
        assert record.intent is None

    @pytest.mark.feature("B01", "B03", "F23")
    def test_the_result_is_structured(self, walk):
        result = walk.call("grep", pattern="let", path="src")

        assert result.call_id
        assert (result.text, result.is_error) == ("src/app.ts:1:let x = 1;", False)
        assert result.meta["duration_s"] >= 0


class TestCalls:
    @pytest.mark.feature("L08", "L09")
    def test_reads_run_together_and_changes_in_order(self, walk):
        """Decided (D10): a call waits for those that it conflicts with, not for every risky one."""
        walk.write("src/new.ts", "1\n")
        names = [
            ("readFile", {"path": "src/new.ts"}),
            ("grep", {"pattern": "x", "path": "src"}),
            ("editFile", {"path": "src/new.ts", "oldString": "1", "newString": "2"}),
            ("readFile", {"path": "src/new.ts"}),
            ("readFile", {"path": "src/app.ts"}),
        ]
        batch = [{"id": f"b{n}", "name": n_, "arguments": a} for n, (n_, a) in enumerate(names)]

        ordering = walk.rt.plan(batch)
        results = walk.rt.batch(batch)

        assert [set(one) for one in ordering.waits] == [set(), set(), {0, 1}, {2}, set()]
        assert [one.text for one in (results[0], results[3])] == ["1", "2"]
        alone = walk.call("readFile", path="src/new.ts")
        assert alone.text == results[3].text

    @pytest.mark.feature("V01", "V02", "R-13")
    def test_events(self, open_walk):
        with open_walk(mode="yolo", config={"heartbeat_s": 0.05}) as walk:
            walk.write("a.ts", "1\n")
            calls = [
                {"name": "readFile", "arguments": {"path": "a.ts"}},
                {"name": "runCommand", "arguments": {"command": "sleep 0.3"}},
            ]
            walk.rt.batch(calls)

        seen = [one for one in walk.types() if one.startswith("tool_call")]
        assert (seen[0], seen[-1]) == ("tool_calls_batch_start", "tool_calls_batch_end")
        assert seen.count("tool_call_start") == seen.count("tool_call_end") == 2
        assert "tool_call_heartbeat" in seen


class TestConversation:
    @pytest.mark.feature("B14", "U03")
    def test_a_completed_call_is_answered_from_the_record(self, walk):
        first = walk.rt.call("readFile", {"path": "src/app.ts"}, id="same")
        again = walk.rt.call("readFile", {"path": "src/app.ts"}, id="same")

        assert again.text == first.text
        assert again.meta["replayed"] is True

    @pytest.mark.feature("B14", "U03")
    def test_dangling_calls_are_repaired(self, tmp_path):
        """A process ends while it asks about an edit: the read is answered, and the edit is left for
        a new decision."""
        root = tmp_path / "work"
        root.mkdir()
        (root / "a.ts").write_text("let x = 1;\n")
        edit = {"path": "a.ts", "oldString": "1", "newString": "2"}
        made = [
            {"name": "readFile", "arguments": {"path": "a.ts"}},
            {"name": "editFile", "arguments": edit},
        ]
        first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
        first.write_text(json.dumps({"calls": made}) + "\n")
        second.write_text(json.dumps({"text": "done"}) + "\n")
        store = tmp_path / "record.db"
        ended = subprocess.run(
            [sys.executable, "-c", ENDS_AT_A_QUESTION, root, store, f"script:{first}"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        with handrail.sync.open(
            root, store=store, dialect="coauthor", model=f"script:{second}"
        ) as rt:
            agent = rt.agent(session=ended.stdout.strip())
            agent.resume()
            text = repr(agent.messages)

        assert ended.returncode == 9
        assert text.count("ResultBlock(") == 2
        assert "let x = 1;" in text
        assert (root / "a.ts").read_text() == "let x = 1;\n"


class TestNotes:
    @pytest.mark.feature("E17")
    @pytest.mark.parametrize(
        ("old", "new", "fields", "tier"),
        [
            ("x = 1", "x = 2", {}, "exact"),
            (r"x = \d", "x = 2", {"regex": True}, "regex"),
            (r"(x) = \d", r"\g<1> = 2", {"regex": True}, "regex"),
            ("    let x = 1;", "    let x = 2;", {}, "indentation"),
        ],
    )
    def test_three_ways_to_replace(self, walk, old, new, fields, tier):
        """Decided: a pattern only on request, and blanks only where one place fits."""
        walk.write("e.ts", "{\n\tlet x = 1;\n}\n")
        result = walk.call("editFile", path="e.ts", oldString=old, newString=new, **fields)

        assert result.data["tier"] == tier
        assert walk.read("e.ts") == "{\n\tlet x = 2;\n}\n"

    @pytest.mark.feature("E17")
    def test_an_empty_text_creates_a_file(self, walk):
        given = {"path": "new/n.ts", "oldString": "", "newString": "hello\n"}

        assert walk.call("editFile", **given).ok
        assert walk.read("new/n.ts") == "hello\n"
        assert walk.code("editFile", **given) == "exists"

    @pytest.mark.feature("E34", "Z01")
    def test_commands_have_a_limit_a_cut_output_and_a_background(self, walk):
        """Decided: a command in the background has a number of its own, not that of its process."""
        assert walk.code("runCommand", command="sleep 30", timeout=200) == "timeout"
        assert "lines left out" in walk.call("runCommand", command="seq 1000").text
        started = walk.call("runCommand", command="sleep 30", isBackground=True)
        assert walk.call("job_kill", job=started.data["job"]).ok

    @pytest.mark.feature("E34", "Y08")
    async def test_a_running_command_is_cancelled(self, tmp_path):
        given = {"dialect": "coauthor", "mode": "yolo", "store": ":memory:"}
        async with handrail.open(tmp_path, config={"accept_no_sandbox": True}, **given) as rt:
            started = asyncio.Event()
            work = asyncio.ensure_future(
                rt.call(
                    "runCommand",
                    {"command": "echo up; sleep 60"},
                    id="long",
                    on_event=lambda event: event.type == "tool_call_output" and started.set(),
                )
            )
            await wait_until_async(started.is_set)
            assert await rt.cancel("long")
            result = await work

        assert (result.status, result.problem.code) == ("interrupted", "cancelled")
