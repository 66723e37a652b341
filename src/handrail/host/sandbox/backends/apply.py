"""Gives up, on the calling thread, what a recipe says a program must not have.

It binds the THREAD for ever: only on a throw-away one. Imports nothing heavy, because the
process that starts programs is a fresh one.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from functools import cache
from typing import Final

from handrail.host.processes import landlock, seccomp
from handrail.host.sandbox.backends import rulesets
from handrail.host.sandbox.backends.landlock_grants import OpenTree
from handrail.host.sandbox.recipe import Recipe


def restrict_thread(recipe: Recipe, open_top: OpenTree | None = None) -> None:
    """Landlock, capabilities and filter as the recipe demands; what this thread starts has
    them too. Landlock's trees are opened by `open_top`. Raises OSError if one cannot be had: then nothing may be started.
    """
    rules = recipe.landlock
    # First, while the thread may still look at every place that is granted.
    if rules is not None and not rulesets.enter_ruleset(rules, open_top):
        raise OSError(errno.ENOSYS, "the kernel refused the Landlock rules")
    if recipe.drop_capabilities:
        drop_capabilities()
        if not landlock.no_new_privileges():
            raise OSError(errno.EPERM, "the kernel refused no_new_privs")
    # Bubblewrap applies its own, once it needs no forbidden call any more.
    by_thread = recipe.filter and not recipe.hands_filter_over
    if by_thread and not seccomp.apply(recipe.filter):
        raise OSError(errno.EINVAL, "the kernel refused the system-call filter")


_PR_CAPBSET_DROP: Final = 24
_PR_SET_SECUREBITS: Final = 28
_PR_CAP_AMBIENT: Final = 47
_AMBIENT_CLEAR_ALL: Final = 4
# NOROOT and NO_SETUID_FIXUP, each with its lock: user 0 is nobody special from here on.
_SECURE_BITS: Final = 0b1111
_VERSION_3: Final = 0x20080522
_NOTHING: Final = struct.pack("=6I", *[0] * 6)


def drop_capabilities() -> None:
    """Give up every capability, and every way to get one back; raises OSError if one stays.

    Without the right to lock the door (a container's root may lack it) the sets are emptied
    all the same, and no_new_privs keeps them empty.
    """
    libc = _libc()
    number = 0
    # To the last that there is; who may not drop the first may drop none.
    while libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    libc.prctl(_PR_SET_SECUREBITS, _SECURE_BITS, 0, 0, 0)
    libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = struct.pack("=Ii", _VERSION_3, 0)
    if libc.capset(header, _NOTHING) != 0:
        raise OSError(ctypes.get_errno(), "the kernel keeps this thread's capabilities")
    left = ctypes.create_string_buffer(_NOTHING, len(_NOTHING))
    if libc.capget(header, left) != 0 or left.raw != _NOTHING:
        raise OSError(errno.EPERM, "this thread still has capabilities")


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
