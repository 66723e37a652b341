"""Links at the top of the roots that are other names of paths beneath."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from itertools import islice
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.host.files.local_files import LocalFiles
from handrail.host.files.paths.openat2 import LIST
from handrail.host.snapshots.stamps import is_settled

# A directory of this size has at most a few hundred entries on most file systems.
_ONE_LOOK: Final = 4096
_MOST_LISTED: Final = 500


class TopLinks:
    """Finds which of some names are links at the top of a root, and their targets.

    Called before every write: names are looked up again only if the directory changed.
    """

    def __init__(self, files: LocalFiles, names: Sequence[str]) -> None:
        self._files = files
        self._names = names
        self._seen: dict[int, tuple[int, tuple[str, ...]]] = {}

    def __call__(self) -> dict[str, str]:
        """The absolute path of each link, and its resolved target."""
        leads: dict[str, str] = {}
        for root, top in enumerate(self._files.roots):
            for name in self._links(root):
                link = f"{top.rstrip('/')}/{name}"
                try:
                    leads[link] = self._files.locate(link).absolute
                except ProblemRaised:
                    # It leads outside or in a loop; nothing can be written through it.
                    continue
        return leads

    def _links(self, root: int) -> tuple[str, ...]:
        handle = self._files.handle(root)
        top = os.fstat(handle)
        changed = top.st_ctime_ns
        seen = self._seen.get(root)
        if seen is not None and seen[0] == changed:
            return seen[1]
        names = self._names if top.st_size > _ONE_LOOK else self._likely(handle)
        links = tuple(name for name in names if _is_link(handle, name))
        if is_settled(changed):
            self._seen[root] = (changed, links)
        return links

    def _likely(self, handle: int) -> Sequence[str]:
        """The names that are links according to the directory's listing, which is one call instead
        of many if it is short. The file system may ignore case; where it may ignore more, all
        names are looked up.
        """
        try:
            links = _listed_links(handle)
        except OSError:
            return self._names
        if links is None or not all(map(_is_plain, links)):
            return self._names
        folded = {name.casefold() for name in links}
        return [name for name in self._names if name.casefold() in folded]


def _listed_links(handle: int) -> list[str] | None:
    """The names of all links in a directory; None if it is too large to list."""
    listed = os.open(".", LIST, dir_fd=handle)
    try:
        with os.scandir(listed) as entries:
            some = list(islice(entries, _MOST_LISTED + 1))
            found = [entry.name for entry in some if entry.is_symlink()]
    finally:
        os.close(listed)
    return found if len(some) <= _MOST_LISTED else None


def _is_plain(name: str) -> bool:
    """Whether no file system ignores characters of this name."""
    return name.isascii() and name.isprintable() and not name.endswith((".", " "))


def _is_link(handle: int, name: str) -> bool:
    try:
        os.readlink(name, dir_fd=handle)
    except OSError as error:
        # On a disk error it is unknown whether this is a link.
        if error.errno not in (errno.EINVAL, errno.ENOENT):
            raise
        return False
    return True
