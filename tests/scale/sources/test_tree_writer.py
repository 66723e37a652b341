"""Files of a source: no name leads out of the directory, and limits hold."""

import io
import os

import pytest

from handrail.core.problems import ProblemRaised
from handrail.scale.sources.tree_writer import (
    TreeLimits,
    TreeWriter,
    discard_tree,
    is_inside,
    measure_tree,
    without_login,
)


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    return root


@pytest.fixture
def writer(root):
    return TreeWriter(root, TreeLimits(100, 10), "https://kim:secret@a.example/x")


def code(action, *arguments, **options):
    with pytest.raises(ProblemRaised) as raised:
        action(*arguments, **options)
    assert "secret" not in str(raised.value)
    return raised.value.problem.code


def test_files_directories_and_links_are_written(root, writer):
    writer.add_directory("a/b")
    writer.add_directory("a/b")
    writer.add_file("./a//c", io.BytesIO(b"hello"))
    writer.add_file("run", io.BytesIO(b"x"), executable=True)
    writer.add_copy("again", "run")
    writer.add_copy("text", "a/c")
    writer.add_link("a/link", "../run")
    writer.add_link("new/link", "..")
    assert not (root / "a/link").exists()
    writer.finish()

    assert (root / "a/c").read_bytes() == b"hello"
    assert (root / "a/b").is_dir()
    assert os.readlink(root / "a/link") == "../run"
    assert (root / "new/link").is_dir()
    assert [os.access(root / one, os.X_OK) for one in ("run", "again", "a/c", "text")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "name", ["", ".", "/", "/a", "../a", "a/../b", "a\0b", "x" * 4097, "a/" * 201 + "b"]
)
def test_a_name_that_leads_out_is_refused(writer, name):
    assert code(writer.add_file, name, io.BytesIO(b"")) == "untrusted"
    assert code(writer.add_directory, name) == "untrusted"
    assert code(writer.add_link, name, "x") == "untrusted"


@pytest.mark.parametrize("target", ["", "a\0", "/etc", "..", "../x", "b/../../x", "x" * 4097])
def test_a_link_that_leads_out_is_refused(writer, target):
    assert code(writer.add_link, "link", target) == "untrusted"


def test_links_that_lead_out_together_are_refused(root, tmp_path, writer):
    writer.add_link("a/b", "..")
    writer.add_link("c", "a/b/../x")
    assert code(writer.finish) == "untrusted"
    outside = TreeWriter(root, TreeLimits(9, 9), "x")
    outside.add_directory("d")
    outside.add_link("d/e", "f/..")
    (tmp_path / "elsewhere").mkdir()
    (root / "d" / "f").symlink_to(tmp_path / "elsewhere")
    assert code(outside.finish) == "untrusted"


def test_no_link_is_made_below_a_directory_that_leads_out(root, tmp_path, writer):
    (tmp_path / "elsewhere").mkdir()
    (root / "out").symlink_to(tmp_path / "elsewhere")
    writer.add_link("out/x", "y")

    assert code(writer.finish) == "untrusted"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_name_occurs_once(writer):
    writer.add_file("a", io.BytesIO(b""))

    assert code(writer.add_file, "a", io.BytesIO(b"")) == "untrusted"


def test_a_copy_needs_a_file_before_it(root, writer):
    (root / "link").symlink_to("a")
    (root / "folder").mkdir()
    for earlier in ("missing", "folder", "link", "../x"):
        assert code(writer.add_copy, "b", earlier) == "untrusted"


def test_entries_are_limited(root):
    writer = TreeWriter(root, TreeLimits(100, 2), "x")
    writer.add_directory("a")
    writer.add_link("b", "a")

    assert code(writer.add_file, "c", io.BytesIO(b"")) == "too_large"
    assert not (root / "c").exists()


def test_bytes_are_limited_over_all_files(root):
    writer = TreeWriter(root, TreeLimits(10, 9), "x")
    writer.add_file("a", io.BytesIO(b"12345"))
    writer.add_file("b", io.BytesIO(b"12345"))

    assert code(writer.add_file, "c", io.BytesIO(b"1")) == "too_large"


def test_an_error_of_the_disk_is_a_problem(root, writer):
    (root / "file").write_text("")

    assert code(writer.add_file, "file/below", io.BytesIO(b""))
    assert writer.unreadable("at //kim:secret@b").problem.code


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://kim:secret@a.example/x@y", "https://a.example/x@y"),
        ("see ssh://git@h and //u:p@i", "see ssh://h and //i"),
        ("a@b", "a@b"),
    ],
)
def test_a_login_is_removed_from_urls(text, shown):
    assert without_login(text) == shown


def test_what_lies_inside(root, tmp_path):
    (root / "out").symlink_to(tmp_path)

    assert is_inside(root, root)
    assert is_inside(root / "missing" / "x", root)
    assert not is_inside(root / "out", root)
    assert not is_inside(tmp_path / "root2", root)


def test_a_tree_is_measured_without_following_links(root, tmp_path):
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "x").write_bytes(b"x" * 1_000_000)
    empty = measure_tree([root])
    (root / "link").symlink_to(tmp_path / "big")
    (root / "a").mkdir()
    (root / "a" / "b").write_bytes(b"x" * 50_000)

    assert empty == 0
    assert 50_000 <= measure_tree([root]) < 200_000
    assert measure_tree([root, root]) == 2 * measure_tree([root])
    assert measure_tree([tmp_path / "missing"]) == 0


def test_a_tree_without_permissions_is_discarded(root, tmp_path):
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "c").write_text("x")
    (root / "a" / "b").chmod(0)
    (root / "a").chmod(0o500)
    discard_tree(root)
    discard_tree(root)
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to("target")
    discard_tree(tmp_path / "link")

    assert sorted(one.name for one in tmp_path.iterdir()) == ["target"]


def test_names_and_targets_may_be_as_long_as_a_path(root):
    writer = TreeWriter(root, TreeLimits(100, 3), "x")
    writer.add_link("link", "x" * 4096)
    assert writer._checked("x" * 4096) == "x" * 4096
    assert writer._checked("a/" * 199 + "b") == "a/" * 199 + "b"
    assert code(writer._checked, "a/" * 200 + "b") == "untrusted"
    writer.count_entry()
    writer.count_entry()
    assert code(writer.count_entry) == "too_large"


def test_all_files_together_have_a_limit(root):
    writer = TreeWriter(root, TreeLimits(5, 9), "x")
    writer.add_file("a", io.BytesIO(b"123"))
    writer.add_file("b", io.BytesIO(b"45"))
    assert code(writer.add_file, "c", io.BytesIO(b"6")) == "too_large"
