"""Globs that could speak of the same path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.ports.leases import Lease, overlap
from handrail.core.text.globs import fits, split_glob


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/w/src", "/w/src/a.py"),
        ("/w/src/**", "/w/src/a/b.py"),
        ("/w/*.py", "/w/a*"),
        ("/w/**/x.py", "/w/src/**"),
        ("/w/[ab].py", "/w/a.py"),
        ("/w/a?c", "/w/ab*"),
        ("/w/**", "/w"),
    ],
)
def test_what_may_meet_overlaps(one, other):
    assert overlap(one, other)
    assert overlap(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/w/src", "/w/srcs"),
        ("/w/*.py", "/w/*.md"),
        ("/w/a/*.py", "/w/b/*.py"),
        ("/w/a?", "/w/abc"),
        ("/w/docs/**", "/w/src/**"),
    ],
)
def test_what_cannot_meet_does_not(one, other):
    assert not overlap(one, other)
    assert not overlap(other, one)


names = st.text(alphabet="ab*?", min_size=1, max_size=3)
globs = st.lists(st.one_of(names, st.just("**")), min_size=1, max_size=4).map("/".join)
paths = st.lists(st.text(alphabet="ab", min_size=1, max_size=3), min_size=1, max_size=4)


@given(globs, globs, paths)
def test_globs_that_share_a_path_overlap(one, other, path):
    if fits(path, split_glob(one)) and fits(path, split_glob(other)):
        assert overlap(one, other)


def test_a_lease_covers_what_is_below_it():
    lease = Lease("t", "me", "/w/src/*", 0, 1, "")

    assert [lease.covers(path) for path in ("/w/src/a", "/w/src/a/b/c.py", "/w/src", "/w/x")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_lease_at_the_top_covers_what_is_below_it():
    assert Lease("t", "me", "/w", 0, 1, "").covers("/w/src/a.py")
    assert not Lease("t", "me", "/v", 0, 1, "").covers("/w/src/a.py")


def test_hostile_globs_are_bounded():
    assert overlap("/".join(["**"] * 200), "/".join(["a"] * 200))
    assert overlap("a*" * 300, "a" * 300) is True
