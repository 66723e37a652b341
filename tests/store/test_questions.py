"""Questions in a database: asked in one process, answered in another, and the first answer counts."""

import asyncio
import subprocess
import sys
import threading

import anyio
import pytest
from tests.support.waiting import LIMIT_S, join_threads, wait_until_async

import handrail
from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.ports.questions import ModelQuestion, QuestionRequest
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk
from handrail.host.terminal.approval_queue import PendingApproval, answer_pending, confirm_answer
from handrail.store.postgres import questions
from handrail.store.postgres.listener import ChannelListener
from handrail.store.postgres.questions import (
    ServerApprover,
    ServerAsker,
    list_questions,
    remove_closed_questions,
)

pytestmark = pytest.mark.needs_postgres

ASKER = ServerAsker("/w", "machine/boot/1/1", "approvals")
ANSWER = """
import sys
from handrail.core.approval import Answer
from handrail.core.problems import ProblemRaised
from handrail.host.terminal.approval_queue import PendingApproval, answer_pending
from handrail.store.postgres.questions import list_questions

url, word = sys.argv[1:]
for line in sys.stdin:
    asked = [one for one in list_questions(url, lambda owner: True) if one.id == line.strip()]
    try:
        answer_pending(PendingApproval(*asked[0]), Answer(word))
        print("first", flush=True)
    except (IndexError, ProblemRaised):
        print("late", flush=True)
"""


@pytest.fixture
def url(postgres):
    return postgres.new_store()


def request(number=0):
    binding = f"{number:012x}" + "0" * 52
    return ApprovalRequest("c1", "run_command", "make", "it writes", Risk.MODERATE, "make", binding)


def approver(url):
    return ServerApprover(url, ASKER, lambda: 1)


async def test_a_question_that_is_cancelled_while_it_connects_leaves_no_connection(
    url, monkeypatch
):
    """Another surface may have answered meanwhile."""
    connecting, go, made = threading.Event(), threading.Event(), []

    class SlowListener(ChannelListener):
        def __init__(self, *given):
            connecting.set()
            go.wait(LIMIT_S)
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(questions, "ChannelListener", SlowListener)
    asking = asyncio.create_task(approver(url).ask(request()))
    await wait_until_async(connecting.is_set)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    go.set()
    await wait_until_async(lambda: made and not made[0]._connection.is_open)


async def until_asked(url):
    """The open questions, once there is one."""
    found = []

    def look():
        found[:] = list_questions(url, lambda owner: True)
        return found

    await wait_until_async(look)
    return found


async def test_a_question_is_answered_over_another_connection(url):
    asking = asyncio.ensure_future(approver(url).ask(request()))
    (asked,) = await until_asked(url)

    await anyio.to_thread.run_sync(
        answer_pending, PendingApproval(*asked), Answer.NO, "not now", "elsewhere"
    )
    reply = await asyncio.wait_for(asking, LIMIT_S)

    assert asked.request == request()
    assert (reply.answer, reply.reason, reply.via) == (Answer.NO, "not now", "elsewhere")
    with pytest.raises(ProblemRaised) as late:
        answer_pending(PendingApproval(*asked), Answer.YES)
    assert late.value.problem.code == "conflict"
    assert list_questions(url, lambda owner: True) == []


@pytest.mark.parametrize(
    "decision", [Reply(Answer.NO, "events"), Reply(Answer.YES, "approvals"), None]
)
async def test_a_shared_question_is_closed_by_the_decision(url, decision):
    asker = approver(url)
    asker.shared = True
    asking = asyncio.ensure_future(asker.ask(request()))
    (asked,) = await until_asked(url)
    pending = PendingApproval(*asked)
    answer_pending(pending, Answer.YES)
    await asyncio.wait_for(asking, LIMIT_S)
    open_before = asked.slot.is_asked()

    asker.report_decision(request(), decision)

    assert (open_before, asked.slot.is_asked()) == (True, False)
    if decision and decision.refuses:
        with pytest.raises(ProblemRaised) as told:
            confirm_answer(pending, Answer.YES)
        assert told.value.problem.code == "conflict"
    else:
        confirm_answer(pending, Answer.YES)


async def test_a_refusal_elsewhere_replaces_a_yes_of_the_same_moment(url):
    asker = approver(url)
    asking = asyncio.ensure_future(asker.ask(request()))
    (asked,) = await until_asked(url)
    answer_pending(PendingApproval(*asked), Answer.YES)
    # The asking task has not run since, so it still takes an answer from elsewhere.
    earlier = asker.close_question(request(), Reply(Answer.NO, "events"))
    await asyncio.wait_for(asking, LIMIT_S)

    assert earlier is None
    with pytest.raises(ProblemRaised) as told:
        confirm_answer(PendingApproval(*asked), Answer.YES)
    assert told.value.problem.code == "conflict"


async def test_a_yes_from_another_machine_that_gives_way_to_a_refusal_here_is_told(url, tmp_path):
    refusal = asyncio.get_running_loop().create_future()

    class Desk:
        via = "desk"

        async def ask(self, request):
            return await refusal

    async with handrail.open(
        tmp_path, store=url, mode="default", approver=["approvals", Desk()]
    ) as rt:
        call = asyncio.ensure_future(rt.call("write_file", {"path": "a", "content": "x"}))
        (asked,) = await until_asked(url)
        # Both before the loop runs again.
        answer_pending(PendingApproval(*asked), Answer.YES)
        refusal.set_result(Reply(Answer.NO, "desk", "ann"))
        result = await asyncio.wait_for(call, LIMIT_S)
        with pytest.raises(ProblemRaised) as told:
            confirm_answer(PendingApproval(*asked), Answer.YES)

    assert (result.ok, (tmp_path / "a").exists()) == (False, False)
    assert "no (from desk, by ann)" in told.value.problem.message


async def test_questions_of_a_model_get_their_words(url):
    asks = QuestionRequest("c1", (ModelQuestion("Which?", "Pick", ()),))
    asking = asyncio.ensure_future(approver(url).ask_questions(asks))
    (asked,) = await until_asked(url)

    asked.slot.put({"v": 1, "answers": {"Which?": "this"}}, asks.binding)

    assert (await asyncio.wait_for(asking, LIMIT_S)).answers == {"Which?": "this"}


async def test_a_question_that_is_withdrawn_cannot_be_answered(url):
    asking = asyncio.ensure_future(approver(url).ask(request()))
    (asked,) = await until_asked(url)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)

    with pytest.raises(ProblemRaised) as late:
        answer_pending(PendingApproval(*asked), Answer.YES)

    assert late.value.problem.code == "not_found"


async def test_what_is_left_of_a_workspace_is_removed_and_open_questions_stay(url):
    left = ServerApprover(url, ASKER._replace(process="ended"), lambda: 1)
    apart = ServerApprover(url, ASKER._replace(workspace="/other"), lambda: 1)
    asking = [
        asyncio.ensure_future(one.ask(request(number)))
        for number, one in enumerate([approver(url), left, apart, approver(url)])
    ]
    await wait_until_async(lambda: len(list_questions(url, lambda owner: True)) == 4)
    slots = {one.request.binding: one.slot for one in list_questions(url, lambda owner: True)}
    for number in (0, 2):
        slots[request(number).binding].put({"answer": "no"}, request(number).binding)
        await asyncio.wait_for(asking[number], LIMIT_S)

    remove_closed_questions(url, "/w", lambda owner: owner != "ended")

    open_ones = list_questions(url, lambda owner: True)
    assert [one.request for one in open_ones] == [request(3)]
    # An answered one of another workspace is kept, so that late answers are told who was first.
    assert [bool(slots[request(one).binding].read()) for one in (0, 2)] == [False, True]
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)


async def test_an_answer_to_another_question_or_without_sense_is_a_refusal(url):
    for said, binding in [({"answer": "yes"}, "other"), ({"answer": "perhaps"}, request().binding)]:
        asking = asyncio.ensure_future(approver(url).ask(request()))
        (asked,) = await until_asked(url)
        asked.slot.put({"v": 1, **said}, binding)
        assert (await asyncio.wait_for(asking, LIMIT_S)).answer is Answer.NO


async def test_an_answer_from_elsewhere_closes_it_and_an_earlier_one_stands(url):
    one = approver(url)
    asking = asyncio.ensure_future(one.ask(request()))
    (asked,) = await until_asked(url)
    await wait_until_async(lambda: one._slots)
    asked.slot.put(Reply(Answer.YES, "first").to_dict(), request().binding)

    earlier = one.close_question(request(), Reply(Answer.YES, "second"))

    assert earlier is None or earlier.via == "first"
    assert (await asyncio.wait_for(asking, LIMIT_S)).via == "first"


async def test_questions_of_ended_processes_are_not_listed(url):
    asking = asyncio.ensure_future(approver(url).ask(request()))
    await until_asked(url)

    assert list_questions(url, lambda owner: owner != ASKER.process) == []
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


async def _race(url, races):
    """Two processes answer each question at once; returns replies and how often each was first."""
    words = ("yes", "no")
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", ANSWER, url, word],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for word in words
    ]
    outcomes = []
    one = approver(url)
    try:
        for number in range(races):
            asking = asyncio.ensure_future(one.ask(request(number)))
            (asked,) = await until_asked(url)
            told = {}

            def answer(worker, word, name=asked.id, told=told):
                worker.stdin.write(f"{name}\n")
                worker.stdin.flush()
                told[word] = worker.stdout.readline().strip()

            threads = [
                threading.Thread(target=answer, args=pair)
                for pair in zip(workers, words, strict=True)
            ]
            for thread in threads:
                thread.start()
            reply = await asyncio.wait_for(asking, LIMIT_S)
            await anyio.to_thread.run_sync(join_threads, *threads)
            outcomes.append((reply.answer.value, told))
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate(timeout=LIMIT_S)
    return outcomes


def assert_the_first_counts(outcomes):
    for answer, told in outcomes:
        assert sorted(told.values()) == ["first", "late"]
        assert told[answer] == "first"


async def test_of_two_processes_that_answer_at_once_the_first_counts(url):
    assert_the_first_counts(await _race(url, 6))


@pytest.mark.torture
async def test_in_two_hundred_races_the_first_answer_counts(url):
    outcomes = await _race(url, 200)

    assert_the_first_counts(outcomes)
    print("200 races:", {word: sum(a == word for a, _ in outcomes) for word in ("yes", "no")})
