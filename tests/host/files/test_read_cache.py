"""What was read before is answered from memory only while it is still the truth."""

import mmap
from dataclasses import replace

import pytest

from handrail.host.files.local_files import LocalFiles
from handrail.host.files.reading import KEPT_S, WindowCache


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def files(tmp_path):
    opened = LocalFiles([tmp_path], secret=lambda path: path.endswith(".env"))
    yield opened
    opened.close()


def read(files, path, first=1, count=2000):
    return files.window(files.locate(path), first, count)


@pytest.mark.feature("T04", "F13", "X01", "R-15")
def test_a_file_that_is_the_same_is_answered_from_memory(files, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    windows = [read(files, "a.txt"), read(files, "a.txt"), read(files, "./a.txt")]

    # The stat of a later read may be settled while that of the first was not.
    first, second, third = (replace(one, stat=None) for one in windows)
    assert first == second == third
    assert files.cache.hits == 2


@pytest.mark.feature("T04", "F13")
def test_another_part_of_a_file_is_another_answer(files, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")

    assert [read(files, "a.txt", 1, 1).text, read(files, "a.txt", 2, 1).text] == ["one", "two"]
    assert files.cache.hits == 0


@pytest.mark.feature("T04", "T05")
def test_a_change_is_seen_at_once_however_it_was_made(files, tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("aaaa\n")
    before = target.stat()
    read(files, "a.txt")
    with target.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:4] = b"bbbb"
        mapped.flush()
        first = read(files, "a.txt")
        # A page that is written already is written again: no time stamp tells of it.
        mapped[0:4] = b"cccc"
        second = read(files, "a.txt")

    assert (first.text, second.text) == ("bbbb", "cccc")
    assert first.stat.inode == second.stat.inode == before.st_ino
    assert first.digest != second.digest


def test_the_stat_is_always_the_present_one(files, tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("one\n")
    read(files, "a.txt")
    target.chmod(0o600)

    changed = read(files, "a.txt")
    assert changed.stat.mode & 0o777 == 0o600
    assert files.cache.hits == 1
    assert read(files, "a.txt").stat == changed.stat


def test_what_holds_secrets_is_not_kept(files, tmp_path):
    (tmp_path / ".env").write_text("TOKEN=1\n")
    read(files, ".env")
    read(files, ".env")

    assert files.cache.hits == 0


@pytest.mark.feature("R-15")
def test_memory_is_bounded_and_the_oldest_goes_first(files, tmp_path):
    cache = WindowCache(lambda path: False, room=4000)
    (tmp_path / "a.txt").write_text("x")
    place, window = files.locate("a.txt"), read(files, "a.txt")
    for number in range(10):
        cache.keep(place, number, 1, bytes(400), window)
    cache.keep(place, 99, 1, bytes(1001), window)

    kept = [number for number in range(10) if cache.find(place, number, 1, bytes(400))]
    assert kept == [5, 6, 7, 8, 9]
    assert cache.find(place, 99, 1, bytes(1001)) is None
    cache.find(place, 5, 1, bytes(400))
    cache.keep(place, 11, 1, bytes(400), window)
    assert cache.find(place, 5, 1, bytes(400))
    assert cache.find(place, 6, 1, bytes(400)) is None


@pytest.mark.feature("R-15")
def test_nothing_is_kept_for_ever(files, tmp_path):
    clock = Clock()
    cache = WindowCache(lambda path: False, clock=clock)
    (tmp_path / "a.txt").write_text("x")
    place, window = files.locate("a.txt"), read(files, "a.txt")
    cache.keep(place, 1, 1, b"x", window)
    clock.now = KEPT_S + 1

    assert cache.find(place, 1, 1, b"x") is None
