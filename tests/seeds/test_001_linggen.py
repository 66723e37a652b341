"""Linggen's document in its vocabulary: the table of tools, aliases, code, access, safety."""

import json

import pytest
from tests.models.speaking import WIRES, model_on

import handrail
from handrail.models.wires.formats import FORMATS
from handrail.testing import FakeProvider, says

SETTINGS = {"dialect": "linggen", "mode": "yolo", "config": {"accept_no_sandbox": True}}

# Tool → (required arguments, optional arguments). What subagents do is in a file of its own.
TOOLS = {
    "Glob": (set(), {"globs", "max_results"}),
    "Read": ({"path"}, {"max_bytes", "line_range"}),
    "Grep": ({"query"}, {"globs", "max_results"}),
    "Write": ({"path", "content"}, set()),
    "Edit": ({"path", "old_string", "new_string"}, {"replace_all"}),
    "Bash": ({"cmd"}, {"timeout_ms"}),
    "capture_screenshot": ({"url"}, {"delay_ms"}),
    "lock_paths": ({"globs"}, {"ttl_ms"}),
    "unlock_paths": ({"tokens"}, set()),
    "delegate_to_agent": ({"target_agent_id", "task"}, set()),
    "WebSearch": ({"query"}, {"max_results"}),
}
ALLOWLIST = {"command_policy": "allowlist", "allowed_commands": ["ls", "cat", "echo"]}


@pytest.fixture(scope="module", autouse=True)
def project(walk):
    walk.write("src/main.rs", "fn main() {\n    work();\n}\n")
    walk.write("src/lib.rs", "fn work() {}\n")
    walk.write("Cargo.toml", "[package]\n")
    walk.write(".gitignore", "target/\n")
    walk.write("target/out.rs", "fn main() {}\n")
    walk.write(".git/HEAD", "ref: refs/heads/main\n")


class TestTable:
    @pytest.mark.feature("C21", "E02", "E14", "E22", "E25", "E29", "E35", "E36", "E57")
    @pytest.mark.parametrize("name", TOOLS)
    def test_a_tool_has_its_arguments(self, walk, name):
        schema = walk.schema(name)
        needed, optional = TOOLS[name]

        assert set(schema["properties"]) == needed | optional
        assert set(schema.get("required", ())) == needed

    @pytest.mark.feature("C21", "E57", "E60")
    def test_the_set_of_tools(self):
        assert set(handrail.tool_set("linggen", subagents=True)) == {*TOOLS, "execute_code"}

    @pytest.mark.feature("E43")
    def test_an_agent_is_named(self, walk):
        problem = walk.call("delegate_to_agent", task="Look around").problem

        assert (problem.code, problem.field) == ("invalid_arguments", "target_agent_id")

    @pytest.mark.feature("C21")
    def test_the_same_words_work_over_mcp_and_on_the_command_line(self, mcp, command_line):
        (command_line.root / "a.rs").write_text("fn main() {}\n")
        call = {"name": "Grep", "arguments": {"query": "fn \\w+", "globs": ["*.rs"]}}
        listed, found = mcp(
            ("tools/list", {}), ("tools/call", call), words=("--dialect", "linggen")
        )
        done = command_line("--dialect", "linggen", "call", "Bash", "cmd=cat a.rs")

        names = {tool["name"] for tool in listed["tools"]}
        assert {"Glob", "Read", "Grep", "Write", "Edit", "Bash"} <= names
        assert found["content"][0]["text"] == "a.rs:1:fn main() {}"
        assert (done.code, "fn main() {}" in done.out) == (0, True)

    @pytest.mark.feature("E02", "E22")
    def test_what_is_left_out_is_reached_with_arguments_of_the_table(self, walk):
        walk.write("long.txt", "line\n" * 2_500)
        text = walk.call("Read", path="long.txt").text
        rest = walk.call("Read", path="long.txt", line_range="2001-4000")
        few = walk.call("Grep", query="line", globs=["long.txt"], max_results=1).text

        assert 'go on with line_range="2001-4000"' in text.splitlines()[-1]
        assert (rest.data["first"], rest.data["last"]) == (2001, 2500)
        assert few.endswith("raise max_results]")
        (walk.root / "long.txt").unlink()

    @pytest.mark.feature("E25")
    @pytest.mark.parametrize(
        ("arguments", "paths"),
        [
            ({}, [".gitignore", "Cargo.toml", "src/lib.rs", "src/main.rs"]),
            ({"globs": ["*.rs"]}, ["src/lib.rs", "src/main.rs"]),
            ({"globs": ["*.toml", "src/main.*"]}, ["Cargo.toml", "src/main.rs"]),
            ({"globs": "*.rs", "max_results": 1}, ["src/lib.rs"]),
        ],
    )
    def test_files_by_globs_without_ignored_ones(self, walk, arguments, paths):
        assert walk.call("Glob", **arguments).data["paths"] == paths

    @pytest.mark.feature("E02", "R-24")
    def test_reading_by_lines_and_bytes(self, walk):
        lines = walk.call("Read", path="src/main.rs", line_range=[2, 3])
        start = walk.call("Read", path="src/main.rs", max_bytes=5)
        missing = walk.call("Read", path="src/mian.rs")

        assert lines.text.startswith("    work();\n}")
        assert (lines.data["first"], lines.data["last"]) == (2, 3)
        assert start.text.startswith("fn ma\n")
        assert "main.rs" in missing.problem.hint

    @pytest.mark.feature("E22", "I04")
    def test_searching_contents(self, walk):
        found = walk.call("Grep", query=r"fn \w+", globs=["*.rs"])
        one = walk.call("Grep", query="fn", max_results=1)

        assert found.text == "src/lib.rs:1:fn work() {}\nsrc/main.rs:1:fn main() {"
        assert len(one.data["hits"]) == 1

    @pytest.mark.feature("E57", "Q01", "R-14")
    def test_locks_keep_other_agents_away(self, walk):
        locked = walk.call("lock_paths", globs=["src/**"], ttl_ms=60_000)
        given = {"path": "src/lib.rs", "content": ""}
        other = walk.rt.call("Write", given, agent="other")
        again = walk.rt.call("lock_paths", {"globs": ["src/**"]}, agent="other")
        tokens = [one["token"] for one in locked.data["acquired"]]
        released = walk.call("unlock_paths", tokens=tokens)

        assert other.problem.code == "conflict"
        assert [one["glob"] for one in again.data["denied"]] == ["src/**"]
        assert released.data == {"released": tokens, "unknown": []}

    @pytest.mark.feature("E36", "R-25")
    def test_searching_the_web(self, open_walk):
        def search(query, number):
            return [{"title": query, "url": f"https://example.org/{n}"} for n in range(number)]

        with open_walk(mode="yolo", search=search) as walk:
            found = walk.call("WebSearch", query="wal", max_results=2)
            usual = walk.call("WebSearch", query="other")
            assert walk.schema("WebSearch")["properties"]["max_results"]["default"] == 5

        assert len(found.data["results"]) == 2
        assert len(usual.data["results"]) == 5


class TestAliases:
    @pytest.mark.feature("E61")
    @pytest.mark.parametrize("path", ["path", "file", "filepath"])
    def test_of_a_path(self, walk, path):
        assert walk.call("Write", **{path: "alias.txt", "content": "one\n"}).ok
        assert walk.call("Read", **{path: "alias.txt"}).text == "one"
        assert walk.call("Edit", **{path: "alias.txt", "old": "one", "new": "1"}).ok

    @pytest.mark.feature("E61", "E14")
    @pytest.mark.parametrize(
        ("old", "new"),
        [("old_string", "new_string"), ("old", "new"), ("search", "replace"), ("from", "to")],
    )
    def test_of_the_texts_of_an_edit(self, walk, old, new):
        walk.write("texts.txt", "a a\n")

        assert walk.code("Edit", **{"path": "texts.txt", old: "a", new: "b"}) == "ambiguous"
        assert walk.call(
            "Edit", **{"path": "texts.txt", old: "a", new: "b", "replace_all": True}
        ).ok
        assert walk.read("texts.txt") == "b b\n"


class TestCode:
    @pytest.mark.feature("E60")
    def test_code_runs_in_the_workspace_with_streams_and_exit_code(self, walk):
        code = "import os, sys; print(os.getcwd()); print('e', file=sys.stderr); sys.exit(3)"
        result = walk.call("execute_code", language="python", code=code)

        assert result.data["stdout"] == str(walk.root)
        assert result.data["stderr"] == "e"
        assert result.data["exit_code"] == 3

    @pytest.mark.feature("E60")
    def test_code_has_the_safety_of_commands(self, walk, open_walk):
        assert walk.code("execute_code", language="bash", code="sudo ls") == "blocked"
        with open_walk(commands=False) as other:
            assert other.code("execute_code", language="python", code="1") is not None

    ACTION = '{"type": "execute_code", "language": "bash", "code": "echo $((6 * 7))"}'

    @pytest.mark.feature("E60")
    @pytest.mark.parametrize(
        "reply",
        [
            {"role": "assistant", "content": ACTION},
            {"role": "assistant", "content": f"```json\n{ACTION}\n```"},
            {
                "id": "r1",
                "choices": [
                    {
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": f" {ACTION}\n"},
                    }
                ],
            },
            {
                "id": "r2",
                "role": "assistant",
                "stop_reason": "end_turn",
                "content": [{"type": "text", "text": ACTION}],
            },
            {
                "id": "r3",
                "status": "completed",
                "output": [
                    {"type": "message", "content": [{"type": "output_text", "text": ACTION}]}
                ],
            },
        ],
        ids=["message", "fence", "chat", "anthropic", "responses"],
    )
    def test_code_as_an_action_in_a_reply(self, walk, reply):
        walk.rt.declare("openai", allowed=["Read", "execute_code"])

        (message,) = walk.rt.answer(reply)

        assert message["role"] == "user"
        assert "42" in message["content"]
        assert "exit_code: 0" in message["content"]

    @pytest.mark.parametrize(
        ("tool", "given", "said"),
        [
            ("lock_paths", {"globs": ["a"], "ttl_ms": 700}, "equal to 1000, not 700"),
            ("capture_screenshot", {"url": "x", "delay_ms": 40_000}, "equal to 30000, not 40000"),
        ],
        ids=["lock", "screenshot"],
    )
    def test_limits_are_said_in_milliseconds(self, walk, tool, given, said):
        assert said in walk.rt.call(tool, given).problem.message

    @pytest.mark.feature("E60")
    def test_a_response_of_gemini_is_answered(self, walk):
        walk.rt.declare("gemini", allowed=["Read", "execute_code"])
        call = {"functionCall": {"name": "Read", "args": {"path": "Cargo.toml"}}}
        thought = {"text": "hm", "thought": True}

        def respond(*parts, finish="STOP"):
            content = {"role": "model", "parts": list(parts)}
            return {"candidates": [{"content": content, "finishReason": finish}]}

        (read,) = walk.rt.answer(respond(call))
        (acted,) = walk.rt.answer(respond(thought, {"text": self.ACTION}))
        (cut,) = walk.rt.answer(respond({"text": self.ACTION}, finish="MAX_TOKENS"))
        (content,) = walk.rt.answer({"role": "model", "parts": [call]})

        (part,) = read["parts"]
        assert part["functionResponse"]["name"] == "Read"
        assert "[package]" in part["functionResponse"]["response"]["output"]
        assert acted["role"] == "user"
        assert "42" in acted["parts"][0]["text"]
        assert "42" not in cut["parts"][0]["text"]
        assert content["parts"][0]["functionResponse"]["name"] == "Read"
        assert walk.rt.answer(respond({"text": "done"})) == []
        assert walk.rt.answer({"candidates": [{"finishReason": "SAFETY"}]}) == []

    @pytest.mark.feature("E60")
    @pytest.mark.parametrize("wire", WIRES)
    async def test_an_agent_runs_the_code_of_an_action(self, tmp_path, wire):
        """In the loop, over every wire; the result goes back, and the model answers."""
        quoted = f"I would run {self.ACTION}"
        async with FakeProvider([says(self.ACTION), says(quoted)]) as provider:
            model = model_on(provider, wire)
            given = {"model": model, "dialect": "linggen", "mode": "yolo", "store": ":memory:"}
            async with handrail.open(tmp_path, **given) as rt:
                agent = rt.agent(allowed=["Read", "execute_code"])
                result = await agent.run("Compute it")
                made = await rt.store.calls(limit=5)
            await model.aclose()

        for request in provider.requests:
            FORMATS[request.wire].check(request.body)
        assert result.text == quoted
        assert len(provider.requests) == 2
        assert "exit_code: 0" in json.dumps(provider.requests[1].body)
        assert [one.requested["tool"] for one in made] == ["execute_code"]

    @pytest.mark.feature("E60")
    async def test_an_agent_without_the_tool_takes_an_action_for_text(self, tmp_path):
        async with FakeProvider([says(self.ACTION)]) as provider:
            model = model_on(provider, WIRES[0])
            given = {"model": model, "dialect": "linggen", "mode": "yolo", "store": ":memory:"}
            async with handrail.open(tmp_path, **given) as rt:
                result = await rt.agent(allowed=["Read"]).run("Compute it")
                made = await rt.store.calls(limit=5)
            await model.aclose()

        assert result.text == self.ACTION
        assert made == []

    @pytest.mark.feature("E60", "H09")
    def test_code_runs_if_its_interpreter_is_on_the_list(self, open_walk):
        config = {"command_policy": "allowlist", "allowed_commands": ["python3", "echo"]}
        with open_walk(mode="yolo", config=config) as walk:
            python = walk.call("execute_code", language="python", code="print(6 * 7)")
            node = walk.call("execute_code", language="node", code="1")
            bash = walk.call("execute_code", language="bash", code="echo 42")
            unlisted = walk.call("execute_code", language="bash", code="echo 42; ls")
            preload = walk.call("Bash", cmd="LD_PRELOAD=./x.so echo 1")

        assert python.data["stdout"] == bash.data["stdout"] == "42"
        assert "'node'" in node.problem.message
        assert "'ls'" in unlisted.problem.message
        assert "LD_PRELOAD" in preload.problem.message

    @pytest.mark.feature("E60")
    def test_what_is_no_action_of_this_model_is_not_run(self, walk, open_walk):
        reply = {"role": "assistant", "content": self.ACTION}
        walk.rt.declare("openai", allowed=["Read"])
        (refused,) = walk.rt.answer(reply)
        walk.rt.declare("openai", allowed=["Read", "execute_code"])
        cut = {"id": "r9", "choices": [{"finish_reason": "length", "message": reply}]}
        (incomplete,) = walk.rt.answer(cut)
        texts = [f"I would run {self.ACTION}", "{}", '{"type": "Bash", "cmd": "ls"}', "{" * 5000]
        others = [walk.rt.answer({"role": "assistant", "content": text}) for text in texts]
        with open_walk(dialect="claude", mode="yolo") as other:
            elsewhere = other.rt.answer(reply)

        assert "42" not in refused["content"] + incomplete["content"]
        assert others == [[]] * 4
        assert elsewhere == []


class TestDispatch:
    @pytest.mark.feature("C13", "F02")
    def test_built_in_names_first_and_unknown_names_are_errors(self, walk):
        assert walk.code("Read", path="Cargo.toml") is None
        assert walk.code("NoSuchTool") == "unknown_tool"

    @pytest.mark.feature("C13", "C20", "O01", "O03")
    def test_a_skill_brings_tools_without_code(self, tmp_path, open_walk):
        folder = tmp_path / "skills" / "count"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            "---\nname: count\ndescription: Counts lines.\ntool_defs:\n"
            "  - name: count_lines\n    description: Counts lines.\n    cmd: wc -l -- {{file}}\n"
            "    args:\n      file: {type: string, description: a file, required: true}\n---\nUse it.\n"
        )
        config = {"skills": {"folders": [str(folder.parent)]}, "accept_no_sandbox": True}
        with open_walk(mode="yolo", config=config) as walk:
            walk.write("a.txt", "1\n2\n")
            counted = walk.call("count_lines", file="a.txt")

        assert counted.data["stdout"] == "2 a.txt"


class TestAccess:
    @pytest.mark.feature("C18")
    def test_an_agent_has_a_list_of_tools_or_all(self, open_walk):
        agents = {"reader": {"tools": ["Read", "Grep"]}, "any": {"tools": ["*"]}}
        with open_walk(config={"agents": agents}) as walk:
            reader = {one["name"] for one in walk.rt.declare("anthropic", agent="reader")}
            everything = {one["name"] for one in walk.rt.declare("anthropic", agent="any")}

        assert reader == {"Read", "Grep"}
        assert {"Write", "Bash"} <= everything

    @pytest.mark.feature("C19")
    def test_a_policy_gates_actions(self, open_walk):
        agents = {"talker": {"tools": ["*"], "policy": ["Finalize"]}}
        with open_walk(mode="yolo", config={"agents": agents}) as walk:
            given = {"path": "a.txt", "content": ""}
            patch = walk.rt.call("Write", given, agent="talker")
            allowed = walk.rt.agents.of("talker")
            assert [allowed.may(one) for one in ("Patch", "Finalize", "Delegate")] == [
                False,
                True,
                False,
            ]

        assert patch.problem.code == "unknown_tool"

    @pytest.mark.feature("G13", "R-12")
    @pytest.mark.parametrize(
        ("freshness", "code"), [("strict", "stale"), ("warn", None), ("off", None)]
    )
    def test_a_file_is_read_before_it_is_changed(self, open_walk, freshness, code):
        """Decided (D12): a mode off, warn or strict; warn unless the dialect is Claude's."""
        with open_walk(mode="yolo", config={"freshness": freshness}) as walk:
            walk.write("a.txt", "one\n")
            assert walk.code("Write", path="a.txt", content="x\n") == code
            edit = walk.call("Edit", path="a.txt", old="one" if code else "x", new="y")
            assert (edit.problem and edit.problem.code) == code
            walk.call("Read", path="a.txt")
            assert walk.call("Edit", path="a.txt", old="one" if code else "y", new="z").ok

    @pytest.mark.feature("X02", "R-11")
    def test_repeated_calls_are_noticed_and_then_refused(self, open_walk):
        with open_walk(config={"loop_guard": "stop"}) as walk:
            calls = [walk.call("Grep", query="nothing") for _ in range(8)]

        assert ["same arguments" in one.text for one in calls[:7]] == [False] * 3 + [True] * 4
        assert calls[7].problem.code == "blocked"


class TestFileSafety:
    @pytest.mark.feature("I01", "I02", "I03")
    @pytest.mark.parametrize("path", ["../x", "/etc/passwd", "src/../../x"])
    def test_paths_stay_in_the_workspace(self, walk, path):
        """Decided (D7): `..` is refused where it leads out; inside, it is normalised."""
        assert walk.code("Read", path=path) == "outside_workspace"
        assert walk.call("Read", path="src/../Cargo.toml").ok

    @pytest.mark.feature("I04")
    def test_listing_and_search_leave_ignored_files_out(self, walk):
        assert "target/out.rs" not in walk.call("Glob", globs=["*.rs"]).data["paths"]
        assert "target" not in walk.call("Grep", query="fn main").text


class TestCommandSafety:
    @pytest.mark.feature("H09", "H10", "H11")
    @pytest.mark.parametrize(
        ("command", "code"),
        [
            ("ls", None),
            ("ls | cat", None),
            ("ls && cat a.txt || echo x", None),
            ("echo 'a; b | c $(d)'", None),
            ("rm a.txt", "denied"),
            ("ls | rm", "denied"),
            ("ls; rm a.txt", "denied"),
            ("ls && rm a.txt", "denied"),
            ("ls || rm a.txt", "denied"),
            ("ls & rm a.txt", "denied"),
            ("echo $(ls)", "denied"),
            ("echo `ls`", "denied"),
            ("ls\nrm a.txt", "denied"),
        ],
    )
    def test_each_part_of_a_command_is_on_the_list(self, allowlisted, command, code):
        assert allowlisted.code("Bash", cmd=command) == code

    @pytest.fixture
    def allowlisted(self, open_walk):
        with open_walk(mode="yolo", config={**ALLOWLIST, "accept_no_sandbox": True}) as walk:
            walk.write("a.txt", "1\n")
            yield walk

    @pytest.mark.feature("H09")
    def test_without_the_policy_commands_have_classes(self, walk):
        """Decided (D6): the list is one policy of three; by default commands have classes."""
        assert walk.call("Bash", cmd="echo $(ls)").ok

    @pytest.mark.feature("E29", "H05", "H12")
    def test_time_and_output(self, walk):
        assert walk.schema("Bash")["properties"]["timeout_ms"]["default"] == 30_000
        assert walk.code("Bash", cmd="sleep 30", timeout_ms=200) == "timeout"
        both = walk.call("Bash", cmd="echo out; echo err >&2")
        assert (both.data["stdout"], both.data["stderr"]) == ("out", "err")
