"""Trees that were made to hurt: nothing hangs, nothing outside is read, all of it is told."""

import os
import socket
import stat
import threading
from pathlib import Path

from tests.host.snapshots.conftest import told
from tests.support.handles import open_handles
from tests.support.waiting import join_threads

from handrail.core.ports.snapshots import Form
from handrail.host.snapshots import walker


def test_names_with_line_breaks_and_bytes_that_are_no_text(folder):
    names = ["a\nb", "c\rd", os.fsdecode(b"\xff\xfe"), "'quoted\"", " ", "-rf", "\u202eevil"]
    for name in names:
        folder.write(name, "1")
    shadow = folder.shadow()
    before = shadow.capture(None)
    shadow.close()
    again = folder.shadow()
    before = again.capture(None)

    for name in names:
        folder.write(name, "2")

    assert set(told(again.diff(before))) == set(names)


def test_fifos_sockets_and_devices_are_seen_and_not_opened(folder):
    os.mkfifo(folder.root / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.relpath(folder.root / "socket"))
    shadow = folder.shadow()
    before = shadow.capture(None)

    os.unlink(folder.root / "fifo")
    os.unlink(folder.root / "socket")
    os.mkfifo(folder.root / "new")
    look = shadow.diff(before)
    listener.close()

    forms = {one.rel: (one.before or one.after).form for one in look.deltas}
    assert forms == {"fifo": Form.SPECIAL, "socket": Form.SPECIAL, "new": Form.SPECIAL}


def test_links_are_not_followed_and_loops_end(folder):
    outside = folder.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("SECRET-OUTSIDE")
    os.symlink(outside, folder.root / "way")
    os.symlink(".", folder.root / "loop")
    os.symlink("b", folder.root / "a")
    os.symlink("a", folder.root / "b")
    shadow = folder.shadow()
    before = shadow.capture(None)

    (outside / "secret.txt").write_text("SECRET-OTHER")
    look = shadow.diff(before)

    assert look.deltas == ()
    assert not any(b"SECRET" in one for one in _kept(folder))


def test_a_nest_that_is_too_deep_is_left_and_named(folder):
    handle = os.open(folder.root, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    folder.write("beside", "1")
    open_before = open_handles()
    shadow = folder.shadow()
    before = shadow.capture(None)
    folder.write("beside", "2")

    look = shadow.diff(before)

    assert list(look.left.values()) == [walker.TOO_DEEP]
    assert set(told(look)) == {"beside"}
    shadow.close()
    assert open_handles() - open_before == set()
    os.rename(folder.root / "d", folder.root.parent / "deep")
    os.system(f"rm -rf {folder.root.parent / 'deep'}")


def test_a_folder_exchanged_for_a_link_while_it_is_looked_at_leads_nowhere(folder):
    """Two threads race: one looks, one exchanges a folder for a link to the outside."""
    outside = folder.root.parent / "outside"
    for number in range(20):
        folder.write(f"d/{number}/f", "inside")
        (outside / f"{number}").mkdir(parents=True)
        (outside / f"{number}" / "f").write_text("SECRET-OUTSIDE")
    stop = threading.Event()

    def exchange():
        place, aside = folder.root / "d", folder.root / "aside"
        while not stop.is_set():
            place.rename(aside)
            os.symlink(outside, place)
            place.unlink()
            aside.rename(place)

    racer = threading.Thread(target=exchange)
    racer.start()
    shadow = folder.shadow()
    try:
        for _ in range(60):
            shadow.diff(shadow.capture(None))
    finally:
        stop.set()
        join_threads(racer)

    assert not any(b"SECRET" in one for one in _kept(folder))


def test_a_file_exchanged_for_a_link_while_it_is_read_leads_nowhere(folder):
    secret = folder.root.parent / "secret"
    secret.write_text("SECRET-OUTSIDE")
    stop = threading.Event()

    def exchange():
        number = 0
        while not stop.is_set():
            number += 1
            made = folder.write("aside", f"{number}")
            made.rename(folder.root / "f")
            os.symlink(secret, folder.root / "link")
            (folder.root / "link").rename(folder.root / "f")

    racer = threading.Thread(target=exchange)
    racer.start()
    shadow = folder.shadow()
    try:
        for _ in range(200):
            shadow.diff(shadow.capture(None))
    finally:
        stop.set()
        join_threads(racer)

    assert not any(b"SECRET" in one for one in _kept(folder))


def test_what_belongs_to_handrail_is_not_looked_at(folder):
    from handrail.core.ports.snapshots import SnapshotLimits
    from handrail.host.snapshots.local_snapshots import LocalSnapshots

    folder.write("state/store.db", "1")
    folder.write("a", "1")
    shadow = LocalSnapshots(
        [(str(folder.root), folder.handle)],
        folder.state,
        limits=SnapshotLimits(),
        hidden=[str(folder.root / "state")],
    )
    before = shadow.capture(None)
    folder.write("state/store.db", "2")
    folder.write("a", "2")

    look = shadow.diff(before)

    shadow.close()
    assert set(told(look)) == {"a"}


def _kept(folder):
    for path in Path(folder.state).rglob("*"):
        info = path.lstat()
        if stat.S_ISREG(info.st_mode) and {"contents", "packs"} & set(path.parts):
            yield path.read_bytes()
