"""Entries that are moved away: into the quarantine, or copied if they lie on another file system."""

import errno
import os
import stat

import pytest

from handrail.host.sandbox.protected import quarantine as module
from handrail.host.sandbox.protected.quarantine import Quarantine, handle_path, writable_folder

pytestmark = pytest.mark.usefixtures("no_open_files")


@pytest.fixture
def work(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.fixture
def handle(work):
    made = os.open(work, os.O_RDONLY)
    yield made
    os.close(made)


@pytest.fixture
def quarantine(tmp_path):
    made = Quarantine(tmp_path / "state")
    yield made
    made.close()
    made.close()


@pytest.fixture
def other_file_system(monkeypatch):
    """Renames into the quarantine fail as they do between file systems."""
    real = os.rename

    def rename(source, target, *, src_dir_fd, dst_dir_fd):
        if src_dir_fd != dst_dir_fd:
            raise OSError(errno.EXDEV, "another file system")
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(module.os, "rename", rename)


def test_an_entry_is_moved_and_numbered(work, handle, quarantine, tmp_path):
    assert quarantine.top is None
    assert not (tmp_path / "state").exists()
    (work / "a").write_text("one")
    (work / "b").mkdir()
    (work / "link").symlink_to("nowhere")

    first = quarantine.take(handle, "a")
    second = quarantine.take(handle, "b", "x" * 90)
    third = quarantine.take(handle, "link")

    assert os.path.basename(first) == "1-a"
    assert os.path.basename(second) == f"2-{'x' * 80}"
    assert os.readlink(third) == "nowhere"
    with open(first) as file:
        assert file.read() == "one"
    assert os.path.isdir(second)
    assert list(work.iterdir()) == []
    assert quarantine.top is not None
    assert stat.S_IMODE(os.stat(os.path.dirname(first)).st_mode) == 0o700
    with pytest.raises(FileNotFoundError):
        quarantine.take(handle, "missing")


def test_between_file_systems_an_entry_is_copied(work, handle, quarantine, other_file_system):
    (work / "d" / "e").mkdir(parents=True)
    (work / "d" / "e" / "f").write_bytes(b"x" * 2_500_000)
    (work / "d" / "e" / "f").chmod(0o4750)
    (work / "d" / "link").symlink_to("e/f")
    os.mkfifo(work / "d" / "pipe")

    kept = quarantine.take(handle, "d")

    assert list(work.iterdir()) == []
    with open(f"{kept}/e/f", "rb") as file:
        assert file.read() == b"x" * 2_500_000
    assert stat.S_IMODE(os.stat(f"{kept}/e/f").st_mode) == 0o750
    assert os.readlink(f"{kept}/link") == "e/f"
    assert sorted(os.listdir(kept)) == ["e", "link"]


@pytest.mark.parametrize(
    ("limit", "value", "stays"),
    [
        ("_MOST_BYTES", 100_000, False),
        ("_MOST_BYTES", 5, True),
        ("_MOST_ENTRIES", 4, False),
        ("_MOST_ENTRIES", 3, True),
        ("_DEEPEST", 3, False),
        ("_DEEPEST", 2, True),
    ],
)
def test_what_is_too_large_stays_under_a_random_name(
    work, handle, quarantine, other_file_system, monkeypatch, tmp_path, limit, value, stays
):
    monkeypatch.setattr(module, limit, value)
    (work / "a" / "b" / "c").mkdir(parents=True)
    (work / "a" / "b" / "c" / "file").write_text("0123456789")

    kept = quarantine.take(handle, "a")

    assert os.path.exists(f"{kept}/b/c/file")
    assert not (work / "a").exists()
    assert kept.startswith(str(work)) is stays
    left = [one.name for one in (tmp_path / "state" / "quarantine").rglob("1-a")]
    assert left == ([] if stays else ["1-a"])


def test_entries_of_other_repairs_are_known(work, handle, quarantine, tmp_path):
    other = Quarantine(tmp_path / "state")
    assert quarantine.taken_by_others() == frozenset()
    (work / "a").write_text("")
    (work / "b").write_text("")
    info = os.lstat(work / "a")
    other.take(handle, "a")
    quarantine.take(handle, "b")

    assert quarantine.taken_by_others() == {(info.st_dev, info.st_ino)}
    other.close()


def test_a_directory_is_writable_only_meanwhile(work, handle):
    work.chmod(0o500)
    with writable_folder(handle):
        assert stat.S_IMODE(work.stat().st_mode) == 0o700
    assert stat.S_IMODE(work.stat().st_mode) == 0o500
    for flag in (os.O_PATH, os.O_RDONLY):
        other = os.open(work, flag)
        try:
            with writable_folder(other):
                assert stat.S_IMODE(work.stat().st_mode) == 0o700
        finally:
            os.close(other)
    work.chmod(0o755)
    with writable_folder(handle):
        assert stat.S_IMODE(work.stat().st_mode) == 0o755


def test_the_path_of_a_directory(work, handle):
    assert handle_path(handle) == str(work)
    moved = work.with_name("moved")
    work.rename(moved)
    assert handle_path(handle) == str(moved)
    moved.rmdir()
    assert handle_path(handle) is None
    assert handle_path(99_999) is None
