"""What models wrap around a patch."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.patches.text import split_patch

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
