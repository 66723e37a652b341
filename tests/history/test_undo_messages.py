"""The texts of undo and redo: what is named, counted and advised."""

import pytest

from handrail.core.places import Form, Kind, Place
from handrail.core.plan import Change
from handrail.core.text.content import Content
from handrail.history.undo.file_revert import CurrentFile, FileRevert
from handrail.history.undo.messages import (
    FORCE,
    PATH,
    change_lines,
    conflict_error,
    count_changes,
    describe_progress,
    form_diff,
    has_no_lines,
    summarize_undo,
    text_diff,
)

FOLDER = {"before_form": Form.FOLDER, "after_form": Form.FOLDER}

BINARY = b"\x7fELF\x00\x00\x01\x80\x81" * 2


def place(path):
    return Place(0, path, path, f"/w/{path}", Kind.FILE)


def change(path, before=b"a", after=b"b", **more):
    contents = [None if one is None else Content(one) for one in (before, after)]
    return Change(place(path), *contents, **more)


def revert(path, *, forced=False, content=b"x", unsupported=False):
    now = CurrentFile(
        place(path), None if content is None else Content(content), unsupported=unsupported
    )
    return FileRevert(path, now, (), forced=forced)


def test_one_call_is_named_and_several_are_counted():
    assert summarize_undo("undid", ["edit_file"], "last", []) == "undid edit_file"
    assert summarize_undo("undid", ["a", "b"], "turn", ["n"]) == "undid 2 calls (turn): a, b; n"


@pytest.mark.parametrize(("count", "more"), [(8, ""), (9, "and 1 more"), (12, "and 4 more")])
def test_long_lists_end_with_a_number(count, more):
    names = [f"n{number}" for number in range(count)]

    said = summarize_undo("undid", names, "turn", [])
    noted = summarize_undo("undid", ["a"], "turn", names)

    for text in (said, noted):
        assert "n7" in text
        assert ("n8" in text, text.endswith(more)) == (False, True)


def test_changes_are_counted_by_what_became_of_them():
    changes = [
        change("a"),
        change("b"),
        change("c", None),
        change("d", b"x", None),
        change("e", None, b"", **FOLDER),
    ]

    assert count_changes(changes) == [
        "4 files: 2 restored, 1 recreated, 1 removed",
        "1 folder: 1 recreated",
    ]
    assert count_changes(changes[:1]) == []
    assert count_changes(changes[:2]) == ["2 files: 2 restored"]


def test_a_line_for_each_file():
    changes = [change("a"), change("b", b"x", None), change("c", b"", None, **FOLDER)]
    lines = change_lines(changes, [revert("a", forced=True), revert("b")])

    assert [line.split()[:2] for line in lines] == [
        ["restored", "a"],
        ["removed", "b"],
        ["removed", "c/"],
    ]
    assert [line.endswith(")") for line in lines] == [True, False, True]


@pytest.mark.parametrize(("count", "last"), [(20, "a19"), (21, "and 1 more"), (1500, "1,480")])
def test_lines_are_limited(count, last):
    lines = change_lines([change(f"a{number}") for number in range(count)], [])

    assert last in lines[-1]
    assert len(lines) == min(count, 21)


def test_progress_is_told_in_numbers():
    mine = describe_progress(1000, 2000, redo=False, user=True)
    model = describe_progress(1000, 2000, redo=True, user=False)

    assert ("1,000 of 2,000" in mine, "undone" in mine) == (True, True)
    assert ("redone" in model, model.count(";")) == (True, 1)


def conflict(*reverts, blame=None, person=True, others=False, count=0):
    raised = conflict_error(
        "it", "undone", reverts, blame or {}, person=person, others=others, count=count
    )
    return raised.problem


def test_a_conflict_names_the_files():
    found = conflict(revert("a"), revert("b", content=None))

    assert found.code == "conflict"
    assert "'a' changed since" in found.message
    assert "'b' was removed since" in found.message
    assert "by edit_file" in conflict(revert("a"), blame={"a": "edit_file"}).message
    blamed = conflict(revert("b", content=None), blame={"b": "edit_file"}).message
    assert "'b' changed since" in blamed
    assert "directory" in conflict(revert("a", unsupported=True)).message


@pytest.mark.parametrize(
    ("count", "more"), [(0, ""), (8, ""), (9, "and 1 more"), (20, "and 12 more")]
)
def test_conflicts_that_are_not_listed_are_counted(count, more):
    found = conflict(*(revert(f"f{number}") for number in range(8)), count=count)

    assert ("and" in found.message.rpartition(",")[2], found.message.endswith(more)) == (
        bool(more),
        True,
    )


def test_the_advice_depends_on_who_asks_and_who_wrote():
    ours = {"a": "edit_file"}

    assert FORCE in conflict(revert("a")).hint
    assert "or overwrite" in conflict(revert("a"), blame=ours).hint
    assert "or overwrite" not in conflict(revert("a")).hint
    assert FORCE not in conflict(revert("a"), person=False).hint
    assert "ask them" in conflict(revert("a"), person=False).hint
    assert "ask them" not in conflict(revert("a"), person=False, blame=ours).hint
    assert "later change" in conflict(revert("a"), blame=ours).hint
    assert "later change" not in conflict(revert("a"), blame={"b": "x"}).hint
    assert "out of the way" in conflict(revert("a", unsupported=True)).hint
    assert FORCE not in conflict(revert("a", unsupported=True)).hint


def test_other_files_can_be_undone_by_their_paths():
    assert PATH in conflict(revert("a"), others=True).hint
    assert PATH not in conflict(revert("a")).hint
    model = conflict(revert("a"), others=True, person=False).hint
    assert (PATH in model, "'path'" in model) == (False, True)


def diff(before, after):
    contents = [None if one is None else Content(one) for one in (before, after)]
    return text_diff("f", *contents)


def test_a_diff_of_texts():
    assert diff(b"a\nb\n", b"a\nc\n") == "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert diff(None, b"a\n").splitlines()[:2] == ["--- /dev/null", "+++ b/f"]
    assert diff(b"a\n", None).splitlines()[:2] == ["--- a/f", "+++ /dev/null"]
    assert diff(b"a\n", b"a\n") == ""
    assert diff(b"a", b"a\n").count("\\ No newline") == 1


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (BINARY, BINARY[::-1], ["changed", "18 bytes"]),
        (None, BINARY, ["made", "18 bytes"]),
        (BINARY, None, ["removed", "18 bytes"]),
        (b"\xff\xfea\x00", b"a", ["encoding"]),
        (b"x" * 65537, b"y", ["65537 bytes", "1"]),
        (b"y", b"x" * 65537, ["1 bytes", "65537"]),
    ],
)
def test_a_diff_without_lines(before, after, words):
    text = diff(before, after)

    assert has_no_lines(text)
    assert [word in text for word in words] == [True] * len(words)


def test_the_largest_texts_that_are_shown():
    assert not has_no_lines(diff(b"x" * 65536, b"y"))
    assert diff(BINARY, BINARY) == ""


@pytest.mark.parametrize(
    ("before", "after", "was", "became", "words"),
    [
        (b"t", None, Form.LINK, Form.FILE, ["link to t", "removed"]),
        (None, b"t", Form.FILE, Form.LINK, ["link to t", "made"]),
        (b"", b"", Form.FOLDER, Form.FOLDER, ["permissions"]),
        (b"a", b"t", Form.FILE, Form.LINK, ["a file became", "link to t"]),
        (b"t", b"u", Form.LINK, Form.LINK, ["link to t became", "link to u"]),
    ],
)
def test_what_became_of_a_link_or_a_folder(before, after, was, became, words):
    contents = [None if one is None else Content(one) for one in (before, after)]

    text = form_diff("f", *contents, was, became)

    assert text.startswith("f: ")
    assert [word in text for word in words] == [True] * len(words)
