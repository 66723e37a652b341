"""Which files of a deletion could not be restored afterwards."""

import os

import pytest

from handrail.core.ports.snapshots import HISTORY, NO_ROOM, SENSITIVE, Removal, SnapshotLimits
from handrail.host.snapshots.deletion_forecast import DeletionForecast

LIMITS = SnapshotLimits()


@pytest.fixture
def root(tmp_path):
    for name in ("a.txt", "b.txt", ".hidden", "deep/c.txt", "deep/down/d.py", "state/kept"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12345678")
    return tmp_path


def unkept(root, *removals, limits=LIMITS, hidden=()):
    forecast = DeletionForecast([str(root)], limits, hidden)
    wanted = [Removal(f"{root}/{path}", names) for path, names in removals]
    return {one.path: one.why for one in forecast.unkept(wanted)}


def test_ordinary_files_can_be_restored(root):
    os.symlink("a.txt", root / "link")
    os.mkfifo(root / "pipe")

    assert unkept(root, ("", None)) == {}


@pytest.mark.parametrize(("path", "names"), [("", None), ("deep/", None), ("deep/", ("*.ENV",))])
def test_files_with_secrets_are_not_kept(root, path, names):
    (root / "deep" / ".env").touch()

    assert unkept(root, (path, names)) == {"deep/.env": SENSITIVE}


def test_a_directory_is_searched_only_if_all_of_it_is_deleted(root):
    (root / "deep" / "down" / "id_rsa").touch()

    assert unkept(root, ("deep", None)) == {}
    assert unkept(root, ("deep/", None)) == {"deep/down/id_rsa": SENSITIVE}
    assert unkept(root, ("deep/", ("*.py",))) == {}


def test_a_repository_is_not_kept_unless_only_some_files_of_it_are_deleted(root):
    (root / "deep" / ".git").mkdir()
    (root / "deep" / ".git" / "HEAD").touch()

    assert unkept(root, ("deep/", None)) == {"deep/.git": HISTORY}
    assert unkept(root, ("deep/", ("HEAD",))) == {}


def test_a_glob_is_expanded_as_a_shell_does(root):
    (root / "x.pem").touch()
    (root / ".y.pem").touch()

    assert set(unkept(root, ("*.pem", None))) == {"x.pem"}


def test_a_name_that_only_looks_like_a_glob_is_that_file(root):
    (root / "[x].pem").touch()
    (root / "x.pem").touch()

    assert set(unkept(root, ("[x].pem", None))) == {"[x].pem"}


def test_what_lies_outside_or_is_hidden_is_left_out(root):
    (root / "state" / ".env").touch()
    forecast = DeletionForecast([f"{root}/deep"], LIMITS)

    assert forecast.unkept([Removal(f"{root}/state/"), Removal(f"{root}/deeper/")]) == []
    assert unkept(root, ("state/", None), hidden=[f"{root}/state"]) == {}
    assert unkept(root, ("state/", None)) == {"state/.env": SENSITIVE}


@pytest.mark.parametrize(("size", "kept"), [(1 << 20, True), ((1 << 20) + 1, False)])
def test_a_file_above_the_limit_is_not_kept(root, size, kept):
    (root / "large").write_bytes(bytes(size))

    found = unkept(root, ("large", None), limits=SnapshotLimits(file_bytes=1 << 20))

    assert ("shadow_file_mb" not in found.get("large", "")) is kept


@pytest.mark.parametrize(
    ("limits", "fits"),
    [
        (SnapshotLimits(files=3), True),
        (SnapshotLimits(files=2), False),
        (SnapshotLimits(files=9, total_bytes=24), True),
        (SnapshotLimits(files=9, total_bytes=23), False),
    ],
)
def test_more_than_there_is_room_for_is_not_kept(root, limits, fits):
    three = [(name, None) for name in ("a.txt", "b.txt", ".hidden")]

    assert list(unkept(root, *three, limits=limits).values()) == ([] if fits else [NO_ROOM])


def test_a_path_is_counted_once_and_the_list_is_short(root):
    (root / "many").mkdir()
    for number in range(30):
        (root / "many" / f"{number}.pem").touch()

    assert unkept(root, *[("a.txt", None)] * 3, limits=SnapshotLimits(files=1)) == {}
    assert len(unkept(root, ("many/", None))) == 20


@pytest.mark.parametrize(
    ("limit", "whys"),
    [(16, [SENSITIVE]), (15, [SENSITIVE, NO_ROOM]), (8, [SENSITIVE, NO_ROOM])],
)
def test_what_is_not_kept_takes_no_room(root, limit, whys):
    (root / "x.pem").write_bytes(bytes(100))
    (root / "folder").mkdir()
    os.symlink("a" * 50, root / "link")
    removals = [(name, None) for name in ("x.pem", "link", "folder", "a.txt", "b.txt")]

    found = unkept(root, *removals, limits=SnapshotLimits(total_bytes=limit))

    assert list(found.values()) == whys


@pytest.mark.parametrize(("count", "listed"), [(19, 19), (20, 20), (21, 20)])
def test_twenty_files_are_listed(root, count, listed):
    (root / "many").mkdir()
    for number in range(count):
        (root / "many" / f"{number}.pem").touch()

    assert len(unkept(root, ("many/", None))) == listed
