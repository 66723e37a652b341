"""What `@@` lines say."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.patches.text import Where, where


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@@ -12,3 +14,4 @@", Where(12, 3, 4)),
        ("@@ -1 +1 @@", Where(1, 1, 1)),
        ("@@ -0,0 +1,5 @@", Where(0, 0, 5)),
        ("@@ -12,3 +14,4 @@ def main():", Where(12, 3, 4, heading="def main():")),
        ("@@ -12,3 +14,4", Where(12, 3, 4)),
        ("@@-12,3 +14,4@@", Where(12, 3, 4)),
        ("@@", Where()),
        ("@@ @@", Where()),
        ("@@ ... @@", Where()),
        ("@@ … existing code … @@", Where()),
        ("@@ -,+ @@", Where()),
        ("@@ def main():", Where(anchors=("def main():",))),
        ("@@     def main(): @@", Where(anchors=("def main():",))),
        ("@@ class A @@ def f", Where(anchors=("class A", "def f"))),
        ("@@ @@total = 0", Where(anchors=("@@total = 0",))),
        ("@@ 40 @@", Where(40)),
        ("@@ line 40 @@", Where(40)),
        ("@@ lines 40-52 @@", Where(40)),
        ("@@ -40,5 @@", Where(40)),
        ("@@ -1x,3 +1,3 @@", Where(anchors=("-1x,3 +1,3",))),
    ],
)
def test_an_at_line_is_read_for_what_it_says(text, said):
    assert where(text) == said


def test_a_number_that_no_file_has_is_not_a_line():
    assert where(f"@@ -{'9' * 5000} +1 @@").line is None


def test_a_merge_diff_is_refused():
    with pytest.raises(ProblemRaised, match="combined diff"):
        where("@@@ -1,2 -1,2 +1,3 @@@")
