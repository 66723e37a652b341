"""apply_patch: what a patch says happens to the files it names, all of it or nothing."""

import pytest

from handrail.core.footprint import Access
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk

PY = "import os\n\n\ndef main():\n    a = 1\n    return a\n\n\ndef other():\n    return 2\n"


def unified(path, *lines):
    return "\n".join([f"--- a/{path}", f"+++ b/{path}", *lines, ""])


def envelope(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


@pytest.mark.feature("E18")
async def test_a_unified_diff_is_applied(workspace):
    workspace.write("src/app.py", PY)
    patch = unified(
        "src/app.py",
        "@@ -4,3 +4,3 @@ import os",
        " def main():",
        "-    a = 1",
        "+    a = 3",
        "     return a",
        "@@ -9,2 +9,3 @@ def main():",
        " def other():",
        "+    log()",
        "     return 2",
    )

    plan = await workspace.change("apply_patch", patch=patch)

    after = PY.replace("a = 1", "a = 3").replace("other():\n", "other():\n    log()\n")
    assert workspace.read("src/app.py").decode() == after
    assert plan.text == "updated src/app.py (2 hunks)"
    assert "+    a = 3" in plan.preview
    assert plan.data == {
        "files": [{"path": "src/app.py", "operation": "write"}],
        "hunks": 2,
    }


@pytest.mark.feature("E18")
async def test_a_path_argument_names_the_file_of_bare_hunks(workspace):
    workspace.write("src/app.py", PY)

    await workspace.change(
        "apply_patch", path="src/app.py", patch="@@ -5 +5 @@\n-    a = 1\n+    a = 3\n"
    )

    assert b"a = 3" in workspace.read("src/app.py")


@pytest.mark.feature("E18")
@pytest.mark.parametrize(
    "patch",
    [
        unified("other.py", "@@ -1 +1 @@", "-a", "+b"),
        unified("app.py", "@@ -1 +1 @@", "-a", "+b"),
        unified("src/app.py", "@@ -1 +1 @@", "-a", "+b")
        + unified("other.py", "@@ -1 +1 @@", "-a", "+b"),
        "rename from src/app.py\nrename to other.py\n",
        envelope("*** Add File: other.py", "+a"),
    ],
)
async def test_with_a_path_argument_the_patch_must_be_about_that_file_only(workspace, patch):
    workspace.write("src/app.py", "a\n")
    workspace.write("app.py", "a\n")
    workspace.write("other.py", "a\n")

    problem = await workspace.problem("apply_patch", path="src/app.py", patch=patch)

    assert (problem.code, problem.field) == ("invalid_arguments", "patch")
    assert "path is 'src/app.py'" in problem.message


async def test_without_any_name_the_patch_is_refused(workspace):
    problem = await workspace.problem("apply_patch", patch="@@ -1 +1 @@\n-a\n+b\n")

    assert problem.code == "invalid_arguments"
    assert "names no file" in problem.message


async def test_every_operation_happens_in_one_plan(workspace):
    workspace.write("x", "a\nb\n")
    workspace.write("old.py", PY).chmod(0o750)
    workspace.write("gone", "bye\n")
    patch = envelope(
        "*** Add File: deep/new.txt",
        "+hello",
        "*** Update File: x",
        "@@",
        "-b",
        "+c",
        "*** Update File: old.py",
        "*** Move to: lib/new.py",
        "@@ def other():",
        "-    return 2",
        "+    return 3",
        "*** Delete File: gone",
    )

    plan = await workspace.change("apply_patch", patch=patch)

    assert workspace.read("deep/new.txt") == b"hello\n"
    assert workspace.read("x") == b"a\nc\n"
    assert workspace.read("lib/new.py").decode() == PY.replace("return 2", "return 3")
    assert (workspace.root / "lib/new.py").stat().st_mode & 0o777 == 0o750
    assert not (workspace.root / "old.py").exists()
    assert not (workspace.root / "gone").exists()
    assert plan.text.split("\n") == [
        "created deep/new.txt (1 line)",
        "updated x (1 hunk)",
        "renamed old.py to lib/new.py",
        "deleted gone (4 bytes)",
    ]


async def test_what_a_call_touches_is_known_before_it_runs(workspace):
    workspace.write("x", "a\n")
    workspace.write("from", "a\n")
    tool, args, _ = workspace.prepare(
        "apply_patch",
        {
            "patch": unified("x", "@@ -1 +1 @@", "-a", "+b")
            + "diff --git a/from b/to\ncopy from from\ncopy to to\n"
            + "diff --git a/n b/n\nnew file mode 100644\n"
        },
    )

    footprint = tool.footprint(args)

    root = workspace.root
    assert footprint.touches == (
        (f"file:{root}/x", Access.WRITE),
        (f"file:{root}/from", Access.READ),
        (f"file:{root}/to", Access.WRITE),
        (f"file:{root}/n", Access.WRITE),
    )
    assert tool.risk(args) is None


async def test_deleting_is_dangerous_and_needs_the_persons_leave(workspace):
    workspace.write("x", "a\n")
    tool, args, ctx = workspace.prepare("apply_patch", {"patch": envelope("*** Delete File: x")})
    strict = type(tool)(workspace.files, allow_delete=False)

    with pytest.raises(ProblemRaised) as raised:
        await strict.plan(args, ctx)

    assert raised.value.problem.code == "denied"
    assert tool.risk(args) is Risk.DANGEROUS
    assert (await tool.plan(args, ctx)).changes[0].after is None


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "sub/../../x"])
@pytest.mark.parametrize(
    "patch",
    [
        "--- a/{}\n+++ b/{}\n@@ -1 +1 @@\n-a\n+b\n",
        "--- {}\n+++ {}\n@@ -1 +1 @@\n-a\n+b\n",
        "--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+b\n",
        "--- a/{}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        "rename from x\nrename to {}\n",
        "rename from {}\nrename to y\n",
        "copy from {}\ncopy to y\n",
        "*** Add File: {}\n+a\n",
        "*** Update File: {}\n@@\n-a\n+b\n",
        "*** Delete File: {}\n",
        "*** Update File: x\n*** Move to: {}\n",
    ],
)
async def test_no_name_leads_outside(workspace, patch, path):
    workspace.write("x", "a\n")
    (workspace.root.parent / "x").write_text("a\n")
    tool, args, ctx = workspace.prepare("apply_patch", {"patch": patch.format(path, path)})
    codes = set()

    for ask in (tool.footprint, lambda args: tool.plan(args, ctx)):
        with pytest.raises(ProblemRaised) as raised:
            asked = ask(args)
            await asked
        codes.add(raised.value.problem.code)

    # `a/` before an absolute path makes it a relative one, and no such file is there.
    assert codes <= {"outside_workspace", "not_found"}
    assert (workspace.root.parent / "x").read_text() == "a\n"


async def test_a_bad_hunk_stops_all_files(workspace):
    for name in "abcde":
        workspace.write(name, "one\ntwo\n")
    patch = "".join(
        unified(name, "@@ -1,2 +1,2 @@", " one", f"-{'tow' if name == 'd' else 'two'}", "+three")
        for name in "abcde"
    )

    problem = await workspace.problem("apply_patch", patch=patch)

    assert problem.code == "no_match"
    assert problem.message.startswith("hunk 1 of 'd': ")
    assert "     2\ttwo" in problem.message
    assert all(workspace.read(name) == b"one\ntwo\n" for name in "abcde")


async def test_the_hunk_that_fails_is_named(workspace):
    workspace.write("x", "a\nb\nc\nd\ne\nf\n")
    patch = unified("x", "@@ -1 +1 @@", "-a", "+A", "@@ -4 +4 @@", "-nothing like it", "+D")

    problem = await workspace.problem("apply_patch", patch=patch)

    assert problem.code == "no_match"
    assert problem.message.startswith("hunk 2 of 'x': ")
    assert problem.field == "patch"


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", "exists"),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", "already_applied"),
        ("rename from y\nrename to x\n", "exists"),
        ("copy from y\ncopy to x\n", "exists"),
        ("*** Add File: x\n+b\n", "exists"),
        ("*** Update File: y\n*** Move to: x\n", "exists"),
        ("*** Update File: nope\n@@\n-a\n+b\n", "not_found"),
        ("*** Delete File: nope\n", "not_found"),
        ("--- a/nope\n+++ b/nope\n@@ -1 +1 @@\n-a\n+b\n", "not_found"),
        ("rename from nope\nrename to z\n", "not_found"),
        ("*** Update File: dir\n@@\n-a\n+b\n", "not_text"),
        ("*** Add File: dir\n+a\n", "not_text"),
        ("*** Delete File: dir\n", "not_text"),
        ("*** Delete File: x\n*** Update File: x\n@@\n-a\n+b\n", "invalid_arguments"),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", "no_match"),
        ("--- a/long\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "no_match"),
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "invalid_arguments"),
        ("diff --git a/x b/x\nold mode 100755\nnew mode 100644\n", "already_applied"),
    ],
)
async def test_what_cannot_be_meant_is_refused_and_nothing_changes(workspace, patch, code):
    workspace.write("x", "a\n")
    workspace.write("y", "a\n")
    workspace.write("long", "a\nb\n")
    (workspace.root / "dir").mkdir()

    problem = await workspace.problem("apply_patch", patch=patch)

    assert problem.code == code
    assert workspace.read("x") == b"a\n"


async def test_a_deletion_may_leave_the_content_out(workspace):
    workspace.write("x", "a\nb\n")

    await workspace.change("apply_patch", patch="diff --git a/x b/x\ndeleted file mode 100644\n")

    assert not (workspace.root / "x").exists()


async def test_a_deletion_with_all_lines_works_in_any_encoding(workspace):
    workspace.write("x", "a\nb\n".encode("utf-16"))

    await workspace.change("apply_patch", patch="--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n")

    assert not (workspace.root / "x").exists()


async def test_the_preview_shows_each_change_and_nothing_between(workspace):
    lines = [f"line {number}" for number in range(1, 3001)]
    workspace.write("x", "\n".join(lines) + "\n")
    patch = unified("x", "@@", "-line 9", "+nine", "@@", "-line 2900", "+many")
    patch += "rename from y\nrename to z\n--- a/y\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n"
    workspace.write("y", "a\n")

    plan = await workspace.plan("apply_patch", patch=patch)

    assert plan.preview.split("\n") == [
        *("--- a/x", "+++ b/x", "@@ -6,7 +6,7 @@", " line 6", " line 7", " line 8"),
        *("-line 9", "+nine", " line 10", " line 11", " line 12"),
        *("@@ -2897,7 +2897,7 @@", " line 2897", " line 2898", " line 2899"),
        *("-line 2900", "+many", " line 2901", " line 2902", " line 2903"),
        *("renamed y to z", "--- a/z", "+++ b/z", "@@ -1 +1 @@", "-a", "+b"),
    ]


async def test_a_change_of_mode_keeps_the_content(workspace):
    file = workspace.write("run.sh", "#!/bin/sh\n")
    file.chmod(0o640)

    plan = await workspace.change(
        "apply_patch", patch="diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    )

    assert file.stat().st_mode & 0o777 == 0o750
    assert workspace.read("run.sh") == b"#!/bin/sh\n"
    assert plan.preview == "mode 0750 run.sh"


async def test_a_new_file_can_be_executable(workspace):
    patch = "diff --git a/r b/r\nnew file mode 100755\n--- /dev/null\n+++ b/r\n@@ -0,0 +1 @@\n+x\n"

    await workspace.change("apply_patch", patch=patch)

    assert (workspace.root / "r").stat().st_mode & 0o777 == 0o755


async def test_a_file_named_twice_is_changed_step_by_step(workspace):
    workspace.write("x", "a\nb\n")
    patch = unified("x", "@@", "-a", "+c") + unified("x", "@@", "-c", "+d")

    plan = await workspace.change("apply_patch", patch=patch)

    assert workspace.read("x") == b"d\nb\n"
    assert len(plan.changes) == 1


async def test_a_file_that_the_patch_made_can_be_changed_and_moved_by_it(workspace):
    patch = envelope(
        "*** Add File: x", "+a", "*** Update File: x", "*** Move to: y", "@@", "-a", "+b"
    )

    plan = await workspace.change("apply_patch", patch=patch)

    assert workspace.read("y") == b"b\n"
    assert [(change.path, change.operation) for change in plan.changes] == [("y", "create")]


async def test_a_copy_is_of_the_file_as_it_was(workspace):
    workspace.write("x", "a\n")
    patch = unified("x", "@@ -1 +1 @@", "-a", "+b") + "copy from x\ncopy to y\n"

    await workspace.change("apply_patch", patch=patch)

    assert (workspace.read("x"), workspace.read("y")) == (b"b\n", b"a\n")


async def test_hunks_may_build_on_each_other(workspace):
    workspace.write("x", "a\nb\nc\n")
    patch = unified("x", "@@", " a", "+new", " b", "@@", "-new", "+newer", " b")

    await workspace.change("apply_patch", patch=patch)

    assert workspace.read("x") == b"a\nnewer\nb\nc\n"


async def test_a_new_line_that_looks_like_a_later_hunk_does_not_confuse_it(workspace):
    workspace.write("x", "a\nb\nc\nd\n")
    patch = unified("x", "@@", " a", "+c", " b", "@@", "-c", "+C")

    await workspace.change("apply_patch", patch=patch)

    assert workspace.read("x") == b"a\nc\nb\nC\nd\n"


@pytest.mark.parametrize(
    ("at", "applied"),
    [
        ("@@ -2,2 +2,3 @@", "first"),
        ("@@ -5,2 +5,3 @@", "second"),
        ("@@ -6,2 +6,3 @@", "second"),
        ("@@ -4,2 +4,3 @@", None),
        ("@@ -90,2 +90,3 @@ def g():", "second"),
        ("@@ -90,2 +90,3 @@", None),
        ("@@ def f():", "first"),
        ("@@ def g():", "second"),
        ("@@ def h():", None),
        ("@@", None),
    ],
)
async def test_a_hunk_that_fits_twice_goes_where_its_at_line_says(workspace, at, applied):
    first, second = "def f():\n    a()\n    b()\n", "def g():\n    a()\n    b()\n"
    workspace.write("x", first + second)
    patch = unified("x", at, "     a()", "+    new()", "     b()")
    changed = {
        "first": first.replace("a()\n", "a()\n    new()\n") + second,
        "second": first + second.replace("a()\n", "a()\n    new()\n"),
    }

    if applied is None:
        problem = await workspace.problem("apply_patch", patch=patch)
        assert problem.code in ("ambiguous", "no_match")
        assert problem.message.startswith("hunk 1 of 'x': ")
    else:
        await workspace.change("apply_patch", patch=patch)
        assert workspace.read("x").decode() == changed[applied]


async def test_a_line_nearby_and_a_heading_that_disagree_decide_nothing(workspace):
    body = "    a()\n    b()\n"
    workspace.write("x", "def f():\n" + body + "# -\n" * 30 + "def g():\n" + body)
    patch = unified("x", "@@ -3,2 +3,3 @@ def g():", "     a()", "+    new()", "     b()")

    problem = await workspace.problem("apply_patch", patch=patch)

    assert problem.code == "ambiguous"


async def test_a_twin_of_lines_that_changed_is_not_taken_for_them(workspace):
    body = "    check(record)\n    record.save()\n    return record\n"
    changed = "def f():\n" + body.replace("save()", "store()")
    before = changed + "# -\n" * 20 + "def g():\n" + body
    workspace.write("x", before)
    hunk = ["     check(record)", "-    record.save()", "+    pass", "     return record"]

    problem = await workspace.problem("apply_patch", patch=unified("x", "@@ -2,3 +2,3 @@", *hunk))

    assert problem.code == "ambiguous"
    assert "almost the same lines" in problem.message
    # Nothing speaks against the place if the line that is named has other lines.
    await workspace.change("apply_patch", patch=unified("x", "@@ -9,3 +9,3 @@", *hunk))
    assert workspace.read("x").decode() == before.replace("record.save()", "pass")


async def test_brackets_alone_are_not_followed_to_another_place(workspace):
    workspace.write("x", "a {\n  }\n  b\n" + "c\n" * 20 + "  }\n}\n")
    hunk = ["   }", "+  new()", " }"]

    problem = await workspace.problem("apply_patch", patch=unified("x", "@@ -2,2 +2,3 @@", *hunk))

    assert problem.code == "no_match"
    assert "hold no words" in problem.message
    await workspace.change("apply_patch", patch=unified("x", "@@ -22,2 +22,3 @@", *hunk))
    assert workspace.read("x").endswith(b"  }\n  new()\n}\n")


async def test_tabs_inside_a_line_survive_a_patch_that_has_blanks_for_them(workspace):
    workspace.write("x.h", "#define ONE\t\t1\t/* one */\n#define TWO\t\t2\t/* two */\nint x;\n")
    patch = unified(
        "x.h",
        "@@ -1,3 +1,4 @@",
        " #define ONE        1    /* one */",
        "-#define TWO        2    /* two */",
        "+#define TWO        22    /* more than two */",
        "+#define  NEW  3",
        " int x;",
    )

    await workspace.change("apply_patch", patch=patch)

    assert workspace.read("x.h").decode() == (
        "#define ONE\t\t1\t/* one */\n#define TWO\t\t22\t/* more than two */\n"
        "#define  NEW  3\nint x;\n"
    )


async def test_a_blank_after_every_mark_is_seen_by_the_lines_that_go(workspace):
    workspace.write("x", "import a\nimport b\n\n\ndef f():\n    return 1\n")
    patch = unified(
        "x",
        "@@",
        " import a",
        "+ import c",
        " import b",
        "@@",
        " def f():",
        "-     return 1",
        "+     return 2",
    )

    await workspace.change("apply_patch", patch=patch)

    assert workspace.read("x") == b"import a\nimport c\nimport b\n\n\ndef f():\n    return 2\n"


async def test_a_plus_that_may_belong_to_a_line_of_the_file_is_no_mark_without_counts(workspace):
    workspace.write("x.pl", "+{\n  a => 1,\n  b => 2,\n}\n")
    hunk = ["+{", "-  a => 1,", "+  a => 3,", "   b => 2,"]

    problem = await workspace.problem("apply_patch", patch=unified("x.pl", "@@", *hunk))

    assert problem.code == "no_match"
    assert "may be a new line" in problem.message
    await workspace.change("apply_patch", patch=unified("x.pl", "@@ -2,2 +2,3 @@", *hunk))
    assert workspace.read("x.pl") == b"+{\n{\n  a => 3,\n  b => 2,\n}\n"


async def test_the_end_of_file_mark_decides(workspace):
    workspace.write("x", "a\nb\na\n")

    await workspace.change(
        "apply_patch", patch=envelope("*** Update File: x", "@@", " a", "+c", "*** End of File")
    )

    assert workspace.read("x") == b"a\nb\na\nc\n"


@pytest.mark.parametrize(
    "body",
    [
        [" one", "+a fine new line", " two"],
        [" one", "-old line", "+a fine new line"],
        [" one", "+a fine new line"],
        ["+a fine new line", " two"],
    ],
)
async def test_a_hunk_that_was_applied_is_not_applied_again(workspace, body):
    workspace.write("x", "zero\none\na fine new line\ntwo\nthree\n")

    problem = await workspace.problem("apply_patch", patch=unified("x", "@@", *body))

    assert problem.code == "already_applied"


async def test_a_hunk_with_dots_that_was_applied_in_part_names_its_first_line(workspace):
    lines = ["the zeroth line", "the first line", "a fine new line", "the second line"]
    workspace.write("x", "\n".join([*lines, "the third line", "the fourth line", ""]))
    body = [" the first line", "+a fine new line", " ...", "-the fourth line", "+the last line"]

    problem = await workspace.problem("apply_patch", patch=unified("x", "@@", *body))

    assert problem.code == "already_applied"
    assert "line 2" in problem.message


@pytest.mark.finding("F61")
@pytest.mark.parametrize(
    ("where", "after"),
    [("-1,0 +2", b"a\nnew line\nb\n"), ("-0,0 +1", b"new line\na\nb\n"),
     ("-2,0 +3", b"a\nb\nnew line\n")],
)  # fmt: skip
async def test_added_lines_without_context_follow_the_line_that_their_counts_name(
    workspace, where, after
):
    workspace.write("x", "a\nb\n")

    await workspace.change("apply_patch", patch=unified("x", f"@@ {where} @@", "+new line"))

    assert workspace.read("x") == after


@pytest.mark.finding("F61")
@pytest.mark.parametrize("where", ["-1,2 +1,3", "-1 +1,2", "-1,0 +2,5", "-3,0 +4", ""])
async def test_added_lines_without_context_and_certain_counts_have_no_place(workspace, where):
    workspace.write("x", "a\nb\n")

    problem = await workspace.problem(
        "apply_patch", patch=unified("x", f"@@ {where} @@", "+new line")
    )

    assert problem.code == "no_match"
    assert workspace.read("x") == b"a\nb\n"


@pytest.mark.finding("F61")
async def test_added_lines_without_context_are_refused_if_other_numbers_are_wrong(workspace):
    workspace.write("x", "top\na\nb\nc\n")

    problem = await workspace.problem(
        "apply_patch", patch=unified("x", "@@ -1 +1 @@", "-a", "+A", "@@ -3,0 +4 @@", "+new line")
    )

    assert problem.code == "no_match"
    assert workspace.read("x") == b"top\na\nb\nc\n"


@pytest.mark.finding("F61")
async def test_added_lines_without_context_are_not_added_twice(workspace):
    workspace.write("x", "a\nnew line\nb\n")

    problem = await workspace.problem(
        "apply_patch", patch=unified("x", "@@ -1,0 +2 @@", "+new line")
    )

    assert problem.code == "already_applied"


@pytest.mark.parametrize(
    ("before", "body", "after"),
    [
        (b"a\nb", ["-b", "\\ No newline at end of file", "+c"], b"a\nc\n"),
        (b"a\nb\n", ["-b", "+c", "\\ No newline at end of file"], b"a\nc"),
        (b"a\nb", ["-b", "\\ No newline at end of file", "+b"], b"a\nb\n"),
        (b"a\nb\n", ["-b", "+b", "\\ No newline at end of file"], b"a\nb"),
        (b"a\nb", ["-b", "+c"], b"a\nc"),
        (b"a\nb\n", ["-b", "+c"], b"a\nc\n"),
        (b"a\r\nb\r\n", ["-b", "+c", "+d"], b"a\r\nc\r\nd\r\n"),
        (b"\xef\xbb\xbfa\nb\n", ["-a", "+c"], b"\xef\xbb\xbfc\nb\n"),
        ("é\nb\n".encode("latin-1"), ["-b", "+ü"], "é\nü\n".encode("latin-1")),
        ("a\nb\n".encode("utf-16"), ["-b", "+c"], "a\nc\n".encode("utf-16")),
        (b"a\nb  \n\xff\n", ["-a", "+c", " b"], b"c\nb  \n\xff\n"),
    ],
)
async def test_endings_encoding_and_the_last_newline_stay(workspace, before, body, after):
    workspace.write("x", before)

    await workspace.change("apply_patch", patch=unified("x", "@@", *body))

    assert workspace.read("x") == after


async def test_a_patch_with_windows_endings_makes_a_file_with_line_feeds(workspace):
    patch = envelope("*** Add File: x", "+a", "+b").replace("\n", "\r\n")

    await workspace.change("apply_patch", patch=patch)

    assert workspace.read("x") == b"a\nb\n"


async def test_a_diff_of_a_file_with_windows_endings_keeps_them(workspace):
    workspace.write("old", b"a\r\nb\r\n")
    patch = unified("old", "@@ -1,2 +1,2 @@", " a\r", "-b\r", "+c\r")
    patch += "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\r\n"

    await workspace.change("apply_patch", patch=patch)

    assert (workspace.read("old"), workspace.read("new")) == (b"a\r\nc\r\n", b"x\r\n")


async def test_a_change_of_line_endings_is_refused_rather_than_ignored(workspace):
    workspace.write("x", b"a\r\nb\r\n")
    patch = unified("x", "@@ -1,2 +1,2 @@", "-a\r", "+a", "-b\r", "+c")

    problem = await workspace.problem("apply_patch", patch=patch)

    assert problem.code == "invalid_arguments"
    assert "how lines end" in problem.message


async def test_a_looser_fit_is_told(workspace):
    workspace.write("x", "def f():\n        a = 1\n        return a\n")
    patch = unified("x", "@@ -2,2 +2,2 @@", "-    a = 1", "+    a = 2", "     return a")

    plan = await workspace.change("apply_patch", patch=patch)

    assert workspace.read("x") == b"def f():\n        a = 2\n        return a\n"
    assert plan.text.endswith("2 with indentation ignored]")


@pytest.mark.feature("E19")
def test_the_order_of_preference_is_taught(workspace):
    prose = workspace.tools["apply_patch"].describe(workspace.session)

    assert prose.index("[[tool:edit_file]]") < prose.index("this for several")
    assert prose.index("this for several") < prose.index("[[tool:write_file]]")
