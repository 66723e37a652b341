"""What a patch says: names in header lines, hunks, and the files that it targets."""

import pytest

from handrail.core.places import Kind, Place
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.patches.model import (
    Action,
    FileNames,
    FilePatch,
    PatchHunk,
    PatchLine,
    git_names,
    is_null_name,
    is_same_file,
    join_added_lines,
    numbered_hunks,
    parse_file_name,
    resolve_targets,
    shared_name,
)


def hunk(*lines, **more):
    """A hunk of lines with their signs; `~` ends with CRLF, `!` has no ending."""
    endings = {"~": True, "!": None}
    made = [
        PatchLine(
            one[0],
            one[1:].rstrip("~!"),
            crlf=endings.get(one[-1], False),
        )
        for one in lines
    ]
    return PatchHunk(tuple(made), **more)


def test_the_lines_before_and_after():
    one = hunk(" a", "-b", "+c", " d")

    assert (one.old, one.new) == (["a", "b", "d"], ["a", "c", "d"])


@pytest.mark.parametrize(
    ("one", "changes", "endings"),
    [
        (hunk(" a"), False, False),
        (hunk("-a", "+a"), False, False),
        (hunk("-a", "+b"), True, False),
        (hunk("+a"), True, False),
        (hunk("-a"), True, False),
        (hunk("-a", "+a~"), True, True),
        (hunk("-a~", "+a"), True, True),
        (hunk("-a~", "+a~"), False, False),
        (hunk("-a!", "+a~"), False, False),
        (hunk("-a", "+a!"), False, False),
        (hunk("+a~"), True, False),
        (hunk(" a", old_ends=True), True, False),
        (hunk(" a", new_ends=True), True, False),
        (hunk(" a", old_ends=True, new_ends=True), False, False),
    ],
)
def test_whether_a_hunk_changes_something(one, changes, endings):
    assert (one.changes, one.changes_endings) == (changes, endings)


def test_hunks_are_counted_before_empty_ones_are_dropped():
    made = numbered_hunks([hunk("-a"), hunk(" a"), hunk("+b")])

    assert [(one.number, one.new) for one in made] == [(1, []), (3, ["b"])]


@pytest.mark.parametrize(
    ("hunks", "text"),
    [
        ([], ""),
        ([hunk("-a")], ""),
        ([hunk("+a", "+b")], "a\nb\n"),
        ([hunk("+a~", "+b~")], "a\r\nb\r\n"),
        ([hunk("+a~", "+b")], "a\r\nb\n"),
        ([hunk("+a", "+b", new_ends=True)], "a\nb"),
        ([hunk("+a", new_ends=True), hunk("+b")], "a\nb\n"),
        ([hunk(" a", "-x", "+b")], "a\nb\n"),
    ],
)
def test_the_text_of_a_new_file(hunks, text):
    assert join_added_lines(hunks) == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a/x.py", "a/x.py"),
        (" a/x.py ", "a/x.py"),
        ("a/x.py\t2024-01-01 10:00:00", "a/x.py"),
        ("a/x.py  2024-01-01 10:00:00.5 +0100", "a/x.py"),
        ("a/x.py Mon Jan 1 10:00:00 2024", "a/x.py"),
        ("a/x.py (revision 5)", "a/x.py"),
        ("a/x.py (working copy)", "a/x.py"),
        ("a b.py", "a b.py"),
        ("x\t1970-01-01 00:00:00", "/dev/null"),
        ("x\t1969-12-31 23:00:00", "/dev/null"),
        ("x\t1970-01-02 00:00:00", "x"),
        ('"a\\tb"', "a\tb"),
        ('"\\303\\244"', "ä"),
        ('"a\\"b\\\\"', 'a"b\\'),
        ('"a" b', "a"),
        ("`a.py`", "a.py"),
        ("'a.py'", "a.py"),
        ("`a.py'", "`a.py'"),
        ("''", "''"),
        ("'a'", "a"),
    ],
)
def test_the_name_in_a_header(text, name):
    assert parse_file_name(text) == name


@pytest.mark.parametrize(
    ("name", "null"),
    [("/dev/null", True), ("b/dev/null", True), ("dev/null", True), ("null", False), ("", False)],
)
def test_names_that_mean_no_file(name, null):
    assert is_null_name(name) is null


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("x", "x", True),
        ("a/x", "b/x", True),
        ("a/x", "b/y", False),
        ("x", "y", False),
        ("a/", "b/", False),
        ("/dev/null", "b/x", True),
        ("a/x", "/dev/null", True),
        ("/dev/null", "/dev/null", False),
    ],
)
def test_whether_two_headers_are_about_one_file(old, new, same):
    assert is_same_file(old, new) is same


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a/x b/x", ("a/x", "b/x")),
        ("a/x b/y", ("a/x", "b/y")),
        ("a/x y b/x y", ("a/x y", "b/x y")),
        ("x y x y", ("x y", "x y")),
        ("a/x y b/x z", None),
        ('"a/x y" "b/x y"', ("a/x y", "b/x y")),
        ('"a/x" b/x', ("a/x", "b/x")),
        ('"a/x" b/x y', None),
        ("a/x", None),
    ],
)
def test_both_names_of_a_git_header(text, names):
    assert git_names(text) == (names and FileNames(*names))


@pytest.mark.parametrize(
    ("old", "new", "shared"),
    [
        ("a/x", "b/x", "x"),
        ("i/x/y", "w/x/y", "x/y"),
        ("a/x", "a/x", None),
        ("a/x", "b/y", None),
        ("aa/x", "bb/x", None),
        ("a/x", "bb/x", None),
        ("a/", "b/", None),
        ("a", "b", None),
    ],
)
def test_the_name_that_both_share(old, new, shared):
    assert shared_name(FileNames(old, new)) == shared


class FakeFiles:
    """Files that exist by their names."""

    def __init__(self, *names):
        self._names = names

    def locate(self, name):
        kind = Kind.FILE if name in self._names else Kind.MISSING
        return Place(0, name, name, f"/w/{name}", kind)


def resolve(patch, *names, only=None):
    files = FakeFiles(*names)
    (found,) = resolve_targets(files, [patch], files.locate(only) if only else None)
    places = [one and one.path for one in (found.source, found.target)]
    return found.action.value, *places


@pytest.mark.parametrize(
    ("old", "new", "exists", "path"),
    [
        ("x", "x", ["x"], "x"),
        ("a/x", "a/x", ["a/x", "x"], "a/x"),
        ("a/x", "a/x", ["x"], "x"),
        ("a/x", "a/x", [], "x"),
        ("./x", "./x", ["x"], "x"),
        (".//x", ".//x", ["x"], "x"),
        ("a/x", "b/x", ["x", "b/x"], "x"),
        ("i/x", "w/x", ["x"], "x"),
        ("x.orig", "x", ["x"], "x"),
        ("old/x", "new/x", ["x"], "x"),
        ("old/x", "new/x", ["new/x"], "new/x"),
        ("a/x.orig", "b/x", ["x"], "x"),
    ],
)
def test_the_file_of_an_update(old, new, exists, path):
    patch = FilePatch(Action.UPDATE, old, new, (hunk("-a", line=1),), prefixed=True)

    assert resolve(patch, *exists) == ("update", path, path)


@pytest.mark.parametrize(
    ("old", "new", "exists"),
    [("x", "y", ["x", "y"]), ("x", "y", []), ("x", "y", ["x"]), ("", "", ["x"])],
)
def test_an_update_that_names_no_file_or_two(old, new, exists):
    with pytest.raises(ProblemRaised) as caught:
        resolve(FilePatch(Action.UPDATE, old, new), *exists)

    assert (caught.value.problem.code, caught.value.problem.field) == ("invalid_arguments", "patch")


@pytest.mark.parametrize(
    ("hunks", "exists", "action"),
    [
        ((hunk("+a", line=0),), [], "create"),
        ((hunk("+a", line=0),), ["x"], "update"),
        ((hunk("+a", line=1),), [], "update"),
        ((hunk(" a", line=0),), [], "update"),
        ((hunk("+a", line=0), hunk("-a", line=0)), [], "update"),
        ((), [], "update"),
    ],
)
def test_additions_to_line_0_of_a_missing_file_make_it(hunks, exists, action):
    assert resolve(FilePatch(Action.UPDATE, "x", "x", hunks), *exists)[0] == action


def test_a_new_file_has_its_name_without_a_prefix_of_a_diff():
    assert resolve(FilePatch(Action.CREATE, "", "b/x", prefixed=True)) == ("create", None, "x")
    assert resolve(FilePatch(Action.CREATE, "", "b/x")) == ("create", None, "b/x")
    assert resolve(FilePatch(Action.CREATE, "", "b/", prefixed=True)) == ("create", None, "b/")


@pytest.mark.parametrize(
    ("prefixed", "exists", "path"),
    [
        (True, ["x", "a/x"], "x"),
        (False, ["x", "a/x"], "a/x"),
        (True, ["a/x"], "a/x"),
        (False, ["x"], "x"),
        (True, [], "x"),
    ],
)
def test_a_deleted_file(prefixed, exists, path):
    patch = FilePatch(Action.DELETE, "a/x", "", prefixed=prefixed)

    assert resolve(patch, *exists) == ("delete", path, None)


@pytest.mark.parametrize("action", [Action.RENAME, Action.COPY])
@pytest.mark.parametrize(
    ("old", "new", "exists", "found"),
    [
        ("x", "y", ["x"], ("x", "y")),
        ("a/x", "b/y", ["x"], ("x", "y")),
        ("a/x", "b/y", ["a/x", "x"], ("a/x", "b/y")),
        ("a/x", "b/y", [], ("a/x", "b/y")),
        ("a/x", "c/y", ["x"], ("a/x", "c/y")),
        ("c/x", "b/y", ["x"], ("c/x", "b/y")),
    ],
)
def test_moved_and_copied_files(action, old, new, exists, found):
    assert resolve(FilePatch(action, old, new), *exists) == (action.value, *found)


def test_a_call_with_a_path_changes_only_that_file():
    nameless = FilePatch(Action.UPDATE, "", "", (hunk("-a"),))
    named = FilePatch(Action.UPDATE, "y", "y", (hunk("-a"),))

    assert resolve(nameless, "x", only="x") == ("update", "x", "x")
    assert resolve(named, "y", only="y") == ("update", "y", "y")
    with pytest.raises(ProblemRaised):
        resolve(named, "x", "y", only="x")
    with pytest.raises(ProblemRaised):
        resolve(FilePatch(Action.RENAME, "x", "y"), "x", only="x")


def test_a_target_is_shown_by_what_is_written():
    files = FakeFiles("x")
    parts = [
        FilePatch(Action.RENAME, "x", "y"),
        FilePatch(Action.DELETE, "x", ""),
        FilePatch(Action.CREATE, "", "z"),
    ]

    assert [one.path for one in resolve_targets(files, parts, None)] == ["y", "x", "z"]
    assert [part.name for part in parts] == ["y", "x", "z"]
