"""`handrail skills`, and skills in a conversation: `/skills`, `/NAME`, `/tasks`."""

import json

import pytest

SKILL = """---
name: greet
description: Greets someone politely.
---
Say hello to whom the user names.
"""


@pytest.fixture
def skill(workspace):
    folder = workspace / ".handrail" / "skills" / "greet"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    return folder


def trust(terminal, answer="y"):
    screen = terminal(["skills", "trust", "greet"])
    screen.wait_for("[y/n] ")
    screen.type(f"{answer}\n")
    return screen.end(), screen.screen.decode()


def test_skills_are_listed_shown_trusted_and_revoked(handrail, terminal, skill):
    before = handrail("skills")
    shown = handrail("skills", "show", "greet")
    declined, _ = trust(terminal, "n")
    code, screen = trust(terminal)
    trusted = handrail("skills", "--json").json
    skill.joinpath("SKILL.md").write_text(SKILL + "More.\n")
    changed = handrail("skills", "--json").json
    code_again, _ = trust(terminal)
    revoked = handrail("skills", "revoke", "greet")
    after = handrail("skills", "--json").json

    assert "Greets someone politely." in before.out
    assert "│ Say hello to whom" in shown.out
    assert declined == 5
    assert (code, code_again) == (0, 0)
    # The whole skill is shown before the question.
    assert screen.index("Say hello") < screen.index("[y/n]")
    assert [one["trusted"] for one in (trusted, changed, after)] == [True, False, False]
    assert revoked.code == 0


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("trust",), 2, "`handrail skills` lists them"),
        (("show", "nope"), 1, "`handrail skills` lists them"),
        (("trust", "greet"), 3, "`handrail skills trust greet` in a terminal"),
    ],
)
def test_what_is_missing_is_named(handrail, skill, words, code, hint):
    done = handrail("skills", *words)

    assert done.code == code
    assert hint in done.err


@pytest.mark.parametrize("columns", [80, 48])
def test_a_conversation_lists_and_starts_skills_and_shows_tasks(
    terminal, handrail, skill, tmp_path, columns
):
    trust(terminal)
    todos = [{"content": "Say hello", "status": "in_progress", "active_form": "Saying hello"}]
    lines = [
        {"calls": [{"name": "todo_write", "arguments": {"todos": todos}}]},
        {"text": "Hello, Ada."},
    ]
    script = tmp_path / "s.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    screen = terminal(["run", "--plain", "--model", f"script:{script}"], columns=columns)
    screen.wait_for("> ")
    screen.type("/skills\n")
    screen.wait_for("Greets")
    screen.type("/greet Ada\n")
    screen.wait_for("│ Hello, Ada.")
    screen.wait_for_prompt()
    screen.type("/tasks\n")
    screen.wait_for("[>] 1. ")
    screen.type("/exit\n")

    assert screen.end() == 0
    asked, _, _ = handrail("session", "show").out.partition("model\n")
    assert "Skill greet" in asked
    assert "Ada" in asked
