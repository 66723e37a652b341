"""A search never tells what a rule withholds, whatever is exchanged for it meanwhile."""

import pytest
from tests.support.swapping import swapping
from tests.support.withheld import leave_out

from handrail.core.ports.machine import GrepMode, GrepQuery
from handrail.core.problems import ProblemRaised
from handrail.host.denials.search_filter import ReadDenyFilter
from handrail.host.processes import landlock
from handrail.host.search.ripgrep import reread

LINKS = 12
PLACES = {"file": "d/0.txt", "folder": "d", "root": ""}


@pytest.fixture(params=["ripgrep", "ripgrep_without_landlock", "python"])
def engine(request, monkeypatch):
    """Each way in which contents are searched."""
    name = request.param
    if name == "ripgrep_without_landlock":
        monkeypatch.setattr(landlock, "abi", lambda: 0)
        name = "ripgrep"
    return request.getfixturevalue(name)


def build(tree, scene):
    """Lay a scene out; returns the names that are to be exchanged."""
    tree.write("secret.txt", "needle SECRET\n")
    for number in range(LINKS):
        tree.write(f"d/{number}.txt", "needle inside\n")
        tree.write(f"secrets/{number}.txt", "needle SECRET\n")
    (tree.root / "l").mkdir()
    for number in range(LINKS):
        (tree.root / "l" / f"{number}.txt").symlink_to("../secret.txt")
    (tree.root / "lnk").symlink_to("secrets")
    return {
        "links": [(f"d/{number}.txt", f"l/{number}.txt") for number in range(LINKS)],
        "folder_link": [("d", "lnk")],
    }[scene]


async def race(search, tree, scene, where, rounds):
    """Search while names are exchanged; the number of answers that told nothing, and of those
    that told something that is not withheld.
    """
    pairs = build(tree, scene)
    leave_out(search, [tree.root], "secret.txt", "secrets/**")
    places = tree.place(PLACES[where])
    told = 0
    with swapping(tree.root, *pairs):
        for number in range(rounds):
            mode = list(GrepMode)[number % 3]
            # The pattern matches only what is withheld, so that one path is one too many.
            secret = await search.grep(GrepQuery("SECRET", places, mode=mode))
            assert secret.files == secret.hits == ()
            found = await search.grep(GrepQuery("needle", places, mode=GrepMode.CONTENT, after=1))
            assert not [hit for hit in found.hits if "SECRET" in hit.text]
            told += len(found.hits)
    return told


@pytest.mark.finding("F02")
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("scene", ["links", "folder_link"])
async def test_links_that_are_exchanged_for_files_tell_nothing(engine, tree, scene, where):
    assert await race(engine, tree, scene, where, 30) > 0


@pytest.mark.torture
@pytest.mark.timeout(3000)
@pytest.mark.finding("F02")
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("scene", ["links", "folder_link"])
async def test_a_thousand_searches_of_exchanged_links_tell_nothing(engine, tree, scene, where):
    assert await race(engine, tree, scene, where, 1000) > 0


@pytest.mark.finding("F02")
@pytest.mark.parametrize("mode", list(GrepMode))
async def test_a_hard_link_to_a_withheld_file_is_withheld_too(engine, tree, mode):
    tree.write("secrets/deep/key", "needle SECRET\n")
    tree.write(".env", "needle SECRET\n")
    tree.write("plain.txt", "needle inside\n")
    for target, name in (("secrets/deep/key", "a.txt"), (".env", "b.txt"), ("plain.txt", "c.txt")):
        (tree.root / name).hardlink_to(tree.root / target)
    leave_out(engine, [tree.root], ".env", "secrets/**")

    found = await engine.grep(GrepQuery("needle", tree.place(), mode=mode))
    with pytest.raises(ProblemRaised) as refused:
        await engine.grep(GrepQuery("needle", tree.place("a.txt"), mode=mode))

    assert found.files == ("c.txt", "plain.txt")
    assert refused.value.problem.code == "denied"


@pytest.mark.finding("F02")
async def test_what_is_moved_away_during_the_search_is_still_withheld(engine, tree, monkeypatch):
    tree.write("secrets/key", "needle SECRET\n")
    tree.write(".env", "needle SECRET\n")
    tree.write("a.txt", "needle inside\n")
    leave_out(engine, [tree.root], "secrets/**", ".env")
    view = ReadDenyFilter.view

    def move_afterwards(left_out, *where):
        seen = view(left_out, *where)
        (tree.root / "secrets").rename(tree.root / "public")
        (tree.root / ".env").rename(tree.root / "b.txt")
        return seen

    monkeypatch.setattr(ReadDenyFilter, "view", move_afterwards)
    found = await engine.grep(GrepQuery("needle", tree.place(), mode=GrepMode.CONTENT))

    assert [hit.text for hit in found.hits] == ["needle inside"]


QUERIES = [
    {"pattern": "needle"},
    {"pattern": "needle", "before": 1, "after": 2},
    {"pattern": "NEEDLE", "ignore_case": True},
    {"pattern": r"needle\s+\w+\n\w+", "multiline": True},
    {"pattern": "größe$"},
    {"pattern": "needle", "type": "py"},
    {"pattern": "needle", "globs": ("*.txt", "!b*")},
    {"pattern": "needle", "recursive": False},
]


@pytest.mark.parametrize("mode", list(GrepMode))
@pytest.mark.parametrize("asked", QUERIES)
async def test_answers_are_the_same_where_something_is_withheld(
    ripgrep, tree, monkeypatch, asked, mode
):
    tree.write("a.txt", "needle one\r\ntwo\nthree\nneedle größe\r\n")
    tree.write("b.py", "needle\n" * 5)
    tree.write("wide.txt", "needle größe\n".encode("utf-16"))
    tree.write("long.txt", "x" * 9000 + "needle")
    tree.write("binary.txt", b"needle\0")
    tree.write("later.txt", b"needle\n" + b"hay\n" * 50_000 + b"\0 needle\n")
    tree.write("sub/.gitignore", "ignored\n")
    tree.write("sub/ignored")
    for number in range(10):
        tree.write(f"sub/deep/{number}\n.txt", "needle\nneedle two\n")
    query = GrepQuery(place=tree.place(), mode=mode, **asked)
    plain = await ripgrep.grep(query)
    leave_out(ripgrep, [tree.root], "nothing.like.it")
    monkeypatch.setattr(reread, "_MOST_AT_ONCE", 4)

    assert await ripgrep.grep(query) == plain
    assert plain.files or "$" in query.pattern
