"""Recorded calls as results again, and the paths that a result names."""

from types import SimpleNamespace

import pytest

from handrail.core.ports.records import CallRecord
from handrail.core.results import ChangeRecord, Status
from handrail.engine.recording import read_review
from handrail.engine.recording.payloads import change_summary, fits_one_line, replay
from handrail.engine.recording.read_review import list_named_paths, read_rules_digest

DONE = {
    "status": "failed",
    "text": "text",
    "data": {"a": 1},
    "problem": {"code": "not_found", "message": "m", "hint": "h"},
    "changes": [["a", "modify", "1", "2"]],
    "meta": {"k": "v"},
}


def record(completed, **requested):
    return CallRecord("s", "c", 1, 0, requested, None, completed, 0)


def test_a_recorded_result_is_the_result_again():
    result = replay(record(DONE))

    assert (result.call_id, result.status, result.text) == ("c", Status.FAILED, "text")
    assert result.data == {"a": 1}
    assert (result.problem.code, result.problem.hint) == ("not_found", "h")
    assert [one.path for one in result.changes] == ["a"]
    assert result.meta == {"k": "v", "replayed": True}


def test_a_call_that_never_ended_has_no_result():
    assert replay(record(None)) is None
    assert replay(record({**DONE, "problem": None})).problem is None
    assert replay(record({**DONE, "meta": None})).meta == {"replayed": True}


@pytest.mark.parametrize(
    ("requested", "completed", "tool"),
    [
        ({"tool": "grep"}, None, "grep"),
        ({"tool": "undo", "arguments": {"redo": True}}, None, "redo"),
        ({"tool": "undo", "arguments": {"redo": 1}}, None, "undo"),
        ({"tool": "undo", "arguments": {}}, None, "undo"),
        ({"tool": "undo", "arguments": None}, None, "undo"),
        ({"tool": "grep", "arguments": {"redo": True}}, None, "grep"),
        ({}, {"tool": "grep"}, "grep"),
        ({"tool": "read_file"}, {"tool": "grep"}, "read_file"),
        ({}, {}, "(purged)"),
        ({}, None, "(purged)"),
    ],
)
def test_the_tool_of_a_recorded_call(requested, completed, tool):
    assert record(completed, **requested).tool == tool


@pytest.mark.parametrize(("size", "fits"), [(78, True), (79, False)])
def test_an_argument_fits_a_line_with_its_quotes(size, fits):
    assert fits_one_line("a" * size) is fits


def changed(*paths):
    return [ChangeRecord(path, "modify", None, None) for path in paths]


@pytest.mark.parametrize(
    ("changes", "meta", "named", "left_out"),
    [
        (changed("a"), {}, None, None),
        (changed("a"), {"undo": "all"}, ["a"], []),
        (changed("a", "b", "c", "d"), {"undo": "all"}, ["a", "b", "c", "d"], []),
        (changed("p", "q", "r", "s", "t"), {"undo": "all"}, ["p", "q", "r", "s", "+1"], ["t"]),
        (changed("src/__pycache__/x", "__pycache__/y"), {"undo": "all"}, None, None),
        (changed("a"), {"undo": "none"}, ["a"], []),
        (
            changed("a"),
            {"undo": "part", "undo_left_out": {"big": "size"}},
            ["a", "big", "size"],
            [],
        ),
        ((), {"undo": "part", "undo_left_out": {"big": "size"}}, None, None),
        ((), {"undo": "part", "undo_left_out": {"sub/.git": "own"}}, [".git", "own"], []),
        ((), {"undo": "part", "undo_left_out": {"job:1": "runs on"}}, ["runs on"], ["job:"]),
        (
            changed("a"),
            {"undo": "part", "undo_left_out": {"u": "1", "v": "2", "w": "3"}},
            ["u", "v", "+1"],
            ["w"],
        ),
        (
            changed("a"),
            {"undo": "part", "undo_left_out": {"u": "1", "v": "2"}, "undo_left_out_count": 7},
            ["u", "v", "+5"],
            [],
        ),
    ],
)
def test_a_summary_names_what_changed_and_what_undo_leaves_out(changes, meta, named, left_out):
    text = change_summary(changes, meta)

    if named is None:
        assert text is None
    else:
        words = text.replace(",", " ").replace("(", " ").replace(")", " ").replace(";", " ").split()
        assert all(any(one in word for word in words) or one in text for one in named)
        assert not any(one in words for one in left_out)


@pytest.mark.parametrize(
    ("data", "paths"),
    [
        (None, []),
        ({"path": "a"}, ["a"]),
        ({"paths": ["a", "b"]}, ["a", "b"]),
        ({"paths": "ab"}, []),
        ({"path": 3, "paths": [3, "a"]}, ["a"]),
        ([{"path": "a"}, {"path": "b"}], ["a", "b"]),
        ({"files": [{"path": "a"}], "more": {"path": "b"}}, ["a", "b"]),
        ("a", []),
        ([["x"], [{"path": "a"}]], ["a"]),
    ],
)
def test_the_paths_that_a_result_names(data, paths):
    assert sorted(list_named_paths(data)) == paths


def test_paths_of_a_result_are_listed_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(read_review, "MAX_PATHS", 3)
    data = [{"path": str(number)} for number in range(5)]

    assert len(list(list_named_paths(data))) == 3


def denials(*globs):
    return SimpleNamespace(
        globs=[
            SimpleNamespace(top=top, names=names, floating=floating)
            for top, names, floating in globs
        ]
    )


def test_rules_have_a_digest_that_changes_with_them_and_not_with_their_order():
    one, other = ("/w", ["a"], False), ("/w", ["b"], True)

    assert read_rules_digest(None) is None
    assert len(read_rules_digest(denials(one))) == 16
    assert read_rules_digest(denials(one, other)) == read_rules_digest(denials(other, one))
    assert read_rules_digest(denials(one)) != read_rules_digest(denials(other))
    assert read_rules_digest(denials(one)) != read_rules_digest(denials(("/w", ["a"], True)))


@pytest.mark.parametrize(
    ("requested", "completed", "status"),
    [
        ({}, {"status": "ok"}, "ok"),
        ({}, {}, "(purged)"),
        ({}, None, "unfinished"),
        ({"repeats": "c"}, {"status": "ok"}, "repeated"),
    ],
)
def test_how_a_recorded_call_ended(requested, completed, status):
    assert record(completed, **requested).status == status
