"""A cache of the Landlock ruleset made last, for programs confined alike.

Rules refer to inodes, so a ruleset is reused only while every path leads to the inode it led to.
Checking costs a tenth of making one. Directories that are granted entry by entry are opened again
and compared.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from handrail.host.processes import landlock
from handrail.host.sandbox.backends.landlock_grants import AccessRight, GrantSet, OpenTree
from handrail.host.sandbox.recipe import LandlockRules

_MOUNTS: Final = "/proc/self/mountinfo"
# Device and inode of each path; None if there is nothing.
_Seen = tuple[tuple[int, int] | None, ...]
# And the grants, where they had to be opened to be known.
_Wanted = tuple[_Seen, tuple[tuple[AccessRight, str], ...] | None]


class _CachedRuleset(NamedTuple):
    rules: LandlockRules
    seen: _Wanted
    handle: int


def enter_ruleset(rules: LandlockRules, open_top: OpenTree | None = None) -> bool:
    """Restrict the calling thread to the rules, opening trees by `open_top`; whether the kernel
    agreed. Cannot be undone.
    """
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
            # Before making rules: a path replaced meanwhile then differs at the next call.
            mounted, seen = self._mounted(), _look(rules)
            grants = GrantSet(rules, open_top) if rules.ways else None
            try:
                wanted = seen, None if grants is None else grants.inodes
                made = self._made
                if made is None or mounted or made.rules != rules or made.seen != wanted:
                    made = self._make(rules, wanted, grants or GrantSet(rules, open_top))
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
            self._made = _CachedRuleset(rules, seen, handle)
        return self._made

    def _mounted(self) -> bool:
        """Whether anything was mounted or unmounted since the last call. An unmounted file system
        takes its rules with it, and the next one may have equal inode numbers.
        """
        if self._mounts is None:
            with suppress(OSError):
                handle = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
                self._mounts = select.poll()
                self._mounts.register(handle, select.POLLPRI)
            return True
        return bool(self._mounts.poll(0))


_last: Final = RulesetCache()


def _look(rules: LandlockRules) -> _Seen:
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
