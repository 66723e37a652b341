"""The queue on disk: who sees it, who may answer, what an answer is good for."""

import asyncio
import json
import os
import stat
import subprocess
import sys

import anyio
import pytest
from tests.support.waiting import wait_exit

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk
from handrail.host.terminal import approval_queue
from handrail.host.terminal.approval_queue import (
    QueueApprover,
    answer_pending,
    confirm_answer,
    find_pending,
    pending_approvals,
    queue_directory,
)


def request(binding="ab" * 32, always="write_file(/a)"):
    return ApprovalRequest(
        "1", "write_file", "write_file(a)", "because", Risk.MODERATE, "+x", binding, always=always
    )


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def approver(root):
    return QueueApprover(root, lambda: 7)


async def until_asked(root, count=1):
    with anyio.fail_after(10):
        while len(pending_approvals(queue_directory(root))) < count:
            await anyio.sleep(0.01)
    return pending_approvals(queue_directory(root))


async def ended(task):
    with anyio.fail_after(10):
        return await task


async def test_a_question_lies_where_only_the_person_can_look(root, approver):
    task = asyncio.create_task(approver.ask(request()))
    (asked,) = await until_asked(root)

    modes = {
        stat.S_IMODE(path.stat().st_mode)
        for path in (
            asked.slot.folder.parent,
            asked.slot.folder,
            asked.slot.folder / "question.json",
        )
    }
    inside = asked.slot.folder.is_relative_to(root)
    answer_pending(asked, Answer.NO)
    await ended(task)

    assert modes == {0o700, 0o600}
    assert not inside
    assert (asked.id, asked.workspace, asked.asked_ns) == ("ab" * 6, str(root), 7)
    assert asked.request == request()


async def test_the_first_of_two_answers_counts(root, approver):
    task = asyncio.create_task(approver.ask(request()))
    (asked,) = await until_asked(root)

    answer_pending(asked, Answer.NO)
    with pytest.raises(ProblemRaised) as raised:
        answer_pending(asked, Answer.YES)

    assert raised.value.problem.code in ("conflict", "not_found")
    assert (await ended(task)).answer is Answer.NO


async def test_who_answered_is_told_for_some_minutes_without_what_was_asked(root, approver):
    task = asyncio.create_task(approver.ask(request()))
    (asked,) = await until_asked(root)
    answer_pending(asked, Answer.NO)
    await ended(task)

    with pytest.raises(ProblemRaised) as late:
        find_pending([], asked.id[:6], [queue_directory(root)])
    kept = [one.name for one in asked.slot.folder.iterdir()]
    os.utime(asked.slot.folder, (0, 0))
    pending_approvals(queue_directory(root))

    assert late.value.problem.code == "conflict"
    assert kept == ["answer.json"]
    assert list(queue_directory(root).iterdir()) == []


async def test_of_many_who_answer_at_once_one_is_first(root, approver):
    task = asyncio.create_task(approver.ask(request()))
    (asked,) = await until_asked(root)
    together = asyncio.Barrier(8)

    def try_it(number):
        try:
            answer_pending(asked, Answer.YES if number % 2 else Answer.NO)
        except ProblemRaised as raised:
            return raised.problem.code
        return Answer.YES if number % 2 else Answer.NO

    async def one(number):
        await together.wait()
        return await asyncio.to_thread(try_it, number)

    said = await asyncio.gather(*(one(number) for number in range(8)))
    won = [one for one in said if isinstance(one, Answer)]

    assert len(won) == 1
    assert set(said) - set(won) <= {"conflict", "not_found"}
    assert (await ended(task)).answer is won[0]


async def test_an_answer_that_comes_too_late_counts_for_nothing(root, approver):
    task = asyncio.create_task(approver.ask(request()))
    (asked,) = await until_asked(root)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    with pytest.raises(ProblemRaised) as raised:
        answer_pending(asked, Answer.YES)
    again = asyncio.create_task(approver.ask(request()))
    (anew,) = await until_asked(root)
    waits = approval_queue.is_pending(anew.slot.folder)
    answer_pending(anew, Answer.NO)

    assert raised.value.problem.code == "not_found"
    assert waits
    assert (await ended(again)).answer is Answer.NO
    assert [one.name for one in queue_directory(root).glob("*/*")] == ["answer.json"]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"yes",
        b"[]",
        b"{}",
        b'{"v": 1, "answer": "yes"}',
        b'{"v": 1, "answer": "yes", "binding": "other"}',
        json.dumps({"v": 1, "answer": "yes", "binding": "ab" * 6}).encode(),
        json.dumps({"v": 2, "answer": "yes", "binding": "ab" * 32}).encode(),
        json.dumps({"v": 1, "answer": "YES", "binding": "ab" * 32}).encode(),
        json.dumps({"v": 1, "answer": ["yes"], "binding": "ab" * 32}).encode(),
        b"\xff\xfe",
    ],
)
async def test_an_answer_that_is_not_for_exactly_this_question_is_a_no(root, approver, said):
    task = asyncio.create_task(approver.ask(request()))
    (asked,) = await until_asked(root)
    draft = asked.slot.folder / "draft"
    draft.write_bytes(said)

    draft.rename(asked.slot.folder / "answer.json")

    assert (await ended(task)) == Reply(Answer.NO, "approvals")


async def test_a_directory_that_was_cleared_away_is_a_no(root, approver):
    import shutil

    task = asyncio.create_task(approver.ask(request()))
    (asked,) = await until_asked(root)

    shutil.rmtree(asked.slot.folder)

    assert (await ended(task)).answer is Answer.NO


@pytest.mark.parametrize(
    "decision", [Reply(Answer.NO, "events"), Reply(Answer.YES, "approvals"), None]
)
async def test_a_shared_question_is_closed_by_the_decision(root, approver, decision):
    approver.shared = True
    task = asyncio.create_task(approver.ask(request()))
    [asked] = await until_asked(root)
    answer_pending(asked, Answer.YES)
    await ended(task)
    open_before = asked.slot.is_asked()

    approver.report_decision(request(), decision)

    assert (open_before, asked.slot.is_asked()) == (True, False)
    if decision and decision.refuses:
        with pytest.raises(ProblemRaised) as told:
            confirm_answer(asked, Answer.YES)
        assert told.value.problem.code == "conflict"
    else:
        confirm_answer(asked, Answer.YES)


async def test_the_same_question_of_two_processes_is_answered_apart(root):
    one, two = QueueApprover(root, lambda: 1), QueueApprover(root, lambda: 2)
    tasks = [asyncio.create_task(each.ask(request())) for each in (one, two)]
    first, second = await until_asked(root, 2)

    answer_pending(first, Answer.YES)
    yes = await ended(tasks[0])
    answer_pending(second, Answer.NO)

    assert (first.id, second.id) == ("ab" * 6, f"{'ab' * 6}-2")
    assert yes.answer is Answer.YES
    assert (await ended(tasks[1])).answer is Answer.NO


def test_what_a_dead_process_asked_is_swept_away(root):
    code = (
        "import asyncio, os\n"
        "from tests.host.terminal.test_approval_queue import *\n"
        f"asyncio.run(QueueApprover({str(root)!r}, lambda: 1, lambda name: os._exit(3))"
        ".ask(request()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    left = len(list(queue_directory(root).iterdir()))

    waiting = pending_approvals(queue_directory(root))

    assert (done.returncode, left) == (3, 1)
    assert waiting == []
    assert list(queue_directory(root).iterdir()) == []


def test_half_a_question_of_a_dead_process_is_swept_away(root):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    wait_exit(dead)
    (queue_directory(root) / f".{dead.pid}-abc").mkdir()
    (queue_directory(root) / f".{os.getpid()}-abc").mkdir()

    pending_approvals(queue_directory(root))

    assert [one.name for one in queue_directory(root).iterdir()] == [f".{os.getpid()}-abc"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"v": 9}', '{"v": 1, "request": {}}'])
def test_what_is_no_question_is_passed_over(root, text):
    folder = queue_directory(root) / "abcdef"
    folder.mkdir()
    (folder / "question.json").write_text(text)

    assert pending_approvals(queue_directory(root)) == []


def test_a_directory_that_others_may_write_is_not_used(root):
    queue_directory(root).chmod(0o777)

    with pytest.raises(ProblemRaised) as raised:
        queue_directory(root)

    assert raised.value.problem.code == "unavailable"


async def test_always_is_refused_where_no_rule_was_proposed(root, approver):
    task = asyncio.create_task(approver.ask(request(always=None)))
    (asked,) = await until_asked(root)

    with pytest.raises(ProblemRaised, match="no rule is narrow enough"):
        answer_pending(asked, Answer.ALWAYS)
    answer_pending(asked, Answer.YES)

    assert (await ended(task)).answer is Answer.YES


async def test_an_id_may_be_shortened_as_long_as_it_is_clear(root, approver):
    tasks = [
        asyncio.create_task(approver.ask(request(binding)))
        for binding in ("abcd1" + "0" * 59, "abcd2" + "0" * 59)
    ]
    waiting = await until_asked(root, 2)
    codes = []
    for name in ("abcd", "abc", "", "beef", "../x"):
        with pytest.raises(ProblemRaised) as raised:
            find_pending(waiting, name)
        codes.append(raised.value.problem.code)
    found = find_pending(waiting, "abcd2").request.binding
    for one in waiting:
        answer_pending(one, Answer.NO)
    await ended(asyncio.gather(*tasks))

    assert codes == ["ambiguous", "not_found", "not_found", "not_found", "not_found"]
    assert found.startswith("abcd2")
