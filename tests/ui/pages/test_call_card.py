"""A call as a card and as a page: what is shown of it, and how much."""

import pytest

from handrail.assembly.extras.record_reader import CallView
from handrail.core.ports.records import CallRecord
from handrail.history.call_diffs import FileDiff
from handrail.ui.html import join
from handrail.ui.pages.call_card import CallParts, call_path, render_call, render_card

START = 1_700_000_000_000_000_000
DONE = {"status": "ok", "text": "result"}


def call(done=DONE, arguments=None, took_ns=1_500_000_000, **requested):
    given = {"tool": "read_file", "arguments": arguments, **requested}
    ended = None if done is None else START + took_ns
    return CallRecord("s/1", "c&1", 4, START, given, None, done, ended)


def page(done=DONE, diffs=(), full=None, parts=None, **more):
    return join(
        *render_call(CallView(call(done, **more), list(diffs), full), parts or CallParts(), "csrf")
    )


def test_the_path_of_a_call_is_quoted():
    assert call_path(call()) == "/call?session=s%2F1&id=c%261"


def test_a_card_has_the_tool_the_status_and_the_time():
    card = render_card(call(arguments={"path": "a", "limit": 5, "more": ["\u00e9"]}), 2)

    assert 'class="card ok lane-2"' in card
    assert ">read_file</a>" in card
    assert '<span class="status">ok</span>' in card
    assert '<span class="duration">1.50 s</span>' in card
    assert "path=a  limit=5  more=[&quot;\u00e9&quot;]" in card
    assert "<pre>result</pre>" in card
    assert "verdict" not in card
    assert "changes" not in card


def test_a_call_that_has_not_ended_has_neither_a_time_nor_a_result():
    card = render_card(call(None), 9)

    assert 'class="card unfinished lane-5"' in card
    assert '<span class="duration"></span>' in card
    assert "<pre" not in card
    assert '<p class="arguments"></p>' in card


def test_a_purged_call_and_a_clock_that_was_set_back():
    card = render_card(call({}, took_ns=-5), 0)

    assert 'class="card purged lane-0"' in card
    assert "0.00 s" in card


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        ({"cleared": ["allow", "rules"]}, "verdict: allow by rules<"),
        (
            {
                "cleared": ["ask", "mode"],
                "answered_by": {"answer": "yes", "who": "kim", "via": "ui"},
            },
            "verdict: ask by mode; answered yes by kim (ui)<",
        ),
        (
            {"cleared": ["ask", "mode"], "answered_by": {"answer": "no", "via": "terminal"}},
            "answered no by user (terminal)<",
        ),
        ({"changes": [["a", "modified"], ["b", "created"]]}, "changes: a (modified), b (created)<"),
        ({"changes": [[f"f{at}", "m"] for at in range(5)]}, "f4 (m)<"),
        ({"changes": [[f"f{at}", "m"] for at in range(7)]}, "f4 (m) and 2 more<"),
        ({"problem": {"code": "not_found", "message": "no a"}}, "<pre>not_found: no a</pre>"),
        (
            {"problem": {"code": "x", "message": "y", "hint": "do z"}, "text": "other"},
            "<pre>x: y\nHint: do z</pre>",
        ),
        ({"problem": {"code": "x"}, "data": {}, "text": "output"}, "<pre>output</pre>"),
        ({"changes": [["a", "m"]], "text": "x\n@@ -1 +1 @@\n"}, '<pre class="diff">'),
        ({"text": "x\n@@ -1 +1 @@\n"}, "<pre>x\n@@"),
        ({"changes": [["a", "m"]], "text": "x"}, "<pre>x</pre>"),
    ],
)
def test_what_a_card_says_of_the_outcome(done, expected):
    assert expected in render_card(call({"status": "ok", **done}), 0)


@pytest.mark.parametrize("cleared", [None, "allow", ["allow"], ["a", "b", "c"]])
def test_a_verdict_of_another_form_is_left_out(cleared):
    assert "verdict" not in render_card(call({**DONE, "cleared": cleared}), 0)


def test_a_card_is_short():
    card = render_card(call({"status": "ok", "text": "t" * 900}, {"path": "p" * 900}), 0)

    assert f"<pre>{'t' * 500}…</pre>" in card
    assert f">path={'p' * 295}…<" in card


def test_the_page_of_a_call_has_its_facts():
    shown = page({**DONE, "cleared": ["allow", "rules"]}, arguments={"path": "\u00e9"}, risk="safe")

    assert "<h1>read_file: ok</h1>" in shown
    assert '<a href="/session?name=s%2F1">session s/1, turn 4</a>' in shown
    assert "<dd>c&amp;1</dd>" in shown
    assert "<dt>agent</dt><dd>main</dd>" in shown
    assert "<dd>1.50 s</dd>" in shown
    assert "<dd>safe</dd>" in shown
    assert "<dd>allow by rules</dd>" in shown
    assert "\n  &quot;path&quot;: &quot;\u00e9&quot;\n" in shown
    assert "<h2>Output</h2><pre>result</pre>" in shown
    assert "<h2>Changes</h2>" not in shown
    assert "/undo" not in shown


def test_the_full_text_is_shown_unless_there_is_a_problem():
    problem = {"status": "error", "problem": {"code": "x", "message": "y"}}

    assert "<pre>all of it</pre>" in page(full="all of it")
    assert "<pre>x: y</pre>" in page(problem, full="all of it")
    assert "Output" not in page({"status": "ok"})


def test_the_changes_of_a_call_can_be_undone():
    diffs = [
        FileDiff("a", "modified", True, "--- a\n+++ b\n"),
        FileDiff("b", "created", False, None, "it is binary"),
    ]
    shown = page({**DONE, "changes": [["a", "m"], ["b", "c"]]}, diffs)

    assert "<h3>a (modified)</h3>" in shown
    assert "<h3>b (created, undone since)</h3>" in shown
    assert "No diff: it is binary." in shown
    assert '<pre class="diff">' in shown
    assert 'action="/undo"' in shown
    assert 'value="undo"' in shown
    assert 'value="redo"' in shown
    assert "handrail show" not in shown


def test_diffs_share_a_limit_and_the_rest_is_named():
    long = FileDiff("a", "modified", True, "+" * 40_000)
    short = FileDiff("a", "modified", True, "+")

    assert f"{'+' * 20_000}…" in page(diffs=[long])
    assert "the rest: <code>handrail show c&amp;1</code>" in page(diffs=[long])
    assert f">{'+' * 10_000}…" in page(diffs=[long, short, short])
    assert f">{'+' * 300}…" in page(diffs=[long] * 150)
    assert "the rest" not in page(diffs=[short])
    changes = {**DONE, "changes": [["a", "m"]] * 3}
    assert "2 more files: <code>" in page(changes, diffs=[short])


@pytest.mark.parametrize(
    ("length", "offset", "shown", "links"),
    [
        (20_000, 0, None, []),
        (20_001, 0, (1, 20_000), ["next"]),
        (20_001, 20_000, (20_001, 20_001), ["previous"]),
        (50_000, 20_000, (20_001, 40_000), ["previous", "next"]),
        (50_000, 30_000, (30_001, 50_000), ["previous"]),
        (50_000, -5, (1, 20_000), ["next"]),
        (50_000, 99_999, (50_001, 50_000), ["previous"]),
    ],
)
def test_a_long_text_is_shown_in_parts(length, offset, shown, links):
    made = page({"status": "ok", "text": "x" * length}, parts=CallParts(offset=offset))

    if shown is None:
        assert "characters" not in made
        assert "x" * length in made
        return
    first, last = shown
    assert f"characters {first:,} to {last:,} of {length:,} " in made
    assert [word for word in ("previous", "next") if f"{word} part" in made] == links
    if "previous" in links:
        assert f"offset={max(0, min(offset, length) - 20_000)}&quot;"[:-6] in made
    if "next" in links:
        assert f"offset={max(offset, 0) + 20_000}" in made


def test_a_link_of_one_text_keeps_the_place_in_the_other():
    made = page(
        {"status": "ok", "text": "x" * 50_000},
        arguments={"a": "y" * 50_000},
        parts=CallParts(arguments=20_000, offset=20_000),
    )

    assert "arguments=40000&amp;offset=20000" in made
    assert "arguments=20000&amp;offset=40000" in made
