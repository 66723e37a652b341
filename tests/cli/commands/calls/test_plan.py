"""`handrail plan`: what one command queued is seen, approved or rejected by the next."""

import json

import pytest


def queue(handrail, *names):
    for name in names:
        handrail("--mode", "plan", "call", "write_file", f"path={name}", "content=new")


@pytest.mark.feature("R-17")
def test_what_is_queued_is_shown_with_its_change_and_approved_by_number(handrail, workspace):
    queue(handrail, "b.txt", "c.txt")
    shown = handrail("plan")
    approved = handrail("plan", "approve", "2")
    items = handrail("plan", "--json").lines

    assert "write_file: create b.txt  (pending)" in shown.out
    assert "    +new" in shown.out
    assert approved.code == 0
    assert approved.out.startswith("created c.txt")
    assert [(one["order"], one["status"]) for one in items] == [(1, "pending"), (2, "approved")]
    assert sorted(path.name for path in workspace.iterdir()) == ["a.txt", "c.txt"]


def test_the_first_few_are_approved_and_the_rest_rejected(handrail, workspace):
    queue(handrail, "b.txt", "c.txt", "d.txt")
    first = handrail("plan", "approve", "--first", "1", "--json")
    rejected = handrail("plan", "reject")
    nothing = handrail("plan", "approve")

    assert [one["status"] for one in first.lines] == ["ok"]
    assert rejected.out.count("(rejected)") == 2
    assert nothing.out == "nothing is queued\n"
    assert sorted(path.name for path in workspace.iterdir()) == ["a.txt", "b.txt"]


def test_a_stopped_call_is_an_error_and_still_waits(handrail, workspace):
    queue(handrail, "b.txt")
    (workspace / "b.txt").write_text("somebody else's")
    stopped = handrail("plan", "approve")
    shown = handrail("plan")
    again = handrail("plan", "approve")

    assert stopped.code == 3
    assert "no longer what was approved" in stopped.err
    assert "(pending, refused)" in shown.out
    assert "-somebody else's" in shown.out
    assert again.code == 0
    assert (workspace / "b.txt").read_text() == "new"


def test_plan_mode_lasts_until_the_person_ends_it(handrail, workspace):
    handrail("call", "enter_plan_mode")
    during = handrail("--mode", "accept-edits", "call", "write_file", "path=b.txt", "content=x")
    shown = handrail("plan")
    left = handrail("--mode", "accept-edits", "plan", "leave")
    again = handrail("plan", "leave")
    after = handrail("--mode", "accept-edits", "call", "write_file", "path=c.txt", "content=x")

    assert during.out.startswith("[PLAN MODE] Queued as 1-")
    assert shown.out.startswith("plan mode is on; 1")
    assert left.out.endswith("; the mode is accept-edits\n")
    assert again.out.endswith("; the mode is default\n")
    assert after.code == 0
    assert not (workspace / "b.txt").exists()
    assert handrail("plan", "leave", "--json").json == {
        "left": False,
        "mode": "default",
        "waiting": 1,
    }


def test_a_conversation_in_plan_mode_is_named_while_it_is_open(handrail, terminal, tmp_path):
    script = tmp_path / "script.jsonl"
    write = {"name": "write_file", "arguments": {"path": "b.txt", "content": "new"}}
    script.write_text(
        "".join(json.dumps(one) + "\n" for one in ({"calls": [write]}, {"text": "x"}))
    )
    words = ["run", "--plain", "--mode", "plan", "--model", f"script:{script}", "--session", "s1"]
    screen = terminal([*words, "Plan it"])
    screen.wait_for("queued")
    screen.wait_for_prompt()
    process, during = screen.pid, handrail("plan", "--session", "s1")
    left = handrail("plan", "leave", "--session", "s1")
    screen.type("/exit\n")
    screen.end()

    assert f" on in process {process};" in during.out
    assert f"process {process}" in left.out
    assert handrail("plan", "--session", "s1").out.startswith("plan mode is off;")


def test_what_a_model_wrote_cannot_move_the_cursor_or_pass_for_ours(handrail, tmp_path):
    file = handrail("call", "enter_plan_mode", "--json").json["data"]["plan_file"]
    text = "harmless\nplan mode is off\n\x1b[2Jgone"
    handrail("call", "write_file", f"path={file}", f"content={text}")
    queue(handrail, "\u202egnp.txt")
    shown = handrail("plan").out

    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "  │ plan mode is off" in shown


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "show", "1"),
        ("plan", "reject", "--first", "1"),
        ("plan", "approve", "1", "--first", "1"),
        ("plan", "approve", "--first", "-1"),
    ],
)
def test_words_that_make_no_sense_are_usage_errors(handrail, words):
    queue(handrail, "b.txt")

    assert handrail(*words).code == 2


def test_an_unknown_id_is_named_with_those_that_wait(handrail, workspace):
    queue(handrail, "b.txt")
    done = handrail("plan", "approve", "9")

    assert done.code == 1
    assert "'9'" in done.err
    assert "1-" in done.err
    assert not (workspace / "b.txt").exists()


def test_nothing_queued_says_so(handrail):
    assert handrail("plan").out.startswith("plan mode is off\n")


@pytest.mark.feature("W03")
def test_a_dry_run_ends_with_a_summary_beside_what_programs_read(handrail, tmp_path):
    calls = tmp_path / "calls.jsonl"
    calls.write_text('{"name": "write_file", "arguments": {"path": "b", "content": "x"}}\n')
    text = handrail("--dry-run", "call", "write_file", "path=b", "content=x")
    json = handrail("--dry-run", "--json", "call", "write_file", "path=b", "content=x")
    batch = handrail("--dry-run", "batch", calls)
    looking = handrail("--dry-run", "call", "list_files")

    told = "Dry run: 1 action would be carried out.\n1. write_file: create b\n"
    assert text.out.endswith(told)
    assert (json.err, batch.err) == (told, told)
    assert len(json.lines) == len(batch.lines) == 1
    assert "\nDry run: nothing" in looking.out


def test_a_call_that_failed_says_why_and_can_be_dropped(handrail, workspace):
    edit = ("call", "edit_file", "path=a.txt", "old_string=two", "new_string=2")
    handrail("--mode", "plan", *edit)
    shown = handrail("plan")
    (workspace / "a.txt").write_text("other\n")
    failed = handrail("plan", "approve")
    after = handrail("plan")
    dropped = handrail("plan", "reject")
    nothing = handrail("plan", "reject")

    assert shown.out.startswith("plan mode is off; 1")
    assert failed.code == 1
    assert "hint: `handrail plan` shows" in failed.err
    assert "read the file" not in failed.err
    assert "    problem: old_string was not found" in after.out
    assert "(rejected" in dropped.out
    assert nothing.out == "nothing is queued\n"


def test_no_part_of_a_queued_call_begins_in_the_first_column(handrail, monkeypatch):
    content = " ".join(["filler"] * 20 + ["verified"] * 20)
    handrail("call", "--mode", "plan", "write_file", "path=a.txt", f"content={content}")
    monkeypatch.setenv("COLUMNS", "48")

    shown = handrail("plan").out.splitlines()

    heading, *preview = shown[1:-1]
    assert heading.startswith("1-")
    assert len(preview) > 5
    assert all(line.startswith("  ") and len(line) <= 48 for line in preview)
