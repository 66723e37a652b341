"""Names with wildcards in rules: which names they match, and which paths."""

import re

import pytest

from handrail.policy.rules.paths.glob import (
    compile_glob,
    compile_part,
    covers_exactly,
    matches_path_or_parent,
    split_path,
)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.py", ["a.py", ".py", "a.b.py"], ["apy", "a.pyc", "py"]),
        ("a*b", ["ab", "axb", "aXYb"], ["a", "b", "abc", "cab"]),
        ("*a*b*", ["ab", "xaxbx"], ["ba", "a", "b"]),
        ("a?c", ["abc", "a.c"], ["ac", "abbc"]),
        ("??", ["ab"], ["a", "abc"]),
        ("[ab]c", ["ac", "bc"], ["cc", "c", "abc"]),
        ("[!ab]c", ["cc", "-c"], ["ac", "bc"]),
        ("[^ab]c", ["cc"], ["ac", "bc"]),
        ("[a-c]1", ["a1", "b1", "c1"], ["d1", "-1"]),
        ("[]a]x", ["]x", "ax"], ["x", "[x"]),
        ("[a.txt*", ["[a.txt", "[a.txt.bak"], ["a.txt"]),
        (r"\*x*", ["*x", "*xy"], ["ax", "x"]),
    ],
)
def test_a_pattern_matches_whole_names(pattern, matching, others):
    regex = compile_part(pattern, fold=False).regex

    assert [name for name in matching if not regex.fullmatch(name)] == []
    assert [name for name in others if regex.fullmatch(name)] == []


@pytest.mark.parametrize(
    ("text", "name"), [("a.txt", "a.txt"), (r"\*.txt", "*.txt"), (r"a\?b", "a?b"), ("x\\", "x\\")]
)
def test_a_name_without_wildcards_is_that_name(text, name):
    assert compile_part(text, fold=False) == name


def test_a_named_class_is_an_error():
    with pytest.raises(re.error):
        compile_part("[[:alpha:]]*", fold=False)


@pytest.mark.parametrize(
    ("names", "path", "tree", "exactly", "at_or_below"),
    [
        (["src", "*.py"], "/w/src/a.py", False, True, True),
        (["src", "*.py"], "/w/src/a.txt", False, False, False),
        (["src", "*.py"], "/w/src/a.py", True, False, True),
        (["src", "*.py"], "/w/src/a.py/below", False, False, True),
        (["src", "*.py"], "/w/src", False, False, False),
        (["src", "**"], "/w/src/a", False, True, True),
        (["src", "**"], "/w/src/a/b", True, True, True),
        (["src", "**"], "/w/src", True, True, True),
        (["src", "**"], "/w/src", False, False, True),
        (["src", "**"], "/w/other", True, False, False),
        (["**", "a.txt"], "/w/x/y/a.txt", False, True, True),
        (["**", "a.txt"], "/w/a.txt", False, True, True),
        (["**", "a.txt"], "/w/b.txt", False, False, False),
        (["s*", "**"], "/w/src/a", False, True, True),
        (["s*", "**"], "/w/lib/a", False, False, False),
        (["a.txt"], "/w/a.txt", False, True, True),
        (["a.txt"], "/w/a.txt", True, False, True),
        (["a.txt"], "/w/a.txt/b", False, False, True),
        (["a.txt"], "/w", False, False, False),
    ],
)
def test_a_glob_covers_a_path_or_what_is_below_it(names, path, tree, exactly, at_or_below):
    glob = compile_glob(["w"], names, fold=False)

    assert covers_exactly(glob, split_path(path), tree=tree) is exactly
    assert matches_path_or_parent(glob, split_path(path)) is at_or_below


def test_letter_case_counts_only_where_it_is_said():
    assert covers_exactly(compile_glob(["W"], ["A*"], fold=True), ["w", "ab"])
    assert not covers_exactly(compile_glob(["W"], ["A*"], fold=False), ["w", "ab"])
