"""Globs over the names of a path, against the plain definition of what they mean."""

from fnmatch import fnmatchcase
from itertools import product

from handrail.core.text.globs import fits


def stated(parts, glob):
    """The definition, too slow for anything but short paths."""
    if not glob:
        return not parts
    if glob[0] == "**":
        return any(stated(parts[skipped:], glob[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], glob[0]) and stated(parts[1:], glob[1:])


def test_a_glob_means_what_its_definition_says():
    paths = [one for size in range(4) for one in product("ab", repeat=size)]
    globs = [one for size in range(5) for one in product(("a", "*", "**"), repeat=size)]

    wrong = [
        (path, glob) for path in paths for glob in globs if fits(path, glob) != stated(path, glob)
    ]

    assert wrong == []


def test_no_glob_takes_longer_than_it_is_long():
    # By the definition above this takes longer than the age of the earth.
    assert not fits(["a"] * 200, ["**", "a"] * 60 + ["b"])
    assert fits(["a"] * 200, ["**"] * 60 + ["a"])
