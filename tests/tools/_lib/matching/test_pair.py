"""What holds for any file and any call: bytes that nobody spoke of never move."""

from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import TextForm
from handrail.tools._lib.byte_text import ByteText, apply_splices, detect_form
from handrail.tools._lib.matching.exact import find_exact
from handrail.tools._lib.matching.pair import find_similar

REFUSALS = {"no_match", "ambiguous", "already_applied", "invalid_arguments", "not_text"}

words = st.sampled_from(
    [
        "run",
        "x = 1",
        "if a:",
        "}",
        "{",
        "# note",
        "don't",
        "“q”",
        'f("a", b)',
        "é",
        "->",
        "\\n",
        "12:",
    ]
)
indents = st.sampled_from(["", "  ", "    ", "\t", "\t\t"])
lines = st.builds(
    lambda indent, parts: indent + " ".join(parts), indents, st.lists(words, max_size=3)
)
endings = st.sampled_from(["\n", "\r\n"])
files = st.lists(st.tuples(lines, endings), min_size=1, max_size=10)
encodings = st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])


def shift(text):
    return "\n".join(["  " + line if line else line for line in text.split("\n")])


SLIPS = {
    "none": str,
    "shifted": shift,
    "dedented": lambda text: "\n".join([line.removeprefix("  ") for line in text.split("\n")]),
    "flattened": lambda text: "\n".join([line.strip() for line in text.split("\n")]),
    "padded": lambda text: "\n".join([line + " " for line in text.split("\n")]),
    "numbered": lambda text: "\n".join(
        [f"{number}\t{line}" for number, line in enumerate(text.split("\n"), 1)]
    ),
    "escaped": lambda text: text.replace("\n", "\\n"),
    "quoted": lambda text: text.replace('"', '\\"'),
    "fenced": lambda text: f"```\n{text}\n```",
    "spaced": lambda text: text.replace("(", "( "),
    "marked": lambda text: "\n".join(["-" + line for line in text.split("\n")]),
    "blank": lambda text: f"\n{text}\n\n",
}


def edited(data, old, new):
    """The content after the edit and its splices, None if it was refused."""
    try:
        file = ByteText(data, detect_form(data, old, new))
        found = find_exact(file, "a.py", old, new) or find_similar(file, "a.py", old, new)
    except ProblemRaised as refused:
        assert refused.problem.code in REFUSALS
        assert refused.problem.message
        return None
    return apply_splices(data, found.splices).tobytes(), found.splices


@given(
    content=files,
    encoding=encodings,
    span=st.tuples(st.integers(0, 9), st.integers(1, 5)),
    fresh=st.lists(lines, max_size=4),
    slip=st.sampled_from(sorted(SLIPS)),
    new_too=st.booleans(),
)
def test_lines_outside_the_place_keep_every_byte(content, encoding, span, fresh, slip, new_too):
    first = span[0] % len(content)
    last = min(first + span[1], len(content))
    shown = [line for line, _ in content]
    old = SLIPS[slip]("\n".join(shown[first:last]))
    new = "\n".join([*shown[first : last - 1], *fresh])
    assume(old.strip() and old != new)
    form = TextForm("utf-16-le", b"\xff\xfe") if encoding == "utf-16" else None
    text = "".join([line + ending for line, ending in content])
    data = form.encode(text) if form else text.encode(encoding)

    outcome = edited(data, old, SLIPS[slip](new) if new_too else new)

    if outcome is None:
        return
    after, splices = outcome
    starts = [one.start for one in splices]
    assert starts == sorted(starts)
    assert all(one.end <= two.start for one, two in pairwise(splices))
    # However little of it was right, no more lines are touched than were spoken of.
    top, bottom = _lines_touched(data, form, splices)
    blank = sum(not line.strip() for line in shown)
    assert bottom - top <= last - first + 1 + blank
    assert after.startswith(data[: splices[0].start])
    assert after.endswith(data[splices[-1].end :])


def _lines_touched(data, form, splices):
    lf = "\n".encode("utf-16-le") if form else b"\n"
    width = len(lf)
    numbers = []
    for position in (splices[0].start, splices[-1].end):
        units = [data[at : at + width] for at in range(0, position, width)]
        numbers.append(units.count(lf))
    return numbers


@given(
    data=st.text(alphabet="ab \t\n\r“'\\n(", max_size=30).map(str.encode),
    old=st.text(alphabet="ab \t\n\r\"'\\n(", min_size=1, max_size=12),
    new=st.text(alphabet="abx \t\n", max_size=12),
)
@example(data=b"a\rb\r", old="a\nb", new="x")
@example(data=b"", old=" ", new="x")
@example(data=b"\n\n\n", old="\n \n", new="x")
def test_any_two_texts_are_placed_or_refused(data, old, new):
    assume(old != new)

    outcome = edited(data, old, new)

    if outcome is not None:
        after, splices = outcome
        kept = len(data) - sum(one.end - one.start for one in splices)
        assert len(after) == kept + sum(len(one.new) for one in splices)


@given(data=st.binary(max_size=60), old=st.text(min_size=1, max_size=6), new=st.text(max_size=6))
def test_any_bytes_are_a_file(data, old, new):
    assume(old != new)

    edited(data, old, new)


@given(
    fresh=st.text(alphabet="$&`'\\1g<0>{}%s\"", min_size=1, max_size=12),
    old=st.sampled_from(["beta", "alpha \nbeta", "  alpha\n  beta", "1: alpha\n2: beta"]),
)
def test_what_is_put_in_is_put_in_literally(fresh, old):
    new = fresh if old == "beta" else old.replace("beta", fresh)
    assume(fresh != "beta")

    outcome = edited(b"alpha\nbeta\ngamma\n", old, new)

    assert outcome is not None
    assert outcome[0] == b"alpha\n" + fresh.encode() + b"\ngamma\n"


@pytest.mark.parametrize(
    "old", ["alpha\nbeta", "alpha \nbeta", " alpha\n beta", "alpha\n\nbeta", "\u201calpha\u201d"]
)
def test_what_is_done_once_is_not_done_twice(old):
    data = b'alpha\nbeta\n"alpha"\n'
    new = f"{old}\n{old[0] if old[0] == ' ' else ''}something entirely new"

    once = edited(data, old, new)

    assert once is not None
    assert edited(once[0], old, new) is None


def test_a_text_found_only_inside_longer_lines_is_located_by_its_line():
    data = b"first\nleft + alpha\nbeta + right\n"

    with pytest.raises(ProblemRaised) as caught:
        find_similar(ByteText(data, TextForm("utf-8")), "a.py", "alpha\nbeta", "gamma\ndelta")

    assert caught.value.problem.code == "no_match"
    assert "at line 2 of" in caught.value.problem.message
