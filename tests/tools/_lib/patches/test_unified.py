"""Unified diffs: how they are read, not yet where they fit."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.patches.envelope import parse_patch
from handrail.tools._lib.patches.model import Action, FilePatch, PatchHunk, PatchLine


def lines(*texts):
    return tuple(PatchLine(text[0], text[1:]) for text in texts)


def one(text):
    (file,) = parse_patch(text)
    return file


def signs(hunk):
    return [line.sign + line.text for line in hunk.lines]


def test_a_plain_diff_is_one_file_with_its_hunks():
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9,2 @@ def f():\n d\n+e\n"

    assert parse_patch(text) == (
        FilePatch(
            Action.UPDATE,
            "a/x",
            "b/x",
            (
                PatchHunk(lines(" a", "-b", "+c"), 1, 1, counted=True),
                PatchHunk(lines(" d", "+e"), 2, 9, heading="def f():", counted=True),
            ),
            prefixed=True,
        ),
    )


def test_lines_without_a_mark_are_context():
    hunk = one("--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\ndef f():\n\n-  a\n+  b\n\treturn\n").hunks[0]

    assert [(line.sign, line.text, line.bare) for line in hunk.lines] == [
        (" ", "def f():", True),
        (" ", "", True),
        ("-", "  a", False),
        ("+", "  b", False),
        (" ", "\treturn", True),
    ]


@pytest.mark.parametrize("counts", ["-1,9 +1,9", "-1 +1", "-1,2 +1,1", "-1,0 +1,0"])
def test_wrong_counts_do_not_cut_a_hunk(counts):
    file = one(f"--- a/x\n+++ b/x\n@@ {counts} @@\n a\n-b\n+c\n d\n")

    assert signs(file.hunks[0]) == [" a", "-b", "+c", " d"]
    assert not file.hunks[0].counted


def test_right_counts_tell_lines_that_look_like_headers_from_headers():
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n--- b\n+++ c\n@@ -8 +8 @@\n-d\n+e\n"

    assert [signs(hunk) for hunk in one(text).hunks] == [[" a", "--- b", "+++ c"], ["-d", "+e"]]


def test_without_counts_name_lines_over_a_hunk_begin_a_file():
    text = "--- a/x\n+++ b/x\n@@\n-a\n+b\n--- a/y\n+++ b/y\n@@\n-c\n+d\n"

    assert [(file.new, signs(file.hunks[0])) for file in parse_patch(text)] == [
        ("b/x", ["-a", "+b"]),
        ("b/y", ["-c", "+d"]),
    ]


@pytest.mark.parametrize("header", ["--- a/x", "+++ b/x"])
def test_one_name_line_over_a_hunk_names_both_sides(header):
    file = one(f"{header}\n@@ -7 +7 @@ def f():\n-a\n+b\n")

    assert (file.old, file.new) == (header[4:], header[4:])
    assert [(hunk.line, hunk.heading, signs(hunk)) for hunk in file.hunks] == [
        (7, "def f():", ["-a", "+b"])
    ]


def test_blank_lines_between_parts_are_no_context():
    text = "--- a/x\n+++ b/x\n@@\n-a\n+b\n\n\n@@\n-c\n+d\n\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@\n-e\n"

    assert [[signs(hunk) for hunk in file.hunks] for file in parse_patch(text)] == [
        [["-a", "+b"], ["-c", "+d"]],
        [["-e"]],
    ]


@pytest.mark.parametrize(
    ("body", "old", "new"),
    [
        ("-a\n\\ No newline at end of file\n+b\n", True, False),
        ("-a\n+b\n\\ No newline at end of file\n", False, True),
        (" a\n+b\n-c\n\\ Kein Zeilenumbruch am Dateiende.\n", True, False),
        ("-b\n+c\n a\n\\ No newline at end of file\n", True, True),
    ],
)
def test_the_mark_for_a_missing_newline_belongs_to_the_line_above(body, old, new):
    hunk = one(f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n{body}").hunks[0]

    assert (hunk.old_ends, hunk.new_ends, hunk.at_end) == (old, new, old)


def test_what_other_tools_write_between_files_is_no_context():
    text = "".join(
        f"Only in a: z\ndiff -ruN a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n"
        "@@ -1,2 +1,2 @@\n-a\n+b\n c\n"
        for name in "xy"
    )

    assert [(file.new, signs(file.hunks[0])) for file in parse_patch(text)] == [
        ("b/x", ["-a", "+b", " c"]),
        ("b/y", ["-a", "+b", " c"]),
    ]


def test_words_after_a_complete_hunk_are_no_part_of_it():
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n\nThat should do it.\n"

    assert signs(one(text).hunks[0]) == ["-a", "+b", " c"]
    assert signs(one(text.replace("-1,2", "-1,3")).hunks[0])[-1] == " That should do it."


def test_a_mails_signature_is_no_deletion():
    file = one("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n-- \n2.39.5\n\n")

    assert signs(file.hunks[0]) == ["-a", "+b", " c"]


def test_a_file_can_be_created_in_three_ways():
    body = "@@ -0,0 +1 @@\n+a\n"
    texts = [
        f"--- /dev/null\n+++ b/x\n{body}",
        f"diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n{body}",
        "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n",
    ]

    assert [
        (file.action, file.new, file.executable, len(file.hunks)) for file in map(one, texts)
    ] == [
        (Action.CREATE, "b/x", None, 1),
        (Action.CREATE, "x", True, 1),
        (Action.CREATE, "x", False, 0),
    ]


def test_a_file_can_be_deleted_in_two_ways():
    texts = [
        "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        "diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n",
    ]

    assert [(file.action, file.old, len(file.hunks)) for file in map(one, texts)] == [
        (Action.DELETE, "a/x", 1),
        (Action.DELETE, "x", 0),
    ]


@pytest.mark.parametrize("word", ["rename", "copy"])
@pytest.mark.parametrize("hunks", ["", "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"])
@pytest.mark.parametrize("first", ["diff --git a/x b/y\nsimilarity index 90%\n", ""])
def test_moves_are_read_with_and_without_hunks(word, hunks, first):
    file = one(f"{first}{word} from x\n{word} to y\n{hunks}")

    assert (file.action, file.old, file.new) == (Action(word), "x", "y")
    assert len(file.hunks) == bool(hunks)


def test_a_mode_change_alone_is_a_change():
    file = one("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n")

    assert (file.action, file.new, file.executable) == (Action.UPDATE, "b/run.sh", True)


def test_several_header_only_files_are_told_apart():
    text = "rename from a\nrename to b\nrename from c\nrename to d\n"

    assert [(file.old, file.new) for file in parse_patch(text)] == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize(
    "text",
    [
        "--- a/x\n@@ -1 +1 @@\n-a\n+b\n",
        "+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/x\n+++ b/x\n-a\n+b\n",
        "Index: x\n=====\n--- x\t(revision 1)\n+++ x\t(working copy)\n@@ -1 +1 @@\n-a\n+b\n",
        "diff -u old/x new/x\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n*** End Patch\n",
    ],
)
def test_headers_may_be_less_or_more_than_usual(text):
    file = one(text)

    assert file.name.removeprefix("a/").removeprefix("b/") == "x"
    assert signs(file.hunks[0]) == ["-a", "+b"]


@pytest.mark.parametrize("text", ["@@ -1 +1 @@\n-a\n+b\n", "-a\n+b\n", " c\n-a\n+b\n"])
def test_hunks_without_any_header_name_no_file(text):
    file = one(text)

    assert (file.old, file.new) == ("", "")
    assert signs(file.hunks[0])[-2:] == ["-a", "+b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("please change a to b", "not a patch"),
        ("- one\n- two\nthree", "not a patch"),
        ("--- a/x\n+++ b/x\n", "changes nothing"),
        ("--- a/x\n+++ b/x\n@@ bogus\n", "changes nothing"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n b\n", "changes nothing"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+a\n", "changes nothing"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "both names"),
        ("diff --git a/x b/x\nGIT binary patch\nliteral 3\nKcmZ\n", "binary"),
        ("diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n", "binary"),
        ("new file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../x\n", "symbolic link"),
        ("diff --git a/m b/m\nnew file mode 160000\n--- /dev/null\n+++ b/m\n@@\n+S\n", "submodule"),
        ("diff --git a/l b/l\nold mode 120000\nnew mode 100644\n", "symbolic link"),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 104755\n", "of mode 104755"),
        ("rename from x\n@@\n-a\n+b\n", "only one of"),
        ("rename from x\nrename to y\n--- a/z\n+++ b/y\n@@\n-a\n+b\n", "renames 'x'"),
        ("*** x\n--- y\n***************\n*** 1,2 ****\n", "context diff"),
        ("--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n--a\n++b\n", "combined diff"),
    ],
)
def test_what_is_no_patch_or_does_nothing_is_refused_with_the_reason(text, words):
    with pytest.raises(ProblemRaised, match=words) as raised:
        parse_patch(text)

    problem = raised.value.problem
    assert (problem.code, problem.field) == ("invalid_arguments", "patch")
    assert problem.hint
