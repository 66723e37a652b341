"""How a question looks on a screen of a given size."""

import pytest

from handrail.core.approval import ApprovalRequest
from handrail.core.ports.questions import ModelQuestion, QuestionOption, QuestionRequest
from handrail.core.verdicts import Risk
from handrail.host.terminal.prompt import parse_choice
from handrail.host.terminal.question_text import (
    Screen,
    render_full_question,
    render_heading,
    render_model_question,
    render_question,
)

HEADING = "── write_file wants to run (risk: moderate) ──"


def request(**changes):
    given = {
        "call_id": "1",
        "tool": "write_file",
        "action": "write_file(a)",
        "reason": "because",
        "risk": Risk.MODERATE,
        "preview": "",
        "binding": "b" * 64,
    }
    return ApprovalRequest(**{**given, **changes})


def test_a_short_question_is_shown_whole():
    shown = render_question(request(model_says="trust me", preview="+a"), Screen())

    assert shown.cut is False
    assert shown.text.split("\n") == [
        "",
        HEADING,
        "│ write_file(a)",
        "why you are asked:",
        "│ because",
        "the model says (not verified):",
        "│ trust me",
        "what would happen:",
        "│ +a",
        "",
    ]


@pytest.mark.parametrize(
    ("rows", "height", "shown", "left"),
    [
        # Of 24 rows, 12 are for the rest; the preview has four of six parts of the others.
        (9, 24, 9, None),
        (10, 24, 8, 2),
        (1_000, 24, 8, 992),
        (13, 30, 13, None),
        (14, 30, 12, 2),
        # On the smallest screen.
        (7, 1, 7, None),
        (8, 1, 6, 2),
        (8, 21, 6, 2),
    ],
)
def test_a_long_part_is_cut_and_says_how_much_is_left(rows, height, shown, left):
    preview = "\n".join(f"row {number}" for number in range(rows))
    found = render_question(request(preview=preview), Screen(height=height))

    assert found.cut is (left is not None)
    assert found.text.count("│ row") == shown
    assert (f"[{left} more rows of this" in found.text) is (left is not None)


def test_every_part_has_its_own_room():
    long = "\n".join("x" * 5 for _ in range(100))
    found = render_question(request(action=long, reason=long, model_says=long), Screen(height=24))

    # Two, one and one of six parts of 12 rows, but at least two rows.
    assert found.text.count("[96 more rows") == 1
    assert found.text.count("[98 more rows") == 2


def test_the_full_question_is_not_cut():
    preview = "\n".join(f"row {number}" for number in range(100))
    found = list(render_full_question(request(preview=preview), Screen()))

    assert found[:4] == [
        HEADING,
        "│ write_file(a)",
        "why you are asked:",
        "│ because",
    ]
    assert found[-1] == "│ row 99"
    assert len(found) == 105


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "write_file wants to run (risk: moderate)"),
        ({"chain": ("main",)}, "write_file wants to run (risk: moderate)"),
        ({"agent": "helper"}, "write_file wants to run (risk: moderate, agent helper)"),
        ({"chain": ("main", "a")}, "write_file wants to run (risk: moderate, agent main > a)"),
        ({"tool": "t" * 70}, f"{'t' * 60} wants to run (risk: moderate)"),
        ({"tool": "a\nb\x1b"}, r"a\nb\x1b wants to run (risk: moderate)"),
        ({"agent": "a\nb"}, r"write_file wants to run (risk: moderate, agent a\nb)"),
        ({"agent": "a" * 70}, f"write_file wants to run (risk: moderate, agent {'a' * 60})"),
    ],
)
def test_the_heading_names_tool_risk_and_agents(more, words):
    assert render_heading(request(**more)) == f"── {words} ──"


def framed(preview, **screen):
    rows = list(render_full_question(request(preview=preview), Screen(**screen)))
    return rows[rows.index("what would happen:") + 1 :]


def test_long_lines_are_folded_behind_the_margin():
    assert framed("a" * 30, width=22) == ["│ " + "a" * 20, "│ " + "a" * 10]
    # On a narrower screen as well.
    assert framed("a" * 30, width=5) == ["│ " + "a" * 20, "│ " + "a" * 10]


def test_the_rest_of_a_line_of_a_diff_is_no_line_of_it():
    rows = framed("--- a/x\n+++ b/x\n+" + "y" * 40, width=42)

    assert rows == ["│ --- a/x", "│ +++ b/x", "│ +" + "y" * 35, "│     " + "y" * 5]


def test_only_diffs_have_colours():
    text = "+plain\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same"
    colours = framed(text, colour=True)

    assert framed(text)[0] == colours[0] == "│ +plain"
    assert colours[1:3] == ["│ --- a/x", "│ +++ b/x"]
    assert colours[3:] == [
        "│ \x1b[36m@@ -1 +1 @@\x1b[0m",
        "│ \x1b[31m-old\x1b[0m",
        "│ \x1b[32m+new\x1b[0m",
        "│  same",
    ]


OPTIONS = (QuestionOption("red", "warm"), QuestionOption("blue"), QuestionOption("green"))


@pytest.mark.parametrize(
    ("text", "one", "several"),
    [
        ("1", "red", ["red"]),
        ("3", "green", ["green"]),
        ("1 1", "red", ["red"]),
        ("1, 3", "1, 3", ["red", "green"]),
        ("2,1", "2,1", ["blue", "red"]),
        ("0", "0", "0"),
        ("4", "4", "4"),
        ("1 4", "1 4", "1 4"),
        ("purple", "purple", "purple"),
    ],
)
def test_numbers_choose_options(text, one, several):
    assert parse_choice(ModelQuestion("?", "h", OPTIONS), text) == one
    assert parse_choice(ModelQuestion("?", "h", OPTIONS, True), text) == several


def test_a_question_of_a_model_does_not_look_like_an_approval():
    asked = QuestionRequest(
        "c", (ModelQuestion("Which?", "Colour", OPTIONS), ModelQuestion("Why?", "H", (), True))
    )

    first = render_model_question(asked, 1, Screen()).split("\n")
    second = render_model_question(asked, 2, Screen())

    assert first[:6] == [
        "",
        "?? the model asks (1 of 2) ??",
        "│ [Colour] Which?",
        "│   1. red: warm",
        "│   2. blue",
        "│   3. green",
    ]
    assert "the number of an option" in " ".join(first)
    assert max(map(len, first)) <= 80
    assert "(2 of 2)" in second
    assert "numbers of options" in second


def test_a_question_of_a_subagent_names_the_agents():
    asked = QuestionRequest("c", (ModelQuestion("?", "h", ()),), "a", ("main", "a"))

    assert "(1 of 1, agent main > a)" in render_model_question(asked, 1, Screen())
