"""`rt.stream` with responses that failed, began anew or go on after their end."""

import json

import pytest

import handrail
from handrail.core.problems import ProblemRaised


def opened(work):
    return handrail.open(work, store=":memory:", config={}, mode="bypass", sandbox="none")


WRITE = {"path": "new.txt", "content": "N"}


def item(path="new.txt", index=0):
    arguments = json.dumps({**WRITE, "path": path})
    named = {"call_id": f"c{index}", "name": "write_file", "arguments": arguments}
    done = {"type": "function_call", "status": "completed", **named}
    return {"type": "response.output_item.done", "output_index": index, "item": done}


def response(kind, **more):
    return {"type": f"response.{kind}", "response": {"id": "r1", **more}}


def chunk(response_id, finish=None, **call):
    parts = [{"functionCall": {"name": "write_file", "args": WRITE, **call}}]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish}
    return {"responseId": response_id, "candidates": [candidate]}


def chat(response_id, finish=None, path="new.txt", **call):
    function = {"name": "write_file", "arguments": json.dumps({**WRITE, "path": path})}
    calls = [{"index": 0, "function": function, **call}]
    choice = {"index": 0, "delta": {"tool_calls": calls}, "finish_reason": finish}
    return {"id": response_id, "object": "chat.completion.chunk", "choices": [choice]}


def message(call_id):
    """The events of a message of Anthropic with one call, without its end."""
    use = {"type": "tool_use", "id": call_id, "name": "write_file", "input": WRITE}
    return [
        {"type": "message_start", "message": {"id": "m1"}},
        {"type": "content_block_start", "index": 0, "content_block": use},
        {"type": "content_block_stop", "index": 0},
    ]


BROKEN = {
    "failed": [item(), response("failed", status="completed")],
    "restarted-responses": [
        *(response("created"), item(), response("created"), item(index=1)),
        response("completed", status="completed"),
    ],
    "restarted-anthropic": [
        *(*message("t1"), *message("t2")),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ],
    "restarted-gemini": [chunk("g1"), chunk("g2", "STOP")],
    "restarted-chat": [chat("r1", id="c1"), chat("r2", "tool_calls", id="c2")],
    "restarted-chat-later": [
        *(chat("r1", id="c1"), chat("r1", id="c2"), chat("r2", "tool_calls", id="c3"))
    ],
    "restarted-chat-early": [
        *(chat("r1", id="c1"), chat("r2", id="c2"), chat("r2", "tool_calls", id="c3"))
    ],
    "in-parts": [chunk("g1", "STOP", willContinue=True)],
}


@pytest.mark.threat("A01")
@pytest.mark.parametrize("name", BROKEN)
async def test_a_response_that_failed_or_began_anew_has_no_effect(tmp_path, name):
    async with opened(tmp_path) as rt:
        with pytest.raises(ProblemRaised) as raised:
            async with rt.stream(BROKEN[name]) as turn:
                await turn

    assert raised.value.problem.code == "unavailable"
    assert not (tmp_path / "new.txt").exists()


@pytest.mark.threat("A02")
async def test_a_response_of_too_many_calls_is_refused(tmp_path):
    many = [chat("r1", path=f"{number}.txt", id=f"c{number}") for number in range(129)]
    async with opened(tmp_path) as rt:
        with pytest.raises(ProblemRaised) as raised:
            async with rt.stream(many) as turn:
                await turn

    assert raised.value.problem.code == "blocked"
    assert not raised.value.problem.retryable
    assert list(tmp_path.glob("*.txt")) == []


async def test_chunks_with_ids_of_their_own_are_one_response(tmp_path):
    given = [chat(f"r{number}", path=f"{number}.txt", id=f"c{number}") for number in range(4)]
    given.append(
        {**chat("r9", "tool_calls"), "choices": [{"index": 0, "finish_reason": "tool_calls"}]}
    )
    async with opened(tmp_path) as rt, rt.stream(given) as turn:
        await turn

    assert [result.ok for result in turn.results] == [True] * 4


@pytest.mark.threat("A01")
async def test_an_incomplete_response_has_no_effect_whatever_its_status(tmp_path):
    given = [item(), response("incomplete", status="completed")]
    async with opened(tmp_path) as rt, rt.stream(given) as turn:
        await turn

    assert turn.finish == "cut"
    assert not (tmp_path / "new.txt").exists()


async def test_what_follows_a_complete_response_is_passed_over(tmp_path):
    given = [item(), response("completed", status="completed"), item("late.txt", 1)]
    async with opened(tmp_path) as rt, rt.stream(given) as turn:
        await turn

    assert [result.ok for result in turn.results] == [True]
    assert len(turn.messages) == 2
    assert not (tmp_path / "late.txt").exists()
