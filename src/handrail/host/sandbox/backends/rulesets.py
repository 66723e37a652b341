"""Landlock's rules, made once for programs that are confined alike.

A rule is about a file or folder, not about its name: so the rules that were made before are
used again only while every name leads where it led then. Looking costs a tenth of making. Where
folders are granted entry by entry, every entry is opened again and compared.
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
# What a name leads to: its file system and its number there; None if there is nothing.
_Seen = tuple[tuple[int, int] | None, ...]
# And what was granted, where that had to be opened to know it.
_Wanted = tuple[_Seen, tuple[tuple[AccessRight, str], ...] | None]


class _CachedRuleset(NamedTuple):
    rules: LandlockRules
    seen: _Wanted
    handle: int


def enter_ruleset(rules: LandlockRules, open_top: OpenTree | None = None) -> bool:
    """Leave the calling thread only what the rules allow, trees being opened by `open_top`;
    whether the kernel agreed. True can not be taken back.
    """
    return _last.enter(rules, open_top)


class RulesetCache:
    """The ruleset that was made last; safe in any thread."""

    def __init__(self) -> None:
        self._made: _CachedRuleset | None = None
        self._mounts: select.poll | None = None
        self._lock = threading.Lock()

    def enter(self, rules: LandlockRules, open_top: OpenTree | None = None) -> bool:
        """See the function."""
        with self._lock:
            # Looked at first: what is replaced meanwhile is then seen to be new the next time.
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
        """Whether something was mounted or unmounted since the last time. The kernel forgets
        its rules with a file system, and the next one may have the same numbers.
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
