"""Any model: the same tools declared and answered in each provider's own shapes."""

import json

import anthropic.types
import openai.types.chat
import openai.types.responses
import pytest

import handrail
from handrail.dialects.known import DIALECTS


def chat_completion(*calls):
    return openai.types.chat.ChatCompletion.model_validate(
        {
            "id": "x", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [
                {
                    "index": 0, "finish_reason": "tool_calls",
                    "message": {
                        "role": "assistant", "content": None,
                        "tool_calls": [
                            {
                                "id": call_id, "type": "function",
                                "function": {"name": name, "arguments": arguments},
                            }
                            for call_id, name, arguments in calls
                        ],
                    },
                }
            ],
        }
    )  # fmt: skip


@pytest.mark.feature("B07", "B08", "A19")
async def test_an_openai_chat_response_goes_in_and_its_messages_come_out(workspace, open_runtime):
    workspace.write("a.txt", "hello\n")
    response = chat_completion(
        ("c1", "read_file", '{"path": "a.txt"}'),
        ("c2", "read_file", '{"path": "nowhere"}'),
        ("c3", "read_file", '{"path": '),
    )

    async with open_runtime() as rt:
        messages = await rt.answer(response)
        again = await rt.answer(response.model_dump())

    assert [one["tool_call_id"] for one in messages] == ["c1", "c2", "c3"]
    assert {one["role"] for one in messages} == {"tool"}
    assert messages[0]["content"] == "hello"
    assert "nowhere" in messages[1]["content"]
    assert "Invalid arguments" in messages[2]["content"]
    assert again == messages


@pytest.mark.feature("A20", "A19")
async def test_an_anthropic_message_goes_in_and_one_user_message_comes_out(workspace, open_runtime):
    workspace.write("a.txt", "hello\n")
    response = anthropic.types.Message.model_validate(
        {
            "id": "m", "type": "message", "role": "assistant", "model": "m",
            "stop_reason": "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.txt"}},
                {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "b.txt"}},
            ],
        }
    )  # fmt: skip

    async with open_runtime(dialect="claude") as rt:
        (message,) = await rt.answer(response)

    assert message["role"] == "user"
    first, second = message["content"]
    assert (first["type"], first["tool_use_id"]) == ("tool_result", "t1")
    assert "hello" in json.dumps(first["content"])
    assert not first.get("is_error", False)
    assert second["is_error"] is True


async def test_an_openai_response_goes_in_and_function_outputs_come_out(workspace, open_runtime):
    workspace.write("a.txt", "hello\n")
    response = openai.types.responses.Response.model_construct(
        output=[
            openai.types.responses.ResponseFunctionToolCall(
                type="function_call", call_id="f1", name="read_file", arguments='{"path": "a.txt"}'
            )
        ]
    )

    async with open_runtime() as rt:
        messages = await rt.answer(response)

    assert messages == [{"type": "function_call_output", "call_id": "f1", "output": "hello"}]


@pytest.mark.feature("A02", "C21")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "mcp"])
async def test_tools_are_declared_for_every_provider_in_every_dialect(
    open_runtime, provider, dialect
):
    async with open_runtime(dialect=dialect) as rt:
        first, second = rt.declare(provider), rt.declare(provider)
        none = rt.declare(provider, allowed=[])
        some = rt.declare(provider, allowed=["read_file", "Read"])
        found = rt.declare(provider, groups=["search"])
        missing = rt.registry.missing(["read_file", "no_such_tool"])
    names = [json.dumps(one) for one in first]

    assert first == second
    assert 6 <= len(first) <= 12
    assert all('"description"' in one for one in names)
    assert "[[" not in "".join(names)
    assert none == []
    assert len(some) == 1
    assert 0 < len(found) < len(first)
    assert missing == ["no_such_tool"]
    if dialect == "claude":
        assert any('"name": "Read"' in one for one in names)


async def test_a_caller_may_change_its_declarations_without_changing_ours(open_runtime):
    async with open_runtime() as rt:
        mine = rt.declare("anthropic")
        mine[-1]["cache_control"] = {"type": "ephemeral"}
        mine.pop(0)
        chat = rt.declare("openai")
        chat[0]["function"]["strict"] = True

        assert "cache_control" not in json.dumps(rt.declare("anthropic"))
        assert "strict" not in json.dumps(rt.declare("openai"))
        assert len(rt.declare("anthropic")) == len(mine) + 1


@pytest.mark.feature("A03")
async def test_a_description_may_be_computed_from_the_surroundings(open_runtime):
    class Where(handrail.Tool):
        name = "where"
        summary = "Says where we are."
        effects = handrail.Effects.PURE

        class params(handrail.Params):
            pass

        async def describe(self, session):
            return f"Works in {session.roots[0]}."

        async def run(self, args, ctx):
            return handrail.Output(ctx.cwd)

    async with open_runtime() as rt:
        rt.register(Where())
        await rt.refresh()
        declared = rt.declare("openai", allowed=["where"])[0]["function"]["description"]
        said = await rt.call("where")

    assert declared == f"Works in {said.text}."


@pytest.mark.feature("A06")
async def test_an_output_schema_is_shown_where_the_protocol_has_one(open_runtime):
    async with open_runtime() as rt:
        read = next(one for one in rt.declare("mcp") if one["name"] == "read_file")

    assert read["outputSchema"]["type"] == "object"
    assert read["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


@pytest.mark.feature("C17", "C05")
async def test_an_agent_may_be_limited_to_some_tools(workspace, open_runtime):
    workspace.write("a.txt", "x\n")

    async with open_runtime() as rt:
        rt.limit_agent("narrow", ["read_file"])
        rt.limit_agent("nobody", [])
        read = await rt.call("read_file", {"path": "a.txt"}, agent="narrow")
        write = await rt.call("write_file", {"path": "b", "content": ""}, agent="narrow")
        nothing = await rt.call("read_file", {"path": "a.txt"}, agent="nobody")
        main = await rt.call("write_file", {"path": "b", "content": ""})
        rt.limit_agent("narrow", None)
        lifted = await rt.call("write_file", {"path": "c", "content": ""}, agent="narrow")

    assert read.ok
    assert write.problem.code == "unknown_tool"
    assert nothing.problem.code == "unknown_tool"
    assert main.ok
    assert lifted.ok


@pytest.mark.feature("C13")
@pytest.mark.parametrize("name", ["read_file", "Read", "readFile", "READ_FILE", "read"])
async def test_every_spelling_of_a_tool_is_understood_in_every_dialect(
    workspace, open_runtime, name
):
    workspace.write("a.txt", "x\n")

    for dialect in DIALECTS:
        async with open_runtime(dialect=dialect) as rt:
            result = await rt.call(name, {"file_path": "a.txt"})
        assert result.ok, (dialect, result.text)


async def test_a_tool_of_ones_own_wins_over_another_vocabularys_word(workspace, open_runtime):
    @handrail.tool(name="glob", reads_only=True)
    def own() -> str:
        """Ours."""
        return "own"

    async with open_runtime() as rt:
        before = await rt.call("glob", {"pattern": "*"})
        rt.register(own)
        after = await rt.call("glob")

    assert before.ok
    assert before.meta["tool"] == "find_files"
    assert after.text == "own"


async def test_a_problem_names_the_argument_as_the_caller_spelled_it(open_runtime):
    async with open_runtime(dialect="claude") as rt:
        missing = await rt.call("Edit", {"file_path": "a", "old_string": "x", "new_string": "x"})
        unknown = await rt.call("Read", {"file_path": "a", "ofset": 3})

    assert missing.problem.field in ("new_string", "file_path")
    assert "offset" in unknown.text
    assert "file_path" in unknown.problem.hint
