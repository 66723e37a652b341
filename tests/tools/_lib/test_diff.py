import random
import re

import pytest

from handrail.core.text.encoding import UTF8, TextForm
from handrail.tools._lib import diff
from handrail.tools._lib.byte_text import ByteText, Splice, apply_splices
from handrail.tools._lib.diff import (
    DiffHunk,
    count_lines,
    make_hunks,
    render_creation,
    render_diff,
    split_lines,
)

HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def apply(diff, before):
    """What a patch program would make of it, strict about every line and number."""
    result, at, lines = [], 0, diff.split("\n")[2:]
    while lines:
        first, count, new_first, new_count = HEADER.fullmatch(lines.pop(0)).groups()
        start = int(first) - (count != "0")
        result += before[at:start]
        at = start
        assert len(result) + (new_count != "0") == int(new_first)
        taken = len(result)
        while lines and not lines[0].startswith("@@"):
            line = lines.pop(0)
            if line[0] in " -":
                assert before[at].rstrip("\n") == line[1:]
                at += 1
            if line[0] in " +":
                result.append(line[1:] + "\n")
        assert at - start == int(count or 1)
        assert len(result) - taken == int(new_count or 1)
    return result + before[at:]


def test_a_diff_of_two_texts_leads_from_one_to_the_other():
    rng = random.Random(3)
    for _ in range(300):
        before = [rng.choice("abcdefgh") * 3 + "\n" for _ in range(rng.randrange(40))]
        after = [line for line in before if rng.random() < 0.9]
        after[rng.randrange(len(after) + 1) : 0] = ["new\n"] * rng.randrange(3)

        diff = render_diff("a", [DiffHunk(before, after)])

        assert apply(diff, before) == after if diff else before == after


def test_a_diff_made_from_splices_leads_from_one_content_to_the_other():
    rng = random.Random(5)
    for _ in range(300):
        text = "".join(rng.choice(["", "x", "hello there"]) + "\n" for _ in range(60))
        cuts = sorted(rng.sample(range(len(text)), 2 * rng.randrange(1, 5)))
        pairs = zip(cuts[::2], cuts[1::2], strict=True)
        splices = [
            Splice(start, min(end, start + 30), rng.choice([b"", b"NEW", b"A\nB\nC", b"\n"]))
            for start, end in pairs
        ]
        data = text.encode()
        line = text.count("\n", 0, splices[0].start) + 1

        diff = render_diff("a", make_hunks(ByteText(data, UTF8), splices, line))

        after = split_lines(apply_splices(data, splices).tobytes().decode())
        without_marker = diff.replace("\n\\ No newline at end of file", "")
        shown = [one if one.endswith("\n") else one + "\n" for one in after]
        applied = apply(without_marker, split_lines(text)) if diff else split_lines(text)
        assert applied == shown


def test_a_missing_final_newline_is_pointed_out():
    assert render_diff("a", [DiffHunk(["x"], ["x\n"])]).split("\n")[3:] == [
        "-x",
        "\\ No newline at end of file",
        "+x",
    ]


def test_equal_texts_have_no_diff():
    assert render_diff("a", [DiffHunk(["x\n"], ["x\n"])]) == ""


def test_a_cut_within_a_character_is_shown_and_does_not_fail():
    for form in (UTF8, TextForm("utf-16-le")):
        data = form.encode_part("漢" * 3000 + "needle" + "🎉" * 3000)
        start = data.index(form.encode_part("needle"))
        splice = Splice(start + form.unit, start + 2 * form.unit, b"")

        diff = render_diff("a", make_hunks(ByteText(data, form), [splice], 1))

        assert "漢needle🎉" in diff
        assert len(diff) < 2_000


def test_many_pieces_are_joined_into_one():
    data = b"ab" * 500
    splices = [Splice(at, at + 1, b"xx") for at in range(0, 1000, 2)]

    content = apply_splices(data, splices)

    assert len(content.parts) == 1
    assert content.tobytes() == b"xxb" * 500


@pytest.mark.parametrize("lines", [0, 1, 2, 398, 399, 400, 401, 5_000])
@pytest.mark.parametrize("end", ["", "last", "last\n", "\n", "last\r"])
def test_a_new_file_is_shown_as_the_change_from_nothing(lines, end):
    text = "x\n" * lines + end

    changed = render_diff("a", [DiffHunk((), split_lines(text))], created=True)

    assert render_creation("a", text) == changed


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nb", "\n", "a\r\nb\r", "\n\n"])
def test_lines_are_counted_as_they_are_split(text):
    assert count_lines(text) == len(split_lines(text))


def test_of_a_long_diff_only_what_is_shown_is_formatted(monkeypatch):
    clipped = []
    monkeypatch.setattr(diff, "clip", lambda line, limit: clipped.append(line) or line)

    text = render_diff("a", [DiffHunk(["x\n"] * 5_000, ["y\n"] * 5_000)])

    assert text.endswith("[9,601 more diff lines]")
    assert len(clipped) == diff.MAX_SHOWN
