"""What globs mean, and what a query's globs let through."""

import re

import pytest

from handrail.host.search.filters import BadGlob, expand, path_filter, pattern, widened
from handrail.host.search.search_roots import SearchRoot


def matches(glob: str, path: str) -> bool:
    return any(re.fullmatch(pattern(one), path, re.DOTALL) for one in expand(glob))


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("*.py", ["a.py", ".py"], ["a.pyc", "d/a.py"]),
        ("a*b*c", ["abc", "axbxc", "abbc"], ["ab", "acb", "a/b/c"]),
        ("*a*", ["a", "bab"], ["b"]),
        ("?.c", ["x.c", "é.c"], ["xy.c", "/.c"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "-x"]),
        ("[!a-c]x", ["dx"], ["ax", "/x"]),
        ("[]x]", ["]", "x"], ["y"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[", ["["], ["x"]),
        ("{a,b}.{c,d}", ["a.c", "b.d"], ["a.b", "{a,b}.c"]),
        ("{a,{b,c}d}", ["a", "bd", "cd"], ["ad", "b"]),
        ("x{,.txt}", ["x", "x.txt"], ["x."]),
        ("\\*.py", ["*.py"], ["a.py"]),
        ("\\{a\\}", ["{a}"], ["a"]),
        ("[{]a", ["{a"], ["a"]),
        ("a,b", ["a,b"], ["a"]),
        ("**/x", ["x", "a/x", "a/b/x"], ["ax", "a/xb"]),
        ("a/**", ["a/x", "a/b/c"], ["a", "b/a/x"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("**/a/**/b/**", ["a/b/c", "x/a/y/b/z/w"], ["a/b", "b/a/c"]),
        ("**", ["a", "a/b"], []),
        ("**/a/b", ["a/b", "a/a/b", "x/a/b"], ["a/x/b"]),
        ("a**b", ["ab", "axxb"], ["a/b"]),
        ("new*line", ["new\nline"], []),
        ("end\\", ["end\\"], ["end"]),
    ],
)
def test_a_glob_matches_what_it_says(glob, yes, no):
    assert [path for path in yes if not matches(glob, path)] == []
    assert [path for path in no if matches(glob, path)] == []


@pytest.mark.parametrize("glob", ["{a", "a}", "{a,{b}", "{a,b}" * 12, "x" * 3000])
def test_a_glob_that_cannot_be_understood_is_refused(glob):
    with pytest.raises(BadGlob):
        expand(glob)


@pytest.mark.parametrize(
    ("name", "wider"),
    [("*.py", "*.py"), ("?[ab].c", "**.c"), ("\\*x", "\\*x"), ("a:b", "a*b"), ("a,b", "a\\,b")],
)
def test_a_hint_for_ripgrep_matches_at_least_as_much(name, wider):
    assert widened(name) == wider


def test_hints_follow_from_the_globs(tree):
    root = SearchRoot(str(tree.root), -1, "")
    (tree.root / "s{c").mkdir()
    tree.write("file.py")

    def made(rel: str, *globs: str):
        allowed = path_filter(root, tree.place(rel), globs, "glob")
        return allowed.names, allowed.excluded, allowed.hints_decide

    assert made("") == (None, (), True)
    assert made("", "*.py", "*.{a,b}") == (("*.a", "*.b", "*.py"), (), True)
    assert made("s{c", "*.py") == (("*.py",), (), True)
    assert made("", "?.py") == (("*.py",), (), False)
    assert made("", "*.py", "src/**/*.js") == (("*.js", "*.py"), (), False)
    assert made("", "*.py", "src/**") == (None, (), False)
    assert made("", "!*.py", "!docs/") == (None, ("/**/*.py", "/**/docs/"), False)
    assert made("s{c", "!a/b") == (None, ("/s\\{c/a/b",), False)
    assert made("", "!?.py") == (None, (), False)
    assert made("file.py", "*.js", "!*.py") == (None, (), True)


def test_an_excluded_directory_takes_its_content_along(tree):
    root = SearchRoot(str(tree.root), -1, "")
    allowed = path_filter(root, tree.place(), ("!docs", "!x/y/", "*.md"), "glob")

    assert [p for p in ("a.md", "docs/a.md", "x/y/a.md", "x/y", "b.py") if allowed.accepts(p)] == [
        "a.md"
    ]
    assert [p for p in ("docs", "a/docs", "x/y", "x", "y") if allowed.prunes(p)] == [
        "docs",
        "a/docs",
        "x/y",
    ]
