"""New files in a directory: attributes, names that never replace another, and no file after an error."""

import errno
import os
import stat

import pytest

from handrail.core.places import Kind, Place
from handrail.core.text.content import Content
from handrail.host.files import directory
from handrail.host.files.directory import (
    Parent,
    TempAttributes,
    TempFile,
    can_sync_groups,
    exchange,
    file_fingerprint,
    remove_empty,
    remove_name,
    rename_new,
    sync_filesystems,
    write_temp,
)
from handrail.host.files.roots import Roots

NEW = TempAttributes("a", None, None)


@pytest.fixture
def handle(work):
    made = os.open(work, os.O_RDONLY)
    yield made
    os.close(made)


@pytest.fixture(params=["unnamed", "named"])
def way(request, monkeypatch):
    """With unnamed files, and on a file system that has none."""
    if request.param == "named":
        monkeypatch.setattr(directory, "_UNNAMED", os.O_RDWR | os.O_DIRECTORY)
    return request.param


def names(work):
    return sorted(one.name for one in work.iterdir())


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_written_whole(work, handle, way, durable):
    content = Content(b"x" * 1000, b"", b"y")
    found = write_temp(handle, "new", content, NEW, durable=durable)

    info = (work / "new").stat()
    assert (work / "new").read_bytes() == b"x" * 1000 + b"y"
    assert found == file_fingerprint(info) == (info.st_dev, info.st_ino, 1001, info.st_mtime_ns)


def test_a_content_of_many_parts_is_written(work, handle):
    parts = tuple(b"%d," % at for at in range(3000))
    write_temp(handle, "new", Content(*parts), NEW, durable=False)

    assert (work / "new").read_bytes() == b"".join(parts)


def test_a_new_file_has_the_mode_of_the_umask_or_the_given_one(work, handle, way):
    before = os.umask(0o027)
    try:
        write_temp(handle, "a", Content(b""), NEW, durable=False)
        write_temp(handle, "b", Content(b""), NEW._replace(mode=0o4751), durable=False)
    finally:
        os.umask(before)

    assert stat.S_IMODE((work / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((work / "b").stat().st_mode) == 0o751


def test_a_file_takes_over_the_attributes_of_the_old_one(work, handle, way):
    old = work / "old"
    old.write_text("x")
    old.chmod(0o4754)
    like = TempAttributes("old", old.stat(), None)
    write_temp(handle, "a", Content(b""), like, durable=False)
    write_temp(handle, "b", Content(b""), like._replace(mode=0o600), durable=False)

    assert stat.S_IMODE((work / "a").stat().st_mode) == 0o754
    assert stat.S_IMODE((work / "b").stat().st_mode) == 0o600
    assert (work / "a").stat().st_uid == old.stat().st_uid


def test_user_attributes_are_copied(work, handle):
    old = work / "old"
    old.write_text("x")
    try:
        os.setxattr(old, "user.note", b"hello")
    except OSError:
        assert os.listxattr(old) is not None
        return
    write_temp(handle, "a", Content(b""), TempAttributes("old", old.stat(), None), durable=False)

    assert os.getxattr(work / "a", "user.note") == b"hello"


def test_before_a_named_file_appears_the_record_is_written(work, handle, way):
    told = []
    temp = TempFile(handle, "new", NEW, lambda: told.append(names(work)))

    assert told == ([[]] if way == "named" else [])
    assert temp.named is (way == "named")
    temp.fill(Content(b"x"), durable=False)
    assert names(work) == (["new"] if way == "named" else [])
    temp.appear(durable=False)
    assert temp.named
    assert names(work) == ["new"]
    temp.close()


def test_what_is_discarded_leaves_nothing(work, handle, way):
    temp = TempFile(handle, "new", NEW, lambda: None)
    temp.fill(Content(b"x"), durable=False)
    temp.discard()
    temp.discard()

    assert names(work) == []


def test_an_error_while_writing_leaves_nothing(work, handle, way, monkeypatch):
    monkeypatch.setattr(directory.os, "writev", lambda *_: 0)

    with pytest.raises(OSError) as raised:
        write_temp(handle, "new", Content(b"x"), NEW, durable=False)
    assert raised.value.errno == errno.EIO
    assert names(work) == []


def test_a_short_write_goes_on(work, handle, monkeypatch):
    real = os.writev

    def write_some(descriptor, parts):
        return real(descriptor, [bytes(parts[0])[:3]])

    monkeypatch.setattr(directory.os, "writev", write_some)
    write_temp(handle, "new", Content(b"0123456789"), NEW, durable=False)

    assert (work / "new").read_bytes() == b"0123456789"


@pytest.mark.parametrize("code", [errno.EPERM, errno.EXDEV])
def test_without_links_the_content_is_copied(work, handle, monkeypatch, code):
    def no_links(*_, **__):
        raise OSError(code, "no")

    monkeypatch.setattr(directory.os, "link", no_links)
    write_temp(handle, "new", Content(b"x" * 3_000_000), NEW._replace(mode=0o640), durable=True)

    assert (work / "new").read_bytes() == b"x" * 3_000_000
    assert stat.S_IMODE((work / "new").stat().st_mode) == 0o640


def test_a_name_that_is_taken_is_an_error(work, handle, way):
    (work / "new").write_text("other")

    with pytest.raises(FileExistsError):
        write_temp(handle, "new", Content(b"x"), NEW, durable=False)
    assert (work / "new").read_text() == "other"


@pytest.fixture(params=["renameat2", "without"])
def renames(request, monkeypatch):
    if request.param == "without":
        monkeypatch.setattr(directory, "_system_call", lambda: None)
    return request.param


def test_a_rename_never_replaces_a_file(work, handle, renames):
    (work / "a").write_text("a")
    (work / "b").write_text("b")

    with pytest.raises(FileExistsError):
        rename_new(handle, "a", "b")
    assert ((work / "a").read_text(), (work / "b").read_text()) == ("a", "b")
    rename_new(handle, "a", "c")
    assert names(work) == ["b", "c"]
    with pytest.raises(FileNotFoundError):
        rename_new(handle, "missing", "d")


def test_without_links_a_plain_rename_is_used(work, handle, monkeypatch):
    def no_links(*_, **__):
        raise OSError(errno.EPERM, "no")

    monkeypatch.setattr(directory, "_system_call", lambda: None)
    monkeypatch.setattr(directory.os, "link", no_links)
    (work / "a").write_text("a")
    rename_new(handle, "a", "b")

    assert names(work) == ["b"]


def test_two_files_exchange_their_names(work, handle, renames):
    (work / "a").write_text("a")
    (work / "b").write_text("b")
    done = exchange(handle, "a", "b")

    assert done is (renames == "renameat2")
    assert (work / "a").read_text() == ("b" if done else "a")
    if done:
        with pytest.raises(FileNotFoundError):
            exchange(handle, "a", "missing")


def test_a_name_is_removed(work, handle):
    (work / "a").write_text("")
    (work / "folder").mkdir()

    assert remove_name("a", handle)
    assert remove_name("a", handle)
    assert not remove_name("folder", handle)
    assert names(work) == ["folder"]


@pytest.fixture
def roots(work):
    (work / "hidden").mkdir()
    made = Roots([work], [str(work / "hidden")])
    yield made
    made.close()


def place(rel):
    return Place(0, rel, rel, f"/{rel}", Kind.MISSING)


def test_missing_directories_are_made_after_the_record_is_written(work, roots):
    told = []
    (work / "a").mkdir()
    parent = Parent(
        roots, place("a/b/c/file"), lambda: told.append(names(work / "a")), durable=True
    )

    assert told == [[]]
    assert parent.name == "file"
    assert parent.is_current()
    assert (work / "a/b/c").is_dir()
    assert parent.remove_made()
    assert names(work / "a") == []
    assert not parent.is_current()
    parent.close()
    parent.close()


def test_directories_that_are_used_stay(work, roots):
    parent = Parent(roots, place("a/b/file"), lambda: None, durable=False)
    (work / "a" / "other").write_text("")

    assert parent.remove_made()
    assert names(work / "a") == ["other"]
    parent.close()


def test_a_directory_that_is_there_is_opened_and_never_removed(work, roots):
    (work / "a").mkdir()
    parent = Parent(roots, place("a/file"), None, durable=False)

    assert parent.remove_made()
    assert (work / "a").is_dir()
    (work / "a").rename(work / "b")
    assert not parent.is_current()
    (work / "a").mkdir()
    assert not parent.is_current()
    parent.close()


@pytest.mark.parametrize(
    ("rel", "error"),
    [("", IsADirectoryError), ("missing/file", FileNotFoundError), ("hidden/file", OSError)],
)
def test_a_directory_that_cannot_be_used(roots, rel, error):
    with pytest.raises(error):
        Parent(roots, place(rel), None, durable=False)


def test_a_directory_that_cannot_be_made_leaves_none(work, roots):
    with pytest.raises(OSError):
        Parent(roots, place(f"a/{'x' * 300}/file"), lambda: None, durable=False)

    assert "a" not in names(work)


def test_only_an_empty_directory_is_removed(work, roots):
    (work / "a" / "b").mkdir(parents=True)

    with pytest.raises(OSError):
        remove_empty(roots, place("a"))
    with pytest.raises(OSError):
        remove_empty(roots, place(""))
    remove_empty(roots, place("a/b"))
    remove_empty(roots, place("a"))
    assert names(work) == ["hidden"]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("5.8.0", True),
        ("5.7.9", False),
        ("6.1", True),
        ("4.19.0-x", False),
        ("5.10-rc1", True),
        ("x.y", False),
    ],
)
def test_groups_are_synced_where_errors_are_reported(monkeypatch, release, expected):
    real = os.uname()
    monkeypatch.setattr(
        directory.os, "uname", lambda: os.uname_result((*real[:2], release, *real[3:]))
    )

    assert can_sync_groups() is expected


def test_file_systems_are_synced(handle):
    sync_filesystems([handle, handle])
    with pytest.raises(OSError):
        sync_filesystems([99_999])
