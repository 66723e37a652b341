"""File names in headers."""

import pytest

from handrail.tools._lib.patches.model import (
    FileNames,
    git_names,
    is_null_name,
    parse_file_name,
    shared_name,
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a/src/x.py", "a/src/x.py"),
        ("a/src/x.py\t2026-01-02 03:04:05.000000000 +0000", "a/src/x.py"),
        ("a/src/x.py 2026-01-02 03:04:05.000000000 +0000", "a/src/x.py"),
        ("src/x.py\tThu Jan  1 00:00:00 1970", "src/x.py"),
        ("src/x.py\t1970-01-01 01:00:00.000000000 +0100", "/dev/null"),
        ("src/x.py (working copy)", "src/x.py"),
        ("src/x.py\t(revision 12)", "src/x.py"),
        ("a/with space.txt", "a/with space.txt"),
        (" a/x.py \r", "a/x.py"),
        ("`src/x.py`", "src/x.py"),
        ('"a/caf\\303\\251 \\"q\\" \\\\ \\t.txt"', 'a/café "q" \\ \t.txt'),
    ],
)
def test_a_name_is_found_among_what_tools_write_around_it(text, name):
    assert parse_file_name(text) == name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a/x.py b/x.py", FileNames("a/x.py", "b/x.py")),
        ("a/two words.py b/two words.py", FileNames("a/two words.py", "b/two words.py")),
        ("two words.py two words.py", FileNames("two words.py", "two words.py")),
        ('"a/\\303\\251" "b/\\303\\251"', FileNames("a/é", "b/é")),
        ("a/old.py b/new.py", FileNames("a/old.py", "b/new.py")),
        ("a/one old.py b/other new.py", None),
    ],
)
def test_both_names_of_a_git_line_are_told_apart(text, names):
    assert git_names(text) == names


@pytest.mark.parametrize(
    ("names", "shared"),
    [
        (FileNames("a/x/y", "b/x/y"), "x/y"),
        (FileNames("i/x", "w/x"), "x"),
        (FileNames("a/x", "a/x"), None),
        (FileNames("src/x", "lib/x"), None),
        (FileNames("a/x", "b/y"), None),
    ],
)
def test_only_prefixes_that_differ_are_taken_for_prefixes(names, shared):
    assert shared_name(names) == shared


def test_no_file_has_several_spellings():
    assert [is_null_name(name) for name in ("/dev/null", "a/dev/null", "src/dev/null")] == [
        True,
        True,
        False,
    ]
