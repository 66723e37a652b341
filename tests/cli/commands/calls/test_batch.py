import json

import pytest


@pytest.mark.feature("B13")
def test_results_come_as_lines_in_the_order_of_the_calls(handrail, workspace):
    (workspace / "b.txt").write_text("bee")
    file = lines_in(
        workspace,
        {"id": "edit", "name": "edit_file", "arguments": edit("one", "1")},
        {"id": "other", "name": "read_file", "arguments": {"path": "b.txt"}},
        {"id": "after", "name": "read_file", "arguments": {"path": "a.txt"}},
    )

    done = handrail("--mode", "accept-edits", "batch", file)

    assert done.code == 0
    assert [(one["call_id"], one["status"]) for one in done.lines] == [
        ("edit", "ok"),
        ("other", "ok"),
        ("after", "ok"),
    ]
    assert done.lines[2]["text"] == "1\ntwo"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not json", "not JSON"),
        (b"[1]", "an object with at least a name"),
        (b'{"arguments": {}}', "an object with at least a name"),
        (b'{"name": "read_file", "name": "grep"}', "'name' is given more than once"),
        (b'{"name": "read_file", "args": {}}', "unknown key 'args'"),
        (b'{"name": "read_file", "arguments": [1]}', "the arguments must be an object"),
        (b'{"name": "read_file\xff"}', "surrogate"),
        (b'{"name": "x", "arguments": {"a": NaN}}', "NaN"),
        (b"[" * 100_000, "nested more than"),
        pytest.param(b'{"id": "", "name": "read_file"}', "id of a call", id="empty id"),
        pytest.param(b'{"id": "../x", "name": "read_file"}', "id of a call", id="path as id"),
        pytest.param(b'{"id": 7, "name": "read_file"}', "id of a call", id="number as id"),
        pytest.param(b'{"id": "%s", "name": "x"}' % (b"i" * 300), "id of a call", id="long id"),
        pytest.param(b'{"name": "%s"}' % (b"i" * 9_000_000), "larger than", id="long line"),
    ],
)
@pytest.mark.finding("F18")
def test_a_line_that_is_no_call_is_answered_in_its_place(handrail, workspace, line, reason):
    good = json.dumps({"name": "read_file", "arguments": {"path": "a.txt"}}).encode()
    (workspace / "calls").write_bytes(b"\n".join([good, line, b"", good]))

    done = handrail("batch", "calls")

    assert done.code == 2
    assert [one["status"] for one in done.lines] == ["ok", "failed", "ok"]
    assert done.lines[1]["problem"]["code"] == "invalid_arguments"
    assert reason in done.lines[1]["text"]


def test_calls_without_an_id_are_new_every_time(handrail, workspace):
    call = {"name": "read_file", "arguments": {"path": "a.txt"}}
    file = lines_in(workspace, call, call)
    first = handrail("batch", file).lines
    (workspace / "a.txt").write_text("changed\n")

    second = handrail("batch", file).lines

    assert [one["text"] for one in second] == ["changed", "changed"]
    assert len({one["call_id"] for one in first + second}) == 4


def test_arguments_may_be_json_text_as_providers_send_it(handrail, workspace):
    file = lines_in(workspace, {"name": "read_file", "arguments": '{"path": "a.txt"}'})

    assert handrail("batch", file).lines[0]["text"] == "one\ntwo"


def test_a_failed_call_shows_in_the_exit_code_only(handrail, workspace):
    file = lines_in(workspace, {"id": "x", "name": "read_file", "arguments": {"path": "nope"}})

    done = handrail("batch", file)

    assert (done.code, done.err) == (1, "")
    assert done.lines[0]["problem"]["code"] == "not_found"


def test_the_calls_of_a_batch_are_one_turn(handrail, workspace):
    call = {"name": "read_file", "arguments": {"path": "a.txt"}}
    handrail("batch", lines_in(workspace, call, call))
    handrail("batch", lines_in(workspace, call))

    assert [call["turn"] for call in handrail("log", "--json").lines] == [2, 1, 1]


def test_the_order_is_shown_and_nothing_runs(handrail, workspace):
    file = lines_in(
        workspace,
        {"id": "edit", "name": "edit_file", "arguments": edit("one", "1")},
        {"id": "same", "name": "read_file", "arguments": {"path": "a.txt"}},
        {"id": "other", "name": "read_file", "arguments": {"path": "b.txt"}},
    )

    done = handrail("batch", "--plan", file)
    as_json = handrail("batch", "--plan", "--json", file).json

    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == ["edit at once", "same after edit", "other at once"]
    assert as_json == {
        "ids": ["edit", "same", "other"],
        "waits": [[], [0], []],
        "groups": [["edit", "other"], ["same"]],
    }
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"
    assert handrail("log", "--json").out == ""


def test_the_order_names_lines_that_are_no_calls(handrail, workspace):
    (workspace / "calls").write_text('nonsense\n{"id": "1", "name": "file_info"}\n')

    done = handrail("batch", "--plan", "calls")

    assert (done.code, done.out) == (2, "1 at once\n")
    assert done.err.startswith("line 1: invalid_arguments: ")


def test_the_order_as_json_names_lines_that_are_no_calls_aside(handrail, workspace):
    file = lines_in(workspace, {"name": "list_files"}, {"name": 5})

    done = handrail("--json", "batch", file, "--plan")

    assert done.code == 2
    assert len(done.lines) == 1
    assert "line 2: invalid_arguments" in done.err


def test_a_line_with_an_id_that_was_used_runs_nothing_and_that_is_said(handrail, workspace):
    write = {"id": "w", "name": "write_file", "arguments": {"path": "new.txt", "content": "x"}}
    file = lines_in(workspace, write)
    first = handrail("--mode", "accept-edits", "batch", file)
    (workspace / "new.txt").unlink()

    again = handrail("--mode", "accept-edits", "batch", file)

    assert (first.code, again.code, first.err) == (0, 0, "")
    assert again.err.startswith("w: already made: ")
    assert not (workspace / "new.txt").exists()
    assert "repeated" in handrail("log").out


def test_a_file_that_cannot_be_read_is_a_usage_error(handrail):
    done = handrail("batch", "nope.jsonl")

    assert (done.code, done.out) == (2, "")
    assert "'nope.jsonl'" in done.err


def test_no_calls_give_no_results(handrail, workspace):
    assert handrail("batch", lines_in(workspace)) == handrail("batch", lines_in(workspace))
    assert handrail("batch", lines_in(workspace)).out == ""


def edit(old: str, new: str) -> dict[str, str]:
    return {"path": "a.txt", "old_string": old, "new_string": new}


def lines_in(workspace, *calls) -> str:
    (workspace / "calls").write_text("".join(json.dumps(call) + "\n" for call in calls))
    return "calls"
