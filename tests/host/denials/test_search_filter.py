"""What a search leaves out because it may not be read, and how it is counted."""

import os

import pytest
from tests.support.withheld import withheld_in

from handrail.core.places import Kind, Place
from handrail.core.problems import ProblemRaised
from handrail.host.denials.denied_paths import DeniedPathFinder
from handrail.host.denials.search_filter import ReadDenyFilter
from handrail.host.search.filters import path_filter
from handrail.host.search.search_roots import SearchRoot


@pytest.fixture
def root(tmp_path):
    handle = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield SearchRoot(str(tmp_path), handle, "")
    os.close(handle)


def put(root, *names):
    for name in names:
        os.makedirs(os.path.dirname(f"{root.path}/{name}"), exist_ok=True)
        with open(f"{root.path}/{name}", "w") as file:
            file.write(name)


def place(root, rel=""):
    absolute = f"{root.path}/{rel}".rstrip("/")
    kind = Kind.DIRECTORY if os.path.isdir(absolute) else Kind.FILE
    return Place(0, rel, rel, absolute, kind)


def denying(root, *patterns):
    withheld = withheld_in([root.path], *patterns)
    return ReadDenyFilter(withheld, DeniedPathFinder(withheld, (root.path,)))


@pytest.mark.parametrize(
    ("patterns", "hints"),
    [
        ([".env"], [".env"]),
        (["*.pem"], ["*.pem"]),
        (["secrets/**"], ["/secrets"]),
        (["a/*/key"], ["/a/*/key"]),
        # What a search program could read more broadly is not passed on.
        (["a?b"], []),
        (["[ab]"], []),
        (["a?b", "*.pem"], ["*.pem"]),
    ],
)
def test_the_patterns_that_a_search_program_is_given(root, patterns, hints):
    everything = path_filter(root, place(root), [], "glob")

    found = denying(root, *patterns).applied(everything, root)

    assert [one.removeprefix("**/") for one in found.withheld] == hints


def test_at_most_two_hundred_patterns_are_passed_on(root):
    everything = path_filter(root, place(root), [], "glob")

    found = denying(root, *[f"*.x{number}" for number in range(201)]).applied(everything, root)

    assert len(found.withheld) == 200
    # All of them are enforced.
    assert not found.accepts("a.x200")


@pytest.mark.parametrize(
    ("rel", "accepted"),
    [(".env", False), ("d/.env", False), ("env", True), ("secrets/a", False), ("d/a", True)],
)
def test_every_path_of_a_result_is_matched(root, rel, accepted):
    everything = path_filter(root, place(root), [], "glob")

    assert denying(root, ".env", "secrets/**").applied(everything, root).accepts(rel) is accepted


@pytest.mark.parametrize(("rel", "denied"), [(".env", True), ("secrets", True), ("a", False)])
def test_a_denied_place_is_refused(root, rel, denied):
    put(root, ".env", "secrets/b", "a")
    rules = denying(root, ".env", "secrets/**")

    if not denied:
        rules.check(place(root, rel))
        return
    with pytest.raises(ProblemRaised) as raised:
        rules.check(place(root, rel))
    assert raised.value.problem.code == "denied"


@pytest.mark.parametrize(
    ("where", "globs", "number"),
    [
        ("", [], 5),
        ("d", [], 2),
        ("dd", [], 0),
        # Only what the query would have found counts; a folder counts whatever is in it.
        ("", ["*.pem"], 3),
        ("", ["*.txt"], 1),
        ("d", ["*.pem"], 1),
    ],
)
def test_denied_paths_below_the_place_are_counted(root, where, globs, number):
    put(root, ".env", "a.pem", "d/b.pem", "d/.env", "dd/c.txt", "secrets/x.pem", "secrets/y.pem")
    rules = denying(root, ".env", "*.pem", "secrets/**")
    start = place(root, where)

    assert rules.view(path_filter(root, start, globs, "glob"), root, start).number == number


def test_a_file_is_denied_by_its_other_name(root):
    put(root, ".env", "plain")
    os.link(f"{root.path}/.env", f"{root.path}/other")
    rules = denying(root, ".env")

    for name, denied in (("other", True), ("plain", False)):
        start = place(root, name)
        allowed = path_filter(root, start, [], "glob")
        info = os.stat(f"{root.path}/{name}")
        assert rules.inodes().covers(info) is denied
        if denied:
            with pytest.raises(ProblemRaised):
                rules.view(allowed, root, start)
        else:
            assert rules.view(allowed, root, start).number == 0


def test_a_file_that_is_gone_is_not_denied(root):
    put(root, ".env", "a")
    start = place(root, "a")
    os.unlink(f"{root.path}/a")

    assert denying(root, ".env").view(path_filter(root, start, [], "glob"), root, start).number == 0
