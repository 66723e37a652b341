"""Whatever the file: lines that a patch keeps keep their bytes, the others become what it says."""

import difflib
import tempfile
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.problems import ProblemRaised
from handrail.host.files.local_files import LocalFiles
from handrail.tools._lib.patches.envelope import parse_patch
from handrail.tools._lib.patches.model import resolve_targets
from handrail.tools._lib.patches.workspace import patch_bytes

WORDS = st.sampled_from(["", "a", "b = 1", "  x", "\ty", "}", "- z", "+ z", "@@", "é", "“q”", "#"])
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x85\u2028\u2029"), max_size=9)
LINES = st.lists(WORDS | TEXT, max_size=25)
ENDINGS = st.lists(st.sampled_from(["\n", "\r\n"]), min_size=25, max_size=25)


def diff_of(old, new):
    hunks = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    return "\n".join(["--- a/x", "+++ b/x", *hunks, ""])


def kept(old, new):
    matcher = difflib.SequenceMatcher(None, old, new)
    return [
        (a0 + offset, b0 + offset)
        for tag, a0, a1, b0, _ in matcher.get_opcodes()
        if tag == "equal"
        for offset in range(a1 - a0)
    ]


@settings(max_examples=150, deadline=None)
@given(LINES, LINES, ENDINGS, st.booleans())
def test_kept_lines_keep_their_bytes_and_new_ones_are_as_written(old, new, endings, marked):
    if not old or "" in (old[-1], *new[-1:]) or old == new:
        return
    start = b"\xef\xbb\xbf" if marked else b""
    ended = [line + end for line, end in zip(old, endings, strict=False)]
    data = start + "".join(ended).encode()

    try:
        (file,) = parse_patch(diff_of(old, new))
        result = patch_bytes(data, file.hunks, "x").data
    except ProblemRaised as raised:
        # Only blank lines, or one place of several: too little to know where it belongs.
        assert raised.problem.code in ("no_match", "ambiguous", "already_applied")
        return

    assert result.startswith(start)
    lines = result.removeprefix(start).decode().split("\n")
    assert lines.pop() == ""
    assert [line.removesuffix("\r") for line in lines] == new
    for before, after in kept(old, new):
        assert lines[after] + "\n" == ended[before]


NAMES = st.sampled_from(
    ["x", "a/x", "../x", "/x", "a/../../x", "d/../x", "./x", "\0", "", "d", "é"]
)
HEADERS = st.sampled_from(
    [
        *("--- a/{}\n+++ b/{}\n", "--- {}\n+++ {}\n", "--- /dev/null\n+++ b/{}\n"),
        *(
            "--- a/{}\n+++ /dev/null\n",
            "rename from {}\nrename to {}\n",
            "copy from x\ncopy to {}\n",
        ),
        *(
            "*** Add File: {}\n",
            "*** Update File: {}\n",
            "*** Delete File: {}\n",
            "diff --git {} {}\n",
        ),
        *(
            "*** Update File: x\n*** Move to: {}\n",
            "new file mode 120000\n",
            "old mode 100644\n",
            "",
        ),
    ]
)
BODIES = st.sampled_from(
    [
        "@@ -1 +1 @@\n-a\n+b\n",
        "@@\n-a\n+b\n",
        "+b\n",
        "-a\n",
        "@@ -0,0 +1 @@\n+b\n",
        "",
        "a\n",
        "\\ x\n",
    ]
)
PATCHES = st.lists(st.tuples(HEADERS, NAMES, NAMES, BODIES), max_size=4)


@contextmanager
def workspace():
    with tempfile.TemporaryDirectory() as base:
        root = Path(base) / "work"
        (root / "d").mkdir(parents=True)
        (root / "x").write_text("a\n")
        files = LocalFiles([str(root)])
        try:
            yield root, files
        finally:
            files.close()


@settings(max_examples=150, deadline=None)
@given(PATCHES)
def test_no_patch_names_a_place_outside_or_fails_otherwise_than_with_a_reason(parts):
    text = "".join(
        header.format(one, two) if header.count("{}") == 2 else header.format(one) + body
        for header, one, two, body in parts
    )

    with workspace() as (root, files):
        try:
            targets = resolve_targets(files, parse_patch(text), None)
        except ProblemRaised as raised:
            assert raised.problem.message
        else:
            places = [place for one in targets for place in (one.source, one.target) if place]
            assert all(Path(place.absolute).is_relative_to(root) for place in places)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300) | st.lists(BODIES | HEADERS | TEXT, max_size=12).map("".join))
def test_any_text_is_a_patch_or_is_refused(text):
    try:
        files = parse_patch(text)
    except ProblemRaised as raised:
        assert (raised.problem.code, raised.problem.field) == ("invalid_arguments", "patch")
    else:
        assert files
