"""Where a shadow keeps its copies: for the next runtime, beside others, after a crash."""

import json

from tests.host.snapshots.conftest import told
from tests.support.waiting import wait_until

from handrail.host.snapshots.content_store import ContentStore
from handrail.host.snapshots.local_snapshots import LocalSnapshots
from handrail.host.state.blobs import DirectoryBlobs
from handrail.host.state.identities import RuntimePresence


def test_the_next_runtime_reads_nothing_again(folder, monkeypatch):
    for number in range(50):
        folder.write(f"d/f{number}", "x")
    first = folder.shadow()
    settle(folder)
    first.capture(None)
    first.close()

    monkeypatch.setattr(ContentStore, "take", refuse)
    second = folder.shadow()
    before = second.capture(None)

    assert before.usage.files == 51
    assert second.diff(before).deltas == ()


def refuse(self, source, size):
    raise AssertionError("it was read again")


def settle(folder):
    """Older than the tick of the clock, or its time stamps prove nothing."""
    import time

    newest = max(path.lstat().st_ctime_ns for path in folder.root.rglob("*"))
    wait_until(lambda: time.time_ns() >= newest + 25_000_000)


def test_a_second_runtime_has_a_place_of_its_own(folder):
    folder.write("a", "1")
    first, second = folder.shadow(), folder.shadow()
    one, two = first.capture(None), second.capture(None)
    folder.write("a", "2")

    assert first.crash_reference(one, "")["slot"] != second.crash_reference(two, "")["slot"]
    assert set(told(first.diff(one))) == set(told(second.diff(two))) == {"a"}


def test_whether_anybody_else_is_here_is_known(folder, tmp_path):
    first = folder.shadow()
    assert first.is_only_runtime()

    second = folder.shadow()
    assert (first.is_only_runtime(), second.is_only_runtime()) == (False, False)
    second.close()
    assert first.is_only_runtime()


def test_what_a_crash_left_of_a_presence_counts_for_nobody(tmp_path):
    left = RuntimePresence(tmp_path / "present")
    import os

    os.close(left._handle)
    here = RuntimePresence(tmp_path / "present")

    assert here.is_only_runtime()
    here.close()


def test_after_a_crash_the_state_before_a_command_is_found_again(folder):
    folder.write("a", "1")
    folder.write("gone", "1")
    crashed = folder.shadow()
    before = crashed.capture(None)
    notes = crashed.new_write_log()
    reference = json.loads(json.dumps(crashed.crash_reference(before, notes)))
    with open(notes, "w") as file:
        file.write(json.dumps([str(folder.root / "a"), [1, 2]]) + "\n")
    folder.write("a", "2")
    (folder.root / "gone").unlink()
    crashed._place.close()
    crashed._place = None

    look, noted = folder.shadow().diff_since(reference)

    assert set(told(look)) == {"a", "gone"}
    assert not noted.blind
    assert noted.files == {str(folder.root / "a"): (1, 2)}


def test_a_line_cut_off_by_a_crash_spoils_nothing(folder):
    folder.write("a", "1")
    first = folder.shadow()
    first.capture(None)
    first.close()
    manifest = folder.state / "0" / "manifest-00000001"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:-20])

    second = folder.shadow()
    before = second.capture(None)
    folder.write("a", "2")

    assert set(told(second.diff(before))) == {"a"}


def test_a_reference_to_what_is_not_there_is_no_look(folder):
    folder.write("a", "1")
    shadow = folder.shadow()
    shadow.capture(None)

    bad = [
        {},
        {"slot": "../..", "name": "manifest-00000001", "length": 5},
        {"slot": "0", "name": "../../etc/passwd", "length": 5},
        {"slot": "7", "name": "manifest-00000001", "length": 5},
    ]
    assert [shadow.diff_since(one) for one in bad] == [None] * 4


def test_a_damaged_copy_is_not_handed_over(folder, tmp_path):
    folder.write("a", "content")
    shadow = folder.shadow()
    before = shadow.capture(None)
    (pack,) = (folder.state / "0" / "packs").glob("*.pack")
    pack.write_bytes(b"damaged")
    folder.write("a", "other")
    old = shadow.diff(before).deltas[0].before

    assert not shadow.export_content(old.text, old.size, DirectoryBlobs(tmp_path / "blobs"))


def test_contents_beyond_the_room_of_old_contents_are_not_handed_over(folder, tmp_path):
    folder.write("a", "content")
    shadow = folder.shadow()
    before = shadow.capture(None)
    folder.write("a", "other")
    old = shadow.diff(before).deltas[0].before
    blobs = DirectoryBlobs(tmp_path / "blobs", quota_bytes=3)

    assert not shadow.export_content(old.text, old.size, blobs)


def test_a_temporary_shadow_leaves_nothing(folder, tmp_path):
    folder.write("a", "1")
    from handrail.core.ports.snapshots import SnapshotLimits

    shadow = LocalSnapshots(
        [(str(folder.root), folder.handle)],
        tmp_path / "passing",
        limits=SnapshotLimits(),
        temporary=True,
    )
    shadow.capture(None)
    shadow.close()

    assert not (tmp_path / "passing").exists()


def test_two_runtimes_that_crashed_are_both_found_again(folder, tmp_path):
    folder.write("a", "1")
    shadows = [folder.shadow(), folder.shadow()]
    references = []
    for number, shadow in enumerate(shadows):
        before = shadow.capture(None)
        references.append(dict(shadow.crash_reference(before, shadow.new_write_log())))
        folder.write("a", f"by {number}")
    for shadow in shadows:
        shadow.close()

    later = folder.shadow()
    looks = [later.diff_since(one)[0] for one in references]

    assert [set(told(look)) for look in looks] == [{"a"}, {"a"}]
    blobs = DirectoryBlobs(tmp_path / "blobs")
    for look, old in zip(looks, [b"1", b"by 0"], strict=True):
        before = look.deltas[0].before
        assert later.export_content(before.text, before.size, blobs)
        assert blobs.load(before.text) == old


def test_a_look_after_a_crash_does_not_blame_a_repository(folder):
    folder.write(".git/HEAD", "ref: refs/heads/main\n")
    folder.write("a", "1")
    crashed = folder.shadow()
    reference = crashed.crash_reference(crashed.capture(None), "")
    crashed.close()

    look, _ = folder.shadow().diff_since(reference)

    assert look.repositories == {}
