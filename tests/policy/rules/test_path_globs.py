"""Globs over paths, compared with a matcher that follows the definition word by word."""

import fnmatch
import re
from itertools import product

import pytest

from handrail.core.problems import ProblemRaised
from handrail.policy.rules.paths.glob import (
    Overlap,
    compile_glob,
    compile_part,
    covers_exactly,
    expand_braces,
    fold_path,
    glob_overlap,
    matches_path_or_parent,
    split_path,
)

PARTS = ("a", "b*", "?", "**")
NAMES = ("a", "b", "bc")


def reference(parts, names):
    """Whether a glob matches names: `**` stands for any number of them."""
    if not parts:
        return not names
    if parts[0] == "**":
        return any(reference(parts[1:], names[at:]) for at in range(len(names) + 1))
    return (
        bool(names) and fnmatch.fnmatchcase(names[0], parts[0]) and reference(parts[1:], names[1:])
    )


def all_tuples(values, most):
    return [one for size in range(1, most + 1) for one in product(values, repeat=size)]


@pytest.mark.parametrize("parts", all_tuples(PARTS, 3), ids="/".join)
def test_a_glob_matches_what_its_definition_says(parts):
    glob = compile_glob((), parts, fold=False)
    inside = parts[-1] == "**"
    core = parts
    while core and core[-1] == "**":
        core = core[:-1]

    for names in all_tuples(NAMES, 3):
        below = any(reference(core, names[:end]) for end in range(len(names)))
        here = reference(core, names)
        assert covers_exactly(glob, names) is (below if inside else here)
        assert covers_exactly(glob, names, tree=True) is (inside and (below or here))
        assert matches_path_or_parent(glob, names) is (below or here)


@pytest.mark.parametrize(
    ("pattern", "matched", "others"),
    [
        ("a*c", ["ac", "abc", "abbc"], ["a", "ab", "xac", "acx"]),
        ("*", ["", "a", ".a"], []),
        ("a*b*c", ["abc", "axbxc", "abbc"], ["ac", "acb"]),
        ("?", ["a", "."], ["", "ab"]),
        ("[ab]c", ["ac", "bc"], ["cc", "c", "abc"]),
        ("[!ab]c", ["cc"], ["ac", "bc"]),
        ("[^ab]c", ["cc"], ["ac", "bc"]),
        ("[a-c]", ["a", "b", "c"], ["d", "-"]),
        ("[]]x", ["]x"], ["x", "[]x"]),
        ("[!]]x", ["ax"], ["]x"]),
        ("[&&]x", ["&x"], ["x"]),
        ("[a^]x", ["^x", "ax"], ["bx"]),
        ("[ab", ["[ab"], ["a", "b"]),
        ("\\*", ["*"], ["a", "\\*"]),
        ("a\\?*", ["a?", "a?b"], ["ab"]),
        ("a.b*", ["a.bc"], ["axbc"]),
        ("\\", ["\\"], [""]),
        ("*\n", ["a\n"], ["a"]),
    ],
)
def test_one_name_of_a_glob(pattern, matched, others):
    glob = compile_glob((), [pattern], fold=False)

    assert [one for one in [*matched, *others] if covers_exactly(glob, [one])] == matched


def test_a_named_class_is_refused():
    with pytest.raises(re.error):
        compile_part("[[:alpha:]]x", fold=False)


@pytest.mark.parametrize(
    ("pattern", "prefix", "needs", "literal", "inside"),
    [
        ("src/a.py", "/w/src/a.py", (), True, False),
        ("src/**", "/w/src", (), True, True),
        ("src/**/**", "/w/src", (), True, True),
        ("**", "/w", (), True, True),
        ("*.py", "/w", (), False, False),
        ("src/**/tests/*.py", "/w/src", ("tests",), False, False),
        ("src/*/tests/x/**", "/w/src", ("tests", "x"), False, True),
        ("a\\*b", "/w/a*b", (), True, False),
    ],
)
def test_what_is_known_of_a_glob_before_it_is_compared(pattern, prefix, needs, literal, inside):
    glob = compile_glob(["w"], pattern.split("/"), fold=False)

    assert (glob.prefix, glob.needs, glob.literal, glob.inside) == (prefix, needs, literal, inside)


def test_letter_case_counts_unless_it_is_folded():
    exact = compile_glob(["W"], ["A*"], fold=False)
    folded = compile_glob(["W"], ["A*"], fold=True)

    assert covers_exactly(exact, ["W", "Ab"])
    assert not covers_exactly(exact, ["w", "ab"])
    assert covers_exactly(folded, ["w", "ab"])


@pytest.mark.parametrize(
    ("pattern", "touched", "tree", "overlap"),
    [
        ("a/b", "a/b", False, Overlap.SURE),
        ("a/b", "a/b/c", False, Overlap.SURE),
        ("a/b", "a", False, Overlap.NO),
        ("a/b", "a", True, Overlap.WITHIN),
        ("a/b", "c", True, Overlap.NO),
        ("a/b", "a/*", False, Overlap.SURE),
        ("a/b", "a/x*", False, Overlap.NO),
        ("a/*.py", "a/x.py", False, Overlap.SURE),
        ("a/*.py", "a/*", False, Overlap.SURE),
        ("a/*.py", "a/*.txt", False, Overlap.NO),
        ("a/x*", "a/xy*", False, Overlap.SURE),
        ("a/x*", "a/y*", False, Overlap.NO),
        ("a/.env", "a/*", False, Overlap.MAYBE),
        ("a/.env", "a/.*", False, Overlap.SURE),
        ("a/.env/b", "a/*", True, Overlap.MAYBE),
        ("a/b", "**/b", False, Overlap.SURE),
        ("a/**/c", "a/b/c", False, Overlap.SURE),
        ("a/**/c", "a/b", False, Overlap.NO),
        ("a/**/c", "a/b", True, Overlap.WITHIN),
    ],
)
def test_how_a_glob_overlaps_what_a_command_touches(pattern, touched, tree, overlap):
    glob = compile_glob((), pattern.split("/"), fold=False)
    names = [one if one == "**" else compile_part(one, fold=False) for one in touched.split("/")]

    assert glob_overlap(glob, names, tree=tree) is overlap


@pytest.mark.parametrize(
    ("pattern", "expanded"),
    [
        ("a", ["a"]),
        ("a{b,c}d", ["abd", "acd"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("{a,}b", ["ab", "b"]),
        ("{a}b", ["{a}b"]),
        ("a}b,c", ["a}b,c"]),
        ("\\{a,b}", ["\\{a,b}"]),
        ("{a\\,b,c}", ["a\\,b", "c"]),
    ],
)
def test_braces_are_alternatives(pattern, expanded):
    assert expand_braces(pattern) == expanded


def test_nested_braces_are_all_their_alternatives():
    assert set(expand_braces("{a,{b,c}}x")) == {"ax", "bx", "cx"}


def test_alternatives_have_a_limit():
    assert len(expand_braces("{a,b}" * 6)) == 64
    with pytest.raises(ProblemRaised):
        expand_braces("{a,b}" * 6 + "{c,d}")


@pytest.mark.parametrize(
    ("path", "folded"),
    [("/A/b", "/a/b"), ("/A./B ", "/a/b"), ("/ä/Ö", "/ä/ö"), ("/A./b", "/a/b"), ("/A /b", "/a/b")],
)
def test_paths_are_compared_as_a_system_without_case_does(path, folded):
    assert fold_path(path) == folded


def test_the_names_of_a_path():
    assert split_path("/a/b/") == ["a", "b"]
    assert split_path("/") == []
