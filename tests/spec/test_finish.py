"""What a model's message may run: only what it finished, by its provider's own word."""

import json

import anthropic.types
import openai.types.chat
import openai.types.responses
import pytest

import handrail
from handrail.core.footprint import NOTHING, OPEN_ENDED
from handrail.core.ports.models import Finish
from handrail.engine.providers.provider_messages import read_end


def write(path):
    return ("write_file", {"path": path, "content": "x\n"})


READ = ("read_file", {"path": "a.txt"})


def chat(calls, finish="tool_calls", **message):
    made = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made, **message}
    choice = {"index": 0, "finish_reason": finish, "message": message, "logprobs": None}
    return {
        "id": "r1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
    }  # fmt: skip


def message(calls, finish="tool_use"):
    content = [
        {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}
        for number, (name, arguments) in enumerate(calls)
    ]
    return {
        "id": "m1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": finish, "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def responses(calls, finish="completed", reason=None, last=None):
    output = [
        {
            "type": "function_call",
            "call_id": f"c{number}",
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    if last is not None:
        output[-1]["status"] = last
    return {
        "id": "resp_1", "object": "response", "created_at": 1.0, "model": "m", "tools": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "output": output, "status": finish,
        "incomplete_details": None if reason is None else {"reason": reason},
    }  # fmt: skip


SDK = {
    chat: openai.types.chat.ChatCompletion,
    message: anthropic.types.Message,
    responses: openai.types.responses.Response,
}
UNFINISHED = [
    (chat, {"finish": "length"}, Finish.LENGTH),
    (chat, {"finish": "content_filter"}, Finish.REFUSED),
    (chat, {"finish": "eos"}, Finish.UNKNOWN),
    (chat, {"finish": None}, Finish.UNKNOWN),
    (chat, {"finish": 7}, Finish.UNKNOWN),
    (chat, {"finish": "TOOL_CALLS"}, Finish.UNKNOWN),
    (chat, {"finish": "tool_calls", "refusal": "I cannot help with that."}, Finish.REFUSED),
    (message, {"finish": "max_tokens"}, Finish.LENGTH),
    (message, {"finish": "model_context_window_exceeded"}, Finish.LENGTH),
    (message, {"finish": "refusal"}, Finish.REFUSED),
    (message, {"finish": "pause_turn"}, Finish.PAUSED),
    (message, {"finish": "end_turn"}, Finish.END),
    (message, {"finish": "stop_sequence"}, Finish.END),
    (message, {"finish": None}, Finish.UNKNOWN),
    (message, {"finish": "later"}, Finish.UNKNOWN),
    (responses, {"finish": "incomplete", "reason": "max_output_tokens"}, Finish.LENGTH),
    (responses, {"finish": "incomplete", "reason": "content_filter"}, Finish.REFUSED),
    (responses, {"finish": "incomplete"}, Finish.CUT),
    (responses, {"finish": "failed"}, Finish.CUT),
    (responses, {"finish": "cancelled"}, Finish.CUT),
    (responses, {"finish": "in_progress"}, Finish.CUT),
    (responses, {"finish": "queued"}, Finish.CUT),
    (responses, {"finish": None}, Finish.UNKNOWN),
    (responses, {"finish": "done"}, Finish.UNKNOWN),
]


def as_object(shape, response):
    """The response as its SDK hands it over, which does not check what a server sent."""
    return SDK[shape].construct(**response) if shape is not message else _lenient(response)


def _lenient(response):
    content = [anthropic.types.ToolUseBlock.construct(**one) for one in response["content"]]
    return anthropic.types.Message.construct(**{**response, "content": content})


def told(answers):
    """Id and text of every answer, in order."""
    if answers and "content" in answers[0] and isinstance(answers[0]["content"], list):
        return [(one["tool_use_id"], one["content"]) for one in answers[0]["content"]]
    return [
        (one.get("tool_call_id", one.get("call_id")), one.get("content", one.get("output")))
        for one in answers
    ]


@pytest.mark.finding("F16")
@pytest.mark.threat("A01")
@pytest.mark.parametrize("form", ["dict", "object"])
@pytest.mark.parametrize(("shape", "ended", "finish"), UNFINISHED)
async def test_nothing_changes_on_an_end_that_does_not_mean_tool_calls(
    workspace, open_runtime, shape, ended, finish, form
):
    workspace.write("a.txt", "hello\n")
    before = workspace.tree()
    response = shape([write("b.txt"), READ, write("c.txt")], **ended)
    if form == "object":
        response = as_object(shape, response)

    async with open_runtime() as rt:
        answers = told(await rt.answer(response))
        again = told(await rt.answer(response))

    assert read_end(response).finish is finish
    assert workspace.tree() == before
    assert [call_id for call_id, _ in answers] == ["c0", "c1", "c2"]
    assert "not run" in answers[0][1]
    assert "hello" in answers[1][1], "a call that only reads harms nobody"
    assert "not run" in answers[2][1]
    assert again == answers


@pytest.mark.finding("F16")
@pytest.mark.threat("A01")
@pytest.mark.parametrize(("shape", "ended", "finish"), UNFINISHED)
async def test_the_last_call_of_a_cut_message_never_runs(
    workspace, open_runtime, shape, ended, finish
):
    workspace.write("a.txt", "hello\n")
    response = shape([READ, READ], **ended)

    async with open_runtime() as rt:
        first, last = told(await rt.answer(response))

    cut = finish in (Finish.LENGTH, Finish.REFUSED, Finish.CUT)
    assert "hello" in first[1]
    assert ("cut off" in last[1]) is cut
    assert ("hello" in last[1]) is not cut


@pytest.mark.finding("F16")
@pytest.mark.threat("A01")
@pytest.mark.parametrize("form", ["dict", "object"])
@pytest.mark.parametrize(
    ("shape", "ended"),
    [
        (chat, {}),
        (chat, {"finish": "stop"}),
        (chat, {"finish": "function_call"}),
        (message, {}),
        (responses, {}),
    ],
)
async def test_calls_run_on_an_end_that_means_tool_calls(
    workspace, open_runtime, shape, ended, form
):
    response = shape([write("b.txt"), write("c.txt")], **ended)
    if form == "object":
        response = as_object(shape, response)

    async with open_runtime() as rt:
        answers = told(await rt.answer(response))

    assert [call_id for call_id, _ in answers] == ["c0", "c1"]
    assert workspace.tree() == {"b.txt": b"x\n", "c.txt": b"x\n"}


@pytest.mark.finding("F16")
@pytest.mark.parametrize(
    "bare",
    [
        lambda calls: chat(calls)["choices"][0]["message"],
        lambda calls: chat(calls)["choices"][0]["message"]["tool_calls"],
        lambda calls: {"role": "assistant", "content": message(calls)["content"]},
        lambda calls: message(calls)["content"],
        lambda calls: responses(calls)["output"],
    ],
    ids=["chat message", "chat calls", "message", "blocks", "output"],
)
async def test_calls_without_the_end_of_their_response_run_by_the_callers_word(
    workspace, open_runtime, bare
):
    async with open_runtime() as rt:
        await rt.answer(bare([write("b.txt")]))

    assert workspace.tree() == {"b.txt": b"x\n"}


@pytest.mark.finding("F16")
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("status", ["incomplete", "in_progress", "odd"])
async def test_a_call_that_its_provider_marks_as_incomplete_never_runs(
    workspace, open_runtime, status, whole
):
    response = responses([write("b.txt"), write("c.txt")], last=status)

    async with open_runtime() as rt:
        answers = told(await rt.answer(response if whole else response["output"]))

    assert workspace.tree() == {"b.txt": b"x\n"}
    assert "incomplete" in answers[1][1]


@pytest.mark.finding("F16")
@pytest.mark.parametrize(("finish", "writes"), [("tool_calls", True), ("length", False)])
async def test_a_message_that_carries_the_end_of_its_response_is_bound_by_it(
    workspace, open_runtime, finish, writes
):
    [choice] = chat([write("b.txt"), write("c.txt")])["choices"]

    async with open_runtime(mode="bypass") as rt:
        answers = await rt.answer({**choice["message"], "finish_reason": finish})

    assert len(answers) == 2
    assert (workspace.root / "b.txt").exists() is writes
    assert (workspace.root / "c.txt").exists() is writes


@pytest.mark.finding("F16")
async def test_a_call_that_was_not_run_leaves_its_id_to_the_complete_one(workspace, open_runtime):
    cut = chat([write("b.txt")], finish="length")["choices"][0]
    whole = chat([write("b.txt")])["choices"][0]["message"]

    async with open_runtime() as rt:
        refused = told(await rt.answer({"choices": [cut]}))
        done = told(await rt.answer(whole))
        recorded = await rt.store.calls()

    assert "not run" in refused[0][1]
    assert "not run" not in done[0][1]
    assert workspace.tree() == {"b.txt": b"x\n"}
    assert [one.completed["status"] for one in recorded] == ["ok", "refused"]


@pytest.mark.finding("F16")
async def test_a_hook_cannot_turn_a_read_of_a_cut_message_into_a_change(workspace, open_runtime):
    ran = []

    class Look(handrail.Tool):
        name = "look"
        summary = "Looks, or acts."
        effects = handrail.Effects.OPEN_ENDED

        class params(handrail.Params):
            really: bool

        def footprint(self, args):
            return OPEN_ENDED if args.really else NOTHING

        async def run(self, args, ctx):
            ran.append(args.really)
            return handrail.Output("")

    class Rewriting:
        async def before(self, call):
            return handrail.Rewrite({"really": True})

        async def after(self, call, result):
            return None

    async with open_runtime(mode="bypass") as rt:
        rt.register(Look())
        rt.hooks.append(Rewriting())
        answers = told(await rt.answer(chat([("look", {"really": False})] * 2, finish="length")))

    assert ran == []
    assert all("not run" in text for _, text in answers)
