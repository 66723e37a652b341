"""Questions as events: a program shows them, and the first answer counts."""

import asyncio

import pytest
from tests.support.waiting import wait_until_async

import handrail
import handrail.sync
from handrail.core.problems import ProblemRaised

WRITE = ("write_file", {"path": "a.txt", "content": "x\n"})


async def ask(rt, *arguments, id=None):
    """A call that waits for an answer, its question, and the events so far."""
    events = []
    name, given = arguments or WRITE
    known = len(rt.questions)
    call = asyncio.ensure_future(rt.call(name, given, id=id, on_event=events.append))
    await wait_until_async(lambda: len(rt.questions) > known)
    return call, rt.questions[-1], events


@pytest.mark.parametrize(("answer", "written"), [("yes", True), (True, True), ("no", False)])
async def test_an_answer_by_id_decides(tmp_path, answer, written):
    async with handrail.open(tmp_path, approver="events") as rt:
        call, question, events = await ask(rt, id="c1")
        await rt.reply(question.id, answer, reason="not now", who="kim")
        result = await call
        (record,) = await rt.store.calls(call_id="c1")
        left = rt.questions

    assert result.ok is written
    assert tmp_path.joinpath("a.txt").exists() is written
    assert written or "not now" in result.text
    told = record.completed["answered_by"]
    assert (told["via"], told["who"], told["answer"]) == (
        "events",
        "kim",
        str(handrail.Answer("yes" if written else "no")),
    )
    asked = [event for event in events if event.type.startswith("question")]
    assert [event.type for event in asked] == ["question", "question_answered"]
    assert asked[0].question_id == asked[1].question_id == question.id
    assert (asked[0].agent, asked[0].call_id, asked[0].request["tool"]) == (
        "main",
        "c1",
        "write_file",
    )
    assert left == ()


async def test_the_first_answer_wins(tmp_path):
    async with handrail.open(tmp_path, approver="events") as rt:
        call, question, _ = await ask(rt)
        await rt.reply(question.id, "no")
        with pytest.raises(ProblemRaised) as second:
            await rt.reply(question.id, "yes")
        result = await call
        with pytest.raises(ProblemRaised) as third:
            await rt.reply(question.id, "yes")
        with pytest.raises(ProblemRaised) as unknown:
            await rt.reply("nothing", "yes")

    assert result.problem.code == "denied"
    assert [one.value.problem.code for one in (second, third)] == ["conflict"] * 2
    assert unknown.value.problem.code == "not_found"
    assert not tmp_path.joinpath("a.txt").exists()


@pytest.mark.parametrize("answer", ["maybe", None, 1, "YES"])
async def test_what_is_no_answer_leaves_the_question_open(tmp_path, answer):
    async with handrail.open(tmp_path, approver="events") as rt:
        call, question, _ = await ask(rt)
        with pytest.raises(ProblemRaised) as refused:
            await rt.reply(question.id, answer)
        assert [one.id for one in rt.questions] == [question.id]
        await rt.reply(question.id, "no")
        await call

    assert refused.value.problem.code == "invalid_arguments"


async def test_several_questions_are_open_at_once_and_abort_ends_all(tmp_path):
    async with handrail.open(tmp_path, approver="events") as rt:
        first, one, _ = await ask(rt, "write_file", {"path": "a.txt", "content": "a\n"})
        second, two, _ = await ask(rt, "write_file", {"path": "b.txt", "content": "b\n"})
        await rt.reply(two.id, "yes")
        assert (await second).ok
        await rt.reply(one.id, "abort")
        result = await first

    assert result.problem.code == "cancelled"
    assert tmp_path.joinpath("b.txt").exists()


async def test_a_question_whose_call_ends_is_withdrawn(tmp_path):
    async with handrail.open(tmp_path, approver="events") as rt:
        call, question, events = await ask(rt, id="c1")
        assert await rt.cancel("c1")
        await call
        with pytest.raises(ProblemRaised) as late:
            await rt.reply(question.id, "yes")

    assert late.value.problem.code == "conflict"
    assert [event.via for event in events if event.type == "question_answered"] == ["withdrawn"]
    assert not tmp_path.joinpath("a.txt").exists()


async def test_without_this_approver_there_is_nothing_to_answer(tmp_path):
    async with handrail.open(tmp_path) as rt:
        with pytest.raises(ProblemRaised) as refused:
            await rt.reply("q", "yes")
        assert rt.questions == ()

    assert refused.value.problem.code == "not_found"


def test_questions_are_answered_from_another_thread(tmp_path):
    import threading

    with handrail.sync.open(tmp_path, approver="events") as rt:
        asked = threading.Event()
        rt.subscribe(lambda event: asked.set() if event.type == "question" else None)
        results = []
        caller = threading.Thread(target=lambda: results.append(rt.call(*WRITE)))
        caller.start()
        assert asked.wait(20)
        rt.reply(rt.questions[0].id, "yes")
        caller.join(20)

    assert results[0].ok


@pytest.mark.parametrize(
    ("answer", "answers"),
    [({"Which database?": "SQLite"}, {"Which database?": "SQLite"}), (None, {})],
)
async def test_questions_of_a_model_are_answered_by_id(tmp_path, answer, answers):
    asked = {
        "question": "Which database?",
        "header": "Database",
        "options": [{"label": "SQLite"}, {"label": "Postgres"}],
    }
    async with handrail.open(tmp_path, approver="events") as rt:
        call, question, events = await ask(rt, "ask_user", {"questions": [asked]})
        with pytest.raises(ProblemRaised) as refused:
            await rt.reply(question.id, "yes")
        await rt.reply(question.id, answer, who="kim")
        result = await call

    assert refused.value.problem.code == "invalid_arguments"
    assert result.data["answers"] == answers
    (told,) = [event for event in events if event.type == "question"]
    assert told.request["questions"][0]["question"] == "Which database?"
