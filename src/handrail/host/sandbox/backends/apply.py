"""Drops, on the calling thread, the rights that a recipe denies a program.

The restriction binds the THREAD for good: call it only on a thread that ends with the program.
Imports nothing large, because it runs in the freshly started helper.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Final, NamedTuple

from handrail.host.processes import landlock, seccomp
from handrail.host.sandbox.backends.landlock_grants import (
    AccessRight,
    GrantSet,
    Listing,
    OpenTree,
    is_listed_alike,
)
from handrail.host.sandbox.recipe import LandlockRules, Recipe

_MOUNTS: Final = "/proc/self/mountinfo"
# The device and inode of each path; None if the path does not exist.
_Seen = tuple[tuple[int, int] | None, ...]
# Like `_Seen`, with the grants where they had to be opened to know them.
_Wanted = tuple[_Seen, tuple[tuple[AccessRight, str], ...] | None]


def restrict_thread(recipe: Recipe, open_top: OpenTree | None = None) -> None:
    """Apply the recipe's Landlock rules, capability drop and system-call filter to this thread and
    everything that it starts. `open_top` opens the trees for Landlock. Raises OSError if one of
    them cannot be applied; then the program must not be started.
    """
    rules = recipe.landlock
    # First, while the thread may still open every granted path.
    if rules is not None and not enter_ruleset(rules, open_top):
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
    """Drop every capability and every way to regain one; raises OSError if one remains.

    Without the right to set the securebits (a container's root may lack it) the sets are still
    emptied, and no_new_privs keeps them empty.
    """
    libc = _libc()
    number = 0
    # Up to the first number that is not a capability.
    while libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    libc.prctl(_PR_SET_SECUREBITS, _SECURE_BITS, 0, 0, 0)
    libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    clear_capabilities()


def clear_capabilities() -> None:
    """Drop every capability of this thread, which starts no program; raises OSError."""
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


class _CachedRuleset(NamedTuple):
    rules: LandlockRules
    seen: _Wanted
    listings: Mapping[str, Listing | None]
    handle: int

    def is_current(self, rules: LandlockRules, seen: _Seen) -> bool:
        """Return whether these rules would be made from the same inodes again."""
        return self.rules == rules and self.seen[0] == seen and is_listed_alike(self.listings)


def enter_ruleset(rules: LandlockRules, open_top: OpenTree | None = None) -> bool:
    """Restrict the calling thread for good; `open_top` opens trees. False if the kernel refused."""
    return _last.enter(rules, open_top)


class RulesetCache:
    """The last ruleset. Thread-safe."""

    def __init__(self) -> None:
        self._made: _CachedRuleset | None = None
        self._mounts: select.poll | None = None
        self._lock = threading.Lock()

    def enter(self, rules: LandlockRules, open_top: OpenTree | None = None) -> bool:
        """See `enter_ruleset`."""
        with self._lock:
            # Before the rules are made: if a path is replaced meanwhile, the next call notices the
            # difference.
            mounted, seen = self._mounted(), _read_identities(rules)
            if self._made is not None and not mounted and self._made.is_current(rules, seen):
                return landlock.enter(self._made.handle)
            grants = GrantSet(rules, open_top) if rules.denied_parents else None
            try:
                wanted = seen, None if grants is None else grants.inodes
                made = self._made
                if made is None or mounted or made.rules != rules or made.seen != wanted:
                    made = self._make(rules, wanted, grants or GrantSet(rules, open_top))
                elif grants is not None:
                    made = self._made = made._replace(listings=grants.listings)
                return made is not None and landlock.enter(made.handle)
            finally:
                if grants is not None:
                    grants.close()

    def _make(self, rules: LandlockRules, seen: _Wanted, grants: GrantSet) -> _CachedRuleset | None:
        if self._made is not None:
            os.close(self._made.handle)
            self._made = None
        try:
            handle = landlock.make_ruleset(
                grants.handles(AccessRight.READ),
                grants.handles(AccessRight.WRITE),
                grants.handles(AccessRight.LIST),
                network=rules.network,
            )
        finally:
            grants.close()
        if handle is not None:
            self._made = _CachedRuleset(rules, seen, grants.listings, handle)
        return self._made

    def _mounted(self) -> bool:
        """Return whether anything was mounted or unmounted since the last call. Unmounting a file
        system removes its rules, and the next file system may have equal inode numbers.
        """
        if self._mounts is None:
            with suppress(OSError):
                handle = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
                self._mounts = select.poll()
                self._mounts.register(handle, select.POLLPRI)
            return True
        return bool(self._mounts.poll(0))


_last: Final = RulesetCache()


def _read_identities(rules: LandlockRules) -> _Seen:
    return (
        *_identities(rules.read, os.stat),
        *_identities(rules.write, os.lstat),
    )


def _identities(paths: tuple[str, ...], look: Callable[[str], os.stat_result]) -> _Seen:
    seen: list[tuple[int, int] | None] = []
    for path in paths:
        try:
            found = look(path)
        except OSError:
            seen.append(None)
        else:
            seen.append((found.st_dev, found.st_ino))
    return tuple(seen)
