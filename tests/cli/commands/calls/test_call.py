import io
import subprocess
import sys

import pytest

from handrail.cli.commands.calls.call import print_result
from handrail.core.results import Status, ToolResult


def test_the_text_of_a_result_is_printed(handrail):
    done = handrail("call", "read_file", "path=a.txt")

    assert (done.code, done.out, done.err) == (0, "one\ntwo\n", "")


def test_json_is_the_whole_result(handrail):
    result = handrail("call", "read_file", "path=a.txt", "--json").json

    assert list(result) == [
        "call_id",
        "status",
        "text",
        "display",
        "data",
        "problem",
        "changes",
        "modifiers",
        "meta",
    ]
    assert (result["status"], result["text"]) == ("ok", "one\ntwo")


def test_arguments_are_taken_from_one_json_object(handrail):
    assert handrail("call", "read_file", '{"path": "a.txt", "limit": 1}').out.startswith("one\n")


def test_arguments_are_read_from_standard_input_as_json(handrail, monkeypatch):
    type_in(monkeypatch, b'{"path": "a.txt"}')

    assert handrail("call", "read_file", "-").out == "one\ntwo\n"


@pytest.mark.feature("M01", "M03")
def test_words_become_the_types_the_tool_wants_and_that_is_recorded(handrail, workspace):
    done = handrail(
        *("--mode", "accept-edits", "--json", "call", "edit_file", "path=a.txt"),
        *("old_string=o", "new_string=0", "replace_all=true"),
    )

    assert done.json["status"] == "ok"
    assert done.json["meta"]["coerced"]
    assert (workspace / "a.txt").read_text() == "0ne\ntw0\n"


def test_an_argument_is_the_text_of_a_file_or_of_standard_input(handrail, workspace, monkeypatch):
    (workspace.parent / "letter").write_bytes("grüße\r\n".encode())
    type_in(monkeypatch, b"typed\n")

    edit = ("--mode", "accept-edits", "call", "write_file")
    handrail(*edit, "path=file.txt", f"content=@{workspace.parent}/letter")
    handrail(*edit, "path=input.txt", "content=-")

    assert (workspace / "file.txt").read_bytes() == "grüße\r\n".encode()
    assert (workspace / "input.txt").read_bytes() == b"typed\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("path",), "'path' is neither name=value nor a JSON object"),
        (("=x",), "'=x' is neither name=value"),
        (("path=a", "path=b"), "'path' is given twice"),
        (("path=@nope",), "path=@nope: the file cannot be read"),
        (('{"path": "a.txt"}', "limit=1"), "is neither name=value"),
    ],
)
def test_arguments_that_cannot_be_meant_are_a_usage_error(handrail, words, complaint):
    done = handrail("call", "read_file", *words)

    assert (done.code, done.out) == (2, "")
    assert complaint in done.err


def test_broken_json_is_answered_by_the_engine_and_recorded(handrail):
    done = handrail("call", "read_file", '{"path": "a.txt", "path": "b.txt"}')

    assert done.code == 2
    assert "'path' is given" in done.err
    assert len(handrail("log", "--json").lines) == 1


@pytest.mark.feature("U02")
def test_a_refusal_goes_to_standard_error_with_a_hint_and_on_record(handrail):
    done = handrail("call", "read_file", "path=../../etc/passwd")

    assert (done.code, done.out) == (5, "")
    assert done.err.startswith("outside_workspace: ")
    assert "\nhint: " in done.err
    record = handrail("log", "--json").lines[0]
    assert record["completed"]["status"] == "refused"


def test_an_unknown_tool_is_told_what_it_could_have_meant(handrail):
    done = handrail("call", "read_fil", "path=a.txt")

    assert done.code == 2
    assert done.err.startswith("unknown_tool: ")
    assert "did you mean read_file" in done.err


def test_a_tool_is_known_by_the_names_of_every_dialect(handrail):
    assert handrail("--dialect", "claude", "call", "Read", "file_path=a.txt").code == 0
    assert handrail("call", "Read", "path=a.txt").code == 0


def test_without_a_terminal_a_change_is_refused_and_the_way_is_named(handrail, workspace):
    done = handrail("call", "write_file", "path=b.txt", "content=x")

    assert done.code == 3
    assert done.err.startswith("needs_approval: ")
    assert "--mode accept-edits" in done.err
    assert not (workspace / "b.txt").exists()


def test_a_change_is_shown_as_a_diff(handrail):
    done = handrail(
        *("--mode", "accept-edits", "call", "edit_file", "path=a.txt"),
        *("old_string=two", "new_string=three"),
    )

    assert done.out.endswith(" one\n-two\n+three\n")


def test_a_dry_run_says_so_and_changes_nothing(handrail, workspace):
    done = handrail(
        *("--dry-run", "--mode", "accept-edits", "call", "edit_file", "path=a.txt"),
        *("old_string=two", "new_string=three"),
    )

    assert done.code == 0
    assert done.out.startswith("[DRY-RUN] ")
    assert "+three" in done.out
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


def test_the_text_of_a_file_cannot_reach_the_terminal_as_commands(handrail, workspace):
    (workspace / "evil.txt").write_text("a\x1b]52;c;aGk=\x07\u202eb\tc\n", encoding="utf-8")

    text = handrail("call", "read_file", "path=evil.txt").out
    json_text = handrail("call", "read_file", "path=evil.txt", "--json").out

    assert text == "a\\x1b]52;c;aGk=\\x07\\u{202e}b\tc\n"
    assert json_text.strip().isprintable()
    assert json_text.isascii()


def test_a_file_name_in_a_problem_cannot_reach_the_terminal_as_commands(handrail):
    assert "\x1b" not in handrail("call", "read_file", "path=no\x1b[2Jpe").err


def test_a_call_belongs_to_the_session_of_the_command_line(handrail):
    handrail("call", "read_file", "path=a.txt")
    handrail("--session", "mine", "call", "read_file", "path=a.txt")

    found = [(call["session"], call["turn"]) for call in handrail("log", "--json").lines]

    assert found == [("mine", 1), ("cli", 1)]


def test_two_calls_never_share_an_id(handrail):
    ids = {handrail("call", "file_info", "path=a.txt", "--json").json["call_id"] for _ in range(5)}

    assert len(ids) == 5


def test_a_repeated_id_repeats_the_recorded_result(handrail, workspace):
    words = ("call", "--id", "mine", "--json", "read_file", "path=a.txt")
    first = handrail(*words)
    (workspace / "a.txt").write_text("changed")

    assert handrail(*words).json["text"] == first.json["text"] == "one\ntwo"


def test_a_store_in_memory_leaves_nothing_behind(handrail, own_home):
    handrail("--store", ":memory:", "call", "read_file", "path=a.txt")

    assert [path for path in own_home.rglob("*") if path.is_file()] == []


def type_in(monkeypatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.needs_sandbox
def test_a_command_says_which_files_it_changed_and_how_that_is_undone(handrail):
    run = ("--mode", "sandboxed", "call", "run_command")

    one = handrail(*run, "command=echo hi; echo 1 > b.txt")
    failed = handrail(*run, "command=echo 1 > c.txt; false")
    many = handrail(*run, "command=for n in 1 2 3 4 5 6; do echo $n > f$n; done")
    nothing = handrail(*run, "command=cat a.txt")
    result = handrail(*run, "command=echo 2 > b.txt", "--json").json

    assert "hi\n" in one.out
    assert "\nchanged: b.txt; undo with" in one.out
    assert "changed: c.txt; undo with" in failed.out
    assert "f4 (+2 more)" in many.out
    assert "changed:" not in nothing.out
    assert "changed:" not in result["text"]
    assert result["display"].startswith(f"{result['text']}\nchanged: b.txt; ")


@pytest.mark.needs_sandbox
def test_a_commit_is_named_to_the_person(handrail, workspace):
    for words in ("init -q -b main", "config user.name a", "config user.email a@b", "add ."):
        subprocess.run(["git", *words.split()], cwd=workspace, check=True)
    subprocess.run(["git", "commit", "-qm", "first"], cwd=workspace, check=True)

    done = handrail(
        "--mode", "sandboxed", "call", "run_command", "command=echo y >> a.txt; git commit -qam two"
    )

    assert "without .git (made commit " in done.out
    assert "`git reset --soft " in done.out


@pytest.mark.needs_sandbox
def test_a_background_job_says_whether_undo_follows_it(handrail):
    done = handrail(
        "--mode", "sandboxed", "call", "run_command", "command=echo 1 > b.txt", "background=true"
    )

    assert "\nundo: what a background job" in done.out


@pytest.mark.finding("F39")
def test_the_text_of_a_read_is_in_the_json_once(handrail):
    done = handrail("--json", "call", "read_file", "path=a.txt")

    assert done.out.count("two") == 1
    assert done.json["text"] == "one\ntwo"
    assert done.json["modifiers"] == [{"type": "file_read", "path": "a.txt"}]


def test_the_notes_of_a_result_fit_a_narrow_screen_and_output_is_not_folded(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "48")
    note = f"[handrail: {'many words ' * 10}]"

    print_result(ToolResult("c", Status.OK, f"{'output ' * 10}\n{note}"))

    output, *notes = capsys.readouterr().out.splitlines()
    assert output == "output " * 10
    assert len(notes) == 3
    assert max(map(len, notes)) <= 48
    assert all(row.startswith("    ") for row in notes[1:])
