"""The `*** Begin Patch` format: how it is read."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.patches.envelope import parse_patch
from handrail.tools._lib.patches.model import (
    Action,
    FilePatch,
    PatchHunk,
    PatchLine,
    join_added_lines,
)


def wrapped(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def one(*lines):
    (file,) = parse_patch(wrapped(*lines))
    return file


def signs(hunk):
    return [line.sign + line.text for line in hunk.lines]


def test_all_four_operations_in_one_envelope():
    files = parse_patch(
        wrapped(
            "*** Add File: new.txt",
            "+a",
            "*** Update File: x",
            "@@",
            "-b",
            "+c",
            "*** Update File: old.py",
            "*** Move to: deep/new.py",
            "@@ def f():",
            " d",
            "+e",
            "*** Delete File: gone",
        )
    )

    assert files == (
        FilePatch(Action.CREATE, "", "new.txt", (PatchHunk((PatchLine("+", "a"),)),)),
        FilePatch(
            Action.UPDATE, "x", "x", (PatchHunk((PatchLine("-", "b"), PatchLine("+", "c"))),)
        ),
        FilePatch(
            Action.RENAME,
            "old.py",
            "deep/new.py",
            (PatchHunk((PatchLine(" ", "d"), PatchLine("+", "e")), anchors=("def f():",)),),
        ),
        FilePatch(Action.DELETE, "gone", ""),
    )


def test_at_lines_above_each_other_are_anchors_from_the_outside_in():
    file = one("*** Update File: x", "@@ class A", "@@ def f", "-a", "+b", "@@ def g", "-c")

    assert [hunk.anchors for hunk in file.hunks] == [("class A", "def f"), ("def g",)]


def test_a_hunk_may_begin_without_at_line_and_end_with_the_file():
    file = one("*** Update File: x", " a", "+b", "*** End of File", "@@ -7 +8 @@", "-c", "+d")

    assert [(signs(hunk), hunk.at_end, hunk.line) for hunk in file.hunks] == [
        ([" a", "+b"], True, None),
        (["-c", "+d"], False, 7),
    ]


def test_a_hunk_after_the_end_of_file_mark_is_another_one():
    file = one("*** Update File: x", "@@ def f", "+a", "*** End of File", "-b", "+c")

    assert [(signs(hunk), hunk.anchors) for hunk in file.hunks] == [
        (["+a"], ("def f",)),
        (["-b", "+c"], ()),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n",
        "*** Update File: x\n@@\n-a\n+b\n*** End Patch",
        "*** Update File: x\n@@\n-a\n+b",
        "Sure!\n\n*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\nDone.",
        "```\n*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n```",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\nEOF",
        "cat <<PATCH\n*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\nPATCH\n",
        "*** Begin Patch\n*** Update File: x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "*** Begin Patch \r\n*** Update File: x\r\n@@\r\n-a\r\n+b\r\n*** End Patch\r\n",
        "*** Begin Patch\n\n*** Update File: `x`\n\n@@\n-a\n+b\n\n*** End Patch\n\n",
    ],
)
def test_what_stands_around_an_envelope_or_is_missing_does_not_matter(text):
    (file,) = parse_patch(text)

    assert (file.action, file.name) == (Action.UPDATE, "x")
    assert [signs(hunk) for hunk in file.hunks] == [["-a", "+b"]]


def test_two_envelopes_are_one_patch():
    text = wrapped("*** Delete File: a") + wrapped("*** Delete File: b")

    assert [file.name for file in parse_patch(text)] == ["a", "b"]


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (["+a", "+", "+ b"], "a\n\n b\n"),
        (["+a", "", "+b", ""], "a\n\nb\n"),
        (["a", "", "  b"], "a\n\n  b\n"),
        (["+a", "\\ No newline at end of file"], "a"),
        (["+a", "*** End of File"], "a\n"),
        ([], ""),
    ],
)
def test_the_lines_of_a_new_file_have_a_plus_or_none_has(body, content):
    assert join_added_lines(one("*** Add File: x", *body).hunks) == content


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["*** Frobnicate File: x", "+a"], "not known"),
        (["*** Update File: ", "-a"], "names no file"),
        (["*** Update File: x"], "changes nothing"),
        (["*** Update File: x", "@@ def f", " a"], "changes nothing"),
        (["*** Update File: x", "*** Move to: ", "-a"], "names no file"),
        (["*** Update File: x", "-a", "*** Move to: y"], "directly below"),
        (["*** Move to: ../x"], "before any file"),
        (["@@", "-a", "+b"], "before any file"),
        (["*** Delete File: x", "-a"], "no lines below"),
        (["*** Add File: x", "+a", "b"], "some do not"),
        (["*** Add File: x", "-a"], "takes lines away"),
        (["*** End Patch", "*** Update File: x"], "after"),
    ],
)
def test_what_is_unclear_is_refused_with_the_reason(lines, words):
    with pytest.raises(ProblemRaised, match=words) as raised:
        parse_patch(wrapped(*lines))

    assert raised.value.problem.code == "invalid_arguments"


def test_an_empty_envelope_is_no_patch():
    with pytest.raises(ProblemRaised, match="not a patch"):
        parse_patch(wrapped())
