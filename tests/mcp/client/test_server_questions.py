"""Forms of MCP servers: which are shown to the user, and what becomes of the answers."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from mcp import types

from handrail.core.problems import ProblemRaised
from handrail.mcp.client.server_questions import ServerQuestions


class User:
    """Answers questions in order; keeps what was asked."""

    def __init__(self, *answers):
        self.asked = []
        self._answers = list(answers)

    async def ask_questions(self, request):
        self.asked += request.questions
        given = {}
        for question in request.questions:
            answer = self._answers.pop(0) if self._answers else None
            if isinstance(answer, Exception):
                raise answer
            if answer is not None:
                given[question.question] = answer
        return SimpleNamespace(answers=given)


def questions(user, report=lambda text: None):
    ctx = SimpleNamespace(
        call_id="c",
        agent_id="main",
        call=SimpleNamespace(name="t"),
        session=SimpleNamespace(id="s"),
        report=report,
    )
    return ServerQuestions("srv", ctx, user, nullcontext())


def form(message="Which?", required=(), **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return types.ElicitRequestFormParams(message=message, requested_schema=schema)


async def filled(field, answer):
    """The content of a form with one field `x`; None if the server got a decline."""
    result = await questions(User(answer)).answer(form(x=field))
    return None if result.action == "decline" else result.content


@pytest.mark.parametrize(
    ("field", "answer", "content"),
    [
        ({"type": "string"}, "a", {"x": "a"}),
        ({"type": "integer"}, "3", {"x": 3}),
        ({"type": "integer"}, "three", None),
        ({"type": "number"}, "0.5", {"x": 0.5}),
        ({"type": "number"}, "half", None),
        ({"type": "boolean"}, "Yes", {"x": True}),
        ({"type": "boolean"}, "TRUE", {"x": True}),
        ({"type": "boolean"}, "No", {"x": False}),
        ({"type": "string", "enum": ["a", "b"]}, "b", {"x": "b"}),
        ({"type": "string", "enum": ["a", "b"]}, "c", None),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, "B", {"x": "b"}),
        (
            {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
            "A",
            {"x": "a"},
        ),
        (
            {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
            "b",
            {"x": "b"},
        ),
        (
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            ["a", "b"],
            {"x": ["a", "b"]},
        ),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "a", {"x": ["a"]}),
        ({"type": "string", "minLength": 2}, "a", None),
        ({"type": "string", "default": "d"}, "a", {"x": "a"}),
    ],
)
async def test_an_answer_becomes_the_value_that_the_form_wants(field, answer, content):
    assert await filled(field, answer) == content


async def test_a_field_without_an_answer_has_its_default():
    fields = {
        "x": {"type": "string"},
        "y": {"type": "integer", "default": 3},
        "z": {"type": "string"},
    }

    result = await questions(User("a")).answer(form(**fields))

    assert result.content == {"x": "a", "y": 3}


async def test_a_form_whose_required_field_has_no_answer_is_declined():
    fields = {"x": {"type": "string"}, "y": {"type": "string"}}

    result = await questions(User("a")).answer(form(required=["y"], **fields))

    assert result.action == "decline"


@pytest.mark.parametrize(
    ("answer", "action"), [("Yes", "accept"), ("No", "decline"), (None, "decline")]
)
async def test_a_form_without_fields_asks_for_a_yes(answer, action):
    assert (await questions(User(answer)).answer(form())).action == action


@pytest.mark.parametrize(
    ("field", "options", "several"),
    [
        ({"type": "string"}, [], False),
        ({"type": "boolean"}, ["Yes", "No"], False),
        ({"type": "string", "enum": ["a", "b"]}, ["a", "b"], False),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "A"]}, ["a", "b"], False),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}, ["a", "b"], False),
        (
            {"type": "string", "enum": [str(n) for n in range(21)]},
            [str(n) for n in range(20)],
            False,
        ),
        ({"type": "array", "items": {"enum": ["a"]}}, ["a"], True),
        ({"type": "array", "items": {"type": "string"}}, [], False),
    ],
)
async def test_what_the_user_can_choose(field, options, several):
    user = User()

    await questions(user).answer(form(x=field))

    [asked] = user.asked
    assert [one.label for one in asked.options] == options
    assert asked.multi_select is several


@pytest.mark.parametrize(
    ("message", "field", "text"),
    [
        ("Which?", {}, "Which? x: x"),
        ("Which?", {"title": "T"}, "Which? x: T"),
        ("Which?", {"title": "T", "description": "D"}, "Which? x: D"),
        ("Which?", {"description": "d" * 201}, f"Which? x: {'d' * 200}"),
        ("Which\none?", {"description": "D\nE"}, r"Which\none? x: D\nE"),
        ("m" * 501, {}, f"{'m' * 500} x: x"),
        ("Which?", {"default": "d"}, "Which? x: x (default: d)"),
        ("Which?", {"default": "d\ne"}, r"Which? x: x (default: d\ne)"),
        ("Which?", {"default": "d" * 101}, f"Which? x: x (default: {'d' * 100})"),
        ("Which?", {"default": 0}, "Which? x: x (default: 0)"),
        ("Which?", {"default": ["a", "b"]}, "Which? x: x (default: a, b)"),
        (
            "Which?",
            {"default": "a", "enum": ["a", "b"], "enumNames": ["A", "B"]},
            "Which? x: x (default: A)",
        ),
    ],
)
async def test_a_question_is_one_line_that_names_the_server_and_the_field(message, field, text):
    user = User()

    await questions(user).answer(form(message, x=field))

    assert [one.question for one in user.asked] == [f"The MCP server srv asks: {text}"]


@pytest.mark.parametrize(
    ("name", "header", "named"),
    [
        ("x", "x", "x"),
        ("x\ny", r"x\ny", r"x\ny"),
        ("n" * 41, "n" * 40, "n" * 41),
    ],
)
async def test_the_name_of_a_field_is_shown_on_one_line(name, header, named):
    user = User()

    await questions(user).answer(form(**{name: {"description": "D"}}))

    [asked] = user.asked
    assert asked.header == header
    assert asked.question.endswith(f"Which? {named}: D")


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ({"enum": ["a", "b"]}, [("a", None), ("b", None)]),
        ({"enum": ["a", "b"], "enumNames": ["A", "b"]}, [("A", "a"), ("b", None)]),
        ({"enum": ["a\nb"]}, [(r"a\nb", r"a\nb")]),
        ({"enum": ["v" * 101]}, [("v" * 100, "v" * 100)]),
        ({"oneOf": [{"const": 1, "title": "One"}, {"title": "Two"}]}, [("One", "1")]),
        ({"anyOf": [{"const": "a"}]}, [("a", None)]),
        ({"enum": ["a"], "oneOf": [{"const": "b"}]}, [("a", None)]),
    ],
)
async def test_an_option_says_which_value_it_stands_for(field, options):
    user = User()

    await questions(user).answer(form(x=field))

    [asked] = user.asked
    assert [(one.label, one.description) for one in asked.options] == options


@pytest.mark.parametrize(
    "params",
    [
        form("Your password?", x={"type": "string"}),
        form(password={"type": "string"}),
        form(x={"type": "string", "title": "API key"}),
        form(x={"type": "string", "description": "the PIN"}),
        form(required=["token"], token={"type": "string"}, name={"type": "string"}),
        form(**{f"f{n}": {"type": "string"} for n in range(21)}),
        form(**{"n" * 101: {"type": "string"}}),
        form(x=3),
        form(x={"type": "string", "enum": "ab"}),
        form(x={"type": "array", "items": []}),
        form(x={"type": "string", "oneOf": ["a"]}),
        form(x={"type": "string", "default": {"a": 1}}),
        form(x={"type": "array", "default": [1]}),
    ],
)
async def test_a_form_that_is_not_shown_is_declined_with_a_reason(params):
    user = User("a")
    asking = questions(user)

    result = await asking.answer(params)

    assert result.action == "decline"
    assert user.asked == []
    assert len(asking.declined) == 1


@pytest.mark.parametrize(
    "params",
    [
        form(**{f"f{n}": {"type": "string"} for n in range(20)}),
        form(**{"n" * 100: {"type": "string"}}),
        form(spinner={"type": "string"}),
        form(x={"type": "array", "default": ["a"]}),
    ],
)
async def test_a_form_within_its_limits_is_shown(params):
    user = User()

    await questions(user).answer(params)

    assert len(user.asked) == len(params.requested_schema["properties"])


async def test_a_secret_that_is_not_required_is_left_out():
    user = User("a")

    result = await questions(user).answer(form(token={"type": "string"}, name={"type": "string"}))

    assert len(user.asked) == 1
    assert result.content == {"name": "a"}


def page(url):
    return types.ElicitRequestURLParams(message="Sign in", url=url, elicitation_id="e")


@pytest.mark.parametrize(
    ("url", "answer", "action", "asked"),
    [
        ("https://x.example/a", "Yes", "accept", 1),
        ("https://x.example/a", "No", "decline", 1),
        ("http://x.example/a", "Yes", "decline", 0),
        ("https://", "Yes", "decline", 0),
        ("https://x.example/\x1b[31m", "Yes", "decline", 0),
        ("https://x.example/a\nb", "Yes", "decline", 0),
        ("https://x.example/" + "a" * 1982, "Yes", "accept", 1),
        ("https://x.example/" + "a" * 1983, "Yes", "decline", 0),
    ],
)
async def test_an_address_is_shown_and_opened_by_the_user(url, answer, action, asked):
    user = User(answer)

    result = await questions(user).answer(page(url))

    assert (result.action, len(user.asked)) == (action, asked)


async def test_a_call_asks_three_times():
    user = User(*"abcd")
    asking = questions(user)

    results = [await asking.answer(form(x={"type": "string"})) for _ in range(4)]

    assert [one.action for one in results] == ["accept"] * 3 + ["decline"]
    assert len(user.asked) == 3


async def test_nobody_who_can_be_asked_is_a_decline():
    for user in (None, User(ProblemRaised("needs_answer", "x"))):
        asking = questions(user)

        assert (await asking.answer(form(x={"type": "string"}))).action == "decline"
        assert len(asking.declined) == 1


async def test_another_problem_of_asking_is_not_a_decline():
    with pytest.raises(ProblemRaised):
        await questions(User(ProblemRaised("internal", "x"))).answer(form(x={"type": "string"}))


async def test_nothing_is_asked_after_the_call():
    user = User("a")
    asking = questions(user)
    asking.end()

    assert (await asking.answer(form(x={"type": "string"}))).action == "decline"
    assert user.asked == []


class WaitingUser:
    """Never answers; says when it was asked."""

    def __init__(self):
        self.asked = asyncio.Event()

    async def ask_questions(self, request):
        self.asked.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize("ended", [True, False])
async def test_an_open_question_is_declined_when_the_call_ends_and_only_then(ended):
    user = WaitingUser()
    asking = questions(user)
    answering = asyncio.ensure_future(asking.answer(form(x={"type": "string"})))
    await asyncio.wait_for(user.asked.wait(), 5)

    if ended:
        asking.end()
        await asyncio.wait({answering}, timeout=5)
        assert answering.done()
        assert answering.result().action == "decline"
    else:
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(answering, 5)


async def test_a_reason_to_decline_is_reported_once_and_on_one_line():
    reports = []
    asking = questions(User("a", "a"), reports.append)

    for _ in range(2):
        await asking.answer(form(x={"type": "string", "minLength": 2}))

    assert len(reports) == len(asking.declined) == 1
    assert "srv" in reports[0]
    assert "\n" not in reports[0]
