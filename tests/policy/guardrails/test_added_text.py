"""What a change adds, and how many lines it changes, whatever its contents are made of."""

import difflib
import json
import random

import pytest
from tests.policy.guardrails.rails import change

from handrail.core.text.content import Content
from handrail.policy.guardrails.code_checks import added_text, changed_middle
from handrail.policy.guardrails.line_diff import lines_changed
from handrail.tools._lib.byte_text import Splice, apply_splices


def new_lines(one):
    added = added_text(one)
    lines = [line for block in added.blocks() for line in block.splitlines()]
    return sorted({line for line in lines if added.is_new(line)})


def test_only_lines_that_were_not_there_are_added():
    old = "a\nb\nc\n"

    assert new_lines(change("x", old, "a\nB\nc\n")) == [b"B"]
    assert new_lines(change("x", old, "a\nb\nc\nd")) == [b"d"]
    assert new_lines(change("x", old, "c\nb\na\n")) == []
    assert new_lines(change("x", old, "a\na\nb\nc\n")) == [b"a"]
    assert new_lines(change("x", None, "a\n")) == [b"a"]
    assert added_text(change("x", old, None)) is None
    assert added_text(change("x", old, "")) is None


def test_a_spliced_content_is_looked_at_where_it_is_new():
    old = b"".join(b"line %d\n" % number for number in range(50_000))
    at = old.index(b"line 25000")
    cases = {
        Splice(at, at + 4, b"LINE"): [b"LINE 25000"],
        Splice(at, at + 11, b""): [],
        Splice(at + 10, at + 11, b""): [b"line 25000line 25001"],
        Splice(0, 5, b""): [b"0"],
        Splice(len(old), len(old), b"more"): [b"more"],
        Splice(at + 5, at + 5, b"x\ny"): [b"line x", b"y25000"],
    }

    for splice, wanted in cases.items():
        one = change("x", Content(old), apply_splices(old, [splice]))
        assert new_lines(one) == wanted, splice
        blocks = sum(map(len, added_text(one).blocks()))
        assert blocks < 200, splice


def test_notebooks_and_wide_encodings_are_read_as_text():
    cell = {"cell_type": "code", "source": ["import os\n", "eval(x)"]}
    before = json.dumps({"cells": []})
    after = json.dumps({"cells": [cell]})
    wide = "one\ntwo\n"

    assert new_lines(change("a.ipynb", before, after)) == [b"eval(x)", b"import os"]
    assert new_lines(change("a.ipynb", before, "{broken")) == [b"{broken"]
    assert new_lines(change("a.txt", "one\n".encode("utf-16"), wide.encode("utf-16"))) == [b"two"]


def test_a_spliced_notebook_is_read_as_its_cells():
    old = json.dumps({"cells": [{"cell_type": "code", "source": "import os"}]}).encode()
    at = old.index(b"import os")
    after = apply_splices(old, [Splice(at, at, rb"eval(\"x\")\n")])

    assert new_lines(change("a.ipynb", Content(old), after)) == [b'eval("x")']


def test_between_two_splices_far_apart_nothing_is_looked_at():
    old = b"".join(b"line %d\n" % number for number in range(50_000))
    splices = [Splice(0, 0, b"first\n"), Splice(len(old), len(old), b"last")]

    one = change("x", Content(old), apply_splices(old, splices))

    assert new_lines(one) == [b"first", b"last"]
    assert sum(map(len, added_text(one).blocks())) < 200


@pytest.mark.parametrize("seed", range(60))
def test_the_trimmed_middle_and_the_ends_are_the_whole(seed):
    chance = random.Random(seed)
    text = [chance.choice(["a", "b", "\n", "ab\n"]) for _ in range(chance.randrange(60))]
    other = list(text)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(other) + 1)
        other[at : at + chance.randrange(3)] = chance.choice([[], ["c"], ["\n"], ["a\n", "c"]])
    old, new = "".join(text).encode(), "".join(other).encode()

    middle_old, middle_new = changed_middle(old, new)

    head = len(old) - len(old.removeprefix(new[: new.find(middle_new)])) if middle_new else 0
    assert middle_old in old
    assert middle_new in new
    assert len(old) - len(middle_old) == len(new) - len(middle_new)
    assert head <= len(old)
    assert new_lines(change("x", old, new or b"\n")) == sorted(_more(old, new or b"\n"))


def _more(old, new):
    before, after = old.splitlines(), new.splitlines()
    return {line for line in after if after.count(line) > before.count(line)}


@pytest.mark.feature("J04")
def test_lines_are_counted_as_a_diff_shows_them():
    old = "".join(f"{number}\n" for number in range(1000))

    assert lines_changed(change("x", None, "a\nb\n")) == 2
    assert lines_changed(change("x", "a\nb\n", None)) == 2
    assert lines_changed(change("x", old, old)) == 0
    assert lines_changed(change("x", old, old.replace("500\n", "five\n"))) == 2
    assert lines_changed(change("x", old, old.replace("\n1", "\nx\n1", 1))) == 1
    assert lines_changed(change("x", "a\nb\nc\n", "c\nb\na\n")) == 4
    assert lines_changed(change("x", "a", "a\n")) == 2
    assert lines_changed(change("x", "b\nc\na\nd\nx\n", "a\nb\nc\nd\ny\n")) == 4


@pytest.mark.parametrize("seed", range(40))
def test_the_count_is_near_that_of_the_library(seed):
    chance = random.Random(seed)
    old = [f"{chance.randrange(80)}\n" for _ in range(120)]
    new = list(old)
    for _ in range(10):
        at = chance.randrange(len(new) + 1)
        new[at : at + chance.randrange(4)] = [f"new {chance.random()}\n"] * chance.randrange(3)
    diff = difflib.unified_diff(old, new, n=0)
    shown = sum(line[:1] in "+-" for line in diff) - 2 if old != new else 0

    counted = lines_changed(change("x", "".join(old), "".join(new)))

    assert abs(len(old) - len(new)) <= counted <= shown * 1.5


def test_a_file_that_is_turned_over_is_counted_without_end():
    old = [f"{number % 700}\n" for number in range(20_000)]

    assert 20_000 < lines_changed(change("x", "".join(old), "".join(reversed(old)))) <= 40_000
