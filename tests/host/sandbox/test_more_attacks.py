"""Ways out by other system calls and by objects without a path, from inside each backend."""

import platform
from functools import cache

import pytest
from tests.support.confined import USERS, confined, folder_of
from tests.support.machine import SANDBOXES

# The page on the sandbox names these among what Landlock does not hold.
OPEN_UNDER_LANDLOCK = {
    "fs_read:attributes",
    "fs_read:names of attributes",
    "fs_read:events of a folder",
    "proc_view:open files of another",
    "signals:processors",
    "signals:scheduling",
}
# A socket of a network in which nobody else is.
HARMLESS_IN_OWN_NETWORK = {"sockets:udplite"}

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are of x86-64")


@cache
def tried(uid, backend):
    with folder_of(uid) as base:
        job = {"do": "attack", "base": str(base), "backend": backend, "home": str(base)}
        return confined(uid, {**job, "script": "more_attacks.py"})


def through(uid, backend):
    return {name for name, error in tried(uid, backend)["attacks"].items() if error is None}


@pytest.mark.parametrize("uid", USERS)
def test_the_attacks_get_through_where_nothing_confines(uid):
    tried_ones = tried(uid, "none")["attacks"]

    assert len(tried_ones) >= 100
    # Some need root or a module of the kernel; enough of them show that the code works.
    assert len(through(uid, "none")) >= (60 if uid else 70)
    assert through(uid, "none") >= OPEN_UNDER_LANDLOCK


@pytest.mark.finding("F32")
@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("uid", USERS)
def test_nothing_gets_through_bubblewrap(uid):
    assert through(uid, "bubblewrap") <= HARMLESS_IN_OWN_NETWORK


@pytest.mark.finding("F32")
@pytest.mark.needs_landlock
@pytest.mark.parametrize("uid", USERS)
def test_only_what_the_page_names_gets_through_landlock(uid):
    assert through(uid, "landlock") <= OPEN_UNDER_LANDLOCK


@pytest.mark.parametrize("backend", SANDBOXES)
@pytest.mark.parametrize("uid", USERS)
def test_nothing_outside_is_changed(uid, backend):
    result = tried(uid, backend)

    assert result["before"] == result["after"]
