"""Attocode's document in its vocabulary: registry, schemas, table of tools, batches. Subagents and
remote tools are in files of their own.
"""

from typing import ClassVar, Literal

import pytest
from tests.support.waiting import wait_until_async

import handrail
from handrail import Effects, Output, Risk

SETTINGS = {"dialect": "attocode", "mode": "yolo", "config": {"accept_no_sandbox": True}}

# Tool → (arguments of a call, its danger level). `bash` depends on its command.
DANGER = [
    ("read_file", {"path": "a.ts"}, "safe"),
    ("write_file", {"path": "w.ts", "content": ""}, "moderate"),
    ("edit_file", {"path": "a.ts", "old_string": "x", "new_string": "y"}, "moderate"),
    ("list_files", {}, "safe"),
    ("bash", {"command": "ls"}, "safe"),
    ("bash", {"command": "rm -rf a.ts"}, "moderate"),
    ("bash", {"command": "rm -rf ."}, "dangerous"),
    ("grep", {"pattern": "x"}, "safe"),
    ("glob", {"pattern": "*"}, "safe"),
    ("task_create", {"content": "one"}, "safe"),
    ("task_update", {"task": "1"}, "safe"),
    ("task_get", {"task": "1"}, "safe"),
    ("task_list", {}, "safe"),
    ("undo_file", {"path": "a.ts"}, "moderate"),
    ("undo_turn", {}, "moderate"),
]
PARALLEL = {
    "read_file": {"path": "a.ts"},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "x"},
    "list_files": {},
    "search_files": {"pattern": "*"},
    "search_code": {"pattern": "x"},
    "get_file_info": {"path": "a.ts"},
    "task_get": {"task": "1"},
    "task_list": {},
}


def waits(walk, *calls):
    """For each call of a batch, the calls that it waits for."""
    made = [
        {"id": str(number), "name": name, "arguments": arguments}
        for number, (name, arguments) in enumerate(calls)
    ]
    ordering = walk.rt.plan(made)
    return [set(one) for one in ordering.waits]


@pytest.fixture(scope="module", autouse=True)
def project(walk):
    walk.write("a.ts", "let x = 1;\n")


class TestRegistry:
    @pytest.mark.feature("C01", "C02", "C03", "C09")
    def test_tools_come_and_go_and_listeners_hear_it(self, open_walk):
        @handrail.tool(reads_only=True)
        def extra(fail: bool = False) -> str:
            """Extra."""
            if fail:
                raise ValueError("no")
            return "yes"

        with open_walk() as walk:
            walk.rt.register(extra)
            assert extra in walk.rt.registry.list_all()
            assert walk.rt.registry.find("extra") is extra
            assert walk.call("extra").ok
            assert not walk.call("extra", fail=True).ok
            walk.rt.registry.unregister("extra")
            assert walk.rt.registry.find("extra") is None
            assert walk.code("extra") == "unknown_tool"

        seen = [event for event in walk.types() if event != "tool_call_start"]
        assert seen == [
            "tool_registered",
            "tool_call_end",
            "tool_call_end",
            "tool_unregistered",
            "tool_call_end",
        ]

    @pytest.mark.feature("C10", "R-03")
    def test_a_call_that_may_pass_is_tried_again(self, open_walk):
        tries = []

        @handrail.tool(reads_only=True, idempotent=True)
        def flaky() -> str:
            """Fails once."""
            tries.append(1)
            if len(tries) == 1:
                raise TimeoutError("busy")
            return "done"

        with open_walk(tools=[flaky]) as walk:
            walk.rt.registry.with_retry("flaky", 2)
            result = walk.call("flaky")

        assert (result.text, result.meta["attempts"]) == ("done", 2)

    @pytest.mark.feature("C11", "R-04")
    def test_failed_calls_are_kept_for_a_look_afterwards(self, open_walk):
        @handrail.tool(reads_only=True)
        def broken() -> str:
            """Breaks."""
            raise RuntimeError("a defect")

        with open_walk(tools=[broken]) as walk:
            walk.call("broken")
            (item,) = walk.rt.dead_letters.items("pending")

        assert item.tool == "broken"

    @pytest.mark.feature("C12", "F07")
    def test_approval_is_part_of_every_call(self, open_walk):
        with open_walk(mode="interactive", answer=False) as walk:
            assert walk.code("write_file", path="a", content="") == "denied"
            assert len(walk.user.asked) == 1


class TestSchemas:
    @pytest.mark.feature("S01", "S02", "A04")
    def test_every_kind_of_type(self, open_walk):
        class Inner(handrail.Params):
            name: str

        @handrail.tool(reads_only=True)
        def typed(
            text: str,
            number: float,
            flag: bool,
            items: list[str],
            choice: Literal["a", "b"],
            union: int | str,
            literal: Literal["only"],
            inner: Inner,
            optional: str | None = None,
            default: int = 7,
        ) -> str:
            """Takes everything.

            Args:
                text: A text.
            """
            return "ok"

        with open_walk(tools=[typed]) as walk:
            schema = walk.schema("typed")

        shown = schema["properties"]
        assert schema["type"] == "object"
        assert (shown["text"]["type"], shown["text"]["description"]) == ("string", "A text.")
        assert [shown[name]["type"] for name in ("number", "flag", "items")] == [
            "number",
            "boolean",
            "array",
        ]
        assert shown["choice"]["enum"] == ["a", "b"]
        assert [one["type"] for one in shown["union"]["anyOf"]] == ["integer", "string"]
        assert "only" in str(shown["literal"])
        assert "name" in str(shown["inner"])
        assert shown["default"]["default"] == 7
        assert set(schema["required"]) == set(shown) - {"optional", "default"}

    @pytest.mark.feature("S02")
    def test_the_example(self, walk):
        schema = walk.schema("write_file")

        assert schema["type"] == "object"
        assert [one["type"] for one in schema["properties"].values()] == ["string", "string"]
        assert all(one["description"] for one in schema["properties"].values())
        assert schema["required"] == ["path", "content"]


class TestDefinition:
    @pytest.mark.feature("A05", "A08", "A09", "A16")
    def test_a_raw_schema_and_a_danger_level_by_arguments(self, open_walk):
        class Remove(handrail.Tool):
            name = "remove"
            summary = "Removes."
            effects = Effects.OPEN_ENDED
            raw_schema: ClassVar = {"type": "object", "properties": {"all": {"type": "boolean"}}}

            def risk(self, args):
                return Risk.DANGEROUS if args.all else Risk.MODERATE

            async def run(self, args, ctx):
                return Output("removed")

        with open_walk(mode="auto-safe") as walk:
            walk.rt.register(Remove())
            walk.call("remove", all=False)
            before = len(walk.user.asked)
            walk.call("remove", all=True)

        assert (before, [one.risk for one in walk.user.asked]) == (0, [Risk.DANGEROUS])

    @pytest.mark.feature("E62", "H14", "A08", "A09")
    @pytest.mark.parametrize(("name", "arguments", "level"), DANGER)
    def test_danger_levels(self, planning, name, arguments, level):
        """Decided (D2): a command is dangerous by what it destroys: the workspace, not a file."""
        planning.call(name, **arguments)

        (record,) = planning.rt.store.calls(limit=1)
        assert record.requested["risk"] == level

    @pytest.fixture
    def planning(self, open_walk):
        with open_walk(mode="yolo", dry_run=True) as walk:
            walk.write("a.ts", "let x = 1;\n")
            yield walk


class TestTools:
    @pytest.mark.feature("E01", "E10", "E12", "E13", "E23", "E26", "E27", "E47", "E58", "E59")
    def test_the_table(self, walk):
        shown = {
            one["function"]["name"]
            for one in walk.rt.declare("openai", groups=list(handrail.Group))
        }

        table = {name for name, _, _ in DANGER} | {"get_file_info", "spawn_agent"}
        assert table <= shown
        assert set(handrail.tool_set("attocode", subagents=True)) - table == {
            *("mcp_tool_search", "mcp_tool_list")
        }

    @pytest.mark.feature("E58", "E59")
    def test_undo_takes_a_file_or_nothing(self, walk):
        missing = walk.call("undo_file").problem
        nothing = walk.call("undo_turn").problem

        assert walk.schema("undo_file")["required"] == ["path"]
        assert (missing.code, missing.field) == ("invalid_arguments", "path")
        assert nothing.code == "not_found"
        assert "path" in nothing.hint

    @pytest.mark.feature("A19")
    def test_behind_mcp_and_the_command_line(self, mcp, command_line):
        (command_line.root / "a.ts").write_text("let x = 1;\n")
        call = {"name": "read_file", "arguments": {"path": "a.ts", "line_range": [1, 1]}}
        listed, read = mcp(
            ("tools/list", {}), ("tools/call", call), words=("--dialect", "attocode")
        )
        done = command_line("--dialect", "attocode", "--json", "call", "glob", "pattern=*.ts")

        assert {"bash", "glob", "undo_turn"} <= {tool["name"] for tool in listed["tools"]}
        assert read["content"][0]["text"] == "let x = 1;"
        assert done.json["data"]["paths"] == ["a.ts"]

    @pytest.mark.feature("E10")
    def test_a_write_is_atomic_and_keeps_the_old_content(self, walk):
        walk.write("keep.ts", "old\n")
        (walk.root / "keep.ts").chmod(0o755)
        result = walk.call("write_file", path="keep.ts", content="new\n")

        assert (walk.root / "keep.ts").stat().st_mode & 0o777 == 0o755
        assert result.changes[0].before_hash is not None
        assert walk.call("undo_file", path="keep.ts").ok
        assert walk.read("keep.ts") == "old\n"

    @pytest.mark.feature("E47")
    def test_tasks(self, walk):
        created = walk.call("task_create", content="ship it").data["task"]
        walk.call("task_update", task=created["id"], status="completed")

        assert walk.call("task_get", task=created["id"]).data["task"]["status"] == "completed"
        listed = walk.call("task_list", status="completed").data["tasks"]
        assert [one["id"] for one in listed] == [created["id"]]


class TestBatches:
    @pytest.mark.feature("L01", "L05", "L11")
    def test_reads_wait_for_nothing(self, walk):
        assert waits(walk, *PARALLEL.items()) == [set()] * len(PARALLEL)

    @pytest.mark.feature("L05")
    def test_changes_of_the_task_list_are_in_order(self, walk):
        """Decided (D9): one list; two changes of it happen in the order of the calls."""
        made = waits(walk, ("task_create", {"content": "a"}), ("task_create", {"content": "b"}))

        assert made[0] == set()
        assert made[1] == {0}

    @pytest.mark.feature("L06")
    def test_writes_wait_for_writes_of_the_same_file_only(self, walk):
        """Decided (D10): calls are ordered by what they touch."""
        write, edit = {"path": "b.ts", "content": ""}, {"old_string": "1", "new_string": "2"}
        found = waits(
            walk,
            ("write_file", write),
            ("edit_file", {"path": "c.ts", **edit}),
            ("edit_file", {"path": "./b.ts", **edit}),
        )

        assert found == [set(), set(), {0}]

    @pytest.mark.feature("L07")
    def test_commands_that_change_something_run_alone(self, walk):
        """Decided (D10): a command that only looks runs beside others."""
        made = waits(
            walk,
            ("bash", {"command": "make"}),
            ("bash", {"command": "make install"}),
            ("read_file", {"path": "a.ts"}),
        )
        looking = waits(walk, ("bash", {"command": "ls"}), ("bash", {"command": "pwd"}))

        assert made == [set(), {0}, {0, 1}]
        assert looking == [set(), set()]

    @pytest.mark.feature("L01", "B13")
    def test_a_batch_runs_at_the_same_time_and_answers_in_order(self, open_walk):
        meeting = []

        @handrail.tool(reads_only=True)
        async def meet(name: str) -> str:
            """Waits until all are there."""
            meeting.append(name)
            await wait_until_async(lambda: len(meeting) == 3)
            return name

        with open_walk(tools=[meet]) as walk:
            results = walk.rt.batch([{"name": "meet", "arguments": {"name": n}} for n in "abc"])

        assert [one.text for one in results] == ["a", "b", "c"]
