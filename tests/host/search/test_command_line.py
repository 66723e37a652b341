"""Command lines of ripgrep: what a query asks for, and that no text of a model is an option."""

import pytest

from handrail.core.places import Kind, Place
from handrail.core.ports.machine import FilesQuery, GrepMode, GrepQuery
from handrail.host.search.filters import path_filter
from handrail.host.search.ripgrep.command_line import (
    WalkOptions,
    files_command,
    grep_command,
    reread_command,
)
from handrail.host.search.search_roots import SearchRoot

FOLDER = Place(0, "src", "src", "/w/src", Kind.DIRECTORY)
FILE = Place(0, "a.py", "a.py", "/w/a.py", Kind.FILE)
ROOT = SearchRoot("/w", -1, "", hidden=("state",))
PLAIN = WalkOptions(one_thread=False, skip_git=False, heed_above=True)


def grep(way=PLAIN, **options):
    query = GrepQuery("-pattern", options.pop("place", FOLDER), **options)
    return grep_command(query, path_filter(ROOT, query.place, query.globs, "glob"), way)


def test_the_pattern_and_the_path_are_operands():
    assert grep()[-4:] == ["-e", "-pattern", "--", "./src"]
    assert grep(place=FILE)[-1] == "./a.py"
    assert "--no-config" in grep()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"literal": True}, ["--fixed-strings"]),
        ({"ignore_case": True}, ["--ignore-case"]),
        ({"multiline": True}, ["--multiline", "--multiline-dotall"]),
        ({"recursive": False}, ["--max-depth=1"]),
        ({"type": "py"}, ["--type=py"]),
        ({"globs": ("*.py",)}, ["--type-add=handrail:*.py", "--type=handrail"]),
        ({"mode": GrepMode.COUNT}, ["--count"]),
        ({"mode": GrepMode.CONTENT}, ["--line-number", "--before-context=0", "--after-context=0"]),
    ],
)
def test_an_option_of_the_query_is_passed_on(options, words):
    assert set(words) <= set(grep(**options))
    assert not set(words) & set(grep())


def test_context_is_for_content_and_never_negative():
    content = grep(mode=GrepMode.CONTENT, before=2, after=3)

    assert {"--before-context=2", "--after-context=3"} <= set(content)
    assert "--before-context=0" in grep(mode=GrepMode.CONTENT, before=-1)
    assert not [one for one in grep(mode=GrepMode.FILES, before=2) if "context=" in one]
    assert "--files-with-matches" in grep()


def test_a_type_stands_instead_of_names():
    assert "--type=handrail" not in grep(type="py", globs=("*.py",))


@pytest.mark.parametrize(
    ("way", "word"),
    [
        (PLAIN._replace(one_thread=True), "--threads=1"),
        (PLAIN._replace(skip_git=True), "--glob=!.git"),
        (PLAIN._replace(heed_above=False), "--no-ignore-parent"),
    ],
)
def test_how_the_tree_is_walked(way, word):
    assert word in grep(way)
    assert word not in grep()


def test_what_is_excluded_is_left_out_of_a_directory_but_not_of_a_named_file():
    assert "--glob=!/state" in grep()
    assert "--glob=!/src/**/*.js" in grep(globs=("!*.js",))
    assert not [one for one in grep(place=FILE) if one.startswith("--glob")]


def test_denied_names_ignore_case():
    allowed = path_filter(ROOT, FOLDER, (), "glob").without(["**/.env"], lambda rel: False)

    assert "--iglob=!**/.env" in grep_command(GrepQuery("x", FOLDER), allowed, PLAIN)


def test_files_are_listed():
    query = FilesQuery(FOLDER, ("*.py",))
    allowed = path_filter(ROOT, FOLDER, query.patterns, "pattern")

    words = files_command(query, allowed, PLAIN)
    shallow = files_command(query._replace(recursive=False), allowed, PLAIN)

    assert words[-2:] == ["--", "./src"]
    assert {"--files", "--type-add=handrail:*.py", "--type=handrail"} <= set(words)
    assert "--max-depth=1" in shallow
    assert "--max-depth=1" not in words


def test_files_that_are_read_again_are_searched_in_order():
    words = reread_command(GrepQuery("-p", FOLDER), ["./b", "./a"])
    content = reread_command(GrepQuery("-p", FOLDER, GrepMode.CONTENT), ["./b"])

    assert words[-5:] == ["-e", "-p", "--", "./b", "./a"]
    assert {"--count", "--max-count=1", "--threads=1", "--no-ignore"} <= set(words)
    assert "--files-with-matches" not in words
    assert "--max-count=1" not in content
    assert "--line-number" in content
