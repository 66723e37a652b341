"""A new content from the old one and a recorded diff; `difflib` writes the diffs."""

import difflib
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.text.content import Content
from handrail.history.recorded_diff import rebuild_content

lines = st.lists(st.sampled_from(["a", "b", "", "+", "-x", " y", "ä"]), max_size=12)
ends = st.sampled_from(["\n", "\r\n"])


def join(rows, end, *, ended=True):
    text = end.join(rows)
    return text + end if rows and ended else text


def unified(old, new, path="f", context=3):
    """The diff of two texts as programs print it; lines are shown without their ends."""
    found = difflib.unified_diff(
        old.splitlines(keepends=True)
        if "\r" not in old
        else old.replace("\r\n", "\n").splitlines(True),
        new.splitlines(keepends=True)
        if "\r" not in new
        else new.replace("\r\n", "\n").splitlines(True),
        f"a/{path}",
        f"b/{path}",
        n=context,
    )
    rows = []
    for row in found:
        rows.append(row.removesuffix("\n"))
        if not row.endswith("\n") and row[:1] in "+- ":
            rows.append("\\ No newline at end of file")
    return "\n".join(rows)


def rebuilt(old, new, text, *, path="f", arguments=None):
    call = SimpleNamespace(completed={"text": text}, requested={"arguments": arguments or {}})
    before = None if old is None else Content(old.encode())
    found = rebuild_content(call, path, before, Content(new.encode()).digest)
    return None if found is None else found.tobytes().decode()


@given(lines, lines, ends, st.booleans(), st.integers(0, 3))
def test_a_diff_leads_from_the_old_content_to_the_new_one(before, after, end, ended, context):
    old, new = join(before, end), join(after, end, ended=ended)
    text = unified(old, new, context=context)

    if text:
        assert rebuilt(old, new, f"done\n{text}\nmore") == new


def test_a_new_file_is_rebuilt_from_nothing():
    assert rebuilt(None, "a\nb\n", unified("", "a\nb\n")) == "a\nb\n"


def test_of_several_files_the_one_that_is_meant_is_used():
    text = unified("a\n", "x\n", "other") + "\n" + unified("a\n", "b\n", "f")

    assert rebuilt("a\n", "b\n", text) == "b\n"
    assert rebuilt("a\n", "b\n", text, path="third") is None


def test_a_content_that_was_an_argument_is_used():
    assert (
        rebuilt("a\n", "whole\n", "no diff", arguments={"n": 1, "content": "whole\n"}) == "whole\n"
    )
    assert rebuilt("a\n", "whole\n", "no diff", arguments={"content": "other\n"}) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+++ b/f\n@@ -1 +1 @@\n-a\n+b",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+b",
        "--- a/f\n+++ b/f\n@@ -9 +9 @@\n-a\n+b",
        "--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-a\n+b",
        "--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-a\n+b",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n?a\n+b",
    ],
)
def test_a_diff_that_does_not_fit_the_old_content_leads_nowhere(text):
    assert rebuilt("a\n", "b\n", text) is None


@pytest.mark.parametrize(("size", "found"), [(1_000_000, True), (1_000_001, False)])
def test_a_large_file_is_not_rebuilt(size, found):
    old = "a" * (size - 1) + "\n"

    assert (rebuilt(old, "b\n", unified(old, "b\n")) is not None) is found


@pytest.mark.parametrize(("before", "found"), [(19, True), (20, False)])
def test_of_many_headers_of_one_file_the_first_are_tried(before, found):
    text = "\n".join(["--- a/f\n+++ b/f"] * before + [unified("a\n", "b\n")])

    assert (rebuilt("a\n", "b\n", text) is not None) is found
