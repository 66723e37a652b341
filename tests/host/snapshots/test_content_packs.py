"""Packs of small contents: what was added is found by later processes, the rest is removed."""

import hashlib
import os

import pytest

from handrail.host.snapshots import content_packs
from handrail.host.snapshots.content_packs import ContentPacks

pytestmark = pytest.mark.usefixtures("no_open_files")


def digest(data):
    return hashlib.sha256(data).hexdigest()


def add(packs, *contents):
    for data in contents:
        packs.add(digest(data), data)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def small_packs(monkeypatch):
    monkeypatch.setattr(content_packs, "_MOST_BYTES", 100)
    monkeypatch.setattr(content_packs, "_GROUP_BYTES", 30)


def test_what_was_added_is_read_at_once_and_later(tmp_path):
    packs = ContentPacks(tmp_path / "packs")
    add(packs, b"one", b"", b"three")

    assert [packs.read(digest(one)) for one in (b"one", b"", b"three")] == [b"one", b"", b"three"]
    assert packs.read(digest(b"other")) is None
    assert digest(b"one") in packs
    assert digest(b"other") not in packs
    packs.close()
    packs.close()

    later = ContentPacks(tmp_path / "packs")
    assert [later.read(digest(one)) for one in (b"one", b"", b"three")] == [b"one", b"", b"three"]
    assert digest(b"other") not in later


def test_files_of_packs_are_private(tmp_path):
    packs = ContentPacks(tmp_path / "packs")
    add(packs, b"one")
    packs.close()

    assert names(tmp_path / "packs") == ["00000001.index", "00000001.pack"]
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "packs").iterdir()}
    assert modes == {0o600}
    assert (tmp_path / "packs").stat().st_mode & 0o777 == 0o700


def test_a_content_is_stored_once(tmp_path):
    packs = ContentPacks(tmp_path)
    add(packs, b"one", b"one")
    packs.close()
    again = ContentPacks(tmp_path)
    add(again, b"one", b"two")
    again.close()

    assert (tmp_path / "00000001.pack").read_bytes() == b"onetwo"


def test_what_was_not_flushed_is_not_found_by_another(tmp_path):
    packs = ContentPacks(tmp_path)
    add(packs, b"one")
    assert digest(b"one") not in ContentPacks(tmp_path)

    packs.flush()

    assert ContentPacks(tmp_path).read(digest(b"one")) == b"one"
    packs.close()


def test_a_record_that_a_crash_cut_is_ignored(tmp_path):
    packs = ContentPacks(tmp_path)
    add(packs, b"one", b"two")
    packs.close()
    index = tmp_path / "00000001.index"
    index.write_bytes(index.read_bytes()[:-1])
    (tmp_path / "other.pack").write_bytes(b"")

    later = ContentPacks(tmp_path)

    assert later.read(digest(b"one")) == b"one"
    assert later.read(digest(b"two")) is None


def test_a_full_pack_is_followed_by_another(tmp_path, small_packs):
    contents = [b"%02d" % at * 15 for at in range(9)]
    packs = ContentPacks(tmp_path)
    add(packs, *contents)
    packs.close()
    add(packs, b"more")
    packs.close()

    later = ContentPacks(tmp_path)
    assert [later.read(digest(one)) for one in contents] == contents
    assert later.read(digest(b"more")) == b"more"
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("*.pack"))]
    assert sizes == [120, 120, 34]


def test_a_pack_is_removed_if_less_than_half_of_it_is_needed(tmp_path, small_packs):
    contents = [b"%02d" % at * 15 for at in range(8)]
    packs = ContentPacks(tmp_path)
    add(packs, *contents)
    kept = [contents[0], contents[4], contents[5]]

    packs.sweep({digest(one) for one in kept})

    assert [packs.read(digest(one)) for one in kept] == kept
    # Of the second pack half is needed: it stays, with what is not needed.
    assert packs.read(digest(contents[7])) == contents[7]
    assert packs.read(digest(contents[1])) is None
    assert names(tmp_path) == ["00000002.index", "00000002.pack", "00000003.index", "00000003.pack"]
    packs.close()
    later = ContentPacks(tmp_path)
    assert [later.read(digest(one)) for one in kept] == kept
    assert digest(contents[1]) not in later


def test_a_pack_of_nothing_needed_goes(tmp_path):
    packs = ContentPacks(tmp_path)
    add(packs, b"one")
    packs.sweep(set())

    assert names(tmp_path) == []
    assert packs.read(digest(b"one")) is None
    add(packs, b"two")
    assert packs.read(digest(b"two")) == b"two"
    packs.close()


def test_contents_without_room_are_lost_and_the_others_stay(tmp_path, monkeypatch):
    packs = ContentPacks(tmp_path)
    add(packs, b"one")
    packs.flush()
    add(packs, b"two", b"three")
    written = []

    def write(handle, data):
        if written:
            raise OSError(28, "no space left")
        written.append(data)
        return os.pwrite(handle, data[:2], 3)

    with monkeypatch.context() as patched:
        patched.setattr(content_packs.os, "write", write)
        packs.flush()

    assert packs.lost == {digest(b"two"), digest(b"three")}
    assert packs.read(digest(b"one")) == b"one"
    assert packs.read(digest(b"two")) is None
    add(packs, b"four")
    packs.close()
    later = ContentPacks(tmp_path)
    assert later.read(digest(b"four")) == b"four"
    assert digest(b"two") not in later
    assert (tmp_path / "00000001.pack").read_bytes() == b"onefour"


def test_a_pack_that_was_removed_has_nothing(tmp_path):
    packs = ContentPacks(tmp_path)
    add(packs, b"one")
    packs.close()
    (tmp_path / "00000001.pack").unlink()

    assert packs.read(digest(b"one")) is None
