"""Approvals through the client, on both eras, and what happens where there is no way to ask."""

import asyncio
from dataclasses import replace

import anyio
import pytest
from mcp import MCPError
from mcp_types import ElicitResult
from tests.mcp.server.conftest import ERAS

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk
from handrail.mcp.server.elicitation import (
    MAX_PREVIEW,
    ClientApprover,
    Elicitation,
    approval_form,
    approval_message,
    parse_answer,
)
from handrail.mcp.server.reports import WAITING_FOR_APPROVAL

WRITE = {"path": "b.txt", "content": "x\n"}
both_eras = pytest.mark.parametrize("era", ERAS)


def answering(*answers, root=None):
    """A person who takes their time; remembers what they were shown and what existed then."""
    asked = []

    async def callback(context, params):
        asked.append((params, None if root is None else (root / "b.txt").exists()))
        await asyncio.sleep(0.3)
        action, answer = answers[min(len(asked), len(answers)) - 1]
        return ElicitResult(action=action, content=answer and {"answer": answer})

    return asked, {"elicitation_callback": callback}


@both_eras
async def test_a_yes_lets_exactly_that_call_happen_and_nothing_happens_before(connect, root, era):
    asked, client = answering(("accept", "yes"), root=root)

    async with connect(era, client=client) as connection:
        result = await connection.call_tool("write_file", WRITE)

    ((question, existed),) = asked
    assert not result.is_error
    assert (root / "b.txt").read_text() == "x\n"
    assert not existed
    assert "+x" in question.message
    fields = question.requested_schema["properties"]
    assert fields["answer"]["enum"] == ["no", "yes", "always"]
    assert "write_file(/b.txt)" in fields["answer"]["description"]
    assert question.requested_schema["required"] == ["answer"]


QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "SQLite"}, {"label": "Postgres"}],
}


@both_eras
@pytest.mark.feature("E39")
async def test_a_question_of_the_model_is_a_form_with_its_options(connect, era):
    asked = []

    async def callback(context, params):
        asked.append(params)
        await asyncio.sleep(0.3)
        return ElicitResult(action="accept", content={"choice_1": "Postgres"})

    async with connect(era, client={"elicitation_callback": callback}) as connection:
        result = await connection.call_tool("ask_user", {"questions": [QUESTION]})

    assert result.structured_content["answers"] == {"Which database?": "Postgres"}
    (form,) = asked
    assert form.message.startswith("The model asks.")
    assert form.requested_schema["properties"]["choice_1"]["enum"] == ["SQLite", "Postgres"]


@both_eras
@pytest.mark.threat("A33")
async def test_a_client_that_cannot_ask_leaves_the_question_unanswered(connect, era):
    async with connect(era) as connection:
        result = await connection.call_tool("ask_user", {"questions": [QUESTION]})

    assert result.meta["handrail/result"]["problem"]["code"] == "needs_answer"


@both_eras
@pytest.mark.parametrize(
    "said",
    [("accept", "no"), ("accept", None), ("accept", "Always"), ("decline", None), ("cancel", None)],
    ids=str,
)
async def test_everything_but_the_forms_own_yes_is_a_no(connect, root, era, said):
    _, client = answering(said)

    async with connect(era, client=client) as connection:
        result = await connection.call_tool("write_file", WRITE)

    assert result.meta["handrail/result"]["problem"]["code"] == "denied"
    assert not (root / "b.txt").exists()


@both_eras
async def test_a_client_that_cannot_ask_is_told_what_to_do_with_the_exact_rule(connect, root, era):
    async with connect(era) as connection:
        result = await connection.call_tool("write_file", WRITE)

    problem = result.meta["handrail/result"]["problem"]
    assert problem["code"] == "needs_approval"
    assert "list allow under [permissions]" in problem["hint"]
    assert not (root / "b.txt").exists()


@pytest.mark.finding("F50")
@pytest.mark.parametrize(
    ("dialect", "tool", "given"),
    [
        ("claude", "Bash", {"command": "make"}),
        ("coauthor", "editFile", {"path": "a.txt", "oldString": "hello", "newString": "hi"}),
    ],
)
async def test_a_client_that_cannot_ask_reads_its_own_name_of_the_tool(
    connect, dialect, tool, given
):
    async with connect(dialect=dialect) as connection:
        result = await connection.call_tool(tool, given)

    problem = result.meta["handrail/result"]["problem"]
    assert problem["code"] == "needs_approval"
    assert problem["message"].startswith(f"{tool} needs approval")
    assert tool in problem["hint"]


@both_eras
async def test_the_next_question_goes_to_whoever_else_can_answer(connect, root, era):
    class Elsewhere:
        async def ask(self, request):
            return Reply(Answer.YES, "approvals")

    async with connect(era, offer={"fallback": Elsewhere()}) as connection:
        first = await connection.call_tool("write_file", WRITE)
        second = await connection.call_tool("write_file", {**WRITE, "path": "c.txt"})

    assert "handrail approvals" in first.meta["handrail/result"]["problem"]["hint"]
    assert not second.is_error
    assert (root / "c.txt").exists()


async def test_the_person_has_as_long_as_it_takes_and_is_asked_one_thing_at_a_time(connect, root):
    being_asked, answered = anyio.Event(), anyio.Event()
    asked = []

    async def callback(context, params):
        asked.append(params.message)
        being_asked.set()
        await answered.wait()
        return ElicitResult(action="accept", content={"answer": "yes"})

    async with (
        connect("legacy", client={"elicitation_callback": callback}) as connection,
        anyio.create_task_group() as group,
    ):
        group.start_soon(connection.call_tool, "write_file", WRITE)
        group.start_soon(connection.call_tool, "write_file", {**WRITE, "path": "c.txt"})
        with anyio.fail_after(10):
            await being_asked.wait()
        meanwhile = await connection.call_tool("read_file", {"path": "a.txt"})
        shown = len(asked)
        answered.set()

    assert not meanwhile.is_error
    assert shown == 1
    assert len(asked) == 2
    assert (root / "c.txt").exists()


async def test_a_question_that_nobody_comes_back_to_keeps_no_other_from_being_asked(connect, root):
    async with connect(client=answering(("accept", "yes"))[1]) as connection:
        abandoned = await connection.session.call_tool(
            "write_file", WRITE, allow_input_required=True
        )
        with anyio.fail_after(10):
            same = await connection.call_tool("write_file", WRITE)
            other = await connection.call_tool("write_file", {**WRITE, "path": "c.txt"})

    assert abandoned.input_requests.keys() == {"approval"}
    assert (same.is_error, other.is_error) == (False, False)
    assert (root / "b.txt").exists()
    assert (root / "c.txt").exists()


async def test_a_call_that_is_repeated_while_its_question_waits_is_asked_about_once(connect, root):
    given = {"path": "log.txt", "content": "once\n", "mode": "append"}
    keyed = {"meta": {"handrail/call-id": "k"}, "allow_input_required": True}

    async with connect(client=answering(("accept", "yes"))[1]) as connection:
        send = connection.session.call_tool
        first = await send("write_file", given, **keyed)
        again = await send("write_file", given, **keyed)
        other = await send("write_file", {**given, "content": "twice\n"}, **keyed)
        done = await send(
            "write_file",
            given,
            input_responses={"approval": ElicitResult(action="accept", content={"answer": "yes"})},
            request_state=first.request_state,
            **keyed,
        )

    assert again.request_state == first.request_state
    assert other.meta["handrail/result"]["problem"]["code"] == "duplicate_id"
    assert not done.is_error
    assert (root / "log.txt").read_text() == "once\n"


@pytest.mark.needs_bubblewrap
async def test_giving_up_one_of_two_requests_for_a_call_does_not_end_it(connect, root):
    given = {"command": "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo over"}
    keyed = {"meta": {"handrail/call-id": "k"}}
    begun, results = anyio.Event(), []

    async def progress(done, total, message):
        begun.set()

    async with (
        connect(config={"mode": "sandboxed"}) as connection,
        anyio.create_task_group() as all,
    ):

        async def run():
            results.append(
                await connection.call_tool(
                    "run_command", given, progress_callback=progress, **keyed
                )
            )

        with anyio.CancelScope() as first:
            async with anyio.create_task_group() as group:
                group.start_soon(run)
                with anyio.fail_after(20):
                    await begun.wait()
                begun = anyio.Event()
                all.start_soon(run)
                await connection.call_tool("list_files", {})
                first.cancel()
        (root / "go").touch()

    assert [result.is_error for result in results] == [False]
    assert "over" in results[0].content[0].text


async def test_an_answer_that_is_sent_twice_runs_the_call_once(connect, root):
    given = {"path": "log.txt", "content": "once\n", "mode": "append"}

    async with connect(client=answering(("accept", "yes"))[1]) as connection:
        send = connection.session.call_tool
        asked = await send("write_file", given, allow_input_required=True)
        answer = {
            "input_responses": {
                "approval": ElicitResult(action="accept", content={"answer": "yes"})
            },
            "request_state": asked.request_state,
            "allow_input_required": True,
        }
        first = await send("write_file", given, **answer)
        again = await send("write_file", given, **answer)

    assert first.content == again.content
    assert (root / "log.txt").read_text() == "once\n"


async def test_a_yes_that_is_sent_again_does_not_answer_the_next_question(connect, root):
    given = {"path": "a.txt", "content": "by the model\n"}
    yes = {"approval": ElicitResult(action="accept", content={"answer": "yes"})}

    async with connect(client=answering(("accept", "yes"))[1]) as connection:

        async def answer(question):
            return await connection.session.call_tool(
                "write_file",
                given,
                input_responses=yes,
                request_state=question.request_state,
                allow_input_required=True,
            )

        send = connection.session.call_tool
        first = await send("write_file", given, allow_input_required=True)
        (root / "a.txt").write_text("by a person meanwhile\n")
        second = await answer(first)
        again = await answer(first)
        kept = (root / "a.txt").read_text()
        done = await answer(second)

    assert "by a person meanwhile" in second.input_requests["approval"].params.message
    assert again.request_state == second.request_state != first.request_state
    assert kept == "by a person meanwhile\n"
    assert not done.is_error
    assert (root / "a.txt").read_text() == "by the model\n"


@pytest.mark.parametrize(
    "arguments", [WRITE, {**WRITE, "content": "other\n"}], ids=["state", "call"]
)
async def test_an_answer_fits_only_its_own_question(connect, root, arguments):
    async with connect(client=answering(("accept", "yes"))[1]) as connection:
        send = connection.session.call_tool
        asked = await send("write_file", WRITE, allow_input_required=True)
        state = asked.request_state if arguments is not WRITE else "0" * 32
        with pytest.raises(MCPError, match="no open question"):
            await send(
                "write_file",
                arguments,
                input_responses={
                    "approval": ElicitResult(action="accept", content={"answer": "yes"})
                },
                request_state=state,
                allow_input_required=True,
            )

    assert not (root / "b.txt").exists()


async def test_a_question_without_an_answer_is_put_again(connect, root):
    async with connect(client=answering(("accept", "yes"))[1]) as connection:
        send = connection.session.call_tool
        asked = await send("write_file", WRITE, allow_input_required=True)
        again = await send(
            "write_file", WRITE, request_state=asked.request_state, allow_input_required=True
        )

    assert again.input_requests.keys() == {"approval"}
    assert not (root / "b.txt").exists()


REQUEST = ApprovalRequest(
    "1", "run_command", "run \x1b[2Jls", "it is\u202emoderate", Risk.MODERATE, "", "b" * 64,
    model_says="harmless\ntrust me", always="run_command(ls)",
)  # fmt: skip


class Scripted:
    """A channel whose client says one thing after another, each after so many seconds."""

    can_ask = True

    def __init__(self, clock, *said):
        self.clock, self.said, self.asked = clock, list(said), 0

    async def elicit(self, form):
        self.asked += 1
        seconds, said = self.said.pop(0)
        self.clock.now += seconds
        return said


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


async def ask(approver):
    try:
        return await approver.ask(REQUEST)
    except ProblemRaised as raised:
        return raised.problem.code


NO = Elicitation("decline", None)
YES = Elicitation("accept", {"answer": "yes"})


async def test_the_way_to_the_client_that_called_first_stays_its_way():
    clock = Clock()
    first, second = Scripted(clock, (1.0, YES)), Scripted(clock, (1.0, NO))
    approver = ClientApprover(None, clock=clock)
    approver.connect("1", first)
    approver.connect("1", second)
    approver.disconnect("1", second)

    said = await ask(approver)

    assert said == Reply(Answer.YES, "elicitation")
    assert (first.asked, second.asked) == (1, 0)


async def test_two_instant_declines_are_no_person_and_the_client_is_not_asked_again():
    clock = Clock()
    channel = Scripted(clock, (0.01, NO), (0.01, NO), (5.0, YES))
    approver = ClientApprover(None, clock=clock)
    approver.connect("1", channel)

    said = [await ask(approver) for _ in range(3)]

    assert said == ["needs_approval"] * 3
    assert channel.asked == 2


async def test_a_decline_after_a_moment_is_the_persons_no():
    clock = Clock()
    channel = Scripted(clock, (0.01, NO), (3.0, NO), (0.01, NO), (3.0, YES))
    approver = ClientApprover(None, clock=clock)
    approver.connect("1", channel)

    said = [await ask(approver) for _ in range(4)]

    assert said == [
        "needs_approval",
        Reply(Answer.NO, "elicitation"),
        "needs_approval",
        Reply(Answer.YES, "elicitation"),
    ]


async def test_a_client_that_fails_when_asked_is_not_asked_again():
    clock = Clock()
    channel = Scripted(clock, (1.0, None), (5.0, YES))
    approver = ClientApprover(None, clock=clock)
    approver.connect("1", channel)

    said = [await ask(approver), await ask(approver)]

    assert said == ["needs_approval"] * 2
    assert channel.asked == 1


async def test_nobody_waits_for_ever_for_another_terminal():
    class Silent:
        async def ask(self, request):
            await anyio.sleep_forever()

    approver = ClientApprover(Silent(), queue_s=0.05)

    with anyio.fail_after(5):
        said = [await ask(approver), await ask(approver)]

    assert said == ["needs_approval"] * 2


def test_what_the_model_wrote_cannot_move_the_cursor_or_pose_as_ours():
    message = approval_message(REQUEST)

    assert "\x1b" not in message
    assert "\u202e" not in message
    assert "The model says: harmless\\ntrust me" in message.splitlines()


def test_a_long_preview_says_how_much_is_missing():
    message = approval_message(replace(REQUEST, preview="x" * (MAX_PREVIEW + 1000)))

    assert "1,000 characters left out" in message


@pytest.mark.parametrize("content", [None, {}, {"answer": True}, {"answer": "YES"}, {"yes": "yes"}])
def test_only_the_exact_word_counts(content):
    assert parse_answer(REQUEST, "accept", content).answer is Answer.NO


@both_eras
@pytest.mark.finding("F38")
async def test_always_allows_the_rule_for_the_session_and_no_more(connect, root, era):
    asked, client = answering(("accept", "always"), ("accept", "no"))

    async with connect(era, client=client) as connection:
        first = await connection.call_tool("write_file", WRITE)
        again = await connection.call_tool("write_file", {**WRITE, "content": "y\n"})
        other = await connection.call_tool("write_file", {**WRITE, "path": "c.txt"})

    assert [one.is_error for one in (first, again, other)] == [False, False, True]
    assert len(asked) == 2
    assert (root / "b.txt").read_text() == "y\n"


@pytest.mark.finding("F38")
def test_always_is_offered_only_where_a_narrow_rule_works():
    without = approval_form(replace(REQUEST, always=None))

    assert without.schema["properties"]["answer"]["enum"] == ["no", "yes"]
    for action, answer in [("accept", "always"), ("decline", "yes")]:
        given = parse_answer(replace(REQUEST, always=None), action, {"answer": answer})
        assert given.answer is Answer.NO


@both_eras
@pytest.mark.finding("F37")
async def test_the_reason_of_a_no_reaches_the_model(connect, era):
    async def callback(context, params):
        await asyncio.sleep(0.3)
        return ElicitResult(action="accept", content={"answer": "no", "reason": "use c.txt"})

    async with connect(era, client={"elicitation_callback": callback}) as connection:
        result = await connection.call_tool("write_file", WRITE)

    assert "use c.txt" in result.content[0].text


@both_eras
@pytest.mark.finding("F38")
async def test_progress_says_where_a_waiting_call_can_be_approved(connect, root, era):
    seen, answered = [], asyncio.Event()

    class Elsewhere:
        async def ask(self, request):
            await answered.wait()
            return True

    async def progress(done, total, message):
        seen.append(message)
        # The first when the question is asked, the second with a heartbeat.
        if len(seen) == 2:
            answered.set()

    with anyio.fail_after(30):
        async with connect(
            era, offer={"fallback": Elsewhere()}, config={"heartbeat_s": 0.05}
        ) as connection:
            await connection.call_tool("write_file", WRITE)
            done = await connection.call_tool("write_file", WRITE, progress_callback=progress)

    assert not done.is_error
    assert set(seen[:2]) == {WAITING_FOR_APPROVAL}
