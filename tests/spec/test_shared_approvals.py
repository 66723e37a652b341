"""One question on several surfaces: the first answer counts, a refusal at the same time wins, and
whoever answers too late is told.
"""

import asyncio
import random

import anyio
import pytest

import handrail
from handrail.core.approval import Answer, Reply
from handrail.core.ports.questions import QuestionReply
from handrail.core.problems import ProblemRaised
from handrail.host.terminal.approval_queue import (
    answer_pending,
    answer_questions,
    confirm_answer,
    find_pending,
    pending_approvals,
    queue_directory,
)

WRITE = {"path": "new.txt", "content": "x"}


class Desk:
    """A surface of the test's own; `answer` is set by the test."""

    via = "desk"

    def __init__(self):
        self.answer = asyncio.get_running_loop().create_future()
        self.withdrawn = False

    async def ask(self, request):
        try:
            return await asyncio.shield(self.answer)
        except asyncio.CancelledError:
            self.withdrawn = True
            raise


def opened(root, *surfaces):
    return handrail.open(root, store=":memory:", mode="default", approver=list(surfaces))


async def until(found):
    with anyio.fail_after(10):
        while not (value := found()):
            await anyio.sleep(0.005)
    return value


async def question(rt):
    return (await until(lambda: rt.questions))[0]


async def queued(root):
    return (await until(lambda: pending_approvals(queue_directory(root))))[0]


@pytest.mark.threat("A35")
@pytest.mark.parametrize("winner", ["events", "approvals", "desk"])
@pytest.mark.parametrize("answer", [Answer.YES, Answer.NO])
async def test_the_first_surface_decides_and_the_others_are_closed(tmp_path, winner, answer):
    seen, desk = [], Desk()
    async with opened(tmp_path, "events", "approvals", desk) as rt:
        rt.subscribe(seen.append)
        call = asyncio.create_task(rt.call("write_file", WRITE))
        asked, pending = await question(rt), await queued(tmp_path)
        if winner == "events":
            await rt.reply(asked.id, answer, who="ann")
        elif winner == "approvals":
            answer_pending(pending, answer)
        else:
            desk.answer.set_result(Reply(answer, "desk", "ann"))
        result = await call

        with pytest.raises(ProblemRaised) as late_event:
            await rt.reply(asked.id, True)
        with pytest.raises(ProblemRaised) as late_queue:
            answer_pending(pending, Answer.YES)
        with pytest.raises(ProblemRaised) as late_name:
            find_pending([], pending.id, [queue_directory(tmp_path)])

    assert (tmp_path / "new.txt").exists() == (answer is Answer.YES)
    assert result.ok == (answer is Answer.YES)
    assert desk.withdrawn == (winner != "desk")
    assert {one.value.problem.code for one in (late_event, late_queue, late_name)} == {"conflict"}
    for told in (late_queue, late_name):
        assert f"{answer.value} (from {winner}" in told.value.problem.message
    [ended] = [one for one in seen if one.type == "question_answered"]
    assert (ended.answer, ended.via) == (answer.value, winner)


@pytest.mark.threat("A35")
async def test_a_refusal_that_comes_with_an_earlier_yes_wins_and_the_yes_is_told(tmp_path):
    desk = Desk()
    async with opened(tmp_path, "approvals", desk) as rt:
        call = asyncio.create_task(rt.call("write_file", WRITE))
        pending = await queued(tmp_path)
        # Both before the loop runs again.
        answer_pending(pending, Answer.YES)
        desk.answer.set_result(Reply(Answer.NO, "desk", "ann"))
        result = await call
        with pytest.raises(ProblemRaised) as told:
            confirm_answer(pending, Answer.YES)

    assert (result.ok, (tmp_path / "new.txt").exists()) == (False, False)
    assert "no (from desk, by ann)" in told.value.problem.message


@pytest.mark.threat("A35")
async def test_a_yes_by_event_that_gives_way_to_a_refusal_is_told(tmp_path):
    desk = Desk()
    async with opened(tmp_path, "events", desk) as rt:
        call = asyncio.create_task(rt.call("write_file", WRITE))
        asked = await question(rt)
        # Both before the loop runs again.
        reply = asyncio.create_task(rt.reply(asked.id, True))
        desk.answer.set_result(Reply(Answer.NO, "desk", "ann"))
        result = await call
        with pytest.raises(ProblemRaised) as told:
            await reply

    assert (result.ok, (tmp_path / "new.txt").exists()) == (False, False)
    assert told.value.problem.code == "conflict"


QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red"}, {"label": "Blue"}],
}


@pytest.mark.threat("A35")
@pytest.mark.parametrize("winner", ["events", "approvals"])
async def test_questions_of_a_model_are_shared_too(tmp_path, winner):
    async with opened(tmp_path, "events", "approvals") as rt:
        call = asyncio.create_task(rt.call("ask_user", {"questions": [QUESTION]}))
        asked, pending = await question(rt), await queued(tmp_path)
        answers = {QUESTION["question"]: "Blue"}
        if winner == "events":
            await rt.reply(asked.id, answers)
        else:
            answer_questions(pending, QuestionReply(answers, "approvals"))
        result = await call
        with pytest.raises(ProblemRaised) as late:
            answer_questions(pending, QuestionReply(answers, "approvals"))

    assert "Blue" in result.unwrap().text
    assert late.value.problem.code == "conflict"


async def race(root, rt, desk, draw):
    """One question, answered on three surfaces at random moments; whether it was allowed, and what
    each surface was told.
    """
    call = asyncio.create_task(rt.call("write_file", WRITE))
    asked, pending = await question(rt), await queued(root)
    told = {}

    async def answer(surface, give):
        given = draw.choice([Answer.YES, Answer.NO])
        await anyio.sleep(draw.choice([0, 0, 0.001, 0.02]))
        try:
            await give(given)
            told[surface] = given
        except ProblemRaised as raised:
            told[surface] = raised.problem.code

    async def by_event(given):
        await rt.reply(asked.id, given)

    async def by_queue(given):
        answer_pending(pending, given)
        await asyncio.to_thread(confirm_answer, pending, given)

    async def at_the_desk(given):
        if desk.withdrawn:
            raise ProblemRaised("conflict", "withdrawn")
        desk.answer.set_result(Reply(given, "desk"))

    async with anyio.create_task_group() as surfaces:
        for surface, give in (("events", by_event), ("approvals", by_queue), ("desk", at_the_desk)):
            surfaces.start_soon(answer, surface, give)
        result = await call
    if desk.withdrawn:
        told["desk"] = "conflict"
    return result, told


async def rounds(root, count, seed):
    draw = random.Random(seed)
    for number in range(count):
        work = root / str(number)
        work.mkdir()
        desk, seen = Desk(), []
        async with opened(work, "events", "approvals", desk) as rt:
            rt.subscribe(seen.append)
            result, told = await race(work, rt, desk, draw)
        [ended] = [one for one in seen if one.type == "question_answered"]
        allowed = ended.answer == "yes"
        assert (result.ok, (work / "new.txt").exists()) == (allowed, allowed), (seed, number, told)
        # The surface that decided was not refused, and every other answer was refused or is as the
        # decision. The desk learns from the event that its answer gave way to a refusal.
        assert told[ended.via] == ended.answer, (seed, number, told)
        others = {told[one] for one in told if one != "desk"}
        assert others <= {ended.answer, "conflict", "not_found"}, (seed, number, told)
        if allowed:
            assert Answer.NO not in told.values(), (seed, number, told)


@pytest.mark.threat("A35")
async def test_answers_at_random_moments_have_one_effect_at_most(tmp_path):
    await rounds(tmp_path, 20, seed=random.randrange(1 << 30))


@pytest.mark.torture
async def test_two_hundred_races_of_answers(tmp_path):
    await rounds(tmp_path, 200, seed=random.randrange(1 << 30))


def test_an_empty_list_of_approvers_is_refused(tmp_path):
    with pytest.raises(ProblemRaised, match="empty"):
        handrail.open(tmp_path, approver=[])
