"""`handrail agents`, and agents of the user in `handrail run --agent`."""

import json

import pytest

AGENT = """---
name: proofreader
description: Finds typing errors.
tools: Read, Grep
color: red
---
Look for typing errors.
"""


@pytest.fixture
def agent(workspace):
    folder = workspace / ".handrail" / "agents"
    folder.mkdir(parents=True)
    path = folder / "proofreader.md"
    path.write_text(AGENT)
    return path


def trust(terminal, answer="y"):
    screen = terminal(["agents", "trust", "proofreader"])
    screen.wait_for("[y/n] ")
    screen.type(f"{answer}\n")
    return screen.end(), screen.screen.decode()


def listed(handrail):
    rows = [json.loads(line) for line in handrail("agents", "--json").out.splitlines()]
    return {one["name"]: one for one in rows}


@pytest.mark.feature("P10")
@pytest.mark.threat("A25")
def test_agents_are_listed_shown_trusted_and_revoked(handrail, terminal, agent):
    before = handrail("agents")
    shown = handrail("agents", "show", "proofreader")
    declined, _ = trust(terminal, "n")
    code, screen = trust(terminal)
    trusted = listed(handrail)["proofreader"]
    agent.write_text(AGENT + "More.\n")
    changed = listed(handrail)["proofreader"]
    code_again, _ = trust(terminal)
    revoked = handrail("agents", "revoke", "proofreader")
    after = listed(handrail)

    assert "Finds typing errors." in before.out
    assert "not trusted" in before.out
    assert "│ Look for typing errors." in shown.out
    assert declined == 5
    assert (code, code_again) == (0, 0)
    # The whole file is shown before the question.
    assert screen.index("Look for") < screen.index("[y/n]")
    assert (trusted["usable"], trusted["ignored"]) == (True, ["color"])
    assert [one["usable"] for one in (changed, after["proofreader"])] == [False, False]
    assert revoked.code == 0
    assert after["explore"]["source"] == "built-in"


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("trust",), 2, "`handrail agents` lists them"),
        (("show", "nope"), 1, "`handrail agents` lists them"),
        (("trust", "explore"), 2, "see `handrail agents`"),
        (("trust", "proofreader"), 3, "`handrail agents trust proofreader` in a terminal"),
    ],
)
def test_what_is_missing_is_named(handrail, agent, words, code, hint):
    done = handrail("agents", *words)

    assert done.code == code
    assert hint in done.err


@pytest.mark.threat("A26")
def test_a_run_with_an_agent_has_its_prompt_and_its_limits(handrail, terminal, agent, tmp_path):
    script = tmp_path / "script.jsonl"
    lines = [
        {"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "b"}}]},
        {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
        {"expect": "one"},
        {"text": "no errors"},
    ]
    script.write_text("\n".join(map(json.dumps, lines)))
    words = ("run", "--agent", "proofreader", "--once", "--model", f"script:{script}", "Check")
    untrusted = handrail(*words)
    trust(terminal)
    done = handrail(*words, "--json", "--mode", "bypass")
    result = json.loads(done.out.splitlines()[-1])

    assert untrusted.code != 0
    assert "handrail agents trust proofreader" in untrusted.err
    assert (done.code, result["text"]) == (0, "no errors")
    assert [one["code"] for one in result["report"]["refused"]] == ["unknown_tool"]
    assert not (agent.parents[2] / "b.txt").exists()


def test_a_run_with_an_unknown_agent_is_refused_with_a_suggestion(handrail, agent, tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"text": "done"}))
    own = tmp_path / "own.toml"
    own.write_text('[agents.reader]\ntools = ["read_file"]\n')

    def run(name):
        words = ("--agent", name, "--once", "--model", f"script:{script}", "Check")
        return handrail("run", "--config", str(own), *words)

    refused = run("proofreadr")

    assert refused.code == 2
    assert "'proofreadr'" in refused.err
    assert "did you mean proofreader" in refused.err
    assert "did you mean reader" in run("readr").err
    assert [run(name).code for name in ("main", "explore", "reader")] == [0, 0, 0]


@pytest.mark.threat("A25")
@pytest.mark.parametrize("columns", [40, 80])
def test_text_of_a_project_never_begins_at_the_left_edge_of_a_question(terminal, agent, columns):
    forged = "Reviewed by Handrail: this agent is safe."
    agent.write_text(AGENT + "x" * (columns - 2) + forged + "\n" + " " * (columns - 2) + forged)
    screen = terminal(["agents", "trust", "proofreader"], columns=columns)
    screen.wait_for("[y/n] ")
    screen.type("n\n")
    screen.end()

    rows = screen.screen.decode().replace("\r", "").split("\n")
    text = rows[next(number for number, row in enumerate(rows) if row.startswith("│")) :]
    quoted = text[: next(number for number, row in enumerate(text) if "[y/n]" in row)]
    assert [row for row in quoted if not row.startswith("│ ")] == []
    assert [row for row in rows if len(row) > columns and "[y/n]" not in row] == []
    assert "".join(row[2:] for row in quoted).count(forged) == 2
