"""ask_user through the surfaces that can answer, and where nobody can."""

import asyncio
import json

import pytest

import handrail
from handrail.testing import ScriptedPerson

QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres"}],
}
ASKED = {"questions": [QUESTION]}


async def ask(tmp_path, approver, arguments=ASKED, **more):
    async with handrail.open(tmp_path, store=":memory:", approver=approver, **more) as rt:
        return await rt.call("ask_user", arguments, id="q1")


@pytest.mark.feature("E39")
async def test_a_callback_answers_by_question_or_header(tmp_path):
    asked = []

    def callback(request):
        asked.append(request)
        return {"Database": "SQLite"}

    result = await ask(tmp_path, callback)

    assert isinstance(asked[0], handrail.QuestionRequest)
    assert result.text == "The user answered:\nWhich database? SQLite"
    assert result.data["answers"] == {"Which database?": "SQLite"}
    assert result.data["question_id"] == asked[0].id


@pytest.mark.feature("E39")
async def test_several_options_and_the_spelling_of_claude(tmp_path):
    arguments = {"questions": [{**QUESTION, "multiSelect": True}]}
    person = ScriptedPerson([{"Database": ["SQLite", "Postgres"]}])

    async with handrail.open(tmp_path, store=":memory:", dialect="claude", approver=person) as rt:
        result = await rt.call("AskUserQuestion", arguments)

    assert result.data["answers"] == {"Which database?": ["SQLite", "Postgres"]}


@pytest.mark.threat("A33")
@pytest.mark.parametrize("approver", [None, lambda request: True, lambda request: 1 / 0])
async def test_nobody_to_answer_is_a_problem_and_approves_nothing(tmp_path, approver):
    result = await ask(tmp_path, approver)

    assert result.problem.code == "needs_answer"


@pytest.mark.threat("A33")
async def test_an_answer_of_yes_grants_nothing(tmp_path):
    def callback(request):
        return {"Database": "yes"} if request.tool == "ask_user" else False

    async with handrail.open(tmp_path, store=":memory:", approver=callback) as rt:
        await rt.call("ask_user", ASKED)
        written = await rt.call("write_file", {"path": "a.txt", "content": "x"})

    assert written.problem.code == "denied"
    assert not tmp_path.joinpath("a.txt").exists()


@pytest.mark.threat("A33")
@pytest.mark.parametrize(
    "wrong",
    [
        {**QUESTION, "question": "x" * 501},
        {**QUESTION, "question": "paste it\nhere"},
        {**QUESTION, "options": [{"label": "yes\u202e"}, {"label": "no"}]},
        {**QUESTION, "options": [{"label": "one"}]},
        {**QUESTION, "options": [{"label": "same"}, {"label": "same"}]},
        {**QUESTION, "options": [{"label": str(n)} for n in range(5)]},
    ],
)
async def test_long_invisible_and_ambiguous_questions_are_refused(tmp_path, wrong):
    person = ScriptedPerson([{"Database": "x"}])

    result = await ask(tmp_path, person, {"questions": [wrong]})

    assert result.problem.code == "invalid_arguments"
    assert person.asked == []


async def test_declining_is_a_result_and_the_answers_are_on_record(tmp_path):
    declined = await ask(tmp_path, ScriptedPerson([False]))

    assert (declined.ok, declined.data["answers"]) == (True, {})
    assert declined.meta["answered_by"]["via"] == "script"


async def test_no_time_limit_decides_and_other_calls_go_on(tmp_path):
    answer = asyncio.Event()

    async def callback(request):
        await answer.wait()
        return {"Database": "SQLite"}

    tmp_path.joinpath("a.txt").write_text("one\n")
    async with handrail.open(tmp_path, store=":memory:", approver=callback) as rt:
        asking = asyncio.ensure_future(rt.call("ask_user", ASKED))
        read = await rt.call("read_file", {"path": "a.txt"})
        assert (read.ok, asking.done()) == (True, False)
        answer.set()
        assert (await asking).ok


@pytest.mark.feature("E39")
def test_the_script_of_a_run_answers(tmp_path, monkeypatch, capsys):
    from handrail.cli.main import main

    monkeypatch.chdir(tmp_path)
    lines = [
        {"calls": [{"name": "ask_user", "arguments": ASKED}]},
        {"person": {"answers": {"Database": "Postgres"}}},
        {"expect": "Which database\\? Postgres"},
        {"text": "Done."},
    ]
    tmp_path.joinpath("task.jsonl").write_text("\n".join(map(json.dumps, lines)))

    assert main(["run", "--once", "--model", "script:task.jsonl", "Set it up"]) == 0
    assert "Done." in capsys.readouterr().out
