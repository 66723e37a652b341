"""Globs of reserved paths: whether two of them can mean the same file."""

from itertools import product

import pytest

from handrail.core.ports.leases import Lease, overlap


def lease(glob):
    return Lease("t", "o", glob, 0, 1, "")


@pytest.mark.parametrize(
    ("glob", "covered", "others"),
    [
        ("/w/a", ["/w/a", "/w/a/b", "/w/a/b/c"], ["/w", "/w/ab", "/w/b"]),
        ("/w/*.py", ["/w/x.py", "/w/x.py/y"], ["/w/x.txt", "/w/d/x.py"]),
        ("/w/**/x", ["/w/x", "/w/a/x", "/w/a/b/x"], ["/w/a", "/x"]),
        ("/w/[ab]", ["/w/a", "/w/b"], ["/w/c"]),
        ("/w/?", ["/w/a"], ["/w/ab"]),
    ],
)
def test_a_lease_covers_a_path_and_what_is_below(glob, covered, others):
    assert [one for one in [*covered, *others] if lease(glob).covers(one)] == covered


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("/w/a", "/w/a", True),
        ("/w/a", "/w/b", False),
        ("/w/a", "/w/ab", False),
        ("/w", "/w/a/b", True),
        ("/w/*", "/w/a", True),
        ("/w/*.py", "/w/*.txt", False),
        ("/w/a*", "/w/*b", True),
        ("/w/a*", "/w/b*", False),
        ("/w/?", "/w/ab", False),
        ("/w/?b", "/w/a?", True),
        ("/w/[ab]", "/w/c", True),
        ("/w/[ab]", "/w/cd", False),
        ("/w/[]]", "/w/x", True),
        ("/w/**/x", "/w/a/b/x", True),
        ("/w/**/x", "/v/x", False),
        ("/w/**", "/w/a", True),
        ("/w/a/*/c", "/w/a/b/d", False),
    ],
)
def test_two_globs_overlap_if_a_path_can_match_both(one, other, expected):
    assert overlap(one, other) is expected
    assert overlap(other, one) is expected


def test_globs_that_cover_a_common_path_overlap():
    names = ["a", "b*", "?", "**"]
    globs = ["/w/" + "/".join(parts) for size in (1, 2, 3) for parts in product(names, repeat=size)]
    paths = [
        "/w/" + "/".join(parts)
        for size in (1, 2, 3)
        for parts in product(["a", "b", "bc"], repeat=size)
    ]
    covered = {glob: {path for path in paths if lease(glob).covers(path)} for glob in globs}

    missed = [
        (one, other)
        for one, other in product(globs, repeat=2)
        if covered[one] & covered[other] and not overlap(one, other)
    ]

    assert missed == []
