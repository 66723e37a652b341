"""The tools of each product: what is registered, what may run at once, what a model is told."""

import json

import pytest

import handrail
from handrail.cli.commands.agent.run import CONFIGURED_TOOLS, CONVERSATION_TOOLS
from handrail.dialects.known import DIALECTS, find_vocabulary

CLAUDE = [
    *("Read", "Write", "Edit", "Glob", "Grep", "NotebookEdit", "Bash", "WebFetch", "WebSearch"),
    *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "TodoWrite", "TaskOutput", "KillShell"),
    "Skill",
]
# The document's table: whether a tool only reads, and whether two calls of it may run at once.
TABLE = {
    "Read": (True, True),
    "Write": (False, False),
    "Edit": (False, False),
    "Glob": (True, True),
    "Grep": (True, True),
    "Bash": (None, None),  # It depends on the command.
    "WebFetch": (True, True),
    "WebSearch": (True, True),
    "Task": (True, True),
    "TaskOutput": (True, True),
    "KillShell": (False, True),
    "AskUserQuestion": (False, False),
    "EnterPlanMode": (False, False),
    "ExitPlanMode": (False, False),
    "TodoWrite": (False, False),
    "NotebookEdit": (False, False),
    "Skill": (False, False),
    "LSP": (True, True),
}
# Where ours differs: calls are ordered by what they touch (two commands of unknown effects, one shell
# twice, two agents that may write: one after the other; two skills: at once), and agents may write.
DECIDED = {
    "Bash": (False, False),
    "Task": (False, False),
    "KillShell": (False, False),
    "Skill": (False, True),
}


def open_claude(root, **options):
    """A runtime in the claude dialect."""
    return handrail.open(root, dialect="claude", store=":memory:", **options)


@pytest.mark.feature("C15")
async def test_one_function_lists_the_claude_set_with_a_flag_for_each_feature(tmp_path):
    async with open_claude(tmp_path) as rt:
        declared = [
            one["name"] for one in rt.declare("anthropic", allowed=handrail.tool_set("claude"))
        ]
        missing = [name for name in CLAUDE if not rt.has_tool(name)]

    assert handrail.tool_set("claude") == CLAUDE
    assert missing == []
    assert sorted(declared) == sorted(CLAUDE)
    assert {*handrail.tool_set("claude", lsp=True)} - {*CLAUDE} == {"LSP"}
    assert {*CLAUDE} - {*handrail.tool_set("claude", commands=False)} == {
        *("Bash", "TaskOutput", "KillShell"),
    }
    assert {*CLAUDE} - {*handrail.tool_set("claude", web=False, plan=False)} == {
        *("WebFetch", "WebSearch", "EnterPlanMode", "ExitPlanMode"),
    }


@pytest.mark.feature("C16")
async def test_the_camel_case_set_has_six_tools(tmp_path):
    names = handrail.tool_set("coauthor")
    async with handrail.open(tmp_path, dialect="coauthor", store=":memory:") as rt:
        declared = [one["function"]["name"] for one in rt.declare("openai", allowed=names)]
        created = await rt.call("editFile", {"path": "a.ts", "oldString": "", "newString": "x\n"})
        found = await rt.call("glob", {"pattern": "*.ts"})

    assert names == ["readFile", "editFile", "listFiles", "runCommand", "glob", "grep"]
    assert sorted(declared) == sorted(names)
    assert (created.problem.code, found.ok) == ("needs_approval", True)


def test_an_unknown_dialect_has_no_tools():
    with pytest.raises(handrail.ProblemRaised):
        handrail.tool_set("klingon")


async def ordering(rt, name, arguments):
    """Whether two calls of a tool may run at once."""
    calls = [{"id": one, "name": name, "arguments": arguments} for one in ("1", "2")]
    return len(rt.plan(calls).groups) == 1


@pytest.mark.feature("E64")
async def test_what_only_reads_and_what_runs_at_once_is_as_in_the_table(tmp_path):
    found = {}
    async with open_claude(tmp_path) as rt:
        for name in filter(rt.has_tool, TABLE):
            (declared,) = rt.declare("mcp", allowed=[name])
            example = dict(find_vocabulary("claude").resolve(name).example)
            reads = declared["annotations"]["readOnlyHint"]
            found[name] = (reads, await ordering(rt, name, example))
        commands = {one: await ordering(rt, "Bash", {"command": one}) for one in ("ls", "make")}

        killed = [{"id": one, "name": "KillShell", "arguments": {"shell_id": one}} for one in "12"]
        at_once = len(rt.plan(killed).groups) == 1

    assert commands == {"ls": True, "make": False}
    # The same shell is ended once; different ones at the same time.
    assert at_once
    assert found == {**TABLE, **DECIDED}


# What a model must know → the words that say it, one of which some description has.
RULES = {
    "read first": ["not read before in this session"],
    "which tool for which job": ["instead of cat"],
    "quoting": ["Quote paths with spaces"],
    "parent directories": ["a directory exists before"],
    "parallel calls": ["run at the same time"],
    "prefer editing": ["prefer that to new files"],
    "no unasked documentation": ["only if you are asked"],
    "time limits": ["at most 600 seconds"],
    "git safety": ["reset --hard"],
    "to-dos": ["three or more steps"],
    "subagents": ["a part that takes many steps"],
    "patterns": ["escape braces"],
    "long output": ["is cut, and kept"],
}


def tokens(text):
    """The number of tokens of a text."""
    import bpe_openai

    return len(bpe_openai.get_encoding("o200k_base").encode(text))


@pytest.mark.feature("E65")
@pytest.mark.filterwarnings("ignore:open_binary is deprecated")
async def test_descriptions_say_what_a_model_must_know_within_their_budget(tmp_path):
    async with open_claude(tmp_path) as rt:
        usual = json.dumps(rt.declare("openai"), ensure_ascii=False)
        names = handrail.tool_set("claude", lsp=True, subagents=rt.has_tool("Task"))
        largest = json.dumps(rt.declare("openai", allowed=names), ensure_ascii=False)

    missing = [rule for rule, words in RULES.items() if not any(one in largest for one in words)]
    assert missing == []
    assert tokens(usual) <= 4_000
    assert tokens(largest) <= 7_500


@pytest.mark.feature("E65")
@pytest.mark.filterwarnings("ignore:open_binary is deprecated")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_largest_set_of_a_run_is_within_its_budget_in_every_dialect(tmp_path, dialect):
    async with handrail.open(tmp_path, store=":memory:", dialect=dialect) as rt:
        usual = rt.declare("openai")
        configured = [name for names in CONFIGURED_TOOLS.values() for name in names]
        names = [one["function"]["name"] for one in usual]
        largest = rt.declare("openai", allowed=[*names, *CONVERSATION_TOOLS, *configured])

    assert len(largest) >= len(usual) + len(CONVERSATION_TOOLS)
    assert tokens(json.dumps(usual, ensure_ascii=False)) <= 4_000
    assert tokens(json.dumps(largest, ensure_ascii=False)) <= 7_500


@pytest.mark.finding("F52")
async def test_the_claude_dialect_says_that_files_must_be_read_before_they_are_changed(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    async with open_claude(tmp_path, mode="accept-edits") as rt:
        told = {
            one["name"]: one["description"]
            for one in rt.declare("anthropic", allowed=["Write", "Edit", "NotebookEdit"])
        }
        refused = await rt.call("Write", {"file_path": "a.txt", "content": "two\n"})

    assert refused.problem.code == "stale"
    assert [name for name, text in told.items() if "not read before" not in text] == []


@pytest.mark.parametrize(
    ("dialect", "name", "arguments", "tool"),
    [
        ("codex", "exec_command", {"cmd": "ls", "yield_time_ms": 100, "login": False}, "run_command"),
        ("claude", "exec_command", {"cmd": "ls", "workdir": "."}, "run_command"),
        ("codex", "update_plan", {"explanation": "x", "plan": [{"step": "a", "status": "pending"}]},
         "todo_write"),
        ("canonical", "update_plan", {"plan": [{"step": "a", "status": "pending"}]}, "todo_write"),
        ("codex", "write_stdin", {"session_id": 1, "chars": "x", "yield_time_ms": 5}, "job_write"),
        ("codex", "request_user_input", {"questions": [{"id": "q", "header": "H", "question": "Q?",
         "options": [{"label": "a"}, {"label": "b"}]}]}, "ask_user"),
        ("claude", "TaskStop", {"task_id": "1"}, "job_kill"),
        ("claude", "BashOutput", {"bash_id": "1", "filter": "x"}, "job_output"),
        ("linggen", "MultiEdit", {"file_path": "a", "edits": [{"old_string": "a", "new_string": "b"}]},
         "edit_file"),
    ],
)  # fmt: skip
async def test_newer_and_older_spellings_are_accepted(tmp_path, dialect, name, arguments, tool):
    async with handrail.open(tmp_path, dialect=dialect, store=":memory:") as rt:
        result = await rt.call(name, arguments)

    assert result.meta["tool"] == tool
    assert result.problem is None or result.problem.code not in (
        "unknown_tool",
        "invalid_arguments",
    )
