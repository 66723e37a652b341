"""Jobs, questions and reports as pages."""

import dataclasses

import pytest

from handrail.core.approval import ApprovalRequest
from handrail.core.ports.processes import Job, JobOutput, JobState
from handrail.core.ports.questions import ModelQuestion, QuestionOption, QuestionRequest
from handrail.core.verdicts import Risk
from handrail.host.terminal.approval_queue import PendingApproval
from handrail.ui.html import join
from handrail.ui.pages.jobs import job_state, kill_form, render_job, render_jobs
from handrail.ui.pages.questions import (
    read_answers,
    render_full_preview,
    render_question,
    render_questions,
)
from handrail.ui.pages.reports import SettingRow, render_report, render_settings

NOW = 1_700_000_000_000_000_000
RUNNING = Job("3", "s", "c", "sleep 9", "waits", NOW / 1e9, JobState.RUNNING, 7)
ENDED = RUNNING._replace(id="4", state=JobState.EXITED, exit_code=0)
REQUEST = ApprovalRequest("c1", "write_file", "write a", "a rule", Risk.MODERATE, "+a", "b" * 8)
COLOUR = ModelQuestion("Which?", "h", (QuestionOption("red", "warm"), QuestionOption("blue")))
SEVERAL = dataclasses.replace(COLOUR, question="And?", multi_select=True)
ASKS = QuestionRequest("c2", (COLOUR, SEVERAL), chain=("main", "explore"))


def pending(request, id="q1"):
    return PendingApproval(id, "/w", NOW, request, None)


def test_jobs_are_listed_newest_first():
    page = join(*render_jobs([RUNNING, ENDED], "csrf"))

    assert page.index("/jobs/4") < page.index("/jobs/3")
    assert "<td>exited 0</td>" in page
    assert page.count("Kill") == 1
    assert 'action="/jobs/3/kill"' in page
    assert "No command" not in page
    assert "2023-11-1" in page


def test_no_jobs_are_said():
    assert "No command" in join(*render_jobs([], "csrf"))


@pytest.mark.parametrize(
    ("job", "state"),
    [
        (RUNNING, "running"),
        (ENDED, "exited 0"),
        (ENDED._replace(exit_code=3), "exited 3"),
        (RUNNING._replace(state=JobState.LOST), "lost"),
    ],
)
def test_the_state_of_a_job(job, state):
    assert job_state(job) == state
    assert (kill_form(job, "csrf") is not None) is (job is RUNNING)


def test_the_output_of_a_job_is_shown_from_an_offset():
    page = join(*render_job(JobOutput(RUNNING, b"a\xff", 1002, 5000), 1000, "csrf"))
    empty = join(*render_job(JobOutput(ENDED, b"", 7), 7, "csrf"))

    assert "<pre>a\ufffd</pre>" in page
    assert "from byte 1,000 to 1,002 " in page
    assert 'href="/jobs/3?offset=1002"' in page
    assert "5,000 bytes of older output" in page
    assert "Kill" in page
    assert "(no output here)" in empty
    assert "next part" not in empty
    assert "left out" not in empty
    assert "Kill" not in empty


def test_no_questions_are_said():
    assert "No question waits" in join(*render_questions([], "csrf"))
    assert "No question waits" not in join(*render_questions([pending(REQUEST)], "csrf"))


def test_an_approval_is_asked_with_its_reasons():
    page = render_question(pending(REQUEST), "csrf", "s9")

    assert 'class="question approval" id="question-q1"' in page
    assert "May write_file run?" in page
    assert "<dd>main</dd>" in page
    assert "<dd>moderate</dd>" in page
    assert "<dd>a rule</dd>" in page
    assert "<pre>write a</pre>" in page
    assert "<pre>+a</pre>" in page
    assert page.count('value="s9"') == 2
    assert page.count('action="/questions/q1"') == 2
    assert page.index("Refuse") < page.index("Allow once") < page.index("Abort the run")
    for word in ("not verified", "Allow for the session", "show all"):
        assert word not in page


def test_what_else_an_approval_may_have():
    more = dataclasses.replace(
        REQUEST,
        chain=("main", "explore"),
        model_says="m" * 2000,
        preview="--- a\n+++ b\n",
        always="write_file(a)",
    )
    page = render_question(pending(more), "csrf")

    assert "main → explore" in page
    assert f"(not verified): {'m' * 1000}…" in page
    assert '<pre class="diff">' in page
    assert "Allow for the session" in page
    assert "<code>write_file(a)</code>" in page


@pytest.mark.parametrize("preview", ["", "write a"])
def test_a_preview_that_says_nothing_more_is_left_out(preview):
    page = render_question(pending(dataclasses.replace(REQUEST, preview=preview)), "csrf")

    assert page.count("<pre") == 1


def test_a_long_preview_leads_to_all_of_it():
    longest = render_question(pending(dataclasses.replace(REQUEST, preview="x" * 20_000)), "c")
    longer = pending(dataclasses.replace(REQUEST, preview="x" * 21_500))
    page = render_question(longer, "csrf")

    assert "show all" not in longest
    assert "1,500 more characters" in page
    assert f"<pre>{'x' * 20_000}</pre>" in page
    assert f"<pre>{'x' * 21_500}</pre>" in join(*render_full_preview(longer))


@pytest.mark.parametrize(
    ("preview", "is_diff"), [("--- a", True), ("diff a", True), ("@@ x", True), ("x", False)]
)
def test_a_full_preview_is_coloured_if_it_is_a_diff(preview, is_diff):
    asked = pending(dataclasses.replace(REQUEST, preview=preview))
    page = join(*render_full_preview(asked))

    assert ('<pre class="diff">' in page) is is_diff
    assert "<pre>write a</pre>" in page


def test_questions_of_a_model_have_options():
    page = render_question(pending(ASKS), "csrf")

    assert 'class="question asks"' in page
    assert "main → explore" in page
    assert '<input type="radio" name="option-0" value="red">' in page
    assert '<input type="radio" name="option-0" value="blue">' in page
    assert '<input type="checkbox" name="option-1-0" value="red">' in page
    assert '<input type="checkbox" name="option-1-1" value="blue">' in page
    assert page.count('class="small">warm<') == 2
    assert page.count('class="small"') == 2
    assert 'name="text-0"' in page
    assert "<legend>And?</legend>" in page
    assert "<pre>" in join(*render_full_preview(pending(ASKS)))


@pytest.mark.parametrize(
    ("given", "answers"),
    [
        ({}, {}),
        ({"option-0": "red"}, {"Which?": "red"}),
        ({"option-0": "red", "text-0": " green "}, {"Which?": "green"}),
        ({"option-0": "red", "text-0": "  "}, {"Which?": "red"}),
        ({"option-1-1": "blue"}, {"And?": ["blue"]}),
        ({"option-1-0": "red", "option-1-1": "blue"}, {"And?": ["red", "blue"]}),
        ({"option-1-0": "red", "text-1": "own"}, {"And?": "own"}),
        ({"option-1": "red", "option-0-0": "red", "option-0": ""}, {}),
    ],
)
def test_answers_are_read_from_a_form(given, answers):
    assert read_answers(ASKS, given) == answers


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1}, "<dl><dt>a</dt><dd><span>1</span></dd></dl>"),
        ({}, "<span>none</span>"),
        ([], "<span>none</span>"),
        (["x", True], "<ul><li><span>x</span></li><li><span>yes</span></li></ul>"),
        (True, "<span>yes</span>"),
        (False, "<span>no</span>"),
        (None, "<span>none</span>"),
        ("text", "<span>text</span>"),
        (0, "<span>0</span>"),
    ],
)
def test_a_report_shows_nested_values(value, expected):
    page = join(*render_report("Doctor", {"a_b": value}))

    assert page == f"<h1>Doctor</h1><section><h2>a b</h2>{expected}</section>"


def test_settings_have_their_sources():
    page = join(*render_settings([SettingRow("mode", "ask", "default")]))

    assert "<code>mode</code></td><td><code>ask</code></td><td>default</td>" in page
