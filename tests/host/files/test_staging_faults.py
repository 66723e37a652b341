"""Writing when the disk, the kernel or another program does not play along."""

import errno
import os

import pytest
from tests.support.changes import change_of, refusal, tree

from handrail.core.plan import Change
from handrail.core.text.content import Content
from handrail.host.files import directory, staged_change
from handrail.host.files.local_files import LocalFiles


@pytest.fixture
def files(work, opener):
    files = LocalFiles([work])
    yield files
    files.close()


def test_owner_and_attributes_are_asked_for_as_they_were(work, files, monkeypatch):
    (work / "a").write_bytes(b"old")
    asked = []
    # Faked, since not every file system that a test may run on has them.
    kept = {"user.note": b"keep me", "security.capability": b"not this"}
    monkeypatch.setattr(os, "listxattr", lambda fd: list(kept))
    monkeypatch.setattr(os, "getxattr", lambda fd, key: kept[key])
    monkeypatch.setattr(os, "setxattr", lambda fd, key, value: asked.append((key, value)))
    real = os.stat

    def as_other_owner(*args, **kwargs):
        info = real(*args, **kwargs)
        return os.stat_result(
            (*info[:4], 12345, 23456, *info[6:]),
            {
                "st_mtime_ns": info.st_mtime_ns,
                "st_ctime_ns": info.st_ctime_ns,
                "st_atime_ns": info.st_atime_ns,
            },
        )

    change = change_of(files, "a", b"new")
    monkeypatch.setattr(staged_change.os, "stat", as_other_owner)
    monkeypatch.setattr(directory.os, "fchown", lambda fd, uid, gid: asked.append((uid, gid)))
    staged = files.stage(change, durable=False)
    monkeypatch.undo()
    staged.publish()
    staged.discard()

    assert asked == [(12345, 23456), ("user.note", b"keep me")]


def test_an_owner_that_cannot_be_kept_does_not_stop_the_write(work, files, monkeypatch):
    (work / "a").write_bytes(b"old")

    def deny(fd, uid, gid):
        raise PermissionError(errno.EPERM, "not root")

    real = os.fstat

    def as_other(fd):
        info = real(fd)
        return os.stat_result(
            (*info[:4], info.st_uid + 1, *info[5:]),
            {
                "st_mtime_ns": info.st_mtime_ns,
                "st_ctime_ns": info.st_ctime_ns,
                "st_atime_ns": info.st_atime_ns,
            },
        )

    change = change_of(files, "a", b"new")
    monkeypatch.setattr(directory.os, "fchown", deny)
    monkeypatch.setattr(directory.os, "fstat", as_other)
    staged = files.stage(change, durable=False)
    monkeypatch.undo()
    staged.publish()
    staged.discard()

    assert tree(work) == {"a": b"new"}


@pytest.mark.parametrize("way", ["renameat2", "link"])
def test_a_file_that_appears_in_the_last_moment_is_not_overwritten(work, files, monkeypatch, way):
    staged = files.stage(change_of(files, "a", b"ours"), durable=False)
    real = staged_change.rename_new

    def too_late(handle, source, target):
        (work / "a").write_bytes(b"theirs")
        if way == "link":
            monkeypatch.setattr(directory.ctypes, "CDLL", lambda *a, **k: object())
        real(handle, source, target)

    monkeypatch.setattr(staged_change, "rename_new", too_late)

    assert refusal(staged.publish).code == "stale"

    staged.discard()
    assert tree(work) == {"a": b"theirs"}


@pytest.mark.parametrize("links", ["links", "no links"])
def test_a_file_is_created_where_renameat2_does_not_exist(work, files, monkeypatch, links):
    monkeypatch.setattr(directory.ctypes, "CDLL", lambda *a, **k: object())
    if links == "no links":

        def refuse(*args, **kwargs):
            raise PermissionError(errno.EPERM, "no links here")

        monkeypatch.setattr(directory.os, "link", refuse)

    staged = files.stage(change_of(files, "a", b"new"), durable=False)
    staged.publish()
    staged.discard()

    assert tree(work) == {"a": b"new"}


def test_content_in_many_parts_and_short_writes_arrives_whole(work, files, monkeypatch):
    parts = [os.urandom(n % 7) for n in range(3000)]
    real = os.writev
    monkeypatch.setattr(
        directory.os, "writev", lambda fd, bufs: real(fd, [bytes(memoryview(b"".join(bufs))[:777])])
    )
    place = files.locate("a")

    staged = files.stage(Change(place, None, Content(*parts)), durable=False)
    staged.publish()
    staged.discard()

    assert (work / "a").read_bytes() == b"".join(parts)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("call", ["writev", "fsync", "open", "mkdir"])
def test_a_full_or_broken_disk_leaves_everything_as_it_was(work, files, monkeypatch, code, call):
    (work / "a").write_bytes(b"old")
    target = "new/b" if call == "mkdir" else "a"
    change = change_of(files, target, b"new content")
    real = getattr(os, call)

    def fail(*args, **kwargs):
        if call == "open" and not args[1] & (os.O_WRONLY | os.O_RDWR):
            return real(*args, **kwargs)
        if call == "writev":
            real(args[0], [b"par"])
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(directory.os, call, fail)
    problem = refusal(files.stage, change, durable=True)
    monkeypatch.undo()

    assert problem.code == "unavailable"
    assert repr(target) in problem.message
    assert tree(work) == {"a": b"old"}


def test_a_disk_that_takes_nothing_more_is_an_error_not_a_loop(work, files, monkeypatch):
    change = change_of(files, "a", b"new")
    monkeypatch.setattr(directory.os, "writev", lambda fd, bufs: 0)

    assert refusal(files.stage, change, durable=False).code == "unavailable"
    assert tree(work) == {}


def test_a_publish_that_cannot_be_made_durable_is_taken_back(work, files, monkeypatch):
    (work / "a").write_bytes(b"old")
    staged = files.stage(change_of(files, "a", b"new"), durable=True)
    real, failed = os.fsync, []

    def fail_once(fd):
        if not failed:
            failed.append(fd)
            raise OSError(errno.EIO, "broken")
        real(fd)

    monkeypatch.setattr(staged_change.os, "fsync", fail_once)

    assert refusal(staged.publish).code == "unavailable"

    staged.discard()
    assert tree(work) == {"a": b"old"}


def test_a_rename_that_fails_leaves_the_old_file(work, files, monkeypatch):
    (work / "a").write_bytes(b"old")
    staged = files.stage(change_of(files, "a", b"new"), durable=False)

    def fail(*args, **kwargs):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(staged_change, "exchange", fail)
    assert refusal(staged.publish).code == "unavailable"
    monkeypatch.undo()

    staged.discard()
    assert tree(work) == {"a": b"old"}


def test_a_revert_that_fails_leaves_no_temp_file(work, files, monkeypatch):
    (work / "a").write_bytes(b"old")
    staged = files.stage(change_of(files, "a", b"new"), durable=False)
    staged.publish()

    def fail(*args, **kwargs):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(staged_change, "exchange", fail)
    assert refusal(staged.revert).code == "unavailable"
    monkeypatch.undo()

    staged.discard()
    assert tree(work) == {"a": b"new"}


def test_the_digest_of_large_content_is_not_computed(work, files, monkeypatch):
    (work / "a").write_bytes(b"old")
    change = change_of(files, "a", b"new")
    monkeypatch.setattr(Content, "digest", property(lambda self: pytest.fail("hashed")))

    staged = files.stage(change, durable=False)
    staged.publish()
    staged.discard()

    assert tree(work) == {"a": b"new"}


def test_without_an_exchange_the_old_file_is_kept_by_a_second_name(work, files, monkeypatch):
    (work / "a").write_bytes(b"old")
    (work / "b").write_bytes(b"old")
    monkeypatch.setattr(staged_change, "exchange", lambda *args: False)
    kept, reverted = (files.stage(change_of(files, name, b"new"), durable=False) for name in "ab")

    for one in (kept, reverted):
        one.publish()
    visible = {name: one for name, one in tree(work).items() if ".handrail-" not in name}
    moved = kept.keep_old(str(work.parent / "kept"))
    reverted.revert()
    for one in (kept, reverted):
        one.discard()

    assert visible == {"a": b"new", "b": b"new"}
    assert moved
    assert (work.parent / "kept").read_bytes() == b"old"
    assert tree(work) == {"a": b"new", "b": b"old"}


def test_a_change_at_the_very_last_moment_is_noticed_and_kept(work, files, monkeypatch):
    (work / "a").write_bytes(b"old")
    staged = files.stage(change_of(files, "a", b"ours"), durable=False)
    real = staged_change.exchange

    def too_late(handle, one, two):
        (work / "a").write_bytes(b"theirs!")
        return real(handle, one, two)

    monkeypatch.setattr(staged_change, "exchange", too_late)

    assert refusal(staged.publish).code == "stale"

    monkeypatch.undo()
    staged.discard()
    assert tree(work) == {"a": b"theirs!"}


def test_a_kept_file_can_still_be_put_back(work, files):
    (work / "a").write_bytes(b"old")
    staged = files.stage(change_of(files, "a", b"new"), durable=False)
    staged.publish()
    assert staged.keep_old(str(work.parent / "kept"))

    staged.revert()
    staged.discard()

    assert tree(work) == {"a": b"old"}
