"""The index of a tree: what is counted, what proves a file unchanged, and the state of an entry."""

import os
import stat
import time

import pytest

from handrail.core.places import Form
from handrail.core.ports.snapshots import (
    BUSY,
    LONG_LINK,
    NO_ROOM,
    SENSITIVE,
    TOO_LARGE,
    UNREADABLE,
)
from handrail.host.files.reading import TICK_NS
from handrail.host.snapshots.entries import (
    FOLDER,
    LONGEST_TARGET,
    SPECIAL,
    DirectoryStamps,
    StorageUsage,
    TreeEntry,
    TreeIndex,
    directory_stamp,
    file_signature,
    file_state,
    folder_entry,
    is_kept,
    kept_bytes,
    make_entry,
)

REGULAR, LINK = stat.S_IFREG | 0o640, stat.S_IFLNK | 0o777


def entry(what="a" * 64, size=10, mode=REGULAR):
    signature = (100, 200, 7, size, mode, 1)
    return TreeEntry(signature, signature, what)


def numbers(usage):
    return usage.files, usage.size, usage.stale


def test_entries_are_counted():
    index = TreeIndex(StorageUsage())
    index.put("d", "a", entry(size=10))
    index.put("d", "b", entry(what="!large", size=99))
    index.put("", "c", entry(mode=LINK, what="target", size=6))

    assert numbers(index.usage) == (3, 10, 0)
    assert index.dirty == {"", "d"}
    index.put("d", "a", entry(size=4))
    assert numbers(index.usage) == (3, 4, 10)
    index.dirty.clear()
    index.drop("d", "a")
    assert numbers(index.usage) == (2, 0, 14)
    assert index.dirty == {"d"}
    index.dirty.clear()
    index.drop("d", "a")
    index.drop("none", "a")
    assert numbers(index.usage) == (2, 0, 14)
    assert index.dirty == set()


def test_a_copy_is_independent_and_counts_for_itself():
    index = TreeIndex(StorageUsage(), left={"x": "why"}, linked={"a": (1, 2)})
    index.put("d", "a", entry(size=10))
    usage = StorageUsage(files=1, size=5)

    copied = index.copy(usage)
    copied.drop("d", "a")
    copied.left.clear()
    copied.linked.clear()

    assert numbers(usage) == (1, 5, 10)
    assert numbers(index.usage) == (1, 10, 0)
    assert index.listings["d"] == {"a": entry(size=10)}
    assert (index.left, index.linked) == ({"x": "why"}, {"a": (1, 2)})


def test_lost_copies_are_marked_where_something_changed():
    index = TreeIndex(StorageUsage())
    index.put("old", "a", entry("a" * 64))
    index.dirty.clear()
    index.put("d", "a", entry("a" * 64))
    index.put("d", "b", entry("b" * 64))
    index.put("d", "c", entry("a" * 64, mode=LINK))

    index.mark_lost({"a" * 64})

    assert {name: one.what for name, one in index.listings["d"].items()} == {
        "a": "!room",
        "b": "b" * 64,
        "c": "a" * 64,
    }
    assert index.listings["d"]["a"].proof is None
    assert index.listings["old"]["a"].what == "a" * 64
    assert index.digests() == {"a" * 64, "b" * 64}


@pytest.mark.parametrize(
    ("one", "kept", "size"),
    [
        (entry(), True, 10),
        (entry("!large"), False, 0),
        (entry("target", mode=LINK), False, 0),
        (folder_entry(stat.S_IFDIR | 0o755), False, 0),
    ],
)
def test_which_contents_are_copied(one, kept, size):
    assert is_kept(one) is kept
    assert kept_bytes(one) == size


@pytest.mark.parametrize(
    ("written", "changed", "proves"),
    [(0, 0, True), (0, -1, True), (TICK_NS, 0, False), (0, TICK_NS, False), (-5, 1, False)],
)
def test_an_entry_proves_something_if_it_is_older_than_a_tick(written, changed, proves):
    started = 10**18
    oldest = started - TICK_NS - 1
    signature = (oldest + written, oldest + changed, 1, 2, REGULAR, 3)

    made = make_entry(signature, "x", started)

    assert made == (signature if proves else None, signature, "x")


@pytest.mark.parametrize(
    ("one", "form", "text", "why"),
    [
        (entry(), Form.FILE, "a" * 64, ""),
        (entry("!large"), Form.FILE, "", TOO_LARGE),
        (entry("!room"), Form.FILE, "", NO_ROOM),
        (entry("!sensitive"), Form.FILE, "", SENSITIVE),
        (entry("!unreadable"), Form.FILE, "", UNREADABLE),
        (entry("!busy"), Form.FILE, "", BUSY),
        (entry("target", mode=LINK), Form.LINK, "target", ""),
        (entry("!large", mode=LINK), Form.LINK, "!large", ""),
        (entry("t" * LONGEST_TARGET, mode=LINK), Form.LINK, "t" * LONGEST_TARGET, ""),
        (entry("t" * (LONGEST_TARGET + 1), mode=LINK), Form.LINK, "", LONG_LINK),
        (entry(FOLDER, mode=stat.S_IFDIR | 0o755), Form.FOLDER, "", ""),
    ],
)
def test_the_state_of_an_entry(one, form, text, why):
    state = file_state(one, 3)

    assert (state.form, state.text, state.why) == (form, text, why)
    assert (state.mode, state.size) == (stat.S_IMODE(one.mode), 10)
    assert state[5:] == (100, 200, 3, 7)


def test_a_special_file_has_no_text():
    state = file_state(entry(SPECIAL, mode=stat.S_IFIFO | 0o600))

    assert (state.text, state.why) == ("", "")


def test_signatures_and_stamps_change_with_the_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x")
    info = path.stat()

    assert file_signature(info) == (
        info.st_mtime_ns,
        info.st_ctime_ns,
        info.st_ino,
        1,
        info.st_mode,
        info.st_dev,
    )
    assert directory_stamp(info) == (info.st_dev, info.st_ino, info.st_ctime_ns)


def test_a_stamp_is_taken_of_a_settled_directory_on_a_known_file_system(tmp_path):
    stamps = DirectoryStamps()
    info = tmp_path.stat()
    late = os.stat_result([*info[:10]], {"st_ctime_ns": time.time_ns() + 10**12})
    proc = os.stat("/proc")
    old = os.stat_result([*proc[:10]], {"st_ctime_ns": 1})
    early = os.stat_result([*info[:10]], {"st_ctime_ns": 1})

    assert stamps.take(late) is None
    assert stamps.take(old) is None
    assert stamps.take(early) in (None, (info.st_dev, info.st_ino, 1))
    assert stamps.take(early) == stamps.take(early)
