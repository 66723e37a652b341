"""Walks of directory trees that list only what has changed, within limits."""

import os
from typing import NamedTuple

import pytest

from handrail.host.snapshots import entries
from handrail.host.snapshots.listing_cache import ListingCache

pytestmark = pytest.mark.usefixtures("no_open_files")


class Names(NamedTuple):
    names: tuple[str, ...]
    folders: tuple[str, ...]

    @property
    def size(self):
        return len(self.names)


class Source:
    """Opens directories of a tree, and notes which."""

    def __init__(self, root):
        self.root = root
        self.opened = []

    def lstat(self, path):
        return os.lstat(self.root / path)

    def open_folder(self, path):
        self.opened.append(path)
        return os.open(self.root / path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def read(path, found):
    names = sorted(found, key=lambda one: one.name)
    folders = [f"{path}/{one.name}" if path != "." else one.name for one in names if one.is_dir()]
    return Names(tuple(one.name for one in names), tuple(folders))


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A tree whose stamps all count."""
    monkeypatch.setattr(entries, "is_settled", lambda _: True)
    monkeypatch.setattr(
        entries, "_STAMPING", entries._STAMPING | {entries._filesystem_type(tmp_path.stat().st_dev)}
    )
    for path in ("a/x", "b", "c"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "b" / "file").write_text("")
    return Source(tmp_path)


def walk(cache, source, start=".", folders=100, most=100, **options):
    begun = cache.begin(max_folders=folders, max_entries=most)
    visits = list(begun.walk(source, start, read, **options))
    cache.finish(begun)
    return visits


def test_upper_directories_come_first(tree):
    visits = walk(ListingCache(), tree)

    assert [one.path for one in visits] == [".", "a", "b", "c", "a/x"]
    assert [one.listing.names for one in visits] == [("a", "b", "c"), ("x",), ("file",), (), ()]
    assert all(one.info is not None and one.error is None for one in visits)


def test_only_a_directory_that_changed_is_listed_again(tree):
    cache = ListingCache()
    first = walk(cache, tree)
    tree.opened.clear()

    again = walk(cache, tree)
    assert tree.opened == []
    assert [one.listing for one in again] == [one.listing for one in first]
    (tree.root / "c" / "new").write_text("")

    changed = walk(cache, tree)
    assert tree.opened == ["c"]
    assert changed[3].listing.names == ("new",)


def test_a_directory_that_was_not_visited_is_forgotten(tree):
    cache = ListingCache()
    walk(cache, tree)
    walk(cache, tree, start="a")
    tree.opened.clear()

    walk(cache, tree)

    assert tree.opened == [".", "b", "c"]


def test_skipped_directories_are_not_visited_and_none_twice(tree):
    begun = ListingCache().begin(max_folders=9, max_entries=99)

    first = [one.path for one in begun.walk(tree, ".", read, skipped={"a"})]
    second = [one.path for one in begun.walk(tree, "a", read)]
    third = [one.path for one in begun.walk(tree, ".", read)]

    assert (first, second, third) == ([".", "b", "c"], ["a", "a/x"], [])


def test_some_directories_may_come_last(tree):
    visits = walk(ListingCache(), tree, visit_last=lambda path: path.startswith("a"))
    (tree.root / "b" / "deep").mkdir()

    assert [one.path for one in visits] == [".", "a", "b", "c", "a/x"]
    visits = walk(ListingCache(), tree, visit_last=lambda path: path.startswith("a"))
    assert [one.path for one in visits] == [".", "a", "b", "c", "b/deep", "a/x"]


@pytest.mark.parametrize(
    ("folders", "most", "listed"),
    [(3, 100, 3), (1, 100, 1), (0, 100, 0), (100, 3, 2), (100, 4, 3), (100, 2, 1), (100, 100, 5)],
)
def test_what_is_beyond_the_limits_is_named_and_not_listed(tree, folders, most, listed):
    visits = walk(ListingCache(), tree, folders=folders, most=most)

    assert [one.listing is not None for one in visits].count(True) == listed
    assert all(one.error is None for one in visits)
    assert [one.path for one in visits][:1] == ["."]


def test_a_directory_that_cannot_be_opened_has_its_error(tree):
    (tree.root / "b").rename(tree.root / "moved")
    (tree.root / "b").symlink_to("moved")
    (tree.root / "gone").mkdir()
    begun = ListingCache().begin(max_folders=9, max_entries=99)
    visits = {one.path: one for one in begun.walk(tree, "b", read)}

    assert isinstance(visits["b"].error, OSError)
    assert visits["b"].listing is None
    assert "b" not in begun.visited
