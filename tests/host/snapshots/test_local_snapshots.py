"""What is different between two looks: all of it, and nothing else."""

import hashlib
import os
import shutil
import stat

import pytest
from tests.host.snapshots.conftest import told

from handrail.core.ports.snapshots import BUSY, SENSITIVE, UNREADABLE, SnapshotLimits
from handrail.host.snapshots.content_store import ContentStore
from handrail.host.snapshots.entries import StorageUsage
from handrail.host.snapshots.entry_reader import EntryReader, SnapshotServices
from handrail.host.state.blobs import MemoryBlobs


def short(content):
    return hashlib.sha256(content.encode()).hexdigest()[:8]


def loaded(shadow, digest, size):
    blobs = MemoryBlobs()
    assert shadow.export_content(digest, size, blobs)
    return blobs.load(digest)


def test_nothing_changed_is_nothing_told(folder):
    folder.write("a")
    folder.write("d/b")
    os.symlink("a", folder.root / "link")
    shadow = folder.shadow()

    before = shadow.capture(None)

    assert shadow.diff(before).deltas == ()
    assert shadow.diff(shadow.capture(None)).deltas == ()


def test_contents_names_modes_links_and_folders_are_told(folder):
    folder.write("changed", "old")
    folder.write("gone/deep/file", "bye")
    folder.write("renamed", "same")
    folder.write("mode", "m").chmod(0o644)
    os.symlink("here", folder.root / "link")
    shadow = folder.shadow()
    before = shadow.capture(None)

    folder.write("changed", "new")
    folder.write("made/deep/file", "hi")
    shutil.rmtree(folder.root / "gone")
    (folder.root / "renamed").rename(folder.root / "other")
    (folder.root / "mode").chmod(0o755)
    (folder.root / "link").unlink()
    os.symlink("there", folder.root / "link")
    (folder.root / "empty").mkdir()
    look = shadow.diff(before)

    assert told(look) == {
        "changed": (short("old"), short("new")),
        "made": (None, "folder"),
        "made/deep": (None, "folder"),
        "made/deep/file": (None, short("hi")),
        "gone": ("folder", None),
        "gone/deep": ("folder", None),
        "gone/deep/file": (short("bye"), None),
        "renamed": (short("same"), None),
        "other": (None, short("same")),
        "mode": (short("m"), short("m")),
        "link": ("here", "there"),
        "empty": (None, "folder"),
    }
    mode = next(one for one in look.deltas if one.rel == "mode")
    assert (mode.before.mode, mode.after.mode) == (0o644, 0o755)


def test_old_contents_are_copies_although_the_file_was_written_in_place(folder):
    folder.write("small", "old")
    folder.write("large", "L" * 300_000)
    shadow = folder.shadow()
    before = shadow.capture(None)
    with (folder.root / "small").open("r+") as file:
        file.write("NEW")
    (folder.root / "large").unlink()

    look = shadow.diff(before)

    old = {one.rel: loaded(shadow, one.before.text, one.before.size) for one in look.deltas}
    assert old == {"small": b"old", "large": b"L" * 300_000}


def test_a_file_of_the_same_size_and_time_is_told_by_its_time_of_change(folder):
    path = folder.write("a", "one")
    os.utime(path, ns=(10**18, 10**18))
    shadow = folder.shadow()
    shadow.capture(None)
    before = shadow.capture(None)

    path.write_text("two")
    os.utime(path, ns=(10**18, 10**18))

    assert told(shadow.diff(before)) == {"a": (short("one"), short("two"))}


def test_a_change_within_one_tick_of_the_clock_is_not_missed(folder, monkeypatch):
    """A file system whose clock stands still: the time stamps prove nothing."""
    path = folder.write("a", "one")
    stamp = path.stat()
    shadow = folder.shadow()
    monkeypatch.setattr("time.time_ns", lambda: stamp.st_ctime_ns + 1_000_000)
    before = shadow.capture(None)
    entry = before.trees[str(folder.root)].listings[""]["a"]
    path.write_text("two")
    now = path.stat()
    frozen = (now.st_mtime_ns, now.st_ctime_ns, *entry.signature[2:])
    before.trees[str(folder.root)].listings[""]["a"] = entry._replace(signature=frozen)

    look = shadow.diff(before)

    assert entry.proof is None
    assert told(look) == {"a": (short("one"), short("two"))}


def test_touched_and_rewritten_alike_is_no_change(folder):
    path = folder.write("a", "same")
    shadow = folder.shadow()
    before = shadow.capture(None)

    path.unlink()
    path.write_text("same")
    path.touch()

    assert shadow.diff(before).deltas == ()


def test_a_kind_that_changes_is_told_with_all_that_was_below(folder):
    folder.write("tree/file", "x")
    folder.write("file", "y")
    shadow = folder.shadow()
    before = shadow.capture(None)

    shutil.rmtree(folder.root / "tree")
    os.symlink("/etc", folder.root / "tree")
    (folder.root / "file").unlink()
    folder.write("file/inside", "z")

    assert told(shadow.diff(before)) == {
        "tree": ("folder", "/etc"),
        "tree/file": (short("x"), None),
        "file": (short("y"), "folder"),
        "file/inside": (None, short("z")),
    }


def test_secrets_are_seen_but_not_copied(folder):
    folder.write(".env", "TOKEN=1")
    folder.write("keys/id_rsa", "PRIVATE")
    shadow = folder.shadow()
    before = shadow.capture(None)

    folder.write(".env", "TOKEN=2")
    folder.write("keys/id_rsa", "OTHER")
    look = shadow.diff(before)

    assert {one.rel: one.before.why for one in look.deltas} == {
        ".env": SENSITIVE,
        "keys/id_rsa": SENSITIVE,
    }
    kept = [path for path in folder.state.rglob("*") if path.is_file()]
    assert not any(b"TOKEN" in path.read_bytes() or b"PRIV" in path.read_bytes() for path in kept)


def test_git_is_left_to_git_and_a_moved_history_is_told(folder):
    folder.write(".git/HEAD", "ref: refs/heads/main\n")
    folder.write(".git/objects/aa/bb", "blob")
    folder.write("sub/.git", "gitdir: elsewhere")
    shadow = folder.shadow()
    before = shadow.capture(None)
    folder.write(".git/objects/aa/cc", "blob")
    folder.write("sub/.git", "gitdir: other")
    assert shadow.diff(before).repositories == {}

    before = shadow.capture(None)
    folder.write(".git/HEAD", "ref: refs/heads/other\n")
    look = shadow.diff(before)

    assert look.deltas == ()
    assert look.repositories == {f"{folder.root}/.git": ""}


def test_the_log_of_a_repository_tells_what_happened_since_and_nothing_else(folder):
    def moved(*lines):
        shadow = folder.shadow()
        before = shadow.capture(None)
        with (folder.root / ".git/logs/HEAD").open("a") as log:
            log.writelines(lines)
        return shadow.diff(before).repositories[f"{folder.root}/.git"]

    one, two, three = ("1" * 40, "2" * 40, "3" * 40)
    who = "A <a@b> 1700000000 +0000"
    folder.write(".git/HEAD", "ref: refs/heads/main\n")
    folder.write(".git/logs/HEAD", f"{one} {two} {who}\tcommit: before\n")

    committed = moved(f"{two} {three} {who}\tcommit: x\n")
    assert committed.startswith("made commit 3333333333 on main,")
    assert committed.endswith("reset --soft 2222222222` takes it back")
    several = moved(f"{three} {two} {who}\tcommit: x\n", f"{two} {one} {who}\tcommit (amend): y\n")
    assert several.startswith("made 2 commits up to 1111111111")
    assert several.endswith("reset --soft 3333333333` takes them back")
    # Nothing that the log says in words is repeated: only hashes and counts.
    switched = moved(f"{one} {two} {who}\tcheckout: moving from `rm -rf` to b\n")
    assert switched.startswith("HEAD moved from 1111111111 to 2222222222,")
    assert "`" not in switched
    initial = moved(f"{'0' * 40} {two} {who}\tcommit (initial): x\n")
    assert initial.startswith("made commit 2222222222 on main,")
    assert "`" not in initial
    assert moved("`rm -rf ~` takes it back\n") == ""


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_the_log_of_a_repository_is_read_only_if_it_is_a_file(folder, kind):
    folder.write(".git/HEAD", "ref: refs/heads/main\n")
    shadow = folder.shadow()
    before = shadow.capture(None)
    log = folder.root / ".git/logs/HEAD"
    log.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(log)
    else:
        folder.write(".git/log", f"{'1' * 40} {'2' * 40} A <a@b> 1 +0\tcommit: x\n")
        log.symlink_to(folder.root / ".git/log")

    assert shadow.diff(before).repositories == {f"{folder.root}/.git": ""}


def test_ignored_files_are_kept_like_others(folder):
    folder.write(".gitignore", "build/\n")
    folder.write("build/out", "1")
    shadow = folder.shadow()
    before = shadow.capture(None)

    folder.write("build/out", "2")

    assert told(shadow.diff(before)) == {"build/out": (short("1"), short("2"))}


def test_a_few_places_are_looked_at_alone(folder):
    folder.write("named", "1")
    folder.write("tree/a", "1")
    folder.write("tree/b/c", "1")
    folder.write("other", "1")
    shadow = folder.shadow()
    before = shadow.capture([(0, "named"), (0, "tree"), (0, "new/deep/file")])

    for path in ("named", "tree/a", "tree/b/c", "other", "new/deep/file", "new/beside"):
        folder.write(path, "2")
    look = shadow.diff(before)

    assert set(told(look)) == {
        *("named", "tree/a", "tree/b/c"),
        *("new", "new/deep", "new/deep/file", "new/beside"),
    }


def test_two_looks_at_places_do_not_disturb_each_other(folder):
    folder.write("a", "1")
    folder.write("b", "1")
    shadow = folder.shadow()
    shadow.capture(None)
    first = shadow.capture([(0, "a")])
    second = shadow.capture([(0, "b")])
    folder.write("a", "2")
    folder.write("b", "2")

    assert set(told(shadow.diff(first))) == {"a"}
    assert set(told(shadow.diff(second))) == {"b"}


def test_a_pinned_look_is_told_against_after_later_ones(folder):
    folder.write("job", "1")
    folder.write("other", "1")
    shadow = folder.shadow()
    pinned = shadow.keep(shadow.capture(None))
    folder.write("job", "2")
    later = shadow.capture(None)
    folder.write("other", "2")
    assert set(told(shadow.diff(later))) == {"other"}

    assert told(shadow.diff(pinned)) == {
        "job": (short("1"), short("2")),
        "other": (short("1"), short("2")),
    }


def test_a_file_that_never_rests_is_named_and_stops_nothing(folder, monkeypatch):
    path = folder.write("busy", "1")
    read = os.read

    def written_meanwhile(source, size):
        with path.open("a") as file:
            file.write("more")
        return read(source, size)

    shadow = folder.shadow()
    monkeypatch.setattr(os, "read", written_meanwhile)
    before = shadow.capture(None)
    monkeypatch.undo()
    path.write_text("at rest")

    look = shadow.diff(before)

    assert look.deltas[0].before.why == BUSY


@pytest.mark.parametrize("size", [1, 100_000], ids=["small", "large"])
def test_a_full_disk_is_told_as_no_room(folder, monkeypatch, size):
    folder.write("a", "1" * size)

    def full(self, *of):
        raise OSError(28, "No space left on device")

    shadow = folder.shadow()
    monkeypatch.setattr(ContentStore, "take", full)
    monkeypatch.setattr(ContentStore, "pack", full)
    before = shadow.capture(None)
    monkeypatch.undo()
    folder.write("a", "2")

    assert shadow.diff(before).deltas[0].before.why.startswith("there was no room")


def test_a_small_file_that_changes_once_while_it_is_read_is_copied_as_it_is_then(
    folder, monkeypatch
):
    path = folder.write("once", "old")
    read, changes = os.read, ["new"]

    def written_after(source, size):
        data = read(source, size)
        if changes:
            path.write_text(changes.pop())
        return data

    shadow = folder.shadow()
    monkeypatch.setattr(os, "read", written_after)
    before = shadow.capture(None)
    monkeypatch.undo()
    folder.write("once", "later")

    assert told(shadow.diff(before)) == {"once": (short("new"), short("later"))}


def test_a_first_look_tells_files_apart_as_later_ones_do(folder):
    folder.write("plain", "p")
    folder.write("copy", "p")
    folder.write("empty", "")
    folder.write("large", "l" * 70_000)
    folder.write(".env", "TOKEN=1")
    folder.write(".ssh/config", "secret")
    folder.write("sub/.git", "gitdir: elsewhere")
    (folder.root / "link").symlink_to("plain")
    (folder.root / "plain").chmod(0o640)
    shadow = folder.shadow()
    before = shadow.capture(None)
    shutil.rmtree(folder.root / "sub")
    shutil.rmtree(folder.root / ".ssh")
    for name in ("plain", "copy", "empty", "large", ".env", "link"):
        (folder.root / name).unlink()

    found = {one.rel: one.before for one in shadow.diff(before).deltas}

    assert "sub/.git" not in found
    assert {rel for rel, one in found.items() if one.why == SENSITIVE} == {".env", ".ssh/config"}
    assert found["plain"].mode == 0o640
    assert found["link"].text == "plain"
    kept = {"plain": "p", "copy": "p", "empty": "", "large": "l" * 70_000}
    assert {rel: found[rel].text for rel in kept} == {
        rel: hashlib.sha256(text.encode()).hexdigest() for rel, text in kept.items()
    }


def test_what_cannot_be_read_is_named(folder, monkeypatch):
    folder.write("closed", "1")
    opened = os.open

    def refused(path, flags, *rest, **more):
        if path == "closed":
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *rest, **more)

    shadow = folder.shadow()
    monkeypatch.setattr("handrail.host.snapshots.entry_reader.os.open", refused)
    before = shadow.capture(None)
    monkeypatch.undo()
    folder.write("closed", "22")

    assert shadow.diff(before).deltas[0].before.why == UNREADABLE


def test_blocks_are_shared_where_the_file_system_can(folder, monkeypatch):
    """Stands in for a file system with reflinks: the request copies the bytes."""
    shared = []

    def clone(handle, request, source):
        shared.append(request)
        os.sendfile(handle, source, 0, 1 << 20)

    monkeypatch.setattr("handrail.host.snapshots.content_store.fcntl.ioctl", clone)
    folder.write("large", "L" * 100_000)
    shadow = folder.shadow()
    before = shadow.capture(None)
    folder.write("large", "other")

    look = shadow.diff(before)

    assert len(shared) == 1
    assert loaded(shadow, look.deltas[0].before.text, 100_000) == b"L" * 100_000


def test_copies_are_private_and_no_hard_links(folder):
    folder.write("a", "content")
    shadow = folder.shadow()
    shadow.capture(None)

    kept = [path for path in folder.state.rglob("*") if path.is_file()]

    assert (folder.root / "a").stat().st_nlink == 1
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in kept)


def test_the_reader_takes_no_file_that_was_exchanged_for_a_link(folder):
    (folder.root.parent / "outside").write_text("SECRET")
    folder.write("a", "1")
    info = (folder.root / "a").lstat()
    (folder.root / "a").unlink()
    os.symlink("../outside", folder.root / "a")
    contents = ContentStore(folder.state)
    means = SnapshotServices(contents, SnapshotLimits(), frozenset(), StorageUsage())

    assert EntryReader(means, None, 0).read("", folder.handle, "a", info) is None
