"""What the five documents say about subagents, each in its own words."""

import json

import pytest

import handrail

# Dialect → (tool, its arguments, a call, how the subagent reads a file)
VIEWS = {
    "architect": (
        "dispatch_subagent",
        {"task", "agent_type", "context"},
        {"task": "Where is x set?", "agent_type": "explore", "context": "Python"},
        ("read_file", {"path": "app.py"}),
    ),
    "linggen": (
        "delegate_to_agent",
        {"target_agent_id", "task"},
        {"target_agent_id": "explore", "task": "Where is x set?"},
        ("Read", {"path": "app.py"}),
    ),
    "claude": (
        "Task",
        {
            *("description", "prompt", "subagent_type", "model", "resume"),
            *("run_in_background", "max_turns", "allowed_tools"),
        },
        {"description": "Find x", "prompt": "Where is x set?", "subagent_type": "Explore"},
        ("Read", {"file_path": "app.py"}),
    ),
    "attocode": (
        "spawn_agent",
        {"agent", "task"},
        {"agent": "explore", "task": "Where is x set?"},
        ("read_file", {"path": "app.py"}),
    ),
    "coauthor": (
        "create_subtask_explore",
        {"task", "context"},
        {"task": "Where is x set?"},
        ("readFile", {"path": "app.py"}),
    ),
}
# Type → names of Architect's tools that its agents have.
READING = {"read_file", "list_files", "search_code", "grep", "find_files"}
TYPES = {"explore": READING, "review": READING, "test": READING | {"run_command"}}
GROUPS = ["search", "edit", "exec", "subtask"]
PARENT = ["read_file", "list_files", "grep", "find_files", "run_command", "write_file"]


def call(name, arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


@pytest.fixture
def scripted(tmp_path):
    """Open a runtime whose model answers from lines."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "app.py").write_text("x = 1\n")

    def opened(*lines, **settings):
        script = tmp_path / "script.jsonl"
        script.write_text("\n".join(json.dumps(line) for line in lines))
        given = {"store": ":memory:", "mode": "accept-edits", **settings}
        return handrail.open(root, model=f"script:{script}", **given)

    opened.root = root
    return opened


@pytest.mark.feature("E40", "E42", "E43", "E44")
@pytest.mark.parametrize("dialect", VIEWS)
async def test_the_tool_has_the_words_of_its_document(scripted, dialect):
    tool, arguments, _, _ = VIEWS[dialect]
    async with scripted({"text": "unused"}, dialect=dialect) as rt:
        declared = {one["name"]: one for one in rt.declare("anthropic", groups=["subtask"])}

    assert set(declared[tool]["input_schema"]["properties"]) == arguments


@pytest.mark.feature("P01", "P04", "P05", "P13", "E40", "E42", "E43", "E44")
@pytest.mark.parametrize("dialect", VIEWS)
async def test_a_subagent_works_apart_and_its_answer_is_the_result(scripted, dialect):
    tool, _, arguments, read = VIEWS[dialect]
    lines = [
        call(tool, arguments),
        {"expect": "It is set in app.py"},
        {"text": "done"},
        {"agent": "explore"},
        call(*read),
        {"expect": "x = 1"},
        {"text": "It is set in app.py"},
    ]
    async with scripted(*lines, dialect=dialect) as rt:
        result = await rt.agent(allowed=[*PARENT, "subagent"]).run("Find x. swordfish")

    assert (result.status, result.text) == ("done", "done")
    (child,) = result.report.children
    assert (child.answer, child.reads) == ("It is set in app.py", ("app.py",))


@pytest.mark.feature("P02", "P03", "E42")
@pytest.mark.parametrize("agent", TYPES)
async def test_the_types_of_architect_have_their_tools(scripted, agent):
    tool = VIEWS["architect"][0]
    edit = {"path": "app.py", "old_str": "1", "new_str": "2"}
    lines = [
        call(tool, {"task": "Look", "agent_type": agent}),
        {"text": "done"},
        {"agent": agent},
        call("write_file", {"path": "new.txt", "content": ""}),
        call("edit_file", edit),
        call("run_command", {"command": "cat app.py"}),
        call("search_code", {"pattern": "x"}),
        {"text": "looked"},
    ]
    async with scripted(*lines, dialect="architect", mode="yolo") as rt:
        result = await rt.agent(allowed=[*PARENT, "edit_file", "search_code", "subagent"]).run(
            "Look"
        )

        (child,) = result.report.children
        records = [(await rt.store.calls(call_id=one.call_id))[0] for one in child.refused]

    refused = ["write_file", "edit_file", *({"run_command"} - TYPES[agent])]
    assert [one.requested["called"] for one in records] == refused
    assert (scripted.root / "app.py").read_text() == "x = 1\n"


@pytest.mark.feature("P12", "P02")
async def test_commands_and_subagents_are_for_the_agent_that_builds(scripted):
    """Decided: the main agent is the one that builds. Of the built-in types only `test` has commands,
    and none of those that read starts others."""
    async with scripted({"text": "unused"}, dialect="architect", mode="yolo") as rt:
        shown = {
            agent: {one["name"] for one in rt.declare("anthropic", groups=GROUPS, agent=agent)}
            for agent in ("main", *TYPES, "plan")
        }
        refused = await rt.call("run_command", {"command": "ls"}, agent="explore")

    both = {"run_command", "dispatch_subagent"}
    assert {agent: names & both for agent, names in shown.items()} == {
        "main": both,
        "explore": set(),
        "review": set(),
        "plan": set(),
        "test": {"run_command"},
    }
    assert shown["explore"] >= READING
    assert refused.problem.code == "unknown_tool"


@pytest.mark.feature("P05", "E40", "P13")
async def test_a_task_in_the_background_has_an_id(scripted):
    given = {**VIEWS["claude"][2], "run_in_background": True}
    lines = [
        call("Task", given),
        {"expect": r"Background agent started: \S+"},
        {"text": "done"},
        {"agent": "explore"},
        {"text": "It is set in app.py"},
    ]
    async with scripted(*lines, dialect="claude") as rt:
        result = await rt.agent(allowed=[*PARENT, "subagent", "job_output"]).run("Find x")

    assert result.status == "done"


@pytest.mark.feature("P09", "C19")
async def test_delegating_needs_the_policy(scripted):
    agents = {"agents": {"main": {"tools": ["*"], "policy": ["Patch", "Finalize"]}}}
    tool, _, arguments, _ = VIEWS["linggen"]
    lines = [call(tool, arguments), {"text": "done"}]
    async with scripted(*lines, dialect="linggen", config=agents) as rt:
        result = await rt.agent(allowed=[*PARENT, "subagent"]).run("Find x")

    assert result.report.children == ()


@pytest.mark.feature("P08", "R-09")
async def test_subtasks_are_limited_in_depth(scripted):
    """Decided (D8): three levels; a type that is at work above is not started again below."""
    nested = call("create_subtask_general", {"task": "Go on"})
    lines = [nested, {"text": "done"}, {"agent": "general"}, nested, {"text": "no deeper"}]
    async with scripted(*lines, dialect="coauthor") as rt:
        result = await rt.agent(allowed=[*PARENT, "subagent"]).run("Go")

    (child,) = result.report.children
    assert child.answer == "no deeper"
    assert len(child.refused) == 1
