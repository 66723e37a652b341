"""What is beyond the quota is named, and never told as something that it is not."""

import hashlib
import os
import shutil

import pytest
from tests.host.snapshots.conftest import told

from handrail.core.ports.snapshots import NO_ROOM, TOO_LARGE, SnapshotLimits
from handrail.host.snapshots.content_packs import ContentPacks
from handrail.host.snapshots.local_snapshots import LocalSnapshots
from handrail.host.snapshots.walker import TOO_MANY
from handrail.host.state.blobs import DirectoryBlobs


def test_a_file_over_the_size_is_named(folder):
    folder.write("big", "x" * 2000)
    folder.write("small", "x")
    shadow = folder.shadow(file_bytes=1000)
    before = shadow.capture(None)

    folder.write("big", "y" * 2000)
    folder.write("small", "y")
    look = shadow.diff(before)

    assert {one.rel: one.before.why for one in look.deltas} == {"big": TOO_LARGE, "small": ""}


def test_beyond_all_bytes_nothing_more_is_copied(folder):
    for number in range(10):
        folder.write(f"f{number}", "x" * 100)
    shadow = folder.shadow(total_bytes=350)
    before = shadow.capture(None)

    for number in range(10):
        folder.write(f"f{number}", "y" * 100)
    look = shadow.diff(before)

    whys = [one.before.why for one in look.deltas]
    assert (whys.count(""), whys.count(NO_ROOM)) == (3, 7)


def test_what_had_no_room_is_copied_when_there_is_some_and_is_no_change(folder):
    folder.write("first", "x" * 100)
    folder.write("second", "x" * 90)
    shadow = folder.shadow(total_bytes=150)
    before = shadow.capture(None)
    entries = before.trees[str(folder.root)].listings[""]
    kept = "first" if not entries["first"].what.startswith("!") else "second"
    other = {"first": "second", "second": "first"}[kept]
    assert entries[other].what == "!room"

    (folder.root / kept).unlink()
    before = shadow.capture(None)
    assert shadow.diff(before).deltas == ()
    folder.write(other, "z" * 90)

    assert [one.before.why for one in shadow.diff(before).deltas] == [""]


def test_a_file_that_is_rewritten_takes_the_room_of_its_old_content(folder):
    folder.write("a", "x" * 100)
    shadow = folder.shadow(total_bytes=150)
    before = shadow.capture(None)
    folder.write("a", "y" * 100)

    assert [one.after.why for one in shadow.diff(before).deltas] == [""]


def test_beyond_the_number_of_files_folders_are_left_and_nothing_in_them_is_told(folder):
    for number in range(30):
        folder.write(f"d{number // 10}/f{number}", "x")
    shadow = folder.shadow(files=15)
    before = shadow.capture(None)

    for number in range(30):
        folder.write(f"d{number // 10}/f{number}", "y")
    look = shadow.diff(before)

    assert look.left
    assert all(one.before is not None for one in look.deltas)
    assert 0 < len(look.deltas) <= 15


def test_new_files_beyond_the_number_are_counted_and_old_ones_not_told_as_gone(folder):
    for number in range(5):
        folder.write(f"a{number}", "x")
    shadow = folder.shadow(files=8)
    before = shadow.capture(None)
    assert shadow.diff(before).left == {}

    for number in range(10):
        folder.write(f"b{number}", "new")
    look = shadow.diff(before)

    created = [one for one in look.deltas if one.before is None]
    assert len(created) == 3
    assert look.unseen
    assert not [one for one in look.deltas if one.after is None]


def test_a_new_folder_beyond_the_number_is_counted(folder):
    folder.write("a", "x")
    shadow = folder.shadow(files=1)
    before = shadow.capture(None)

    (folder.root / "new").mkdir()
    look = shadow.diff(before)

    assert (look.deltas, look.unseen) == ((), 1)
    assert list(look.left.values()) == [TOO_MANY]


def test_what_is_made_anew_by_tools_is_looked_at_last(folder):
    for number in range(20):
        folder.write(f"node_modules/p{number}/index.js", "x")
        folder.write(f"target/o{number}", "x")
    for number in range(5):
        folder.write(f"zsrc/s{number}", "x")
    shadow = folder.shadow(files=12)
    before = shadow.capture(None)

    for number in range(5):
        folder.write(f"zsrc/s{number}", "y")

    assert set(told(shadow.diff(before))) == {f"zsrc/s{number}" for number in range(5)}


def test_copies_that_nobody_needs_are_removed(folder, monkeypatch):
    monkeypatch.setattr("handrail.host.snapshots.local_snapshots._MOST_STALE", 1000)
    shadow = folder.shadow()
    folder.write("kept", "k" * 100)
    for number in range(30):
        folder.write("churn", f"{number}" * 100)
        shadow.diff(shadow.capture(None))

    assert sum(map(len, copies(folder))) < 2500
    assert b"k" * 100 in copies(folder)


def test_runtimes_of_one_command_each_leave_only_what_is_there(folder):
    folder.write("kept", "k" * 100)
    for number in range(10):
        folder.write("churn", f"{number}" * 100)
        shadow = folder.shadow()
        before = shadow.capture(None)
        shadow.diff(before)
        shadow.close()

    assert {b"k" * 100, b"9" * 100} <= copies(folder)
    # Of a pack half may be what nobody needs any more.
    assert sum(map(len, copies(folder))) <= 400


def test_copies_of_a_root_that_is_not_open_now_stay(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "far").write_text("f" * 100)
    folder.write("churn", "old")
    handle = os.open(other, os.O_RDONLY)
    roots = [(str(folder.root), folder.handle), (str(other), handle)]
    both = LocalSnapshots(roots, folder.state, limits=SnapshotLimits())
    both.capture(None)
    both.close()
    os.close(handle)

    folder.write("churn", "new")
    shadow = folder.shadow()
    shadow.capture(None)
    shadow.close()

    assert {b"f" * 100, b"new"} <= copies(folder)


def copies(folder):
    """All contents that are stored, in packs and as files."""
    files = [path for path in (folder.state / "0" / "contents").rglob("*") if path.is_file()]
    packs = ContentPacks(folder.state / "0" / "packs")
    packed = [packs.read(digest) for digest in packs._positions()]
    assert all(packs._path(one, ".pack").stat().st_size for one in packs._numbers())
    return {*packed, *(path.read_bytes() for path in files)}


def test_copies_as_files_of_an_older_version_are_used(folder, tmp_path):
    folder.write("a", "content")
    first = folder.shadow()
    first.capture(None)
    first.close()
    packs = ContentPacks(folder.state / "0" / "packs")
    (digest,) = packs._positions()
    plain = folder.state / "0" / "contents" / digest[:2] / digest
    plain.parent.mkdir(parents=True)
    plain.write_bytes(packs.read(digest))
    shutil.rmtree(folder.state / "0" / "packs")

    shadow = folder.shadow()
    blobs = DirectoryBlobs(tmp_path / "blobs")

    assert shadow.export_content(digest, 7, blobs)
    assert blobs.load(digest) == b"content"


@pytest.mark.finding("F72")
def test_packs_are_divided_swept_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr("handrail.host.snapshots.content_packs._MOST_BYTES", 1000)
    contents = {hashlib.sha256(one).hexdigest(): one for one in (b"%d" % n * 90 for n in range(40))}
    packs = ContentPacks(tmp_path)
    for digest, content in contents.items():
        packs.add(digest, content)
    packs.close()
    assert 4 <= len(packs._numbers()) <= 8

    needed = set(list(contents)[::5])
    packs.sweep(needed)
    # More comes after a sweep, and a crash cuts the last record of an index.
    more = hashlib.sha256(b"more").hexdigest()
    packs.add(more, b"more")
    packs.flush()
    with packs._path(packs._number, ".index").open("ab") as file:
        file.write(b"cut")

    found = ContentPacks(tmp_path)
    assert {one: found.read(one) for one in needed} == {one: contents[one] for one in needed}
    assert found.read(more) == b"more"
    size = sum(path.stat().st_size for path in tmp_path.glob("*.pack"))
    assert size <= 2 * sum(len(contents[one]) for one in needed) + 4
    packs.close()


@pytest.mark.finding("F72")
@pytest.mark.parametrize("fits", [0, 3], ids=["nothing", "a part"])
def test_files_for_which_the_disk_had_no_room_are_named_and_the_others_kept(
    folder, tmp_path, monkeypatch, fits
):
    monkeypatch.setattr("handrail.host.snapshots.content_packs._GROUP_BYTES", 100)
    shadow = folder.shadow()
    folder.write("d/before", "1" * 100)
    shadow.capture(None)
    for name in ("a", "b", "c"):
        folder.write(f"d/{name}", name * 40)
    written = os.write

    def full(handle, data):
        if b"aaa" not in data:
            return written(handle, data)
        if fits:
            written(handle, data[:fits])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("handrail.host.snapshots.content_packs.os.write", full)
        shadow.capture(None)
        folder.write("d/later", "5" * 120)
        before = shadow.capture(None)
    for name in ("before", "a", "b", "c", "later"):
        folder.write(f"d/{name}", "new")

    found = {one.rel: one.before for one in shadow.diff(before).deltas}
    blobs = DirectoryBlobs(tmp_path / "blobs")
    kept = {
        rel: one.why == "" and shadow.export_content(one.text, one.size, blobs)
        for rel, one in found.items()
    }
    assert found["d/a"].why == NO_ROOM
    assert kept["d/before"]
    assert kept["d/later"]
    # What is said to be kept is there.
    assert all(kept[rel] for rel, one in found.items() if one.why == "")


def test_memory_does_not_grow_with_the_commands(folder):
    for number in range(200):
        folder.write(f"f{number}", "x")
    shadow = folder.shadow()
    before = shadow.capture(None)
    entries = before.usage.files

    for turn in range(20):
        before = shadow.capture(None)
        folder.write("f0", f"{turn}")
        folder.write("temp", f"{turn}")
        shadow.diff(before)
        os.unlink(folder.root / "temp")

    assert shadow.capture(None).usage.files == entries
    lines = (folder.state / "0" / "manifest-00000001").read_text().count("\n")
    assert lines < 200


def test_after_a_crash_files_beyond_the_number_are_not_told_as_new(folder):
    for number in range(3):
        folder.write(f"a{number}")
    first = folder.shadow(files=3)
    first.capture(None)
    folder.write("b")
    reference = first.crash_reference(first.capture(None), "")
    first.close()

    look, _ = folder.shadow().diff_since(reference)

    # It was there before, though nothing is known of it.
    assert look.deltas == ()


def test_after_a_crash_the_rest_is_new_where_everything_was_known(folder):
    folder.write("a")
    first = folder.shadow(files=3)
    reference = first.crash_reference(first.capture(None), "")
    first.close()
    folder.write("b")

    look, _ = folder.shadow().diff_since(reference)

    assert told(look) == {"b": (None, told(look)["b"][1])}
