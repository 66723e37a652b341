"""Drops, on the calling thread, the rights that a recipe denies a program.

It binds the THREAD for good: call it only on a thread that ends with the program. Imports nothing
heavy, because it runs in the freshly started helper.
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
    """Apply the recipe's Landlock rules, capability drop and system-call filter to this thread and
    everything it starts. `open_top` opens Landlock's trees. Raises OSError if one cannot be
    applied: then nothing may be started.
    """
    rules = recipe.landlock
    # First, while the thread may still open every granted path.
    if rules is not None and not rulesets.enter_ruleset(rules, open_top):
        raise OSError(errno.ENOSYS, "the kernel refused the Landlock rules")
    if recipe.drop_capabilities:
        drop_capabilities()
        if not landlock.no_new_privileges():
            raise OSError(errno.EPERM, "the kernel refused no_new_privs")
    # Bubblewrap applies the filter itself, after its last forbidden call.
    by_thread = recipe.filter and not recipe.hands_filter_over
    if by_thread and not seccomp.apply(recipe.filter):
        raise OSError(errno.EINVAL, "the kernel refused the system-call filter")


_PR_CAPBSET_DROP: Final = 24
_PR_SET_SECUREBITS: Final = 28
_PR_CAP_AMBIENT: Final = 47
_AMBIENT_CLEAR_ALL: Final = 4
# NOROOT and NO_SETUID_FIXUP, each with its lock: uid 0 has no special rights from here on.
_SECURE_BITS: Final = 0b1111
_VERSION_3: Final = 0x20080522
_NOTHING: Final = struct.pack("=6I", *[0] * 6)


def drop_capabilities() -> None:
    """Drop every capability and every way to regain one; raises OSError if one stays.

    Without the right to set the securebits (a container's root may lack it) the sets are still
    emptied, and no_new_privs keeps them empty.
    """
    libc = _libc()
    number = 0
    # Until the first number that does not exist.
    while libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    libc.prctl(_PR_SET_SECUREBITS, _SECURE_BITS, 0, 0, 0)
    libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    clear_capabilities()


def clear_capabilities() -> None:
    """Drop every capability of this thread, which starts no program; raises OSError if one stays."""
    libc = _libc()
    header = struct.pack("=Ii", _VERSION_3, 0)
    if libc.capset(header, _NOTHING) != 0:
        raise OSError(ctypes.get_errno(), "the kernel keeps this thread's capabilities")
    left = ctypes.create_string_buffer(_NOTHING, len(_NOTHING))
    if libc.capget(header, left) != 0 or left.raw != _NOTHING:
        raise OSError(errno.EPERM, "this thread still has capabilities")


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
