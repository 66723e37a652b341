"""What `@@` lines say."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.patches.text import HunkLocation, parse_location


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@@ -12,3 +14,4 @@", HunkLocation(12, 3, 4)),
        ("@@ -1 +1 @@", HunkLocation(1, 1, 1)),
        ("@@ -0,0 +1,5 @@", HunkLocation(0, 0, 5)),
        ("@@ -12,3 +14,4 @@ def main():", HunkLocation(12, 3, 4, heading="def main():")),
        ("@@ -12,3 +14,4", HunkLocation(12, 3, 4)),
        ("@@-12,3 +14,4@@", HunkLocation(12, 3, 4)),
        ("@@", HunkLocation()),
        ("@@ @@", HunkLocation()),
        ("@@ ... @@", HunkLocation()),
        ("@@ … existing code … @@", HunkLocation()),
        ("@@ -,+ @@", HunkLocation()),
        ("@@ def main():", HunkLocation(anchors=("def main():",))),
        ("@@     def main(): @@", HunkLocation(anchors=("def main():",))),
        ("@@ class A @@ def f", HunkLocation(anchors=("class A", "def f"))),
        ("@@ @@total = 0", HunkLocation(anchors=("@@total = 0",))),
        ("@@ 40 @@", HunkLocation(40)),
        ("@@ line 40 @@", HunkLocation(40)),
        ("@@ lines 40-52 @@", HunkLocation(40)),
        ("@@ -40,5 @@", HunkLocation(40)),
        ("@@ -1x,3 +1,3 @@", HunkLocation(anchors=("-1x,3 +1,3",))),
    ],
)
def test_an_at_line_is_read_for_what_it_says(text, said):
    assert parse_location(text) == said


def test_a_number_that_no_file_has_is_not_a_line():
    assert parse_location(f"@@ -{'9' * 5000} +1 @@").line is None


def test_a_merge_diff_is_refused():
    with pytest.raises(ProblemRaised, match="combined diff"):
        parse_location("@@@ -1,2 -1,2 +1,3 @@@")
