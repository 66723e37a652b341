"""Questions that are asked by an event and answered by a call."""

import asyncio

import pytest

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.events import QuestionAnswered, QuestionAsked
from handrail.core.ports.questions import (
    ModelQuestion,
    QuestionOption,
    QuestionReply,
    QuestionRequest,
)
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk
from handrail.engine.questions import EventApprover

COLOUR = ModelQuestion("Which?", "Pick", (QuestionOption("red"), QuestionOption("blue")))


def approval(binding="b" * 40, **more):
    return ApprovalRequest(
        "c1", "write_file", "write", "rule", Risk.MODERATE, "+a", binding, **more
    )


class Surface:
    """An approver, its events, and questions in tasks."""

    def __init__(self, *, shared=False):
        self.approver = EventApprover()
        self.approver.shared = shared
        self.events = []
        self.approver.emit = lambda event, call_id: self.events.append((event, call_id))

    async def ask(self, request):
        kind = self.approver.ask_questions
        if isinstance(request, ApprovalRequest):
            kind = self.approver.ask
        task = asyncio.create_task(kind(request))
        await asyncio.sleep(0)
        return task, self.events[-1][0].question_id

    async def problem(self, question, answer="yes"):
        with pytest.raises(ProblemRaised) as caught:
            await self.approver.reply(question, answer, None, None)
        return caught.value.problem.code


@pytest.fixture
def surface():
    return Surface()


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ("yes", Answer.YES),
        ("no", Answer.NO),
        ("abort", Answer.ABORT),
        ("always", Answer.ALWAYS),
        (Answer.NO, Answer.NO),
        (True, Answer.YES),
        (False, Answer.NO),
    ],
)
async def test_an_answer_ends_the_question(surface, given, answer):
    request = approval(always="write(a)")
    task, question = await surface.ask(request)
    assert [one.request for one in surface.approver.pending] == [request]

    await surface.approver.reply(question, given, "because", "ann")

    reply = await task
    assert (reply.answer, reply.who, reply.reason) == (answer, "ann", "because")
    assert surface.approver.pending == ()
    [(asked, _), (answered, call_id)] = surface.events
    assert isinstance(asked, QuestionAsked)
    assert (asked.call_id, asked.agent, tuple(asked.chain)) == ("c1", "main", ("main",))
    assert asked.request["action"] == "write"
    assert isinstance(answered, QuestionAnswered)
    assert (answered.question_id, answered.answer, answered.who) == (question, answer, "ann")
    assert answered.via == reply.via
    assert call_id == "c1"


@pytest.mark.parametrize("given", ["maybe", 1, None, "", {"a": 1}])
async def test_what_is_no_answer_leaves_the_question_open(surface, given):
    task, question = await surface.ask(approval())

    assert await surface.problem(question, given) == "invalid_arguments"

    assert len(surface.approver.pending) == 1
    await surface.approver.reply(question, "no", None, None)
    assert (await task).answer is Answer.NO


async def test_always_needs_a_rule(surface):
    task, question = await surface.ask(approval())

    assert await surface.problem(question, "always") == "invalid_arguments"

    task.cancel()


async def test_the_first_answer_counts_and_others_are_told(surface):
    task, question = await surface.ask(approval())
    await surface.approver.reply(question, "yes", None, None)

    assert await surface.problem(question) == "conflict"
    await task
    assert await surface.problem(question) == "conflict"
    assert await surface.problem("unknown") == "not_found"


async def test_a_question_is_withdrawn_with_its_call(surface):
    task, question = await surface.ask(approval())
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    last = surface.events[-1][0]
    assert (last.answer, last.via, last.who) == (None, "withdrawn", None)
    assert surface.approver.pending == ()
    assert await surface.problem(question) == "conflict"


async def test_equal_questions_have_different_names(surface):
    tasks = [await surface.ask(approval()) for _ in range(3)]

    names = [name for _, name in tasks]
    assert names[0] == "b" * len(names[0])
    assert names[1:] == [f"{names[0]}-2", f"{names[0]}-3"]
    assert [one.id for one in surface.approver.pending] == names
    for task, _ in tasks:
        task.cancel()


@pytest.mark.parametrize(
    ("given", "answers", "aborted"),
    [
        (None, None, False),
        ("abort", None, True),
        ({"Which?": "red"}, {"Which?": "red"}, False),
    ],
)
async def test_questions_of_a_model_have_texts_as_answers(surface, given, answers, aborted):
    task, question = await surface.ask(QuestionRequest("c1", (COLOUR,)))

    await surface.approver.reply(question, given, None, "ann")

    reply = await task
    assert (reply.answers, reply.aborted, reply.who) == (answers, aborted, "ann")
    assert surface.events[-1][0].answer is None


@pytest.mark.parametrize("given", ["yes", {}, [], True])
async def test_a_model_is_not_answered_by_a_word(surface, given):
    task, question = await surface.ask(QuestionRequest("c1", (COLOUR,)))

    assert await surface.problem(question, given) == "invalid_arguments"

    task.cancel()


def test_any_number_of_questions_may_be_open(surface):
    assert surface.approver.asks_apart(approval()) is True


class TestSeveralApprovers:
    async def answered(self, word):
        surface = Surface(shared=True)
        request = approval(always="write(a)")
        task, question = await surface.ask(request)
        replying = asyncio.create_task(surface.approver.reply(question, word, None, None))
        await asyncio.sleep(0)
        await task
        return surface, request, replying

    async def test_an_answer_waits_for_the_decision(self):
        surface, request, replying = await self.answered("yes")

        assert not replying.done()
        assert len(surface.events) == 1
        surface.approver.report_decision(request, Reply(Answer.YES, "terminal", "bob"))

        await replying
        last = surface.events[-1][0]
        assert (last.answer, last.via, last.who) == ("yes", "terminal", "bob")

    @pytest.mark.parametrize(
        ("word", "decision", "conflict"),
        [
            ("yes", Answer.NO, True),
            ("always", Answer.ABORT, True),
            ("yes", Answer.ALWAYS, False),
            ("no", Answer.NO, False),
            ("no", Answer.YES, False),
        ],
    )
    async def test_a_yes_that_was_refused_elsewhere_is_a_conflict(self, word, decision, conflict):
        surface, request, replying = await self.answered(word)

        surface.approver.report_decision(request, Reply(decision, "terminal"))
        [outcome] = await asyncio.gather(replying, return_exceptions=True)

        assert (outcome is not None) is conflict
        if conflict:
            assert outcome.problem.code == "conflict"

    async def test_a_withdrawn_question_is_no_conflict(self):
        surface, request, replying = await self.answered("yes")

        surface.approver.report_decision(request, None)

        assert await replying is None
        assert surface.events[-1][0].via == "withdrawn"

    @pytest.mark.parametrize(
        ("earlier", "later", "counts"),
        [
            ("yes", Answer.YES, True),
            ("yes", Answer.NO, False),
            ("no", Answer.NO, True),
            ("no", Answer.YES, True),
            ("abort", Answer.ALWAYS, True),
        ],
    )
    async def test_an_earlier_answer_counts_unless_only_the_other_refuses(
        self, earlier, later, counts
    ):
        surface, request, replying = await self.answered(earlier)

        found = surface.approver.close_question(request, Reply(later, "terminal"))

        assert (None if found is None else found.answer) == (earlier if counts else None)
        surface.approver.report_decision(request, found)
        await asyncio.gather(replying, return_exceptions=True)

    async def test_another_question_is_left_alone(self):
        surface, request, replying = await self.answered("yes")
        other = approval("c" * 40)
        task, _ = await surface.ask(other)

        assert surface.approver.close_question(other, Reply(Answer.YES, "terminal")) is None
        surface.approver.report_decision(other, QuestionReply(None, "x"))

        assert not replying.done()
        task.cancel()
        surface.approver.report_decision(request, None)
        await replying
