"""Directories as changes of a plan: what is created, removed and undone with them."""

import errno
import os
import stat

import pytest
from tests.support.changes import refusal, tree

from handrail.core.places import Form
from handrail.core.plan import Change
from handrail.core.text.content import Content
from handrail.host.files.local_files import LocalFiles

EMPTY = Content(b"")


@pytest.fixture(params=[False, True], ids=["process", "power"])
def durable(request):
    return request.param


@pytest.fixture
def files(work, opener):
    files = LocalFiles([work])
    yield files
    files.close()


def made(files, path, mode=None):
    """The creation of a directory."""
    place = files.locate(path)
    return Change(place, None, EMPTY, None, mode, 0, Form.FILE, Form.FOLDER)


def changed(files, path, after=EMPTY, mode=None):
    """The removal of a directory, or a change of its permissions."""
    place, form, content, seen = files.named(path)
    return Change(place, content, after, seen, mode, 0, form, Form.FOLDER)


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


def apply(files, change, *, durable=False):
    staged = files.stage(change, durable=durable)
    staged.publish()
    return staged.discard()


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o500])
def test_a_directory_is_created_with_those_above_it(work, files, durable, mode):
    assert apply(files, made(files, "a/b/c", mode), durable=durable)

    assert tree(work) == {"a": None, "a/b": None, "a/b/c": None}
    assert permissions(work / "a/b/c") == mode


@pytest.mark.parametrize("reverted", [False, True])
def test_a_directory_that_is_given_up_leaves_nothing(work, files, durable, reverted):
    staged = files.stage(made(files, "a/b/c"), durable=durable)
    assert tree(work) == {"a": None, "a/b": None, "a/b/c": None}
    if reverted:
        staged.publish()
        staged.revert()

    assert staged.discard()

    assert tree(work) == {}
    assert staged.discard()


def test_a_directory_that_was_used_meanwhile_stays(work, files):
    staged = files.stage(made(files, "a/b"), durable=False)
    (work / "a/b/theirs").write_bytes(b"keep")

    assert staged.discard()

    assert tree(work) == {"a": None, "a/b": None, "a/b/theirs": b"keep"}


@pytest.mark.parametrize("published", [False, True])
def test_a_directory_is_removed_when_the_plan_is_done(work, files, durable, published):
    (work / "a/b").mkdir(parents=True)
    staged = files.stage(changed(files, "a/b", None), durable=durable)
    if published:
        staged.publish()
    assert (work / "a/b").is_dir()

    assert staged.discard()

    assert tree(work) == ({"a": None} if published else {"a": None, "a/b": None})


@pytest.mark.parametrize(
    ("before", "mode", "reverted", "after"),
    [
        (0o755, 0o700, False, 0o700),
        (0o755, 0o500, False, 0o500),
        (0o755, 0o700, True, 0o755),
        (0o755, 0o500, True, 0o755),
        (0o755, None, False, 0o755),
    ],
)
def test_permissions_are_set_or_restored(work, files, before, mode, reverted, after):
    (work / "a").mkdir()
    (work / "a").chmod(before)
    staged = files.stage(changed(files, "a", mode=mode), durable=False)
    staged.publish()
    # Until the end files can be staged in it.
    assert permissions(work / "a") & 0o700 == 0o700
    if reverted:
        staged.revert()

    assert staged.discard()

    assert permissions(work / "a") == after


def test_something_else_of_that_name_is_a_conflict(work, files):
    change = made(files, "a")
    (work / "a").mkdir()

    assert refusal(files.stage, change, durable=False).code == "stale"
    assert tree(work) == {"a": None}


@pytest.mark.parametrize("after", [EMPTY, None])
def test_a_directory_that_became_something_else_is_a_conflict(work, files, after):
    (work / "a").mkdir()
    change = changed(files, "a", after)
    staged = files.stage(change, durable=False)
    (work / "a").rmdir()
    (work / "a").write_bytes(b"theirs")

    assert refusal(files.stage, change, durable=False).code == "stale"
    if after is None:
        assert refusal(staged.publish).code == "stale"
    staged.discard()

    assert tree(work) == {"a": b"theirs"}


def test_only_a_durable_change_waits_for_the_disk(work, files, durable, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)

    apply(files, made(files, "a"), durable=durable)
    created = len(synced)
    apply(files, changed(files, "a", None), durable=durable)

    assert (created, len(synced)) == ((1, 3) if durable else (0, 0))


def test_nothing_is_moved_aside_for_a_directory(work, files):
    staged = files.stage(made(files, "a"), durable=False)

    assert staged.keep_old("elsewhere") is False
    staged.let_go()
    assert staged.folder_handle >= 0
    staged.discard()
    assert staged.folder_handle == -1


@pytest.mark.parametrize("number", [errno.ENOTEMPTY, errno.EIO])
def test_a_directory_that_cannot_be_removed_stays(work, files, monkeypatch, number):
    (work / "a").mkdir()
    staged = files.stage(changed(files, "a", None), durable=False)
    staged.publish()

    def fail(*args, **kwargs):
        raise OSError(number, "no")

    monkeypatch.setattr(os, "rmdir", fail)
    # Only a failing disk leaves something to be removed later.
    assert staged.discard() is (number == errno.ENOTEMPTY)
    monkeypatch.undo()
    assert tree(work) == {"a": None}
