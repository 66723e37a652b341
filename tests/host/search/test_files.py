"""What a search for names answers, by either engine."""

import os

import pytest

from handrail.core.ports.machine import FilesQuery
from handrail.core.problems import ProblemRaised


async def names(search, tree, *patterns: str, **options) -> tuple[str, ...]:
    place = tree.place(options.pop("path", ""))
    return (await search.files(FilesQuery(place, patterns, **options))).paths


@pytest.fixture
def grown(tree):
    tree.write(".gitignore", "*.log\n/build/\n")
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/d.ts", ".hidden/e.py", "x.log"):
        tree.write(name)
    tree.write("build/f.py")
    tree.write(".git/config")
    return tree


@pytest.mark.feature("E24", "E25")
async def test_a_pattern_without_a_slash_matches_base_names(search, grown):
    assert await names(search, grown, "*.py") == (
        ".hidden/e.py",
        "a.py",
        "src/b.py",
        "src/deep/c.py",
    )
    assert await names(search, grown, "[ab].py", "*.ts") == ("a.py", "src/b.py", "src/d.ts")
    assert await names(search, grown, "{a,c}.p?") == ("a.py", "src/deep/c.py")
    assert await names(search, grown, "A.PY") == ()


@pytest.mark.feature("E24")
async def test_a_pattern_with_a_slash_matches_from_the_searched_path(search, grown):
    assert await names(search, grown, "src/*.py") == ("src/b.py",)
    assert await names(search, grown, "**/*.py", path="src") == ("src/b.py", "src/deep/c.py")
    assert await names(search, grown, "deep/*.py", path="src") == ("src/deep/c.py",)
    assert await names(search, grown, "src/**") == ("src/b.py", "src/d.ts", "src/deep/c.py")


@pytest.mark.feature("I04")
async def test_without_a_pattern_all_files_but_ignored_ones_and_git_are_listed(search, grown):
    assert await names(search, grown) == (
        ".gitignore", ".hidden/e.py", "a.py", "src/b.py", "src/d.ts", "src/deep/c.py",
    )  # fmt: skip
    assert await names(search, grown, recursive=False) == (".gitignore", "a.py")


@pytest.mark.feature("E26")
async def test_newest_files_come_first_and_ties_are_ordered_by_path(search, tree):
    for age, name in enumerate(["new.py", "mid.py", "old.py"]):
        os.utime(tree.write(name), (1_000_000 - age, 1_000_000 - age))
    os.utime(tree.write("also_mid.py"), (999_999, 999_999))

    assert await names(search, tree, "*.py", sort="mtime") == (
        "new.py",
        "also_mid.py",
        "mid.py",
        "old.py",
    )


async def test_odd_names_are_listed_unambiguously(search, tree):
    odd = ["new\nline", "-rf", "sp ace", "ünï", "tab\t", "quote'\"", "a:1:b"]
    for name in odd:
        tree.write(name)
    (tree.root / os.fsdecode(b"bad\xff")).write_bytes(b"")

    assert sorted(await names(search, tree)) == sorted([*odd, "bad\ufffd"])


async def test_links_directories_and_special_files_are_not_files(search, tree):
    tree.write("real.txt")
    (tree.root / "link.txt").symlink_to("real.txt")
    (tree.root / "directory.txt").mkdir()
    os.mkfifo(tree.root / "pipe.txt")

    assert await names(search, tree, "*.txt") == ("real.txt",)


@pytest.mark.parametrize("pattern", ["../*", "/etc/passwd", "a/../../*"])
async def test_a_pattern_that_leads_out_is_refused(search, tree, pattern):
    with pytest.raises(ProblemRaised) as refused:
        await names(search, tree, pattern)

    assert (refused.value.problem.code, refused.value.problem.field) == (
        "outside_workspace",
        "pattern",
    )
