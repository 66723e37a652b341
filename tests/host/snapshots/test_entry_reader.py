"""Entries of a tree: which contents are copied, and why others are not."""

import hashlib
import os
import stat

import pytest

from handrail.core.places import Form
from handrail.core.ports.snapshots import EntryChange, FileState, SnapshotLimits
from handrail.host.files.root_identity import RootHandle
from handrail.host.snapshots.content_store import ContentStore
from handrail.host.snapshots.entries import (
    LONGEST_TARGET,
    SPECIAL,
    StorageUsage,
    TreeEntry,
    TreeIndex,
    file_signature,
)
from handrail.host.snapshots.entry_reader import (
    EntryReader,
    SnapshotServices,
    find_other_names,
)

pytestmark = pytest.mark.usefixtures("no_open_files")

LATER = 2 * 10**18


@pytest.fixture
def tree(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.fixture
def read(tree, tmp_path):
    handle = os.open(tree, os.O_RDONLY)

    def read_entry(
        name, rel="", freed=0, seed=None, used=0, contents=None, progress=None, **limits
    ):
        store = contents or ContentStore(tmp_path / "contents")
        usage = StorageUsage(size=used)
        services = SnapshotServices(
            store, SnapshotLimits(**limits), frozenset(), usage, progress=progress
        )
        reader = EntryReader(services, seed, LATER)
        return reader.read(rel, handle, name, os.lstat(tree / name), freed)

    yield read_entry
    os.close(handle)


def test_a_file_is_copied(tree, read, tmp_path):
    (tree / "a").write_bytes(b"hello")
    os.link(tree / "a", tree / "b")

    found = read("a")

    assert found.links == 2
    assert found.entry.what == hashlib.sha256(b"hello").hexdigest()
    assert found.entry.proof == found.entry.signature == file_signature(os.lstat(tree / "a"))
    assert ContentStore(tmp_path / "contents").load(found.entry.what) == b"hello"


@pytest.mark.parametrize(
    ("size", "used", "freed", "why"),
    [
        (10, 0, 0, None),
        (11, 0, 0, "!large"),
        (10, 90, 0, None),
        (10, 91, 0, "!room"),
        (10, 95, 5, None),
        (10, 95, 4, "!room"),
        (11, 95, 0, "!large"),
    ],
)
def test_a_file_without_room_is_not_copied(tree, read, size, used, freed, why):
    (tree / "a").write_bytes(b"x" * size)

    entry = read("a", used=used, freed=freed, file_bytes=10, total_bytes=100).entry

    assert (entry.what if entry.what.startswith("!") else None) == why
    # There may be room at the next walk.
    assert (entry.proof is None) is (why == "!room")


@pytest.mark.parametrize(("rel", "name"), [("", ".env"), (".ssh", "known"), ("", "id_rsa")])
def test_a_file_that_may_hold_secrets_is_not_copied(tree, read, rel, name):
    (tree / name).write_bytes(b"x")

    assert read(name, rel=rel).entry.what == "!sensitive"


def test_a_link_is_its_target(tree, read):
    (tree / "short").symlink_to("target")
    (tree / "limit").symlink_to("t" * LONGEST_TARGET)
    (tree / "long").symlink_to("t" * (LONGEST_TARGET + 1))

    assert read("short").entry.what == "target"
    assert read("limit").entry.what == "t" * LONGEST_TARGET
    shortened = read("long").entry.what
    assert shortened.startswith("t" * 200)
    assert len(shortened) == LONGEST_TARGET + 1
    assert hashlib.sha256(b"t" * (LONGEST_TARGET + 1)).hexdigest() in shortened


def test_a_special_file_is_not_opened(tree, read):
    os.mkfifo(tree / "pipe")

    entry = read("pipe").entry

    assert entry.what == SPECIAL
    assert stat.S_ISFIFO(entry.mode)


def test_an_entry_that_was_removed_or_replaced_is_none(tree, tmp_path):
    for name in ("gone", "link"):
        (tree / name).write_bytes(b"x")
    (tree / "pointer").symlink_to("x")
    infos = {name: os.lstat(tree / name) for name in ("gone", "link", "pointer")}
    for name in infos:
        (tree / name).unlink()
    (tree / "link").symlink_to("elsewhere")
    services = SnapshotServices(
        ContentStore(tmp_path / "contents"), SnapshotLimits(), frozenset(), StorageUsage()
    )
    handle = os.open(tree, os.O_RDONLY)
    try:
        reader = EntryReader(services, None, LATER)
        assert [reader.read("", handle, name, info) for name, info in infos.items()] == [None] * 3
    finally:
        os.close(handle)


def test_a_known_copy_is_used_again(tree, read):
    (tree / "a").write_bytes(b"hello")
    signature = file_signature(os.lstat(tree / "a"))

    def seed(proof, what):
        index = TreeIndex(StorageUsage())
        index.put("", "a", TreeEntry(proof, signature, what))
        return index

    assert read("a", seed=seed(signature, "f" * 64)).entry.what == "f" * 64
    own = hashlib.sha256(b"hello").hexdigest()
    assert read("a", seed=seed(None, "f" * 64)).entry.what == own
    assert read("a", seed=seed(signature, "!room")).entry.what == own
    assert read("a", seed=TreeIndex(StorageUsage())).entry.what == own
    assert read("a", rel="other", seed=seed(signature, "f" * 64)).entry.what == own


class ChangingContents:
    """Changes the file while it is copied."""

    def __init__(self, path, times, data=b"more", error=0):
        self.path, self.times, self.data, self.error = path, times, data, error
        self.taken = []

    def take(self, source, size):
        if self.error:
            raise OSError(self.error, "no")
        self.taken.append(os.read(source, size))
        if len(self.taken) <= self.times:
            with self.path.open("ab") as file:
                file.write(self.data)
        return f"{len(self.taken):064}"


@pytest.mark.parametrize(
    ("times", "what"), [(0, f"{1:064}"), (1, f"{2:064}"), (2, f"{3:064}"), (3, "!busy")]
)
def test_a_file_that_changes_meanwhile_is_read_again(tree, read, times, what):
    (tree / "a").write_bytes(b"x")
    contents = ChangingContents(tree / "a", times)

    entry = read("a", contents=contents).entry

    assert entry.what == what
    assert contents.taken == [b"x", b"xmore", b"xmoremore"][: len(contents.taken)]
    if what == "!busy":
        assert entry.proof is None


def test_a_file_that_grows_beyond_the_limit_meanwhile_is_too_large(tree, read):
    (tree / "a").write_bytes(b"x")

    entry = read("a", contents=ChangingContents(tree / "a", 3), file_bytes=4).entry

    assert (entry.what, entry.proof) == ("!large", None)


@pytest.mark.parametrize(
    ("error", "what"), [(28, "!room"), (122, "!room"), (27, "!room"), (5, "!unreadable")]
)
def test_a_copy_that_fails_says_why(tree, read, error, what):
    (tree / "a").write_bytes(b"x")

    entry = read("a", contents=ChangingContents(tree / "a", 0, error=error)).entry

    assert (entry.what, entry.proof) == (what, None)


def test_progress_is_reported_every_few_hundred_files(tree, tmp_path):
    told = []
    services = SnapshotServices(
        ContentStore(tmp_path / "c"),
        SnapshotLimits(),
        frozenset(),
        StorageUsage(),
        progress=told.append,
    )
    (tree / "a").write_bytes(b"x")
    reader, info = EntryReader(services, None, LATER), os.lstat(tree / "a")
    handle = os.open(tree, os.O_RDONLY)
    try:
        for _ in range(513):
            reader.read("", handle, "a", info)
    finally:
        os.close(handle)

    assert told == [256, 512]


def change(rel, gone=True, root=0):
    state = FileState(Form.FILE, 0o644, 1, "x", "", 1, 1)
    return EntryChange(root, rel, state, None if gone else state)


@pytest.mark.parametrize("everywhere", [True, False])
def test_other_names_of_a_removed_file_are_found(tree, everywhere):
    (tree / "sub").mkdir()
    (tree / ".git").mkdir()
    (tree / "a").write_text("x")
    (tree / "other").write_text("x")
    names = ["b", "sub/c", ".git/d"]
    for name in names:
        os.link(tree / "a", tree / name)
    info = os.lstat(tree / "a")
    index = TreeIndex(StorageUsage())
    index.linked = dict.fromkeys(("a", "b", "sub/c", "gone"), (info.st_dev, info.st_ino))
    (tree / "a").unlink()
    handle = os.open(tree, os.O_RDONLY)
    try:
        deltas = [change("a"), change("gone"), change("other"), change("b", gone=False)]
        found = find_other_names(
            deltas, [index], [RootHandle(str(tree), handle)], everywhere=everywhere
        )
        assert find_other_names([change("other")], [index], [], everywhere=everywhere) == {}
    finally:
        os.close(handle)

    assert set(found) == {(0, "a"), (0, "gone")}
    assert sorted(found[0, "a"][2]) == [(0, "b"), (0, "sub/c")]
    assert found[0, "a"][:2] == (info.st_dev, info.st_ino)


def test_a_few_other_names_are_enough():
    index = TreeIndex(StorageUsage())
    index.linked = {f"n{at}": (1, 2) for at in range(9)}

    found = find_other_names([change("n0")], [index], [], everywhere=False)

    assert found[0, "n0"][2] == tuple((0, f"n{at}") for at in range(1, 5))
