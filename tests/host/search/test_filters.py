"""Filters of a query: which files they let through, and the hints for an engine."""

import pytest

from handrail.core.places import Kind, Place
from handrail.core.problems import ProblemRaised
from handrail.host.search.filters import literal, path_filter, widened
from handrail.host.search.search_roots import SearchRoot

TOP = Place(0, "", ".", "/w", Kind.DIRECTORY)
SUB = Place(0, "su[b", "su[b", "/w/su[b", Kind.DIRECTORY)
ROOT = SearchRoot("/w", -1, "", aliases=("/link/",))


def filtered(*globs, place=TOP, root=ROOT):
    return path_filter(root, place, globs, "glob")


@pytest.mark.parametrize(
    ("globs", "place", "yes", "no"),
    [
        ([], TOP, ["a", "b/c"], []),
        (["*.py"], TOP, ["a.py", "b/c.py"], ["a.txt", "a.py/x"]),
        (["*.py", "*.txt"], TOP, ["a.py", "a.txt"], ["a.md"]),
        (["b/*.py"], TOP, ["b/a.py"], ["a.py", "b/c/a.py", "x/b/a.py"]),
        (["./b/*.py"], TOP, ["b/a.py"], ["x/b/a.py"]),
        (["b/"], TOP, ["b/a", "x/b/c/d"], ["b", "a"]),
        (["!*.py"], TOP, ["a.txt"], ["a.py", "b/c.py"]),
        (["!b/"], TOP, ["b", "a"], ["b/a", "x/b/a"]),
        (["!b"], TOP, ["a"], ["b", "b/a", "x/b/c"]),
        (["*.py", "!test_*"], TOP, ["a.py"], ["test_a.py", "test_x/a.py"]),
        (["/w/b/*.py"], TOP, ["b/a.py"], ["a.py"]),
        (["/link/b/*.py"], TOP, ["b/a.py"], ["a.py"]),
        (["*.py"], SUB, ["su[b/a.py", "su[b/c/a.py"], ["a.py", "sub/a.py"]),
        (["c/*.py"], SUB, ["su[b/c/a.py"], ["c/a.py"]),
        (["*.{py,txt}"], TOP, ["a.py", "a.txt"], ["a.md"]),
        (["[!a]"], TOP, ["b", "x/b"], ["a"]),
        (["[^a]"], TOP, ["b"], ["a"]),
        (["[!]"], TOP, ["!"], ["a"]),
        (["[a-]"], TOP, ["-", "a"], ["b"]),
        (["[-a]"], TOP, ["-", "a"], ["b"]),
        (["[!a-c]"], TOP, ["d", "-"], ["b"]),
    ],
)
def test_which_files_are_wanted(globs, place, yes, no):
    found = filtered(*globs, place=place)

    assert [one for one in yes if not found.accepts(one)] == []
    assert [one for one in no if found.accepts(one)] == []


def test_a_file_that_is_named_itself_always_passes():
    place = Place(0, "a.txt", "a.txt", "/w/a.txt", Kind.FILE)

    assert filtered("*.py", "!*", place=place).accepts("a.txt")


def test_hidden_directories_are_never_searched():
    found = filtered(root=SearchRoot("/w", -1, "", hidden=("sta[te",)))

    assert found.prunes("sta[te")
    assert not found.accepts("sta[te/x")
    assert found.accepts("state/x")
    assert not found.prunes("state")


@pytest.mark.parametrize(
    ("globs", "rel", "prunes"),
    [
        ([], "b", False),
        (["*.py"], "b", False),
        (["!b"], "b", True),
        (["!b/"], "b", True),
        (["!b/*"], "b", True),
        (["!b/*.py"], "b", False),
        (["!b"], "c", False),
    ],
)
def test_which_directories_need_no_visit(globs, rel, prunes):
    assert filtered(*globs).prunes(rel) is prunes


def test_denied_paths_are_wanted_but_not_accepted():
    found = filtered("*.py").without(["**/x.py"], lambda rel: rel == "x.py" or rel == "d")

    assert found.wants("x.py")
    assert not found.accepts("x.py")
    assert found.accepts("y.py")
    assert not found.accepts("y.txt")
    assert found.prunes("d")
    assert not found.prunes("e")
    assert found.withheld == ("**/x.py",)
    assert not found.hints_decide


@pytest.mark.parametrize(
    ("globs", "names", "decide"),
    [
        ([], None, True),
        (["*.py"], ("*.py",), True),
        (["*.py", "*.c"], ("*.c", "*.py"), True),
        (["b/*.py"], ("*.py",), False),
        (["b/**"], None, False),
        (["b/"], None, False),
        (["[ab].py"], ("*.py",), False),
        (["?.py"], ("*.py",), False),
        (["a:b"], ("a*b",), False),
        (["*.py", "!x"], ("*.py",), False),
    ],
)
def test_hints_for_an_engine(globs, names, decide):
    found = filtered(*globs)

    assert found.names == names
    assert found.hints_decide is decide


def test_excluded_globs_are_a_hint_if_every_engine_reads_them_alike():
    found = filtered("!*.js", "!b/c", "!x?", "![ab]")

    assert found.excluded == ("/**/*.js", "/b/c")


@pytest.mark.parametrize(
    ("glob", "code"),
    [
        ("", "invalid_arguments"),
        ("!", "invalid_arguments"),
        ("a\0", "invalid_arguments"),
        ("{a", "invalid_arguments"),
        ("x" * 2001, "invalid_arguments"),
        ("[z-a]", "invalid_arguments"),
        ("/etc/*", "outside_workspace"),
        ("../a", "outside_workspace"),
        ("a/../b", "outside_workspace"),
        ("/wider/a", "outside_workspace"),
    ],
)
def test_a_glob_that_cannot_be_used_is_a_problem(glob, code):
    with pytest.raises(ProblemRaised) as raised:
        filtered(glob)

    assert raised.value.problem.code == code


def test_limits_of_globs():
    assert filtered("x" * 2000).accepts("x" * 2000)
    assert filtered("{" + ",".join(f"a{at}" for at in range(400)) + "}").accepts("a399")
    with pytest.raises(ProblemRaised):
        filtered("{" + ",".join(f"a{at}" for at in range(501)) + "}")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.py", "a.py"),
        ("a?", "a*"),
        ("[ab]c", "*c"),
        ("a:b", "a*b"),
        ("a\\*", "a\\*"),
        ("**", "*"),
    ],
)
def test_a_glob_is_widened_to_stars(name, expected):
    assert widened(name) == expected


def test_literal_text_matches_only_itself():
    text = "*a?{b,c}[d]\\!"

    assert filtered(literal(text)).accepts(text)
    assert not filtered(literal("a*")).accepts("ab")
