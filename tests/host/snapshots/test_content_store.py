"""Copies of contents: they are found by their hash, checked, exported and removed."""

import hashlib
import os

import pytest

from handrail.core.problems import ProblemRaised
from handrail.host.snapshots import content_store
from handrail.host.snapshots.content_store import ContentStore, hash_file, read_all

pytestmark = pytest.mark.usefixtures("no_open_files")

SMALL, MIDDLE, LARGE = b"small", b"m" * 100_000, b"large" * (2 << 20)


def digest(data):
    return hashlib.sha256(data).hexdigest()


class KnownBlobs:
    """Takes blobs in a folder."""

    def __init__(self, folder, room=True):
        folder.mkdir()
        self.folder, self.room = folder, room
        self.kept, self.sizes = [], []
        self.offers_target = True
        self.refuses = False

    def has_room(self, size):
        return self.room

    def target(self, name):
        return str(self.folder / name) if self.offers_target else None

    def adopted(self, size):
        self.sizes.append(size)

    def keep(self, content):
        if self.refuses:
            raise ProblemRaised("too_large", "no room")
        self.kept.append(content.tobytes())


@pytest.fixture
def take(tmp_path):
    source = tmp_path / "source"

    def take_into(store, data, size=None):
        source.write_bytes(data)
        handle = os.open(source, os.O_RDONLY)
        try:
            return store.take(handle, len(data) if size is None else size)
        finally:
            os.close(handle)

    return take_into


@pytest.fixture(params=["packed", "files"])
def store(request, tmp_path):
    packs = tmp_path / "packs" if request.param == "packed" else None
    made = ContentStore(tmp_path / "contents", packs)
    yield made
    made.close()


@pytest.mark.parametrize(
    "data", [b"", SMALL, MIDDLE, LARGE], ids=["none", "small", "middle", "large"]
)
def test_a_copy_is_found_by_its_hash(store, take, tmp_path, data):
    assert take(store, data) == digest(data)
    assert take(store, data) == digest(data)

    assert store.load(digest(data)) == data
    assert store.load(digest(b"other")) is None
    assert store.flush() == set()
    assert list(tmp_path.glob("contents/.*")) == []


def test_at_most_the_given_size_is_copied(store, take):
    assert take(store, SMALL, 3) == digest(SMALL[:3])
    assert take(store, LARGE, 9 << 20) == digest(LARGE[: 9 << 20])
    assert store.load(digest(SMALL[:3])) == SMALL[:3]


def test_a_damaged_copy_is_none_and_is_made_again(tmp_path, take):
    store = ContentStore(tmp_path / "contents")
    take(store, MIDDLE)
    copy = tmp_path / "contents" / digest(MIDDLE)[:2] / digest(MIDDLE)
    assert copy.stat().st_mode & 0o777 == 0o600
    copy.write_bytes(b"short")

    assert store.load(digest(MIDDLE)) is None
    with pytest.raises(OSError):
        list(store.read_parts(digest(MIDDLE)))
    take(store, MIDDLE)
    assert store.load(digest(MIDDLE)) == MIDDLE


def test_a_copy_is_read_in_parts(tmp_path, take):
    store = ContentStore(tmp_path / "contents")
    take(store, LARGE)

    parts = list(store.read_parts(digest(LARGE)))

    assert len(parts) > 1
    assert b"".join(parts) == LARGE
    with pytest.raises(OSError):
        list(store.read_parts(digest(b"other")))


def test_a_copy_that_is_used_again_counts_as_new(tmp_path, take):
    store = ContentStore(tmp_path / "contents")
    take(store, MIDDLE)
    copy = tmp_path / "contents" / digest(MIDDLE)[:2] / digest(MIDDLE)
    os.utime(copy, (1, 1))

    take(store, MIDDLE)

    assert copy.stat().st_mtime > 1


def test_the_oldest_copies_go_until_the_rest_fits(tmp_path, take):
    store = ContentStore(tmp_path / "contents")
    contents = [b"%d" % at * 70_000 for at in range(4)]
    for at, data in enumerate(contents):
        take(store, data)
        os.utime(tmp_path / "contents" / digest(data)[:2] / digest(data), (at + 1, at + 1))

    store.evict(280_000, [])
    assert all(store.load(digest(one)) for one in contents)
    store.evict(140_000, [digest(contents[0])])

    assert [store.load(digest(one)) is not None for one in contents] == [True, False, False, True]


def test_copies_that_are_not_needed_are_swept(store, take, tmp_path):
    for data in (SMALL, MIDDLE, b"other"):
        take(store, data)
    (tmp_path / "contents").mkdir(exist_ok=True)
    (tmp_path / "contents" / ".1-1").write_bytes(b"left by a crash")

    store.sweep({digest(MIDDLE)})

    assert store.load(digest(MIDDLE)) == MIDDLE
    assert store.load(digest(SMALL)) is None
    assert not (tmp_path / "contents" / ".1-1").exists()


@pytest.mark.parametrize("data", [SMALL, MIDDLE], ids=["small", "middle"])
def test_a_copy_is_exported(store, take, tmp_path, data):
    blobs = KnownBlobs(tmp_path / "blobs")
    take(store, data)

    assert store.export(digest(data), len(data), blobs)
    assert (tmp_path / "blobs" / digest(data)).read_bytes() == data
    assert (blobs.sizes, blobs.kept) == ([len(data)], [])
    # It is there already.
    assert store.export(digest(data), len(data), blobs)
    assert (blobs.sizes, blobs.kept) == ([len(data)], [])
    assert [path.name for path in (tmp_path / "blobs").iterdir()] == [digest(data)]


def test_a_blob_of_another_size_is_kept_by_the_blobs(store, take, tmp_path):
    blobs = KnownBlobs(tmp_path / "blobs")
    take(store, SMALL)
    (tmp_path / "blobs" / digest(SMALL)).write_bytes(b"x")

    assert store.export(digest(SMALL), len(SMALL), blobs)
    assert (blobs.sizes, blobs.kept) == ([], [SMALL])


def test_blobs_without_files_keep_the_content(store, take, tmp_path):
    blobs = KnownBlobs(tmp_path / "blobs")
    blobs.offers_target = False
    take(store, SMALL)

    assert store.export(digest(SMALL), len(SMALL), blobs)
    assert blobs.kept == [SMALL]
    blobs.refuses = True
    assert not store.export(digest(SMALL), len(SMALL), blobs)


def test_what_is_missing_or_has_no_room_is_not_exported(store, take, tmp_path):
    take(store, SMALL)

    assert not store.export(digest(b"other"), 5, KnownBlobs(tmp_path / "blobs"))
    assert not store.export(digest(SMALL), 5, KnownBlobs(tmp_path / "full", room=False))


def test_contents_without_room_are_reported_once(tmp_path, take, monkeypatch):
    store = ContentStore(tmp_path / "contents", tmp_path / "packs")
    take(store, SMALL)

    def no_room(*_):
        raise OSError(28, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(content_store.os, "write", no_room)
        assert store.flush() == {digest(SMALL)}
    assert store.flush() == set()
    store.close()


@pytest.mark.parametrize("size", [100_000, 9 << 20])
def test_a_copy_that_fails_leaves_nothing(tmp_path, take, monkeypatch, size):
    store = ContentStore(tmp_path / "contents")

    def no_room(*_):
        raise OSError(28, "no space left")

    with monkeypatch.context() as patched, pytest.raises(OSError):
        patched.setattr(content_store.os, "write", no_room)
        take(store, b"x" * size)

    assert [path for path in (tmp_path / "contents").rglob("*") if path.is_file()] == []


def test_files_are_read_and_hashed(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(LARGE)
    handle = os.open(path, os.O_RDONLY)
    try:
        assert read_all(handle, 0) == b""
        assert read_all(handle, 4) == LARGE[:4]
        assert read_all(handle, 3 << 20) == LARGE[4 : (3 << 20) + 4]
        assert hash_file(handle) == digest(LARGE)
        assert read_all(handle, 10) == b""
        os.lseek(handle, 0, os.SEEK_SET)
        assert read_all(handle, len(LARGE) + 10) == LARGE
    finally:
        os.close(handle)
