"""Questions of servers to the user."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.client.approving import approve_servers
from tests.support.waiting import wait_until_async

import handrail

_HOSTILE = Path(__file__).with_name("hostile_server.py")
_DEMO = Path(__file__).with_name("demo_server.py")
_NAME = {"type": "object", "properties": {"name": {"type": "string"}}}


class _User:
    """Answers questions of models, and records them."""

    def __init__(self, *answers: str) -> None:
        self.asked: list[str] = []
        self._answers = [*answers]

    async def ask(self, request: Any) -> bool:
        del request
        return True

    async def ask_questions(self, request: Any) -> dict[str, str]:
        self.asked += [one.question for one in request.questions]
        return {one.question: self._answers.pop(0) for one in request.questions if self._answers}


def _config(program: Path, *words: str) -> dict[str, Any]:
    table = {"command": sys.executable, "args": [str(program), *words]}
    return {"mode": "bypass", "mcp": {"servers": {"shop": table}}}


def _form(schema: dict[str, Any], message: str = "Who are you?") -> dict[str, Any]:
    return {"mode": "form", "message": message, "requestedSchema": schema}


async def _call(root: Path, user: _User | None, *questions: dict[str, Any]) -> str:
    config = _config(_HOSTILE, "ask")
    await approve_servers(root, config)
    async with handrail.open(root, config=config, store=":memory:", approver=user) as rt:
        text: str = (await rt.call("mcp__shop__act", {"questions": [*questions]})).text
    return text


async def _ask(root: Path, user: _User | None, *questions: dict[str, Any]) -> list[Any]:
    answers: list[Any] = json.loads((await _call(root, user, *questions)).partition("\n[")[0])
    return answers


@pytest.mark.threat("A41")
@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (
            [{"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(21)}}],
            "20",
        ),
        ([{"type": "object", "properties": {"password": {"type": "string"}}}], "secret"),
        ([_NAME] * 4, "3 times"),
        (["http://example.org/"], "https"),
    ],
    ids=["fields", "secret", "often", "url"],
)
async def test_the_result_says_why_a_question_was_declined(
    tmp_path: Path, asked: list[Any], reason: str
) -> None:
    """The model and the user would take it for the user's own answer."""
    link = {"mode": "url", "message": "Open it", "elicitationId": "1"}
    questions = [{**link, "url": one} if isinstance(one, str) else _form(one) for one in asked]
    text = await _call(tmp_path, _User("a", "b", "c"), *questions)
    *_, note = text.splitlines()
    assert note.startswith("[handrail: a question")
    assert reason in note


async def test_a_user_who_declines_is_not_explained(tmp_path: Path) -> None:
    assert "declined:" not in await _call(tmp_path, _User(), _form(_NAME))


@pytest.mark.threat("A41")
async def test_a_question_names_its_server_first(tmp_path: Path) -> None:
    user = _User("Ada")
    assert await _ask(tmp_path, user, _form(_NAME)) == [
        {"action": "accept", "content": {"name": "Ada"}}
    ]
    (asked,) = user.asked
    assert "server shop asks: Who" in asked


async def test_answers_have_the_types_of_the_form(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "size": {"type": "string", "enum": ["small", "large"]},
            "gift": {"type": "boolean"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
    }
    (answer,) = await _ask(tmp_path, _User("3", "large", "Yes", "thanks"), _form(schema))
    assert answer["content"] == {"count": 3, "size": "large", "gift": True, "note": "thanks"}


@pytest.mark.threat("A41")
async def test_an_answer_that_is_not_offered_and_a_missing_one_are_declined(tmp_path: Path) -> None:
    size = {"type": "object", "properties": {"size": {"type": "string", "enum": ["small"]}}}
    needed = {**_NAME, "required": ["name", "key"]}
    answers = await _ask(tmp_path, _User("huge", "Ada"), _form(size), _form(needed))
    assert [one["action"] for one in answers] == ["decline", "decline"]


@pytest.mark.threat("A41")
async def test_without_a_user_a_question_is_declined(tmp_path: Path) -> None:
    assert "no user can be asked" in await _call(tmp_path, None, _form(_NAME))
    assert await _ask(tmp_path, None, _form(_NAME)) == [{"action": "decline"}]


@pytest.mark.threat("A41")
@pytest.mark.parametrize(
    "fields",
    [
        [{"password": {}}, {"apiKey": {}}, {"api_token": {}}],
        [{"pin": {}}, {"user_pin": {}}, {"otp-code": {}}],
        [{"a": {"format": "password"}}, {"a": {"title": "Recovery phrase"}}, {"access_key": {}}],
    ],
    ids=["keys", "codes", "texts"],
)
async def test_a_secret_is_not_asked_for(tmp_path: Path, fields: list[Any]) -> None:
    user = _User("hunter2")
    forms = [_form({"type": "object", "properties": one}) for one in fields]
    assert await _ask(tmp_path, user, *forms) == [{"action": "decline"}] * 3
    assert user.asked == []


@pytest.mark.threat("A41")
@pytest.mark.parametrize(
    "properties",
    [
        {"a": "string"},
        {"a": {"type": "string", "enum": {"x": 1}}},
        {"a": {"type": "string", "oneOf": ["x"]}},
        {"a": {"type": "string", "default": {"x": 1}}},
        {"a" * 101: {"type": "string"}},
    ],
)
async def test_a_form_that_is_none_is_declined(tmp_path: Path, properties: Any) -> None:
    user = _User("x")
    form = _form({"type": "object", "properties": properties})
    link = {"mode": "url", "message": "Pay", "elicitationId": "1", "url": "https://[x"}
    assert await _ask(tmp_path, user, form, link) == [{"action": "decline"}] * 2
    assert user.asked == []


@pytest.mark.threat("A41")
async def test_only_three_questions_of_a_call_are_asked(tmp_path: Path) -> None:
    user = _User(*["x"] * 10)
    answers = await _ask(tmp_path, user, *[_form(_NAME)] * 5)
    assert [one["action"] for one in answers] == ["accept"] * 3 + ["decline"] * 2
    assert len(user.asked) == 3


@pytest.mark.threat("A41")
async def test_a_url_is_shown_whole_and_only_https(tmp_path: Path) -> None:
    user = _User("Yes", "Yes")
    link = {"mode": "url", "message": "Pay", "elicitationId": "1"}
    answers = await _ask(
        tmp_path,
        user,
        {**link, "url": "https://pay.example.org/x?y=1"},
        {**link, "url": "http://pay.example.org/"},
        {**link, "url": f"https://pay.example.org/{'x' * 2000}"},
    )
    assert [one["action"] for one in answers] == ["accept", "decline", "decline"]
    (asked,) = user.asked
    assert "https://pay.example.org/x?y=1 (host pay.example.org)" in asked


@pytest.mark.threat("A41")
async def test_two_questions_at_once_do_not_end_the_time_limit(tmp_path: Path) -> None:
    user, config = _User("x", "y"), _config(_HOSTILE, "ask_twice")
    await approve_servers(tmp_path, config)
    config["mcp"]["servers"]["shop"]["call_s"] = 1
    async with handrail.open(tmp_path, config=config, store=":memory:", approver=user) as rt:
        questions = [_form(_NAME), _form(_NAME, "And you?")]
        async with asyncio.timeout(60):
            result = await rt.call("mcp__shop__act", {"questions": questions})
    assert result.problem is not None
    assert result.problem.code == "timeout"


class _AbsentUser(_User):
    """Never answers, and notes that a question was withdrawn."""

    withdrawn = False

    async def ask_questions(self, request: Any) -> dict[str, str]:
        self.asked += [one.question for one in request.questions]
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn = True
        return {}


async def test_a_question_is_withdrawn_when_its_call_is_cancelled(tmp_path: Path) -> None:
    user, config = _AbsentUser(), _config(_HOSTILE, "ask_twice")
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:", approver=user) as rt:
        arguments = {"questions": [_form(_NAME)]}
        call = asyncio.ensure_future(rt.call("mcp__shop__act", arguments, id="one"))
        await wait_until_async(lambda: user.asked)
        assert await rt.cancel("one")
        await call
        await wait_until_async(lambda: user.withdrawn)


async def test_a_question_in_a_result_is_answered_by_a_second_call(tmp_path: Path) -> None:
    user = _User("Ada")
    config = _config(_DEMO)
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:", approver=user) as rt:
        result = await rt.call("mcp__shop__ask", {})
    assert result.text == "hello Ada"
    assert user.asked
