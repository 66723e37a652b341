"""What acts under a protected name although it has another: the target of a link there, and
the directory that a `.git` file points to. Looked up before a command, never after it: a link
that the command made must not turn ordinary files into protected ones.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from handrail.host.files.paths.openat2 import READ
from handrail.host.files.paths.real_path import real_path
from handrail.host.files.paths.root_identity import RootHandle
from handrail.host.sandbox.protected.listing import ProtectedHit
from handrail.host.sandbox.protected.name_table import BARE, FIRST, GIT, ProtectedNameTable

_POINTER: Final = b"gitdir:"
_LONGEST: Final = 4096


class ProtectedAliases:
    """Finds the second names of what stands at protected names."""

    def __init__(self, names: ProtectedNameTable, hidden: Sequence[str]) -> None:
        self._names = names
        self._hidden = hidden

    def find(
        self, hits: Mapping[RootHandle, Sequence[ProtectedHit]]
    ) -> dict[RootHandle, list[ProtectedHit]]:
        """The targets below the roots, by the root that they lie in."""
        found: dict[RootHandle, list[ProtectedHit]] = {top: [] for top in hits}
        for top, hit in ((top, hit) for top, some in hits.items() for hit in some):
            for path, mark in self._targets(top, hit):
                at = _owner(path, list(hits))
                # A link to a directory above itself would make everything protected.
                if at is None or f"{top.path}/{hit.rel}".startswith(f"{path}/"):
                    continue
                if not any(f"{path}/".startswith(f"{place}/") for place in self._hidden):
                    found[at[0]].append(ProtectedHit(at[1], mark))
        return found

    def _targets(self, top: RootHandle, hit: ProtectedHit) -> Iterator[tuple[str, int]]:
        info = None if hit.mark & BARE else top.lstat_beneath(hit.rel)
        if info is None:
            return
        path = top.absolute(hit.rel)
        if stat.S_ISLNK(info.st_mode):
            target = real_path(path)
            if hit.mark & ~FIRST:
                yield target, hit.mark & ~FIRST
            for rest, mark in self._names.rests(hit.rel) if hit.mark & FIRST else ():
                yield f"{target}/{rest}", mark
        elif hit.mark & GIT and stat.S_ISREG(info.st_mode):
            pointed = self._pointed(top, hit.rel)
            if pointed is not None:
                yield real_path(f"{path.rpartition('/')[0]}/{pointed}"), GIT

    def _pointed(self, top: RootHandle, rel: str) -> str | None:
        with suppress(OSError):
            descriptor = top.open(rel, READ)
            try:
                text = os.read(descriptor, _LONGEST)
            finally:
                os.close(descriptor)
            if text.startswith(_POINTER):
                return os.fsdecode(text.removeprefix(_POINTER).strip().split(b"\n")[0])
        return None


def _owner(path: str, tops: Sequence[RootHandle]) -> tuple[RootHandle, str] | None:
    for top in sorted(tops, key=lambda one: -len(one.path)):
        if path.startswith(top.prefix):
            return top, path.removeprefix(top.prefix)
    return None
