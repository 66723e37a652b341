"""Sessions and timelines as pages: turns, lanes, messages, controls and the chart of tokens."""

import asyncio

import pytest

from handrail.agent.conversation import KeptConversation
from handrail.agent.projection import ConversationEntry
from handrail.assembly.extras.record_reader import SessionList, SessionView
from handrail.core.agent_results import AgentResult, Usage
from handrail.core.ports.models import Message, TextBlock
from handrail.core.ports.records import CallRecord, SessionRecord
from handrail.core.problems import Problem
from handrail.store.records.conversations import ConversationSummary
from handrail.ui.conversations import TaskState, UsagePoint
from handrail.ui.html import element, join
from handrail.ui.pages.sessions import render_sessions, session_path
from handrail.ui.pages.timeline import render_timeline, usage_chart

SUMMARY = ConversationSummary("s/1", "a title", 1_700_000_000_000_000_000, "m1", 3, False, 4)


def call(number, turn=1, agent="main"):
    return CallRecord(
        "s", f"c{number}", turn, 5, {"tool": "read_file", "agent": agent}, None, None, None
    )


def said(turn, role="assistant", text="hello"):
    return ConversationEntry(Message(role, (TextBlock(text),)), turn)


def kept(*entries):
    return KeptConversation(None, list(entries), {}, None, [])


def timeline(task=None, questions=(), **view):
    given = {"session": "s", "summary": None, "conversation": None, "calls": [], "older": None}
    return join(*render_timeline(SessionView(**{**given, **view}), task, questions, "csrf"))


async def running_task(**more):
    state = TaskState("s", "do it", **more)
    state.work = asyncio.create_task(asyncio.sleep(60))
    return state


def test_the_path_of_a_session_is_quoted():
    assert session_path("a/b c") == "/session?name=a%2Fb%20c"


def test_no_sessions_are_said():
    page = join(*render_sessions(SessionList([], []), (), "csrf"))

    assert "Nothing is recorded" in page
    assert "<table>" not in page
    assert 'action="/tasks"' in page
    assert "required" in page


@pytest.mark.parametrize(
    ("one", "running", "state"),
    [
        (SUMMARY, ["s/1"], "running"),
        (SUMMARY, ["s"], ""),
        (SUMMARY._replace(unfinished=True), [], "unfinished"),
        (SUMMARY._replace(unfinished=True), ["s/1"], "running"),
    ],
)
def test_a_conversation_is_a_row(one, running, state):
    page = join(*render_sessions(SessionList([one], []), running, "csrf"))

    assert page.endswith(f"<td>{state}</td></tr></tbody></table>")
    assert '<a href="/session?name=s%2F1">s/1</a>' in page
    assert '<a href="/session?name=s%2F1">a title</a>' in page
    assert "<td>m1</td><td>3</td><td>4</td><td><time" in page
    assert "Nothing is recorded" not in page
    assert "without a conversation" not in page


def test_long_names_are_shortened_and_no_title_is_no_link():
    one = SUMMARY._replace(session="n" * 120, title="t" * 120)
    page = join(*render_sessions(SessionList([one, SUMMARY._replace(title="")], []), (), "csrf"))

    assert f">{'n' * 100}…<" in page
    assert f">{'t' * 100}…<" in page
    assert page.count("<a ") == 3


def test_sessions_without_a_conversation_are_a_table_of_their_own():
    other = SessionRecord("other", 1, 1_700_000_000_000_000_000, None, 12, {})
    page = join(*render_sessions(SessionList([], [other]), (), "csrf"))

    assert "without a conversation" in page
    assert page.count("<table>") == 1
    assert '<a href="/session?name=other">other</a>' in page
    assert "<td>12</td>" in page


def test_a_session_without_a_conversation_cannot_be_continued():
    page = timeline(calls=[call(1)])

    assert "<h1>s</h1>" in page
    assert "<h2>turn 1</h2>" in page
    assert 'id="call-c1"' in page
    for word in ("rewind", "textarea", "older calls", "agents", "task-state"):
        assert word not in page


def test_a_conversation_has_a_title_messages_and_controls():
    page = timeline(
        summary=SUMMARY,
        conversation=kept(said(0, "user", "do it"), said(1, text="ok"), said(1, "user", "thanks")),
        calls=[call(1)],
        questions=[element("article", "a question")],
    )

    assert "<h1>a title</h1>" in page
    assert "<dd>m1</dd>" in page
    assert "<dt>last task</dt>" in page
    assert page.index("before the first turn") < page.index("do it") < page.index("turn 1")
    assert page.index(">ok<") < page.index("call-c1") < page.index(">thanks<")
    assert '<pre class="message model" data-by="model">ok</pre>' in page
    assert '<pre class="message user" data-by="you">thanks</pre>' in page
    assert page.count("rewind to here") == page.count("fork here") == 2
    assert "<article>a question</article>" in page
    assert "The next task" in page
    assert "Interrupt" not in page
    assert "hidden" in page


def test_what_has_no_text_is_not_shown():
    page = timeline(
        summary=SUMMARY._replace(title="", at_ns=0), conversation=kept(said(1, text=" \n"))
    )

    assert "<h1>s</h1>" in page
    assert "last task" not in page
    assert 'class="message model" data-by' not in page


def test_a_turn_that_was_cut_off_has_no_actions():
    page = timeline(conversation=kept(said(1)), calls=[call(1), call(2, turn=2)])

    assert "turn 2, not part" in page
    assert "turn 1, not part" not in page
    assert page.count("rewind to here") == 1


def test_messages_before_the_shown_calls_are_left_out_if_there_are_older_calls():
    entries = kept(
        said(0, text="first"), said(1, text="early"), said(2, text="now"), said(3, text="then")
    )

    page = timeline(conversation=entries, calls=[call(1, turn=2)], older=77)
    whole = timeline(conversation=entries, calls=[call(1, turn=2)])

    assert "older calls" in page
    assert "&amp;before=77" in page
    assert ("early" in page, "now" in page, "then" in page) == (False, True, True)
    assert ("first" in whole, "early" in whole) == (True, True)


def test_agents_have_lanes():
    calls = [call(at, agent=f"a{at}") for at in range(8)]

    page = timeline(calls=[call(9), *calls])

    assert "agents" in page
    assert "lane-name lane-0" in page
    assert "card unfinished lane-1" in page
    assert "lane-5" in page
    assert "lane-6" not in page


def test_all_messages_of_a_page_share_a_limit():
    few = timeline(conversation=kept(said(1, text="x" * 9000)))
    several = timeline(conversation=kept(*[said(1, text="x" * 9000)] * 10))
    many = timeline(conversation=kept(*[said(1, text="x" * 9000)] * 1000))

    assert f"{'x' * 8000}…" in few
    assert f">{'x' * 4000}…" in several
    assert f">{'x' * 200}…" in many


async def test_a_running_task_is_steered_and_interrupted():
    task = await running_task()
    page = timeline(task)
    task.work.cancel()

    assert "Steer the running task" in page
    assert ">Send<" in page
    assert "Interrupt" in page
    assert "<dd>running</dd>" in page


def test_a_task_that_ended_says_how():
    task = TaskState("s", "do it")
    task.result = AgentResult("done", "done", "s", 2, Usage(1200, 34, usd=0.5))
    task.points.append(UsagePoint(3, 1))
    page = timeline(task)
    task.result = AgentResult("done", "done", "s", 2, Usage(1200, 34))
    task.problem = Problem("interrupted", "it was stopped")

    assert "<dd>ended</dd>" in page
    assert "1,200 in, 34 out" in page
    assert "0.5000 USD" in page
    assert "<svg" in page
    assert "<dt>problem</dt>" not in page
    assert "USD" not in timeline(task)
    assert "it was stopped" in timeline(task)
    assert ">Start<" in page


def test_no_tokens_have_no_chart():
    assert usage_chart([]) is None
    assert usage_chart([UsagePoint(0, 0)]) is None


def test_bars_are_in_proportion():
    chart = usage_chart([UsagePoint(30, 10), UsagePoint(15, 5), UsagePoint(40, 0)])

    assert 'viewBox="0 0 24 60" width="24" height="60"' in chart
    assert "tokens of 3 responses, at most 40" in chart
    assert 'x="0" y="15" width="6" height="45" class="sent"' in chart
    assert 'x="0" y="0" width="6" height="15" class="received"' in chart
    assert 'x="8" y="38" width="6" height="22" class="sent"' in chart
    assert 'x="16" y="0" width="6" height="60" class="sent"' in chart
    assert 'x="16" y="0" width="6" height="1" class="received"' in chart
    assert "30 in, 10 out" in chart


def test_the_last_responses_are_shown():
    chart = usage_chart([UsagePoint(at, 1) for at in range(100)])

    assert chart.count("<rect") == 120
    assert ">40 in, 1 out<" in chart
    assert ">39 in, 1 out<" not in chart
