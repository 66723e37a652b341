"""Every known way out, tried from inside each backend, as root and as an ordinary user.

What the measurement calls enforced must hold. The same attacks without a sandbox are the
control: they get through, so that a test that stops them shows something.
"""

from functools import cache

import pytest
from tests.support.confined import USERS, confined, folder_of
from tests.support.machine import SANDBOXES, SANDBOXES_AND_NONE

from handrail.host.sandbox.probe import measure

# What needs a kernel feature or a right that not every machine gives a program anyway.
NOT_EVERYWHERE = {
    "sockets:vsock", "sockets:alg", "sockets:netlink diag", "kernel:io_uring", "kernel:keys",
    "userns:unshare", "userns:clone", "userns:clone3", "ptrace:seize", "ptrace:memory",
    "ptrace:pidfd_getfd", "mptcp:connect", "root:switch a processor off",
    # Only a mount can be mounted anew; `test_remount…` is the control.
    "protected:remount .git", "protected:unmount .git",
    # Needs a page mapped at the start of the program.
    "root:make a device",
}  # fmt: skip
# What only newer kernels, or not all file systems, have.
NEWEST = {f"metadata:{call} {place}" for place in ("outside", "shown")
          for call in ("fchmodat2", "setxattrat", "removexattrat", "file_setattr", "flags")}  # fmt: skip
# Landlock knows no rule for these; `doctor` says partial, or that they are put back.
OPEN_UNDER_LANDLOCK = {
    "proc_view:list",
    "protected:write .git/config", "protected:write a hook", "protected:write .git/commondir",
    "protected:write a nested .git", "protected:replace .venv/bin/ls", "protected:move .git away",
}  # fmt: skip
PROPERTY = {"metadata": "fs_write", "protected": "protected_names"}
UNNAMED = {"sockets", "kernel", "root"}


@cache
def tried(uid, backend):
    with folder_of(uid) as base:
        job = {"do": "attack", "base": str(base), "backend": backend, "home": str(base)}
        return confined(uid, job)


def through(uid, backend):
    attacks = tried(uid, backend)["attacks"]
    return {name for name, error in attacks.items() if error is None}


@pytest.mark.parametrize("uid", USERS)
def test_the_attacks_get_through_where_nothing_confines(uid):
    attacks = tried(uid, "none")["attacks"]

    stopped = {name: error for name, error in attacks.items() if error is not None}
    of_root = {name for name in attacks if name.startswith("root:")} if uid else set()
    assert {n: e for n, e in stopped.items() if n not in NOT_EVERYWHERE | NEWEST | of_root} == {}
    assert len(attacks) >= 50


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("uid", USERS)
def test_nothing_gets_through_bubblewrap(uid):
    assert through(uid, "bubblewrap") == set()


@pytest.mark.needs_landlock
@pytest.mark.parametrize("uid", USERS)
def test_only_what_landlock_cannot_hold_gets_through_it(uid):
    assert through(uid, "landlock") <= OPEN_UNDER_LANDLOCK
    # Pins a known gap: should one of these be closed one day, say so in the pages.
    assert through(uid, "landlock") >= OPEN_UNDER_LANDLOCK


@pytest.mark.parametrize("backend", SANDBOXES)
@pytest.mark.parametrize("uid", USERS)
def test_what_is_called_enforced_is_enforced(uid, backend):
    measured = tried(uid, backend)["measured"]

    broken = {
        name
        for name in through(uid, backend)
        if measured.get(PROPERTY.get(name.split(":")[0], name.split(":")[0])) == "enforced"
    }
    assert broken == set()


def test_every_attack_belongs_to_a_property_or_to_the_kernel():
    kinds = {name.split(":")[0] for name in tried(USERS[0], "none")["attacks"]}

    known = set(measure.PROPERTIES) | set(PROPERTY) | UNNAMED
    assert kinds <= known


@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
@pytest.mark.parametrize("uid", USERS)
def test_no_marker_appears_outside(uid, backend):
    """Contents, modes, times and attributes are untouched."""
    after, before = tried(uid, backend)["after"], tried(uid, backend)["before"]

    assert (after == before) is (backend != "none")


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("uid", USERS)
def test_nothing_is_left_in_the_workspace_by_the_mounts(uid):
    assert ".envrc" not in tried(uid, "bubblewrap")["names"]
    assert tried(uid, "bubblewrap")["names"] == [
        ".git", ".venv", "attacks.py", "datagram", "mine", "stream", "sub", "symlink",
    ]  # fmt: skip
