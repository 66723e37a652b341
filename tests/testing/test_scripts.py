"""The model and the user that say what they were told to say."""

import anthropic.types
import openai.types.chat
import pytest

import handrail
from handrail import Answer
from handrail.testing import ScriptedModel, ScriptedUser, calls, says, together

SCRIPT = [
    together(says("Both."), calls("read_file", path="a.txt"), calls("list_files")),
    says("Done."),
]
RESULT_IDS = {
    "openai": lambda messages: [one["tool_call_id"] for one in messages],
    "openai-responses": lambda messages: [one["call_id"] for one in messages],
    "anthropic": lambda messages: [one["tool_use_id"] for one in messages[0]["content"]],
}


@pytest.mark.parametrize("provider", RESULT_IDS)
async def test_a_runtime_answers_the_script_in_every_shape(tmp_path, provider):
    (tmp_path / "a.txt").write_text("hello\n")
    model = ScriptedModel(SCRIPT, provider)
    sent = [{"role": "user", "content": "go"}]

    async with handrail.open(tmp_path, store=":memory:") as rt:
        first = await rt.answer(await model.respond(sent))
        sent.append("something more")
        last = await rt.answer(await model.respond(sent))

    assert RESULT_IDS[provider](first) == ["call_1", "call_2"]
    assert "hello" in str(first)
    assert last == []
    assert [len(one) for one in model.asked] == [1, 2]


async def test_a_model_without_more_to_say_says_so():
    model = ScriptedModel([says("one")])
    await model.respond([])

    with pytest.raises(handrail.ProblemRaised, match="asked 2 times and has 1 answers"):
        await model.respond([])
    with pytest.raises(ValueError, match="provider is one of openai, openai-responses, anthropic"):
        ScriptedModel([], "parrot")


async def test_the_shapes_are_the_providers_own():
    chat = await ScriptedModel(SCRIPT).respond([])
    message = await ScriptedModel(SCRIPT, "anthropic").respond([])

    parsed = openai.types.chat.ChatCompletion.model_validate({**chat, "created": 1, "model": "m"})
    usage = {"input_tokens": 1, "output_tokens": 1}
    spoken = anthropic.types.Message.model_validate({**message, "model": "m", "usage": usage})

    assert [one.function.name for one in parsed.choices[0].message.tool_calls] == [
        "read_file",
        "list_files",
    ]
    assert [one.type for one in spoken.content] == ["text", "tool_use", "tool_use"]


async def test_a_user_answers_in_order_and_then_says_no(tmp_path):
    user = ScriptedUser([True, Answer.NO])

    async with handrail.open(tmp_path, store=":memory:", approver=user) as rt:
        told = [
            await rt.call("write_file", {"path": f"{number}.txt", "content": "x"})
            for number in range(3)
        ]

    assert [one.ok for one in told] == [True, False, False]
    assert [one.tool for one in user.asked] == ["write_file"] * 3
    assert user.left == 0
    assert [path.name for path in tmp_path.iterdir()] == ["0.txt"]
