"""Who may use which tool, from the settings to what a model is shown and may call."""

import pytest

import handrail
from handrail import ProblemRaised


def names(declared):
    return {one["name"] for one in declared}


@pytest.mark.feature("C17", "C18")
@pytest.mark.parametrize("key", ["allowed_tools", "tools"])
async def test_an_agent_sees_and_calls_what_its_list_names_in_any_vocabulary(
    workspace, open_runtime, key
):
    workspace.write("a.txt", "x\n")
    config = {"agents": {"reviewer": {key: ["Read", "grep_files", "job_*"]}}}
    async with open_runtime(config=config) as rt:
        shown = names(rt.declare("anthropic", agent="reviewer"))
        asked = names(rt.declare("anthropic", agent="reviewer", allowed=["Write", "Read"]))
        main = names(rt.declare("anthropic"))
        read = await rt.call("Read", {"file_path": "a.txt"}, agent="reviewer")
        write = await rt.call("Write", {"file_path": "b", "content": ""}, agent="reviewer")
        batch = await rt.batch(
            [{"name": "write_file", "arguments": {"path": "b", "content": ""}}], agent="reviewer"
        )

    assert shown == {"read_file", "grep", "job_output", "job_kill", "job_list", "job_write"}
    assert asked == {"read_file"}
    assert "write_file" in main
    assert read.ok
    assert [write.problem.code, batch[0].problem.code] == ["unknown_tool"] * 2
    assert workspace.tree() == {"a.txt": b"x\n"}


@pytest.mark.feature("C18")
async def test_a_star_is_no_limit_and_an_empty_list_means_nothing(open_runtime):
    config = {"agents": {"all": {"tools": ["Read", "*"]}, "none": {"tools": []}}}
    async with open_runtime(config=config) as rt:
        every = names(rt.declare("mcp", agent="all"))
        main = names(rt.declare("mcp"))
        nothing = rt.declare("mcp", agent="none")
        read = await rt.call("list_files", {}, agent="none")

    assert every == main
    assert nothing == []
    assert read.problem.code == "unknown_tool"


async def test_an_agent_that_nobody_wrote_about_has_nothing_unless_a_default_says_otherwise(
    open_runtime,
):
    async with open_runtime(config={"agents": {"known": {"tools": ["*"]}}}) as rt:
        stranger = await rt.call("list_files", {}, agent="stranger")
        main = await rt.call("list_files", {})
    config = {"agents": {"default": {"tools": ["list_files"]}}}
    async with open_runtime(config=config) as rt:
        calls = [("list_files", {}), ("grep", {"pattern": "x"})]
        by_default = [await rt.call(*call, agent="stranger") for call in calls]
        by_main = [await rt.call(*call) for call in calls]
    async with open_runtime() as rt:
        unlimited = await rt.call("list_files", {}, agent="anybody")

    assert (stranger.problem.code, main.ok, unlimited.ok) == ("unknown_tool", True, True)
    assert [one.ok for one in by_default] == [True, False]
    assert [one.ok for one in by_main] == [True, False]


async def test_tools_of_a_server_are_matched_when_they_come(open_runtime):
    @handrail.tool(name="mcp__tracker__list")
    def listed() -> str:
        """Lists."""
        return "listed"

    @handrail.tool(name="mcp__other__list")
    def other() -> str:
        """Lists too."""
        return "other"

    config = {"agents": {"a": {"tools": ["mcp__tracker__*"]}}}
    async with open_runtime(mode="bypass", config=config) as rt:
        rt.register(listed)
        rt.register(other)
        shown = names(rt.declare("mcp", agent="a"))
        mine = await rt.call("mcp__tracker__list", {}, agent="a")
        not_mine = await rt.call("mcp__other__list", {}, agent="a")

    assert shown == {"mcp__tracker__list"}
    assert mine.text == "listed"
    assert not_mine.problem.code == "unknown_tool"


@pytest.mark.feature("C19")
async def test_without_patch_an_agent_changes_no_file_by_tool_or_by_command(
    workspace, open_runtime
):
    config = {"agents": {"looker": {"tools": ["*"], "policy": ["Delegate"]}}}
    async with open_runtime(mode="bypass", config=config) as rt:
        shown = names(rt.declare("anthropic", agent="looker"))
        wrote = await rt.call("write_file", {"path": "a", "content": ""}, agent="looker")
        undo = await rt.call("undo", {}, agent="looker")
        commands = ["echo x > a", "tee a", "cp /etc/hostname a", "ls"]
        ran = [await rt.call("run_command", {"command": one}, agent="looker") for one in commands]
        access = rt.agents.of("looker")
        person = await rt.undo()

    assert shown.isdisjoint({"write_file", "edit_file", "apply_patch", "undo"})
    assert {"read_file", "run_command"} <= shown
    assert [wrote.problem.code, undo.problem.code] == ["unknown_tool"] * 2
    assert [one.problem and one.problem.code for one in ran] == ["denied"] * 3 + [None]
    assert [access.may(one) for one in ("Patch", "Finalize", "Delegate")] == [False, False, True]
    assert person.problem.code == "not_found"
    assert workspace.tree() == {}


async def test_a_child_may_never_do_more_than_its_parent(open_runtime):
    config = {"agents": {"parent": {"tools": ["Read", "LS"], "policy": ["Finalize"]}}}
    async with open_runtime(config=config) as rt:
        rt.limit_agent("child", ["*"], parent="parent")
        rt.limit_agent("grandchild", ["Read", "Write"], parent="child")
        shown = [names(rt.declare("mcp", agent=one)) for one in ("child", "grandchild")]
        rt.limit_agent("parent", ["LS"])
        narrowed = [names(rt.declare("mcp", agent=one)) for one in ("child", "grandchild")]
        rt.limit_agent("parent", ["Read", "LS", "Write"])
        widened = names(rt.declare("mcp", agent="parent"))
        may = rt.agents.of("grandchild").may("Patch")
        with pytest.raises(ProblemRaised):
            rt.limit_agent("parent", ["*"], parent="grandchild")

    assert shown == [{"read_file", "list_files"}, {"read_file"}]
    assert narrowed == [{"list_files"}, set()]
    assert widened == {"read_file", "list_files"}
    assert may is False


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[agents.a]\ntool = ["x"]\n', "settings.toml:2: agents.a.tool is not known"),
        ('[agents.a]\ntools = "read_file"\n', "settings.toml:2: agents.a.tools is not a list"),
        ("[agents]\na = 1\n", "settings.toml:2: agents.a is not a table"),
        ('[agents.a]\npolicy = ["Pach"]\n', "settings.toml:2: agents.a.policy names 'Pach'"),
        ('[agents.a]\ntools = [" "]\n', "settings.toml:2: agents.a.tools contains an empty name"),
        (
            '[agents.a]\ntools = ["x"]\nallowed_tools = []\n',
            "agents.a.allowed_tools is given twice",
        ),
        ("[agents.a]\n", "agents.a is empty"),
    ],
)
async def test_a_section_that_makes_no_sense_is_an_error_with_its_place(workspace, text, told):
    file = workspace.root.parent / "settings.toml"
    file.write_text(text)

    with pytest.raises(ProblemRaised) as caught:
        await handrail.open(workspace.root, store=":memory:", config=file)

    assert told in caught.value.problem.message


async def test_a_name_that_no_tool_has_is_said_at_the_start(open_runtime, caplog):
    async with open_runtime(config={"agents": {"a": {"tools": ["raed_file"]}}}) as rt:
        shown = rt.declare("mcp", agent="a")

    assert shown == []
    assert "there is no tool 'raed_file'" in caplog.text


async def test_a_cloned_workspace_cannot_give_its_agents_tools(workspace):
    workspace.write(".handrail/config.toml", '[agents.default]\ntools = ["*"]\n')
    config = {"agents": {"known": {"tools": ["*"]}}}

    async with handrail.open(workspace.root, store=":memory:", config=config) as rt:
        result = await rt.call("list_files", {}, agent="stranger")

    assert result.problem.code == "unknown_tool"


# Rows E62 and E63 of the acceptance list, for the tools that exist, under the names they have
# there: what each could harm, and whether it is sensitive.
LEVELS = {
    "read_file": ({"path": "a"}, "safe"),
    "write_file": ({"path": "a", "content": ""}, "moderate"),
    "edit_file": ({"path": "a", "old_string": "a", "new_string": "b"}, "moderate"),
    "list_files": ({}, "safe"),
    "grep": ({"pattern": "a"}, "safe"),
    "Glob": ({"pattern": "a"}, "safe"),
    "search_code": ({"pattern": "a"}, "safe"),
    "find_files": ({"pattern": "a"}, "safe"),
    "delete_file": ({"path": "a"}, "dangerous"),
    "apply_patch": ({"patch": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n"}, "moderate"),
    "undo": ({}, "moderate"),
    "undo_file": ({"path": "a"}, "moderate"),
}
BASH = {"ls": "safe", "npm test": "moderate", "frobnicate": "dangerous", "rm -rf /": "critical"}


@pytest.mark.feature("E62", "E63")
async def test_every_tool_is_as_dangerous_as_it_says(workspace, open_runtime):
    workspace.write("a", "a")

    @handrail.tool(name="mcp__server__anything")
    def anything() -> str:
        """May touch anything."""
        return ""

    async with open_runtime(mode="plan", allow_delete=True) as rt:
        rt.register(anything)
        calls = [(name, arguments) for name, (arguments, _) in LEVELS.items()]
        calls += [("run_command", {"command": text}) for text in BASH]
        calls += [("mcp__server__anything", {})]
        for number, (name, arguments) in enumerate(calls):
            await rt.call(name, arguments, id=str(number))
        records = {one.call_id: one for one in await rt.store.calls(limit=100)}
        risks = [records[str(number)].requested["risk"] for number in range(len(calls))]

    wanted = [level for _, level in LEVELS.values()]
    assert risks == [*wanted, *BASH.values(), "moderate"]
    sensitive = {name for (name, _), risk in zip(calls, risks, strict=True) if risk != "safe"}
    assert sensitive == {
        *("write_file", "edit_file", "delete_file", "apply_patch"),
        *("undo", "undo_file", "run_command", "mcp__server__anything"),
    }


READ_ONLY = ["explore", "review", "plan", "test", "Explore", "Plan"]
WRITES = [
    ("write_file", {"path": "a", "content": "x"}),
    ("Write", {"file_path": "a", "content": "x"}),
    ("edit_file", {"path": "in.txt", "old_string": "in", "new_string": "out"}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"}),
    ("notebook_edit", {"path": "a.ipynb", "new_source": "x"}),
    ("delete_file", {"path": "in.txt"}),
    ("execute_code", {"language": "python", "code": "open('a', 'w')"}),
    ("undo", {}),
    ("own", {"path": "a"}),
    ("anything", {}),
]


def own_tools(ran):
    @handrail.tool
    def own(path: handrail.WritePath) -> str:
        """Writes."""
        ran.append("own")
        return ""

    @handrail.tool
    def anything() -> str:
        """May do anything."""
        ran.append("anything")
        return ""

    return [own, anything]


@pytest.mark.finding("F13")
@pytest.mark.parametrize("agent", READ_ONLY)
async def test_a_read_only_profile_needs_no_configuration(workspace, open_runtime, agent):
    workspace.write("in.txt", "in\n")
    ran = []
    async with open_runtime(mode="bypass", allow_delete=True, tools=own_tools(ran)) as rt:
        codes = {(await rt.call(*call, agent=agent)).problem.code for call in WRITES}
        read = await rt.call("Read", {"file_path": "in.txt"}, agent=agent)
        found = await rt.call("search_code", {"pattern": "in"}, agent=agent)
        shown = names(rt.declare("mcp", agent=agent))
        rt.limit_agent(agent, ["read_file", "write_file"])
        limited = await rt.call(*WRITES[0], agent=agent)
        rt.limit_agent(agent, None)
        lifted = await rt.call(*WRITES[0], agent=agent)
        rt.limit_agent(agent, None, parent="main")
        below_main = await rt.call(*WRITES[0], agent=agent)

    look = {"read_file", "list_files", "grep", "find_files", "lsp"}
    assert codes == {"unknown_tool"}
    assert read.ok
    assert found.ok
    more = {"run_command"} if agent == "test" else {"web_fetch", "web_search"}
    assert shown == look | more
    again = (limited, lifted, below_main)
    assert [one.problem.code for one in again] == ["unknown_tool"] * 3
    assert ran == []
    assert workspace.tree() == {"in.txt": b"in\n"}


@pytest.mark.finding("F13")
async def test_a_child_of_a_read_only_profile_is_no_stranger_to_its_limits(open_runtime):
    async with open_runtime(mode="bypass") as rt:
        rt.limit_agent("child", None, parent="test")
        write = await rt.call(*WRITES[0], agent="child")
        command = await rt.call("run_command", {"command": "touch a"}, agent="child")

    assert (write.problem.code, command.problem.code) == ("unknown_tool", "denied")


@pytest.mark.finding("F13")
async def test_any_other_agent_has_what_the_main_agent_has(workspace, open_runtime):
    async with open_runtime(mode="accept-edits") as rt:
        results = [
            await rt.call("write_file", {"path": agent, "content": "x"}, agent=agent)
            for agent in ("main", "build", "tests", "general", "")
            if agent
        ]
        shown = [names(rt.declare("mcp", agent=agent)) for agent in ("main", "build")]

    assert all(one.ok for one in results)
    assert shown[0] == shown[1]


@pytest.mark.finding("F13")
async def test_a_table_of_the_settings_replaces_a_profile(open_runtime):
    agents = {"test": {"tools": ["*"]}, "default": {"tools": ["read_file", "write_file"]}}
    async with open_runtime(mode="accept-edits", config={"agents": agents}) as rt:
        written = await rt.call("write_file", {"path": "a", "content": "x"}, agent="test")
        refused = await rt.call("write_file", {"path": "b", "content": "x"}, agent="review")
        listed = await rt.call("list_files", {}, agent="review")
        read = await rt.call("read_file", {"path": "a"}, agent="review")
    async with open_runtime(config={"agents": {"test": {"tools": ["*"]}}}) as rt:
        stranger = await rt.call("list_files", {}, agent="review")

    assert written.ok
    # A profile is never more than what the settings give to agents without a table.
    assert [refused.problem.code, listed.problem.code] == ["unknown_tool"] * 2
    assert read.ok
    assert stranger.problem.code == "unknown_tool"


HIDDEN_WRITES = [
    "python3 -c \"open('a', 'w').write('x')\"",
    "python3 -c \"import os; os.remove('in.txt')\"",
    "sh -c 'echo x > a'",
    "awk 'BEGIN { print 1 > \"a\" }'",
]


@pytest.mark.finding("F13")
@pytest.mark.parametrize("command", HIDDEN_WRITES)
@pytest.mark.parametrize("background", [False, True])
async def test_no_command_of_the_test_agent_changes_a_file(
    workspace, open_runtime, command, background
):
    workspace.write("in.txt", "in\n")
    arguments = {"command": command, "background": background}
    async with open_runtime(mode="bypass", approver=lambda request: True) as rt:
        await rt.call("run_command", arguments, agent="test")
        for job in await rt.jobs.list():
            await rt.call("job_output", {"job": job.id, "block": True, "timeout_s": 20})
        outside = {"command": "true", "unconfined": True}
        left = await rt.call("run_command", outside, agent="test")

    assert left.problem.code == "denied"
    assert workspace.tree() == {"in.txt": b"in\n"}


@pytest.mark.finding("F13")
async def test_without_a_sandbox_the_test_agent_runs_only_what_only_looks(workspace, open_runtime):
    workspace.write("in.txt", "in\n")
    async with open_runtime(mode="bypass", sandbox="none", approver=lambda request: True) as rt:
        unknown = await rt.call("run_command", {"command": HIDDEN_WRITES[0]}, agent="test")
        looked = await rt.call("run_command", {"command": "cat in.txt"}, agent="test")

    assert unknown.problem.code == "denied"
    assert looked.ok
    assert workspace.tree() == {"in.txt": b"in\n"}


@pytest.mark.finding("F13")
@pytest.mark.needs_sandbox
async def test_the_test_agent_runs_tests(workspace, open_runtime):
    workspace.write("check.py", "import tempfile\ntempfile.TemporaryFile()\nprint('passed')\n")
    async with open_runtime(mode="bypass") as rt:
        result = await rt.call("run_command", {"command": "python3 check.py"}, agent="test")

    assert result.ok, result.text
    assert "passed" in result.text


@pytest.mark.parametrize("profile", ["explore", "review", "plan", "test"])
@pytest.mark.parametrize("mode", ["default", "accept-edits", "bypass"])
async def test_a_child_with_a_read_only_profile_never_writes_under_any_name_or_mode(
    workspace, open_runtime, profile, mode
):
    workspace.write("a.txt", "x\n")
    attempts = [
        ("write_file", {"path": "b", "content": ""}),
        ("edit_file", {"path": "a.txt", "old_string": "x", "new_string": "y"}),
        ("run_command", {"command": "echo x > b"}),
        ("execute_code", {"language": "python", "code": "open('b', 'w')"}),
        ("undo", {}),
        ("lock_paths", {"globs": ["a.txt"]}),
    ]
    async with open_runtime(mode=mode) as rt:
        rt.limit_agent("child-1", None, parent="main", profile=profile)
        rt.limit_agent("child-1.child-2", ["*"], parent="child-1")
        read = await rt.call("read_file", {"path": "a.txt"}, agent="child-1.child-2")
        tried = [
            await rt.call(name, arguments, agent=agent)
            for agent in ("child-1", "child-1.child-2")
            for name, arguments in attempts
        ]

    assert read.ok
    assert {one.problem.code for one in tried} <= {"unknown_tool", "denied"}
    assert set(workspace.tree()) == {"a.txt"}


async def test_a_profile_is_a_table_or_a_built_in_name(open_runtime):
    async with open_runtime(config={"agents": {"reader": {"tools": ["Read"]}}}) as rt:
        rt.limit_agent("one", None, profile="reader")
        with pytest.raises(ProblemRaised) as raised:
            rt.limit_agent("two", None, profile="writer")
        rt.limit_agent("main", None, profile="reader")
        narrowed = names(rt.declare("mcp"))
        rt.limit_agent("main", None)
        lifted = names(rt.declare("mcp"))

    assert raised.value.problem.field == "profile"
    assert narrowed == {"read_file"}
    assert len(lifted) > 1
