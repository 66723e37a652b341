"""Permissions of folders that a plan opens for itself, and what restores them after a crash."""

import stat
from types import SimpleNamespace

import pytest

from handrail.core.places import Form
from handrail.core.plan import Change
from handrail.core.text.content import Content
from handrail.history.temporary_permissions import (
    OPEN,
    add_permission_grants,
    restore_permissions,
)

CLOSED, OTHER = 0o555, 0o511


def folder(mode, *, form=Form.FOLDER, path="d", seen=True):
    """Files in which the folder `d` has these permissions now."""
    info = SimpleNamespace(mode=stat.S_IFDIR | mode) if seen else None
    place = SimpleNamespace(path=path, rel=path)
    return SimpleNamespace(named=lambda name: (place, form, Content(b""), info))


def restored(files, before, after, *, happened):
    described = {"path": "d", "before_mode": before, "after_mode": after}
    change = restore_permissions(described, files, happened=happened)
    return None if change is None else change.mode


@pytest.mark.parametrize(
    ("now", "before", "after", "happened", "mode"),
    [
        # Opened for the plan, which happened or not.
        (CLOSED | OPEN, CLOSED, CLOSED, True, CLOSED),
        (CLOSED | OPEN, CLOSED, OTHER, False, CLOSED),
        (CLOSED | OPEN, CLOSED, OTHER, True, OTHER),
        (OTHER | OPEN, CLOSED, OTHER, False, CLOSED),
        # The folder has its permissions, or others that somebody gave it.
        (CLOSED, CLOSED, CLOSED, True, None),
        (0o700, CLOSED, CLOSED, True, None),
        (CLOSED | OPEN, CLOSED | OPEN, CLOSED | OPEN, True, None),
        # The folder was not there before, or is not there afterwards.
        (OTHER | OPEN, None, OTHER, True, OTHER),
        (OTHER | OPEN, None, OTHER, False, None),
        (CLOSED | OPEN, CLOSED, None, True, None),
    ],
)
def test_only_what_the_plan_opened_is_closed(now, before, after, happened, mode):
    assert restored(folder(now), before, after, happened=happened) == mode


@pytest.mark.parametrize("more", [{"form": Form.FILE}, {"path": "elsewhere"}, {"seen": False}])
def test_what_is_no_longer_that_folder_is_left_alone(more):
    assert restored(folder(CLOSED | OPEN, **more), CLOSED, CLOSED, happened=True) is None


@pytest.mark.parametrize("path", ["a/b/old", "a/b/new"])
def test_a_closed_folder_is_opened_before_the_changes_in_it(path):
    seen = {name: SimpleNamespace(mode=stat.S_IFDIR | CLOSED) for name in ("a/b", "/elsewhere")}

    def named(path):
        rel = path.removeprefix("/elsewhere")
        place = SimpleNamespace(path=path, rel=rel, absolute=f"/work/{path}")
        return place, Form.FOLDER, Content(b""), seen[path]

    files = SimpleNamespace(named=named, roots=("/elsewhere",))
    deleted = [file_change(one) for one in (path, "top", "/elsewhere/x")]

    opened, *others = add_permission_grants(deleted, files)

    assert others == deleted
    assert (opened.path, opened.mode, opened.empties) == ("a/b", CLOSED, 0)
    assert opened.only_opens
    seen["a/b"].mode |= OPEN
    assert add_permission_grants(deleted, files) == deleted


def file_change(path):
    return Change(SimpleNamespace(path=path, absolute=f"/work/{path}"), Content(b"x"), None)
