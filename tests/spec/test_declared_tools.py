"""A model may call what it was shown, and hears of nothing else."""

import copy
import itertools
import json

import pytest

import handrail
from handrail.core.problems import ProblemRaised
from handrail.dialects.known import DIALECTS

NUMBERS = itertools.count()
READ = ("read_file", {"path": "a.txt"})
WRITE = ("write_file", {"path": "b.txt", "content": "x\n"})


def message(*calls):
    made = [
        {"id": f"c{next(NUMBERS)}", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, arguments in calls
    ]
    return {"role": "assistant", "tool_calls": made}


async def answered(rt, *calls, agent="main"):
    return [one["content"] for one in await rt.answer(message(*calls), agent=agent)]


@pytest.mark.finding("F12")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_was_not_declared_is_refused_by_every_name(workspace, open_runtime, dialect):
    workspace.write("a.txt", "hello\n")
    names = ["write_file", "Write", "writeFile", "WRITE_FILE"]

    async with open_runtime(dialect=dialect) as rt:
        rt.declare("openai", allowed=["read_file"])
        texts = await answered(rt, *[(name, WRITE[1]) for name in names])
        read = await answered(rt, READ, ("Read", {"file_path": "a.txt"}))

    assert all("switched off" in text or "no tool named" in text for text in texts)
    assert all("hello" in text for text in read), "other words for a shown tool work"
    assert workspace.tree() == {"a.txt": b"hello\n"}


@pytest.mark.finding("F12")
async def test_a_program_and_an_agent_without_declaration_are_not_bound(workspace, open_runtime):
    async with open_runtime() as rt:
        rt.declare("openai", allowed=["read_file"])
        called = await rt.call(*WRITE)
        (batched,) = await rt.batch([{"name": "write_file", "arguments": WRITE[1]}])
        other = await answered(rt, WRITE, agent="other")

    assert called.ok
    assert batched.ok
    assert "switched off" not in other[0]


@pytest.mark.finding("F12")
async def test_the_last_declaration_of_an_agent_decides(workspace, open_runtime):
    workspace.write("a.txt", "hello\n")

    async with open_runtime() as rt:
        rt.declare("openai", allowed=["read_file"])
        rt.declare("anthropic", allowed=["write_file"])
        rt.declare("openai", allowed=["read_file"], agent="child")
        rt.declare("mcp")
        main = await answered(rt, READ, WRITE)
        child = await answered(
            rt, READ, ("write_file", {"path": "c.txt", "content": ""}), agent="child"
        )
        rt.declare("openai", allowed=[])
        nothing = await answered(rt, ("list_files", {}))

    assert "switched off" in main[0]
    assert "hello" in child[0]
    assert "switched off" in child[1]
    assert "switched off" in nothing[0]
    assert set(workspace.tree()) == {"a.txt", "b.txt"}


@pytest.mark.finding("F12")
async def test_without_a_list_what_is_hidden_by_default_is_not_shown_either(open_runtime):
    async with open_runtime() as rt:
        before = await answered(rt, ("file_info", {"path": "."}))
        rt.declare("openai")
        hidden = await answered(rt, ("file_info", {"path": "."}), ("lock_paths", {"globs": ["*"]}))
        rt.declare("openai", allowed=["file_info"])
        shown = await answered(rt, ("file_info", {"path": "."}))
        rt.declare("openai", groups=["search"])
        grouped = await answered(rt, ("list_files", {"path": "."}), WRITE)

    assert "switched off" not in before[0]
    assert all("switched off" in text for text in hidden)
    assert "switched off" not in shown[0]
    assert "switched off" not in grouped[0]
    assert "switched off" in grouped[1]


@pytest.mark.finding("F12")
async def test_a_tool_that_comes_later_is_shown_by_the_next_declaration(open_runtime):
    @handrail.tool(reads_only=True)
    def late() -> str:
        """Late."""
        return "here"

    async with open_runtime() as rt:
        rt.declare("openai")
        rt.register(late)
        before = await answered(rt, ("late", {}))
        rt.declare("openai")
        after = await answered(rt, ("late", {"x": 1}), ("late", {}))

    assert "switched off" in before[0]
    assert "here" in after[1]


@pytest.mark.finding("F12")
async def test_a_shown_way_into_plan_mode_is_also_the_way_out(open_runtime):
    async with open_runtime() as rt:
        rt.declare("openai", allowed=["enter_plan_mode"])
        texts = await answered(rt, ("exit_plan_mode", {}))

    assert "switched off" not in texts[0]


@pytest.mark.finding("F12")
@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "mcp"])
@pytest.mark.parametrize(
    ("name", "likely"), [("raed_file", "read_file"), ("Reed", "Read"), ("", None), (7, None)]
)
async def test_an_unknown_name_in_a_declaration_is_an_error(open_runtime, provider, name, likely):
    async with open_runtime(dialect="claude") as rt:
        with pytest.raises(ProblemRaised) as caught:
            rt.declare(provider, allowed=["grep", name])

    problem = caught.value.problem
    assert (problem.code, problem.field) == ("invalid_arguments", "allowed")
    assert likely is None or likely in problem.hint


@pytest.mark.finding("F12")
async def test_no_hint_names_a_tool_that_was_not_shown(workspace, open_runtime):
    workspace.write("folder/a.txt", "x\n")
    calls = [
        ("write_fil", {}),
        ("no_such", {}),
        ("write_file", {}),
        ("read_file", {"path": "folder"}),
        ("read_file", {"path": "nowhere"}),
        ("read_file", {}),
    ]

    async with open_runtime() as rt:
        rt.declare("openai", allowed=["read_file"])
        texts = await answered(rt, *calls)
        rt.limit_agent("narrow", ["read_file"])
        with pytest.raises(ProblemRaised) as caught:
            rt.declare("openai", allowed=["writ_file"], agent="narrow")
        limited = await rt.call("read_file", {"path": "folder"}, agent="narrow")
        free = await rt.call("read_file", {"path": "folder"})
        others = {tool.name for tool in rt.registry.list_all()} - {"read_file", "undo", "grep"}

    hints = [text.partition("Hint:")[2] for text in texts]
    assert not [name for name in others for hint in hints if name in hint]
    assert "write_file" not in caught.value.problem.hint
    assert "find_files" not in limited.text
    assert "find_files" in free.text


async def test_one_text_in_place_of_a_list_of_names_is_an_error(open_runtime):
    async with open_runtime() as rt:
        for field, misuse in (
            ("allowed", lambda: rt.declare("openai", allowed="read_file")),
            ("groups", lambda: rt.declare("openai", groups="search")),
            ("tools", lambda: rt.limit_agent("child", "mcp*")),
        ):
            with pytest.raises(ProblemRaised, match=f"write {field}=") as raised:
                misuse()
            assert raised.value.problem.code == "invalid_arguments"
            assert raised.value.problem.field == field


async def test_an_unknown_group_in_a_declaration_names_those_that_exist(open_runtime):
    async with open_runtime() as rt:
        with pytest.raises(ValueError, match=r"'serach'.*search, edit"):
            rt.declare("openai", groups=["serach"])


async def test_a_call_of_a_batch_without_a_name_is_said_to_lack_it(open_runtime):
    async with open_runtime() as rt:
        with pytest.raises(TypeError, match="has no name, but 'nam'"):
            await rt.batch([{"nam": "grep"}])
        with pytest.raises(TypeError, match="has no arguments, but 'input'"):
            await rt.batch([{"name": "grep", "input": {}}])


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini", "mcp"])
async def test_what_a_caller_changes_in_a_declaration_is_not_in_the_next_one(
    open_runtime, provider
):
    async with open_runtime() as rt:
        first = rt.declare(provider)
        expected = copy.deepcopy(first)
        for one in first:
            one.get("function", {}).clear()
            one.clear()
        first.clear()

        assert rt.declare(provider) == expected
        assert len(expected) > 5
