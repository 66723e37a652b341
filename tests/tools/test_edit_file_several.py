"""Several edits in one call, and edits by pattern."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.tools._lib.byte_text import Splice, apply_splices, compose_splices


def pair(old, new, **more):
    return {"old_string": old, "new_string": new, **more}


async def test_edits_are_made_in_order_each_on_the_result_of_the_one_before(workspace):
    workspace.write("a.py", "one\ntwo\nthree\n")

    plan = await workspace.change(
        "edit_file", path="a.py", edits=[pair("one", "two and more"), pair("two\n", "2\n")]
    )

    assert workspace.read("a.py") == b"two and more\n2\nthree\n"
    assert plan.data == {"path": "a.py", "replacements": 2, "line": 1, "tier": "exact"}
    assert plan.text.split("\n", 1)[1] == (
        "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n-one\n-two\n+two and more\n+2\n three"
    )


async def test_the_pair_beside_the_list_comes_first(workspace):
    workspace.write("a", "x\n")

    await workspace.change("edit_file", path="a", **pair("x", "y"), edits=[pair("y", "z")])

    assert workspace.read("a") == b"z\n"


async def test_one_edit_that_fails_keeps_all_others_from_being_made(workspace):
    workspace.write("a", "one\ntwo\n")

    problem = await workspace.problem(
        "edit_file", path="a", edits=[pair("one", "1"), pair("three", "3")]
    )

    assert problem.code == "no_match"
    assert problem.message.startswith("edit 2 of 2: ")
    assert problem.message.endswith("none of them was made")


async def test_each_edit_may_match_in_its_own_way(workspace):
    workspace.write("a.py", "def f():\n    a = 1\n    b = 1\n")

    plan = await workspace.change(
        "edit_file",
        path="a.py",
        edits=[pair("1", "2", replace_all=True), pair("  a = 2", "  c = 2"), pair("b  =  2", "d")],
    )

    assert workspace.read("a.py") == b"def f():\n    c = 2\n    d\n"
    assert plan.data["replacements"] == 4
    assert plan.data["tier"] == "typography"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"edits": [pair("x", "x")]}, "new_string"),
        ({"edits": [pair("x", "y"), pair("", "y")]}, "old_string"),
    ],
)
async def test_an_edit_that_changes_nothing_is_told_which(workspace, arguments, field):
    workspace.write("a", "x")

    problem = await workspace.problem("edit_file", path="a", **arguments)

    assert (problem.code, problem.field) == ("invalid_arguments", field)


async def test_a_new_file_is_not_edited_at_once(workspace):
    problem = await workspace.problem(
        "edit_file", path="new", edits=[pair("", "text"), pair("text", "more")]
    )

    assert problem.code == "invalid_arguments"
    assert not (workspace.root / "new").exists()


@pytest.mark.parametrize(
    ("content", "line"),
    [("f( x )\n", 1), ("\nf( x )\n", 2), ("y\n\nf( x )\nz\n", 3), ("y\r\nf( x )", 2)],
)
async def test_replacing_everywhere_needs_the_exact_text(workspace, content, line):
    workspace.write("a.py", content)

    problem = await workspace.problem(
        "edit_file", path="a.py", **pair("f(x)", "g(x)"), replace_all=True
    )

    assert problem.code == "no_match"
    assert f"line {line} is like" in problem.message
    assert "replace_all" in problem.hint


@pytest.mark.feature("E17")
async def test_a_pattern_is_replaced_where_it_matches_once(workspace):
    workspace.write("a.py", b"x = 1\r\nname = 'old'\r\n")

    plan = await workspace.change(
        "edit_file", path="a.py", **pair(r"^name = '\w+'$", "name = 'new'\nage = 2"), regex=True
    )

    assert workspace.read("a.py") == b"x = 1\r\nname = 'new'\r\nage = 2\r\n"
    assert plan.data == {"path": "a.py", "replacements": 1, "line": 2, "tier": "regex"}


async def test_a_pattern_that_matches_twice_is_refused_unless_all_are_meant(workspace):
    workspace.write("a", "a1 b2\nc3\n")

    problem = await workspace.problem("edit_file", path="a", **pair(r"\d", "#"), regex=True)
    await workspace.change("edit_file", path="a", **pair(r"\d", "#"), regex=True, replace_all=True)

    assert problem.code == "ambiguous"
    assert "3 times" in problem.message
    assert workspace.read("a") == b"a# b#\nc#\n"


@pytest.mark.feature("E15")
@pytest.mark.parametrize("new", [r"\1", "$1", "$&", r"\\", r"\n", "&", r"\g", "\\"])
async def test_what_a_pattern_is_replaced_by_is_literal(workspace, new):
    workspace.write("a", "key=value;")

    await workspace.change("edit_file", path="a", **pair(r"(\w+)=(\w+)", new), regex=True)

    assert workspace.read("a") == new.encode() + b";"


async def test_groups_are_put_in_where_they_are_asked_for(workspace):
    workspace.write("a", "key=value;other;")

    await workspace.change(
        "edit_file",
        path="a",
        **pair(r"(?P<left>k\w+)=(\w+)(x)?", r"\g<2>:\g<left>:\g<0>\1\g<3>"),
        regex=True,
    )

    assert workspace.read("a") == rb"value:key:key=value\1;other;"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("(unclosed", "x", "old_string"),
        (r"(a)\1", "x", "old_string"),
        ("(?=a)", "x", "old_string"),
        ("(a)", r"\g<2>", "new_string"),
        ("(a)", r"\g<name>", "new_string"),
    ],
)
async def test_a_pattern_that_cannot_be_used_is_refused(workspace, old, new, field):
    workspace.write("a", "aa")

    problem = await workspace.problem("edit_file", path="a", **pair(old, new), regex=True)

    assert (problem.code, problem.field) == ("invalid_arguments", field)


@pytest.mark.parametrize("old", ["b", "b*", "^", ""])
async def test_a_pattern_that_matches_nothing_or_only_emptiness_is_refused(workspace, old):
    workspace.write("a", "aaa\n")

    problem = await workspace.problem("edit_file", path="a", **pair(old, "x"), regex=True)

    assert problem.code == "no_match"


async def test_a_pattern_that_would_take_a_backtracking_engine_for_ever_is_answered(workspace):
    workspace.write("a", "a" * 5_000)

    problem = await workspace.problem("edit_file", path="a", **pair("(a+)+$b", "x"), regex=True)

    assert problem.code == "no_match"


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig"])
async def test_a_pattern_finds_its_bytes_in_any_encoding(workspace, encoding):
    text = "première ligne\r\nzweite größe 12\r\nlast\r\n"
    workspace.write("a", text.encode(encoding))

    await workspace.change("edit_file", path="a", **pair(r"größe \d+\nla", "a\nb"), regex=True)

    expected = text.replace("größe 12\r\nla", "a\r\nb")
    assert workspace.read("a") == expected.encode(encoding)


async def test_bytes_that_are_no_text_stay_beside_a_pattern(workspace):
    workspace.write("a", "ééé ".encode() + b"\xff\xfe x1 y\n")

    await workspace.change("edit_file", path="a", **pair(r"x\d", "z"), regex=True)

    assert workspace.read("a") == "ééé ".encode() + b"\xff\xfe z y\n"


async def test_a_pattern_is_not_tried_on_a_huge_file(workspace, monkeypatch):
    monkeypatch.setattr("handrail.tools._lib.matching.pattern._MOST_BYTES", 3)
    workspace.write("a", "x1 y")

    problem = await workspace.problem("edit_file", path="a", **pair(r"x\d", "z"), regex=True)

    assert (problem.code, problem.field) == ("too_large", "regex")


splice_lists = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 6), st.binary(max_size=5)), max_size=4
)


def in_order(raw, size):
    """Splices of `size` bytes, in order and apart from each other."""
    splices, at = [], 0
    for gap, length, new in raw:
        start = min(at + gap % 9, size)
        end = min(start + length, size)
        splices.append(Splice(start, end, new))
        at = end + 1
        if at > size:
            break
    return splices


@given(data=st.binary(max_size=40), first=splice_lists, second=splice_lists)
def test_splices_one_after_the_other_are_the_same_as_their_composition(data, first, second):
    earlier = in_order(first, len(data))
    between = apply_splices(data, earlier).tobytes()
    later = in_order(second, len(between))

    after = apply_splices(data, compose_splices(earlier, later))

    assert after.tobytes() == apply_splices(between, later).tobytes()
