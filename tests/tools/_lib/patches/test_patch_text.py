"""What models wrap around a patch."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.patches.text import (
    is_no_newline,
    names_one_file,
    parse_location,
    read_body,
    remove_decoration,
    split_patch,
    starts_file,
)

LINES = ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a", "+b"]
PATCH = "\n".join(LINES) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        PATCH,
        PATCH.rstrip("\n"),
        "\ufeff" + PATCH,
        PATCH.replace("\n", "\r\n"),
        PATCH.rstrip("\n").replace("\n", "\r\n"),
        f"```diff\n{PATCH}```",
        f"```\n{PATCH}```\n",
        f"~~~patch\n{PATCH}~~~\n",
        f"Here is the patch:\n\n```diff\n{PATCH}```\n\nIt does:\n- this\n- that\n",
        f"```diff\n\n{PATCH}",
        PATCH.replace("\n", "\\n"),
        "\n".join("    " + line for line in LINES),
        "\n".join(["Apply:", "", *("\t" + line for line in LINES)]),
    ],
)
def test_what_is_wrapped_around_a_patch_is_taken_off(text):
    assert [line for line in split_patch(text) if line] == LINES


def test_two_fenced_blocks_are_one_patch():
    other = PATCH.replace("/x", "/y")

    lines = split_patch(f"First:\n```diff\n{PATCH}```\nThen:\n```diff\n{other}```\nDone.")

    assert lines == [*LINES, *other.split("\n")[:-1]]


def test_a_fence_inside_the_patched_file_stays():
    body = ["--- a/x.md", "+++ b/x.md", "@@", "```", "-a", "+b", "```", " c"]

    lines = split_patch("\n".join(["```diff", *body, "```", "Done."]))

    assert lines == body


def test_a_part_outside_of_the_fence_is_never_dropped():
    with pytest.raises(ProblemRaised, match="outside of the code fence"):
        split_patch(f"```diff\n{PATCH}```\nAnd:\n{PATCH}")


def test_a_fence_in_the_middle_of_an_unfenced_patch_is_no_wrapping():
    text = f"{PATCH}@@\n```diff\n--- a/z\n+++ b/z\n"

    assert split_patch(text) == text.split("\n")[:-1]


def test_carriage_returns_of_some_lines_belong_to_the_lines():
    assert split_patch("--- a/x\n+++ b/x\n@@\n-a\r\n+b\r\n")[-2:] == ["-a\r", "+b\r"]


def test_an_escape_that_is_none_still_ends_lines():
    assert split_patch('--- a/x\\n+++ b/x\\n@@\\n-"a\\n+\\tb')[-2:] == ['-"a', "+\tb"]


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("*** Update File: a.py", "*** Update File: a.py"),
        ("***update file: a.py", "*** Update File: a.py"),
        ("*** Update File a.py", "*** Update File: a.py"),
        ("*** Update: a.py", "*** Update File: a.py"),
        ("*** Modify File: a.py", "*** Modify File: a.py"),
        ("*** Modify File a.py", "*** Modify File a.py"),
        ("*** the file is long", "*** the file is long"),
        ("*** move to b.py", "*** Move to: b.py"),
        ("*** Add File: `a.py`", "*** Add File: a.py"),
        ("*** Add File: **a.py**", "*** Add File: a.py"),
        ("*** Add File: *a.py", "*** Add File: *a.py"),
        ("*** Add File: a.py*", "*** Add File: a.py"),
        ("*** end of file:", "*** End of File"),
        ("*** END PATCH", "*** End Patch"),
        ("> *** Add File: a.py", "> *** Add File: a.py"),
        ("+*** Add File a.py", "+*** Add File a.py"),
        ("*** Add", "*** Add"),
    ],
)
def test_a_line_with_stars_gets_its_plain_spelling(line, plain):
    assert remove_decoration(["*** Begin Patch", line]) == ["*** Begin Patch", plain]


@pytest.mark.parametrize(
    ("lines", "plain"),
    [
        (["*** Add File a"], ["*** Add File: a"]),
        (["x", "*** Add File a"], ["x", "*** Add File: a"]),
        (["> *** begin patch", "> *** Add File a"], ["*** Begin Patch", "*** Add File: a"]),
        (["> *** begin patch", "# *** Add File a"], ["*** Begin Patch", "# *** Add File a"]),
        (["*** end patch", "*** Add File a"], ["*** End Patch", "*** Add File: a"]),
        (["*** end patch"], ["*** end patch"]),
        (["@@", "*** Add File a"], ["@@", "*** Add File a"]),
        (["--- a", "*** Add File a"], ["--- a", "*** Add File a"]),
        ([], []),
    ],
)
def test_only_a_patch_with_stars_loses_its_decoration(lines, plain):
    assert remove_decoration(lines) == plain


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"> {line}" for line in LINES),
        "\n".join(f">{line}" for line in LINES),
        "\n".join(["Apply:", "", *(f"> {line}" for line in LINES)]),
        "\n".join(["> Apply:", ">", *(f"> {line}" for line in LINES)]),
        "\n".join([*(f"> {line}" for line in LINES), "", "  "]),
    ],
)
def test_quote_marks_before_every_line_are_taken_off(text):
    assert split_patch(text) == LINES


def test_only_the_first_quote_mark_of_a_line_is_taken_off():
    lines = [*LINES[:3], "-a > b", "+> c"]

    assert split_patch("\n".join(f"> {line}" for line in lines)) == lines


def test_quote_marks_stay_where_the_patch_goes_on_without_them():
    lines = [*(f"> {line}" for line in LINES), " c"]

    assert split_patch("\n".join(lines)) == lines


def test_blank_lines_of_an_indented_patch_may_have_no_indentation():
    lines = [f"  {line}" for line in LINES]

    assert split_patch("\n".join([*lines[:4], "", lines[4]])) == [*LINES[:4], "", LINES[4]]


def test_escapes_inside_of_lines_stay():
    text = PATCH.replace("+b", '+print("b\\n")')

    assert split_patch(text) == text.split("\n")[:-1]


def test_a_line_before_the_last_without_a_carriage_return_leaves_it_to_the_others():
    assert split_patch("--- a/x\r\n+++ b/x\r\n@@\r\n-a\n+b")[2:] == ["@@\r", "-a", "+b"]


@pytest.mark.parametrize(
    ("lines", "at", "starts", "one"),
    [
        (["--- a/x", "+++ b/x"], 0, True, True),
        (["--- x", "+++ x"], 0, True, True),
        (["--- x", "+++ y"], 0, True, False),
        (["", "--- a/x", "+++ b/x"], 1, True, True),
        (["--- a/x"], 0, False, False),
        (["--- a/x", "+b"], 0, False, False),
        (["-a", "+++ b/x"], 0, False, False),
    ],
)
def test_name_lines_of_one_file(lines, at, starts, one):
    assert (starts_file(lines, at), names_one_file(lines, at)) == (starts, one)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\ No newline at end of file", True),
        ("\\ newline", True),
        ("\\ Newline!", True),
        ("\\ 12345678", False),
        ("\\ 123456789", True),
        ("\\No newline at end of file", False),
        (" \\ No newline at end of file", False),
    ],
)
def test_the_mark_of_a_missing_newline(text, expected):
    assert is_no_newline(text) is expected


@pytest.mark.parametrize(
    ("text", "line", "anchors"),
    [
        ("@@class A", None, ("class A",)),
        ("@@ class A @@ def f", None, ("class A", "def f")),
        ("@@ 12", 12, ()),
        ("@@ line 12-14 @@", 12, ()),
        ("@@ 12 @@ f", None, ("12", "f")),
        ("@@ ... @@", None, ()),
        ("@@", None, ()),
    ],
)
def test_a_place_that_is_not_in_the_form_of_diff(text, line, anchors):
    where = parse_location(text)

    assert (where.line, where.anchors, where.old_count) == (line, anchors, None)


@pytest.mark.parametrize(
    ("head", "lines", "taken", "counted", "numbered"),
    [
        ("@@ -1 +1 @@", ["-a", "+b"], 2, True, False),
        ("@@ -1 +0,0 @@", ["-a"], 1, True, False),
        ("@@ -0,0 +1 @@", ["+a"], 1, True, True),
        ("@@ -0,0 +1,2 @@", ["+a", "+b"], 2, True, True),
        ("@@ -0,0 +1,2 @@", ["+a", "+b", "+c"], 3, False, False),
        ("@@ -0,0 +1,2 @@", ["+a"], 1, False, False),
        ("@@ -1,0 +1,2 @@", [" a", "+b"], 2, False, False),
        ("@@ -1 +1 @@", ["-a", "+b", "words"], 2, True, False),
        ("@@ -1 +1 @@", ["-a", "+b", "words", " c"], 4, False, False),
        ("@@ -1 +1 @@", ["-a", "+b", "words", "words", " c"], 5, False, False),
        ("@@ -1 +1 @@", ["-a", "+b", "-- ", "2.39.1"], 2, True, False),
        ("@@ -1 +1 @@", ["-a", "+b", "-- ", "2.39.1", "", ""], 2, True, False),
        ("@@ -1 +1 @@", ["-a", "+b", "-- ", "2.39.1", "x"], 5, False, False),
        ("@@ -2 +1 @@", ["-a", "+b", "--"], 3, False, False),
        ("@@", ["-a", "+b", "--", "2.39.1"], 2, False, False),
        ("@@", ["-a", "+b", ""], 2, False, False),
    ],
)
def test_a_hunk_ends_by_its_counts_if_they_fit(head, lines, taken, counted, numbered):
    where = parse_location(head)

    body = read_body(lines, 0, where, lambda lines, at: False)

    assert (len(body.lines), body.counted) == (taken, counted)
    assert body.hunk(where).numbered is numbered
