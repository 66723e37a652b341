"""Cocode's document in Claude Code's vocabulary: the contract of a tool, reading before editing,
context, results, registry, the stages of a call, permissions, oversized results.
"""

from typing import ClassVar

import pytest

import handrail
from handrail import Effect, Effects, Output, ProblemRaised, Verdict

SETTINGS = {"dialect": "claude", "mode": "yolo", "config": {"accept_no_sandbox": True}}


class Minimal(handrail.Tool):
    """A tool that states only what it must."""

    name = "minimal"
    summary = "Says hello."
    effects = Effects.OPEN_ENDED

    class params(handrail.Params):
        name: str = "you"

    async def run(self, args, ctx):
        return Output(f"hello {args.name}")


class Full(Minimal):
    """A tool that overrides every part of the contract."""

    name = "full"
    effects = Effects.PURE
    output_schema: ClassVar = {"type": "object", "properties": {"length": {"type": "integer"}}}
    max_chars = 2000

    def enabled(self, session):
        return not session.values.get("disabled")

    async def describe(self, session):
        return f"Says hello in session {session.id}."

    def opinion(self, args):
        if args.name == "denied":
            return Verdict(Effect.DENY, "not this one", "tool:full")
        return Verdict(Effect.ASK, "say so", "tool:full") if args.name == "asked" else None

    async def preflight(self, args, ctx):
        if args.name == "invalid":
            raise ProblemRaised("invalid_arguments", "nobody is called that", field="name")

    async def run(self, args, ctx):
        ctx.report("working")
        text = f"hello {args.name}" * (1000 if args.name == "many" else 1)
        return Output(text, display="*hello*", data={"length": len(text)})

    def render_call(self, args):
        return f"greets {args.name}"


class TestContract:
    @pytest.fixture
    def tools(self, open_walk):
        with open_walk(tools=[Minimal(), Full()]) as walk:
            yield walk

    @pytest.mark.feature("A13", "A14", "A20", "A22", "A23", "A24")
    def test_what_a_tool_that_states_nothing_is(self, tools):
        """Decided: a tool without an opinion is not allowed by that; the mode decides."""
        tool = tools.rt.registry.get("minimal")

        assert tool.output_schema is None
        assert not tool.only_reads
        assert tool.max_chars == 30_000
        assert tools.call("minimal", name="a").text == "hello a"
        assert len(tools.user.asked) == 1
        ordering = tools.rt.plan([{"name": "minimal", "arguments": {}}] * 2)
        assert [set(one) for one in ordering.waits] == [set(), {0}]

    @pytest.mark.feature("A03", "A06", "A22", "A23")
    def test_what_a_tool_may_say_of_itself(self, tools):
        tools.rt.wait(tools.rt.runtime.refresh())
        declared = {one["name"]: one for one in tools.rt.declare("mcp", groups=["meta"])}["full"]

        assert tools.rt.session.id in declared["description"]
        assert declared["outputSchema"]["properties"] == {"length": {"type": "integer"}}
        assert declared["annotations"]["readOnlyHint"] is True
        ordering = tools.rt.plan([{"name": "full", "arguments": {}}] * 2)
        assert [set(one) for one in ordering.waits] == [set(), set()]

    @pytest.mark.feature("A14", "A15", "F03", "F04", "F21")
    def test_the_stages_and_their_refusals(self, tools):
        """Decided (D3): arguments are validated before anybody is asked for permission."""
        results = {name: tools.call("full", name=name) for name in ("denied", "invalid")}
        assert tools.code("full", name=[]) == "invalid_arguments"
        assert tools.user.asked == []
        assert tools.call("full", name="asked").ok
        assert len(tools.user.asked) == 1
        tools.rt.session.values["disabled"] = True

        assert results["denied"].problem.code == "denied"
        assert results["invalid"].problem.field == "name"
        assert tools.code("full") == "unavailable"

    @pytest.mark.feature("A16", "A20", "A21", "B01", "B02", "B03", "F14", "F23", "V03")
    def test_a_result_and_its_forms(self, tools):
        result = tools.rt.call("full", {"name": "b"}, id="toolu_1")
        (block,) = tools.rt.tool_messages([result], "anthropic")[0]["content"]
        progress = [event.text for event in tools.events if event.type == "tool_call_progress"]

        assert (result.call_id, result.is_error, result.display) == ("toolu_1", False, "*hello*")
        assert result.meta["duration_s"] >= 0
        assert block["type"] == "tool_result"
        assert block["tool_use_id"] == "toolu_1"
        assert (block["content"], block["is_error"]) == ("hello b", False)
        assert progress == ["working"]

    @pytest.mark.feature("A25", "G12")
    def test_an_approval_names_tool_action_and_description(self, open_walk):
        with open_walk() as walk:
            walk.call("Bash", command="make all", description="Build everything")
            (request,) = walk.user.asked

        assert (request.tool, request.action) == ("run_command", "make all")
        assert "runs what the workspace says" in request.reason
        assert request.model_says == "Build everything"


EDIT = {"file_path": "a.py", "old_string": "1", "new_string": "2"}


class TestReadBeforeEdit:
    @pytest.mark.feature("E16", "E09", "G13", "Y04")
    def test_a_file_that_was_not_read_is_not_changed(self, open_walk):
        with open_walk(mode="yolo") as walk:
            walk.write("a.py", "x = 1\n")
            assert walk.code("Edit", **EDIT) == "stale"
            assert walk.code("Write", file_path="a.py", content="") == "stale"
            assert walk.call("Write", file_path="new.py", content="x = 1\n").ok
            walk.call("Read", file_path="a.py")
            assert walk.rt.session.reads.can_edit(f"{walk.root}/a.py")
            assert walk.call("Edit", **EDIT).ok
            assert walk.call("Write", file_path="a.py", content="y = 1\n").ok

    @pytest.mark.feature("E16", "Y04")
    def test_a_file_that_changed_since_is_not_changed(self, open_walk):
        with open_walk(mode="yolo") as walk:
            path = walk.write("a.py", "x = 1\n")
            walk.call("Read", file_path=str(path))
            path.write_text("x = 1  # theirs\n")
            result = walk.call("Edit", **EDIT)

        assert result.problem.code == "stale"
        assert "read at" in result.text
        assert "modified at" in result.text

    @pytest.mark.feature("E07", "B04")
    def test_a_read_is_noted_with_what_was_shown(self, open_walk):
        with open_walk() as walk:
            walk.write("a.py", "x = 1\n")
            result = walk.call("Read", file_path="a.py", offset=1, limit=1)

        (modifier,) = result.modifiers
        assert isinstance(modifier, handrail.FileRead)
        assert modifier.path == "a.py"


class TestContext:
    @pytest.mark.feature("Y01", "I05", "Y08")
    def test_what_a_tool_is_given(self, open_walk, tmp_path):
        more = tmp_path / "more"
        more.mkdir()
        seen = {}

        @handrail.tool(reads_only=True)
        def look(ctx: handrail.ToolContext) -> str:
            """Looks."""
            seen.update(
                call=ctx.call_id,
                turn=ctx.turn_id,
                agent=ctx.agent_id,
                cwd=ctx.cwd,
                more=list(ctx.additional_directories),
                reads=ctx.reads,
                options=ctx.options,
                values=ctx.session.values,
                cancelled=ctx.signal.cancelled,
            )
            return "ok"

        with open_walk(tools=[look], directories=[str(more)]) as walk:
            walk.rt.call("look", {}, id="c1", agent="explore-2")
            assert seen["cwd"] == str(walk.root)

        assert (seen["call"], seen["agent"], seen["more"]) == ("c1", "explore-2", [str(more)])
        assert seen["turn"]
        assert seen["cancelled"] is False
        assert all(seen[name] is not None for name in ("reads", "options", "values"))

    @pytest.mark.feature("B02", "B05", "B06")
    def test_what_a_tool_asks_of_the_conversation(self, open_walk):
        """Decided: only built-in tools may grant permissions; the result says so."""

        @handrail.tool(reads_only=True)
        def asks() -> Output:
            """Asks."""
            queue = handrail.QueueCommand("/compact")
            grant = handrail.PermissionGranted("Bash", "npm test:*")
            return Output("ok", modifiers=(queue, grant))

        with open_walk(tools=[asks]) as walk:
            result = walk.call("asks")
            queued = list(walk.rt.queue)
            granted = walk.rt.grants.active()

        assert result.modifiers == (handrail.QueueCommand("/compact"),)
        assert queued == ["/compact"]
        assert len(granted) == 0
        assert "only built-in tools may grant" in result.text


class TestRegistry:
    @pytest.mark.feature("C01", "C03", "C04", "C07")
    def test_lookup_definitions_and_filtered_registries(self, walk):
        registry = walk.rt.registry
        one = handrail.Registry.of([registry.get("read_file")])

        assert registry.find("none") is None
        assert len(registry.get_schemas()) == len(registry.list_all())
        assert [tool.name for tool in one.list_all()] == ["read_file"]

    @pytest.mark.feature("C01")
    def test_a_second_tool_of_a_name_is_an_error(self, open_walk):
        """Decided: registering a name again is an error unless it is asked for."""
        with open_walk(tools=[Minimal()]) as walk, pytest.raises(handrail.DuplicateToolError):
            walk.rt.register(Minimal())


class TestHooks:
    @pytest.mark.feature("F06", "F18", "F24", "K03", "K14")
    def test_before_after_and_after_a_failure(self, open_walk):
        hooks = {
            "PreToolUse": [{"command": "! grep -q forbidden || { echo no >&2; exit 2; }"}],
            "PostToolUse": [{"command": "echo after"}],
            "PostToolUseFailure": [{"command": "grep -o 'does not exist'"}],
        }
        with open_walk(mode="yolo", config={"hooks": hooks}) as walk:
            walk.write("a.txt", "x\n")
            rejected = walk.call("Write", file_path="b.txt", content="forbidden")
            done = walk.call("Read", file_path="a.txt")
            failed = walk.call("Read", file_path="none.txt")

        assert (rejected.problem.code, "no" in rejected.text) == ("blocked", True)
        assert "after" in done.text
        assert failed.text.endswith("does not exist")


CALLS = {
    "Read": {"file_path": "a.txt"},
    "Glob": {"pattern": "*"},
    "Grep": {"pattern": "x"},
    "Write": {"file_path": "new.txt", "content": ""},
    "Bash": {"command": "make"},
}


class TestPermissions:
    def asked(self, walk):
        found = {}
        walk.write("a.txt", "x\n")
        for name, arguments in CALLS.items():
            walk.user.asked.clear()
            status = walk.call(name, **arguments).status
            found[name] = "asked" if walk.user.asked else str(status)
        return found

    @pytest.mark.feature("G06", "G07", "G08", "G09")
    @pytest.mark.parametrize(
        ("mode", "write", "bash"),
        [
            ("default", "asked", "asked"),
            ("plan", "planned", "planned"),
            ("acceptEdits", "ok", "asked"),
            ("bypassPermissions", "ok", "failed"),
        ],
    )
    def test_modes(self, open_walk, mode, write, bash):
        """Decided (D2): accepting edits is about files, not about commands."""
        with open_walk(mode=mode, config={"accept_no_sandbox": True}) as walk:
            walk.write("Makefile", "all:\n\tfalse\n")
            assert self.asked(walk) == {
                **dict.fromkeys(("Read", "Glob", "Grep"), "ok"),
                "Write": write,
                "Bash": bash,
            }

    @pytest.mark.feature("G09")
    def test_bypassing_leaves_denials_and_the_blocklist(self, open_walk):
        rules = {"deny": ["Read(secret.txt)"]}
        with open_walk(mode="bypassPermissions", config={"permissions": rules}) as walk:
            walk.write("secret.txt", "x")
            assert walk.code("Read", file_path="secret.txt") == "denied"
            assert walk.code("Bash", command="sudo ls") == "blocked"

    @pytest.mark.feature("G10", "G11", "G16")
    def test_a_grant_is_a_pattern_for_a_tool(self, open_walk):
        with open_walk(answer=False, config={"accept_no_sandbox": True}) as walk:
            walk.write("Makefile", "test:\n\ttrue\n")
            walk.rt.grants.grant("Bash", "make test:*")
            assert walk.call("Bash", command="make test").ok
            assert walk.user.asked == []
            assert walk.code("Bash", command="make test; make other") == "denied"

    @pytest.mark.feature("H15", "E30")
    def test_outside_the_sandbox_is_always_asked(self, open_walk):
        given = {"command": "true", "dangerously_disable_sandbox": True}
        with open_walk(mode="bypassPermissions", answer=False) as walk:
            assert walk.code("Bash", **given) == "denied"
            assert len(walk.user.asked) == 1


class TestOversized:
    @pytest.mark.feature("B09", "B10", "B11", "B12", "F19", "E32")
    @pytest.mark.parametrize(
        ("strategy", "first", "last"),
        [("end", False, True), ("start", True, False), ("both", True, True)],
    )
    def test_a_long_result_is_kept_and_a_part_is_shown(self, open_walk, strategy, first, last):
        """Decided (D13): the full text stays in the state directory; a handle leads to it."""
        config = {"truncation_strategy": strategy, "max_chars": 2000, "accept_no_sandbox": True}
        with open_walk(mode="yolo", config=config) as walk:
            walk.write("long.txt", "".join(f"{n}\n" for n in range(1, 2001)))
            result = walk.call("Read", file_path="long.txt")
            whole = walk.call("Read", file_path=f"output:{result.call_id}", offset=1000, limit=1)

        assert len(result.text) < 2300
        assert ("     1\t1\n" in result.text) is first
        assert ("\t2000" in result.text) is last
        assert result.meta["oversize"]["saved"]
        assert f"output:{result.call_id}" in result.text
        assert "1000" in whole.text

    @pytest.mark.feature("A24", "B09")
    @pytest.mark.parametrize(
        ("tool", "limit"),
        [("read_file", 100_000), ("find_files", 30_000), ("grep", 20_000), ("run_command", 30_000)],
    )
    def test_limits_of_tools(self, walk, tool, limit):
        assert walk.rt.registry.get(tool).max_chars == limit
