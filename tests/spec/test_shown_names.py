"""Tools are told apart by the names under which a dialect shows them."""

import pytest

import handrail

GREPS = ["grep", "search_code"]


def message(*names):
    """A message of a model that calls each tool once."""
    calls = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": name, "arguments": '{"pattern": "a.b"}'},
        }
        for number, name in enumerate(names)
    ]
    choice = {"message": {"role": "assistant", "tool_calls": calls}, "finish_reason": "tool_calls"}
    return {"object": "chat.completion", "choices": [choice]}


async def answers(rt, *names, agent="main"):
    """What a model reads that calls these tools."""
    return [one["content"] for one in await rt.answer(message(*names), agent=agent)]


def shown(rt, **options):
    """The names that are declared."""
    return [tool["name"] for tool in rt.declare("mcp", **options)]


@pytest.mark.finding("F54")
@pytest.mark.parametrize("name", GREPS)
async def test_one_of_two_names_of_a_tool_is_declared_and_called(tmp_path, name):
    (other,) = {*GREPS} - {name}
    async with handrail.open(tmp_path, dialect="architect", store=":memory:") as rt:
        declared = rt.declare("openai", allowed=[name])
        mine, others = await answers(rt, name, other)
        both = shown(rt, allowed=GREPS)
        any_name = shown(rt, allowed=["Grep"])

    assert [tool["function"]["name"] for tool in declared] == [name]
    assert "no matches" in mine
    assert "switched off" in others
    assert sorted(both) == sorted(any_name) == GREPS


@pytest.mark.finding("F54")
@pytest.mark.parametrize("name", GREPS)
async def test_agents_are_limited_by_shown_names(tmp_path, name):
    (other,) = {*GREPS} - {name}
    agents = {"agents": {"narrow": {"tools": ["read_file", name]}, "wide": {"tools": ["*"]}}}
    async with handrail.open(tmp_path, dialect="architect", store=":memory:", config=agents) as rt:
        listed = shown(rt, agent="narrow")
        allowed = await rt.call(name, {"pattern": "x"}, agent="narrow")
        refused = await rt.call(other, {"pattern": "x"}, agent="narrow")
        rt.limit_agent("child", [*GREPS, "read_file"], parent="narrow")
        of_child = shown(rt, agent="child")
        rt.limit_agent("wide", [name])
        of_wide = shown(rt, agent="wide")

    assert sorted(listed) == sorted(["read_file", name]) == sorted(of_child)
    assert of_wide == [name]
    assert (allowed.ok, refused.problem.code) == (True, "unknown_tool")


@pytest.mark.finding("F54")
async def test_whether_a_tool_exists_is_asked_by_the_names_of_the_dialect(tmp_path):
    async with handrail.open(tmp_path, dialect="architect", store=":memory:") as rt:
        architect = [rt.has_tool(name) for name in (*GREPS, "Grep", "todo_write", "nothing")]
    async with handrail.open(tmp_path, store=":memory:") as rt:
        canonical = [rt.has_tool(name) for name in (*GREPS, "Grep", "todo_write", "nothing")]

    assert architect == [True, True, False, True, False]
    assert canonical == [True, False, False, True, False]


@pytest.mark.feature("C01")
async def test_the_shown_name_of_a_built_in_tool_is_taken(tmp_path):
    @handrail.tool(reads_only=True)
    def Read(text: str) -> str:
        """Mine."""
        return text

    async with handrail.open(tmp_path, dialect="claude", store=":memory:") as rt:
        with pytest.raises(handrail.DuplicateToolError):
            rt.register(Read, allow_override=True)
        names = shown(rt)
    async with handrail.open(tmp_path, dialect="codex", store=":memory:", tools=[Read]) as rt:
        mine = await rt.call("Read", {"text": "mine"})

    assert sorted({*names}) == sorted(names)
    assert mine.text == "mine"


@pytest.mark.finding("F54")
async def test_disabled_tools_are_not_there_for_the_registry(tmp_path):
    async with handrail.open(tmp_path, config={"commands": False}, store=":memory:") as rt:
        found = [rt.registry.has_tool(name) for name in ("run_command", "read_file")]
        call = await rt.call("run_command", {"command": "true"})

    assert found == [False, True]
    assert call.problem.code == "unavailable"


@pytest.mark.finding("F54")
async def test_names_inside_of_arguments_and_types_of_agents_are_the_callers(tmp_path):
    long = {"todos": [{"content": "x", "status": "pending", "activeForm": "a" * 600}]}
    unknown = {"description": "d", "prompt": "p", "subagent_type": "nope"}
    async with handrail.open(
        tmp_path, dialect="claude", store=":memory:", model="script:none"
    ) as rt:
        todos = await rt.call("TodoWrite", long)
        task = await rt.call("Task", unknown)
        repeated = [await rt.call("Task", {"prompt": "p"}) for _ in range(4)]

    assert "'todos[0].activeForm'" in todos.problem.message
    types = task.problem.hint.removeprefix("types: ").split(", ")
    assert types == ["Explore", "review", "Plan", "test", "general-purpose", "Bash"]
    assert "call number 4 of Task " in repeated[-1].text


@pytest.mark.finding("F54")
async def test_an_unknown_tool_is_answered_with_all_shown_tools_and_no_others(tmp_path):
    async with handrail.open(tmp_path, dialect="architect", store=":memory:") as rt:
        usual = sorted(shown(rt))
        unknown = await rt.call("xyzzy", {})
        rt.declare("openai", allowed=["search_code", "todo_write"])
        (told,) = await answers(rt, "xyzzy")

    assert set(GREPS) < set(usual)
    assert unknown.problem.hint == f"tools: {', '.join(usual)}"
    assert told.endswith("tools: search_code, todo_write")


@pytest.mark.finding("F54")
@pytest.mark.parametrize(
    ("dialect", "name", "suggested"),
    [
        ("claude", "TodoWrit", ""),
        ("claude", "Todo_Write_List", ""),
        ("claude", "raed", "Read"),
        ("claude", "write_fil", "Write"),
        ("canonical", "raed_file", "read_file"),
        ("architect", "serch_code", "search_code"),
        ("codex", "shel", "shell"),
    ],
)
async def test_suggestions_are_tools_that_do_the_same_kind_of_thing(
    tmp_path, dialect, name, suggested
):
    async with handrail.open(tmp_path, dialect=dialect, store=":memory:") as rt:
        result = await rt.call(name, {})

    assert result.problem.code == "unknown_tool"
    names = result.problem.hint.removeprefix("did you mean ").rstrip("?").split(" or ")
    assert (names[0] if "did you mean" in result.problem.hint else "") == suggested
