"""Patches with leftovers in added lines, a diff inside of an envelope, context without indentation."""

import pytest

CODE = "import os\n\ndef f():\n    return 1\n"
HUNK = "@@ -3,2 +3,2 @@\n def f():\n-    return 1\n+    return 2\n"
BODY = "def f():\n    x = load()\n    check(x)\n    return x\n"


def envelope(hunk):
    return f"*** Begin Patch\n*** Update File: a.py\n@@\n{hunk}*** End Patch\n"


@pytest.mark.parametrize(
    "patch",
    [
        f"*** Begin Patch\n--- a/a.py\n+++ b/a.py\n{HUNK}*** End Patch",
        f"*** Begin Patch\ndiff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n{HUNK}*** End Patch\n",
    ],
)
async def test_a_unified_diff_inside_of_an_envelope_is_read(workspace, patch):
    workspace.write("a.py", CODE)

    await workspace.change("apply_patch", patch=patch)

    assert workspace.read("a.py") == CODE.replace("1", "2").encode()


@pytest.mark.parametrize(
    "added", ["++    return 2", "+    return 2\n+</parameter>", "+    return 2<|im_end|>"]
)
async def test_leftovers_are_not_added(workspace, added):
    workspace.write("a.py", CODE)

    problem = await workspace.problem(
        "apply_patch", patch=envelope(f" def f():\n-    return 1\n{added}\n")
    )

    assert problem.code == "invalid_arguments"
    assert workspace.read("a.py") == CODE.encode()


@pytest.mark.parametrize(
    ("hunk", "right"),
    [
        (
            " x = load()\n+    y = 1\n+    if y:\n+        z = 2\n check(x)\n",
            BODY.replace("    check", "    y = 1\n    if y:\n        z = 2\n    check"),
        ),
        (" x = load()\n-check(x)\n+    verify(x)\n", BODY.replace("check", "verify")),
        (" x = load()\n-check(x)\n+verify(x)\n", BODY.replace("check", "verify")),
    ],
)
async def test_context_without_indentation_does_not_shift_lines_that_have_theirs(
    workspace, hunk, right
):
    workspace.write("a.py", BODY)

    await workspace.change("apply_patch", patch=envelope(hunk))

    assert workspace.read("a.py") == right.encode()


async def test_a_line_inside_of_a_block_is_shifted_with_its_context(workspace):
    workspace.write("a.py", "def f():\n    if x:\n        a()\n    b()\n")

    await workspace.change("apply_patch", patch=envelope(" if x:\n-    a()\n+    c()\n b()\n"))

    assert workspace.read("a.py") == b"def f():\n    if x:\n        c()\n    b()\n"
