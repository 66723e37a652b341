"""Ignore rules against git itself: the same files are hidden."""

import random
import subprocess

import pytest

from handrail.core.ports.machine import FilesQuery
from handrail.host.search.fallback.tree_walk import parse

NAMES = ["a.py", "b.log", "keep.log", "README.md", "sp ace", "#x", "!y", "Makefile"]
FOLDERS = ["", "src/", "src/deep/", "build/", "docs/build/", "a/b/c/"]
LINES = [
    "*.log", "!keep.log", "build/", "/build", "build", "docs/*", "!docs/build/", "**/deep",
    "deep/**", "/src/*.py", "src/*.py", "*.py", "!a.py", "\\#x", "\\!y", "sp\\ ace", "# note",
    "a/**/c", "a/b", "/a/", "[Mm]akefile", "?.py", "*.m[a-e]", "README.md   ", "!*.md", "c/",
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "path", "directory", "hidden"),
    [
        ("*.log", "a/b.log", False, True),
        ("/a", "a", False, True),
        ("/a", "b/a", False, None),
        ("a/b", "a/b", False, True),
        ("a/b", "x/a/b", False, None),
        ("a/", "a", False, None),
        ("a/", "x/a", True, True),
        ("!a", "a", False, False),
        ("a/**", "a", True, None),
        ("a/**", "a/b", False, True),
        ("trailing  ", "trailing", False, True),
        ("trailing\\ ", "trailing ", False, True),
        ("crlf\r", "crlf", False, True),
    ],
)
def test_one_line_decides_as_git_says(line, path, directory, hidden):
    (rule,) = parse(line)
    applies = bool(rule.matches.fullmatch(path)) and (directory or not rule.only_directories)

    assert (rule.hides if applies else None) is hidden


@pytest.mark.parametrize("line", ["", "   ", "# comment", "!", "/", "{open", "[z-a]", "a}"])
def test_a_line_that_says_nothing_is_left_out(line):
    assert parse(line) == ()


async def test_the_same_files_are_hidden_as_by_git(tree, search):
    subprocess.run(["git", "init", "-q", str(tree.root)], check=True)
    draw = random.Random(7)
    for folder in FOLDERS:
        for name in NAMES:
            tree.write(folder + name)
    hidden = 0

    for _ in range(12):
        for folder in FOLDERS:
            lines = draw.sample(LINES, draw.choice([0, 0, 1, 3]))
            tree.write(f"{folder}.gitignore", "\n".join(lines))

        listed = subprocess.run(
            ["git", "-C", str(tree.root), "ls-files", "-zco", "--exclude-standard"],
            check=True,
            capture_output=True,
        ).stdout.decode()
        expected = tuple(sorted(listed.split("\0")[:-1]))

        assert (await search.files(FilesQuery(tree.place()))).paths == expected
        hidden += len(FOLDERS) * (len(NAMES) + 1) - len(expected)

    assert hidden > 50


async def test_ignore_files_rank_before_gitignore_and_nearer_before_farther(search, tree):
    tree.write(".gitignore", "*.a\n*.b\n*.c\n")
    tree.write(".ignore", "!*.b\n")
    tree.write(".rgignore", "!*.c\n*.d\n")
    tree.write("near/.gitignore", "!*.a\n")
    tree.write("near/.ignore", "!*.d\n*.e\n")
    tree.write(".git/info/exclude", "*.f\n")
    for name in "abcdef":
        tree.write(f"near/x.{name}")

    found = await search.files(FilesQuery(tree.place("near"), ("x.*",)))

    # x.d: the .rgignore above outranks the nearer .ignore.
    assert found.paths == ("near/x.a", "near/x.b", "near/x.c")
