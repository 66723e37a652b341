"""`handrail diff`: net changes of a session, a task or a turn, from the record."""

import json
import subprocess

import pytest

from handrail.cli.commands.record.diff import count_lines, diff_lines
from handrail.history.call_diffs import FileDiff


@pytest.fixture
def worked(handrail, workspace, tmp_path):
    """A session of two tasks: a.txt is changed in turns 1, 2 and 4, b.txt created in turn 1."""

    def edit(old, new):
        arguments = {"path": "a.txt", "old_string": old, "new_string": new}
        return {"name": "edit_file", "arguments": arguments}

    read = {"name": "read_file", "arguments": {"path": "a.txt"}}
    write = {"name": "write_file", "arguments": {"path": "b.txt", "content": "new\n"}}
    tasks = (
        [
            {"calls": [read, edit("two", "2"), write]},
            {"calls": [edit("2", "zwei")]},
            {"text": "done"},
        ],
        [{"calls": [edit("one", "1")]}, {"text": "done"}],
    )
    for number, lines in enumerate(tasks):
        file = tmp_path / f"task{number}.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        more = ["-c"] if number else []
        done = handrail("run", "--once", *more, "--model", f"script:{file}", "change it")
        assert done.code == 0, done.err
    return workspace


def _lines(out):
    return [
        line for line in out.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]


def test_a_file_has_one_diff_from_its_first_to_its_last_content(handrail, worked):
    out = handrail("diff").out

    assert _lines(out) == ["-one", "-two", "+1", "+zwei", "+new"]


def test_git_applies_the_diff_of_created_and_unended_files(handrail, workspace, tmp_path):
    for path, content in (("new.txt", "one\n"), ("unended.txt", "no line feed")):
        handrail(
            "call", "--mode", "accept-edits", "write_file", f"path={path}", f"content={content}"
        )
    patch = handrail("diff", "--session", "cli").out
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    subprocess.run(["git", "apply", "-"], cwd=elsewhere, input=patch, text=True, check=True)

    assert (elsewhere / "new.txt").read_text() == "one\n"
    assert (elsewhere / "unended.txt").read_text() == "no line feed"


def test_links_and_folders_are_told_in_words_that_nothing_applies(handrail, workspace):
    (workspace / "old").symlink_to("a.txt")
    (workspace / "file").write_text("text\n")
    words = "command=rm old file; ln -s a.txt file; ln -s a.txt new; mkdir empty"
    done = handrail("--mode", "bypass", "--allow-commands", "call", "run_command", words)
    assert done.code == 0, done.err

    shown = handrail("diff").out

    assert _lines(shown) == []
    told = dict(line.partition(": ")[::2] for line in shown.splitlines())
    assert {name for name, words in told.items() if "a.txt" in words} == {"file", "new", "old"}


def test_the_last_task_and_single_turns_are_shown_alone(handrail, worked):
    assert _lines(handrail("diff", "--task").out) == ["-one", "+1"]
    assert _lines(handrail("diff", "--turn", "2").out) == ["-2", "+zwei"]
    assert _lines(handrail("diff", "--turn", "last").out) == ["-one", "+1"]


def test_a_turn_of_text_alone_has_no_changes(handrail, worked):
    done = handrail("diff", "--turn", "3")

    assert done.code == 0
    assert done.out.startswith("no changes in turn 3")


def test_undone_changes_are_left_out_and_come_back_with_redo(handrail, worked):
    handrail("undo")
    assert _lines(handrail("diff").out) == ["-two", "+zwei", "+new"]

    handrail("redo")
    assert _lines(handrail("diff", "--task").out) == ["-one", "+1"]


def test_stat_and_json_count_lines(handrail, worked):
    out = handrail("diff", "--stat").out
    rows = handrail("diff", "--json").lines

    assert out.splitlines() == ["modified  +2 -2  a.txt", "created   +1 -0  b.txt", "2 files"]
    assert [(one["path"], one["added"], one["removed"]) for one in rows] == [
        ("a.txt", 2, 2),
        ("b.txt", 1, 0),
    ]


def test_a_workspace_without_changes_has_no_diff(handrail, workspace):
    assert handrail("diff").out == "no changes\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--turn", "x"], "invalid_arguments"),
        (["--turn", "999"], "not_found"),
        (["--task", "--session", "cli"], "invalid_arguments"),
    ],
)
def test_what_cannot_be_shown_is_said(handrail, worked, words, code):
    handrail("--mode", "accept-edits", "call", "write_file", "path=c.txt", "content=c")

    done = handrail("diff", *words)

    assert done.code != 0
    assert done.err.startswith(f"{code}: ")


def test_the_diff_stays_when_someone_edits_the_file_afterwards(handrail, worked):
    before = handrail("diff").out
    with (worked / "a.txt").open("a") as file:
        file.write("mine\n")
    (worked / "b.txt").unlink()

    assert handrail("diff").out == before
    assert handrail("show").out.count("+1\n") == 1
    assert "someone else" not in handrail("show").out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b"one\r\ntwo\r\n", "ONE", id="line-ends-of-windows"),
        pytest.param(b"one\ntwo", "one\nmore", id="no-line-end-at-the-end"),
        pytest.param(b"\xff\xfeo\0n\0e\0\n\0", "zwei", id="utf-16"),
        pytest.param(b"one\n" + b"x\n" * 3000, "ONE", id="a-large-file"),
        pytest.param(b"x\n" * 20 + b"one", "\n".join("abcdef"), id="far-below"),
    ],
)
def test_the_new_content_is_rebuilt_exactly_whatever_the_text_is(handrail, workspace, old, new):
    file = workspace / "f.txt"
    file.write_bytes(old)
    handrail("call", "read_file", "path=f.txt", "limit=30")
    edited = handrail(
        "--mode", "accept-edits", "call", "edit_file",
        "path=f.txt", "old_string=one", f"new_string={new}",
    )  # fmt: skip
    assert edited.code == 0, edited.err
    before = handrail("diff").out
    file.write_bytes(b"something else\n")

    assert before.startswith("--- a/f.txt\n")
    assert handrail("diff").out == before


def test_a_whole_file_too_long_for_its_diff_is_known_from_the_arguments(handrail, workspace):
    text = "".join(f"line {number}\n" for number in range(1000))
    handrail("--mode", "accept-edits", "call", "write_file", "path=n.txt", f"content={text}")
    (workspace / "n.txt").write_text("other\n")

    assert handrail("diff", "--stat").out.splitlines()[0] == "created   +1000 -0  n.txt"


def test_a_content_that_nothing_keeps_is_said_to_be_changed_since(handrail, workspace):
    handrail("call", "read_file", "path=a.txt")
    command = "command=printf 'new\\n' > a.txt"
    done = handrail("--mode", "bypass", "--allow-commands", "call", "run_command", command)
    assert done.code == 0, done.err
    (workspace / "a.txt").write_text("mine\n")

    out = handrail("diff").out
    shown = handrail("show").out
    assert "a.txt: modified; changed since" in out
    assert "a.txt: changed since" in shown
    assert "deleted" not in out + shown

    (workspace / "a.txt").unlink()
    assert "removed since" in handrail("diff", "--json").lines[0]["reason"]


HEADER = "--- a/q.sql\n+++ b/q.sql\n"


@pytest.mark.parametrize(
    ("diff", "counts"),
    [
        (None, (0, 0)),
        ("", (0, 0)),
        ("q.sql: 10 bytes become 20\n", (0, 0)),
        (f"{HEADER}@@ -1 +1,2 @@\n-a\n+b\n+c\n", (2, 1)),
        (f"{HEADER}@@ -1,2 +1 @@\n--- a comment\n x\n", (0, 1)),
        (f"{HEADER}@@ -1 +1,2 @@\n x\n+++i;\n", (1, 0)),
        (f"{HEADER}@@ -1 +1 @@\n-a\n+b\n@@ -9 +9,2 @@\n+c\n z\n", (2, 1)),
        ("@@ -1 +1 @@\n-a\n+b\x0c+c\n", (1, 1)),
    ],
)
def test_added_and_removed_lines_are_counted(diff, counts):
    assert count_lines(FileDiff("q.sql", "update", True, diff)) == counts


def test_files_are_listed_with_their_counts_or_shown():
    changed = FileDiff("a\n", "update", True, f"{HEADER}@@ -1 +1 @@\n-a\n+b\n")
    unknown = FileDiff("b", "delete", True, None, "not kept")

    assert list(diff_lines([])) == list(diff_lines([], stat=True)) == ["no changes"]
    assert list(diff_lines([changed, unknown], stat=True)) == [
        "update    +1 -1  a\\n",
        "delete    +0 -0  b",
        "2 files",
    ]
    assert list(diff_lines([changed, unknown])) == [
        *changed.diff.splitlines(),
        "b: delete; not kept",
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--turn", "x"), 2),
        (("--turn", "9"), 1),
        (("--session", "nope"), 2),
        (("--task", "--session", "cli"), 2),
    ],
)
def test_a_turn_or_session_that_is_not_there_is_a_problem(handrail, workspace, words, code):
    handrail("call", "--mode", "accept-edits", "write_file", "path=b.txt", "content=b")

    assert handrail("diff", *words).code == code


def test_a_session_without_changes_says_so(handrail, workspace):
    handrail("call", "read_file", "path=a.txt")

    assert handrail("diff").out == "no changes\n"
    assert handrail("diff", "--session", "cli").out.startswith("no changes in session cli;")
    assert handrail("diff", "--session", "cli", "--json").out == ""


def test_nothing_recorded_has_no_changes_and_no_sessions(handrail, workspace):
    assert handrail("diff").out == "no changes\n"
    assert handrail("diff", "--session", "s").code == 2


def test_the_session_that_changed_something_last_is_shown(handrail, workspace):
    for session, path in (("one", "1.txt"), ("two", "2.txt")):
        words = ("write_file", f"path={path}", "content=x")
        handrail("--session", session, "--mode", "accept-edits", "call", *words)
    handrail("--session", "three", "call", "read_file", "path=a.txt")

    shown = handrail("diff", "--stat", "--json").lines

    assert [(one["session"], one["path"], one["added"]) for one in shown] == [("two", "2.txt", 1)]
