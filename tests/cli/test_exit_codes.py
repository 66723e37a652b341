"""Every exit code, through the command line."""

import sqlite3

import pytest

pytestmark = pytest.mark.finding("F36")

GATE = """
[[guardrails.quality_gates]]
name = "docs"
command = "ls missing.txt"
"""


def configure(own_home, text):
    file = own_home / "config" / "handrail" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_0_is_done(handrail):
    assert handrail("call", "read_file", "path=a.txt").code == 0


def test_1_is_a_tool_that_failed(handrail):
    assert handrail("call", "read_file", "path=missing.txt").code == 1


def test_1_is_a_gate_that_failed(handrail, own_home, workspace):
    configure(own_home, GATE)

    assert handrail("gates").code == 1
    (workspace / "missing.txt").write_text("here\n")
    assert handrail("gates").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("call", "no_such_tool"),
        ("call", "read_file", "pth=a.txt"),
        ("call", "read_file", "--wrong"),
        ("--mode", "brave", "log"),
        ("gates",),
    ],
)
def test_2_is_a_wrong_command_line_or_configuration(handrail, words):
    assert handrail(*words).code == 2


def test_2_is_an_invalid_settings_file(handrail, workspace):
    (workspace / "wrong.toml").write_text("mode = 7\n")

    assert handrail("config", "check", "wrong.toml").code == 2


def test_3_is_an_approval_that_no_user_could_give(handrail):
    assert handrail("call", "write_file", "path=b.txt", "content=x").code == 3
    assert handrail("call", "write_file", "path=b.txt", "content=x", "--ask", "nobody").code == 3


def test_3_comes_before_other_failures_of_a_batch(handrail, workspace):
    (workspace / "calls.jsonl").write_text(
        '{"name": "read_file", "arguments": {"path": "missing.txt"}}\n'
        '{"name": "write_file", "arguments": {"path": "b.txt", "content": "x"}}\n'
        '{"name": "read_file", "arguments": {"path": "/etc/passwd"}}\n'
    )

    assert handrail("batch", "calls.jsonl").code == 3


def test_5_is_refused_by_a_rule_or_a_boundary(handrail, own_home):
    configure(own_home, '[permissions]\ndeny = ["read_file(a.txt)"]\n')

    assert handrail("call", "read_file", "path=a.txt").code == 5
    assert handrail("call", "read_file", "path=/etc/passwd").code == 5


def test_5_is_refused_by_the_user(terminal):
    asked = terminal(["call", "write_file", "path=b.txt", "content=x"])
    asked.wait_for("Allow this once?")
    asked.type("no\n")

    assert asked.end() == 5


def test_6_is_a_record_that_cannot_be_used(handrail, tmp_path):
    store = tmp_path / "store.db"
    handrail("--store", store, "call", "read_file", "path=a.txt")
    with sqlite3.connect(store) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()

    for words in (("log",), ("verify",), ("undo",), ("call", "read_file", "path=a.txt"), ()):
        assert handrail("--store", store, *words).code == 6


def test_130_is_aborted_by_the_user(terminal):
    asked = terminal(["call", "write_file", "path=b.txt", "content=x"])
    asked.wait_for("Allow this once?")
    asked.type("\x03")

    assert asked.end() == 130


def test_the_help_lists_the_codes(handrail):
    shown = handrail("--help").out

    assert all(f"\n  {code:<3}  " in shown for code in (0, 1, 2, 3, 5, 6, 130))


def test_gates_that_are_missing_are_a_problem_in_json_too(handrail):
    done = handrail("--json", "gates")

    assert done.code == 2
    assert "quality gates" in done.json["problem"]["message"]
