"""Ids, numbers and sizes of calls that come from outside, however odd."""

import json

import pytest

import handrail.sync
from handrail.core.call import is_call_id
from handrail.core.problems import ProblemRaised
from handrail.engine.prepare.arguments import MAX_BYTES
from handrail.engine.providers.message_calls import MAX_CALLS

ODD_TEXTS = [
    "",
    "x" * 200_000,
    "../../etc/x",
    "\x1b[2J",
    "a b",
    "a\nb",
    "é",
    "a/b",
    "\ud800",
    "a~b",
]
ODD = [*ODD_TEXTS, 7, 7.5, True, False, ["a"], {"a": 1}, b"c1"]
SHORT = lambda value: repr(value)[:20]  # noqa: E731


def chat(*calls, response="r1"):
    made = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in calls
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return {"id": response, "choices": [{"finish_reason": "tool_calls", "message": message}]}


def append(path, content="x\n"):
    return json.dumps({"path": path, "content": content, "mode": "append"})


@pytest.mark.finding("F18")
@pytest.mark.threat("A02")
@pytest.mark.parametrize("odd", ODD, ids=SHORT)
async def test_an_odd_id_goes_back_as_it_came_and_nowhere_else(workspace, open_runtime, odd):
    events = []

    async with open_runtime() as rt:
        response = chat((odd, "write_file", append("a.txt")), ("ok", "write_file", append("b.txt")))
        answers = await rt.answer(response, on_event=events.append)
        again = await rt.answer(response)
        recorded = await rt.store.calls()

    assert [one["tool_call_id"] for one in answers] == [odd, "ok"]
    assert again == answers
    assert workspace.tree() == {"a.txt": b"x\n", "b.txt": b"x\n"}, "each once"
    assert all(is_call_id(one.call_id.partition("#")[0]) for one in recorded)
    assert all(is_call_id(one.call_id) for one in events if hasattr(one, "call_id"))


@pytest.mark.finding("F18")
async def test_a_usual_id_is_the_id_of_the_record(open_runtime):
    usual = ["call_9Xy", "toolu_01A-b", "fc:1.2", "x" * 256]

    async with open_runtime() as rt:
        await rt.answer(chat(*[(one, "list_files", "{}") for one in usual]))
        recorded = {one.call_id for one in await rt.store.calls()}

    assert recorded == set(usual)


@pytest.mark.finding("F18")
@pytest.mark.threat("A02")
@pytest.mark.parametrize("response", ["r1", "\x1b]0;x" * 40_000, None])
async def test_empty_ids_of_one_message_are_different_calls(workspace, open_runtime, response):
    async with open_runtime() as rt:
        calls = [("", "write_file", append("a.txt")), ("", "write_file", append("b.txt"))]
        answers = await rt.answer(chat(*calls, response=response))
        recorded = await rt.store.calls()

    assert [one["tool_call_id"] for one in answers] == ["", ""]
    assert workspace.tree() == {"a.txt": b"x\n", "b.txt": b"x\n"}
    assert all(len(json.dumps(one.requested)) < 1_000 for one in recorded)


@pytest.mark.finding("F18")
async def test_an_id_that_comes_twice_in_a_message_is_answered_twice(workspace, open_runtime):
    async with open_runtime() as rt:
        answers = await rt.answer(
            chat(
                ("c", "write_file", append("a.txt")),
                ("c", "write_file", append("a.txt")),
                ("c", "write_file", append("b.txt")),
            )
        )

    assert [one["tool_call_id"] for one in answers] == ["c", "c", "c"]
    assert workspace.tree() == {"a.txt": b"x\n"}
    assert "was made before" in answers[2]["content"]


@pytest.mark.finding("F18")
@pytest.mark.threat("A02")
@pytest.mark.parametrize("count", [MAX_CALLS, MAX_CALLS + 1, 3_000])
async def test_of_too_many_calls_the_first_run_and_all_are_answered(workspace, open_runtime, count):
    calls = [(f"c{n}", "write_file", append(f"{n}.txt")) for n in range(count)]

    async with open_runtime() as rt:
        answers = await rt.answer(chat(*calls))
        recorded = await rt.store.calls(limit=10_000)

    assert [one["tool_call_id"] for one in answers] == [one[0] for one in calls]
    assert len(workspace.tree()) == MAX_CALLS
    refused = [one for one in answers if "not run" in one["content"]]
    assert refused == answers[MAX_CALLS:]
    assert len(recorded) == min(count, MAX_CALLS + 1), "the rest is one entry of the record"


@pytest.mark.finding("F18")
@pytest.mark.threat("A02")
@pytest.mark.parametrize("form", ["text", "mapping", "many"])
async def test_arguments_over_the_limit_are_refused_before_they_are_parsed(
    workspace, open_runtime, form
):
    huge = {"path": "a.txt", "content": "x" * MAX_BYTES}
    arguments = {"text": json.dumps(huge), "mapping": huge, "many": {"a": [0] * MAX_BYTES}}

    async with open_runtime() as rt:
        answers = await rt.answer(
            chat(("big", "write_file", arguments[form]), ("c", "write_file", append("b.txt")))
        )
        recorded = await rt.store.calls()

    assert "larger than" in answers[0]["content"]
    assert workspace.tree() == {"b.txt": b"x\n"}
    assert all(len(json.dumps(one.requested)) < 1_000 for one in recorded)


@pytest.mark.finding("F18")
@pytest.mark.parametrize("odd", ODD, ids=SHORT)
async def test_a_programs_own_odd_id_is_an_error_to_it(workspace, open_runtime, odd):
    call = {"name": "write_file", "arguments": {"path": "a.txt", "content": ""}}

    async with open_runtime() as rt:
        with pytest.raises(ProblemRaised) as one:
            await rt.call(call["name"], call["arguments"], id=odd)
        with pytest.raises(ProblemRaised) as batch:
            await rt.batch([{**call, "id": "fine"}, {**call, "id": odd}])
        with pytest.raises(ProblemRaised):
            rt.plan([{**call, "id": odd}])

    assert one.value.problem.code == batch.value.problem.code == "invalid_arguments"
    assert one.value.problem.field == "id"
    assert len(one.value.problem.message) < 400
    assert workspace.tree() == {}


@pytest.mark.finding("F18")
def test_the_synchronous_door_refuses_an_odd_id_too(tmp_path):
    with (
        handrail.sync.open(tmp_path, store=":memory:") as rt,
        pytest.raises(ProblemRaised, match="id of a call"),
    ):
        rt.call("list_files", {}, id="../x")
