"""Which withheld paths exist just now: what patterns mean, as names that can be hidden.

Every directory in which something could be withheld is listed once, and not again until its
time stamps say that an entry came or went. What cannot be looked at is said, not passed over.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from handrail.core.read_denials import HiddenPaths, PathGlob, ReadDenyPatterns
from handrail.host.denials.git_copies import GitCopies
from handrail.host.files.paths.real_path import real_path
from handrail.host.files.paths.rooted_paths import RootedPaths
from handrail.host.snapshots.stamps import DirectoryStamps, Stamp, identity

_MOST_DIRECTORIES: Final = 100_000
_MOST_ENTRIES: Final = 1_000_000
_WILD: Final = frozenset("*?[\\")
_TRIES: Final = 20
_EXCHANGED: Final = frozenset((errno.ELOOP, errno.ENOTDIR, errno.ENOENT))


class _FolderListing(NamedTuple):
    """What a directory holds: withheld entries, those that are links, folders to look into,
    whether a `.git`.
    """

    stamp: Stamp | None
    found: tuple[str, ...]
    links: tuple[str, ...]
    folders: tuple[str, ...]
    repository: bool
    size: int


class DeniedPathFinder:
    """Finds what exists of the withheld paths below the roots (canonical), and where patterns
    name places outside. `skipped` are directories that are hidden anyway. For any thread.
    """

    def __init__(
        self,
        withheld: ReadDenyPatterns,
        roots: Sequence[str],
        skipped: Sequence[str] = (),
        paths: RootedPaths | None = None,
    ) -> None:
        """`paths` looks at what lies in the roots by their handles."""
        self.paths = RootedPaths() if paths is None else paths
        self._roots = tuple(roots)
        self._skipped = frozenset(skipped)
        self._tops = [(withheld, root) for root in roots]
        if withheld.anchored is not None:
            self._tops += [(withheld.anchored, top) for top in _starts(withheld.globs, roots)]
        self._git = GitCopies(withheld)
        self._stamps = DirectoryStamps()
        self._known: dict[str, _FolderListing] = {}
        self._lock = threading.Lock()

    def find(self) -> HiddenPaths:
        """Look; blocks for as long as it takes to visit the directories."""
        with self._lock:
            look = self._look()
            paths = {*look.found, *filter(None, map(_real, look.links))}
            gaps = [look.gap, self._around(paths), self._git.gap(look.repositories)]
        gap = next(filter(None, gaps), None)
        return HiddenPaths(tuple(_outermost(paths)), gap, complete=look.gap is None)

    def _look(self) -> _FinderPass:
        """One walk over everything, again if names were exchanged meanwhile."""
        for _ in range(_TRIES):
            look = _FinderPass(self._known, self._skipped)
            for withheld, top in self._tops:
                self._walk(look, withheld, top)
            self._known = look.fresh
            if not look.changed:
                return look
        look.gap = look.gap or "names keep being exchanged while withheld paths are looked for"
        return look

    def _walk(self, look: _FinderPass, withheld: ReadDenyPatterns, top: str) -> None:
        if withheld.hides(top):
            look.links.append(top)
            return
        queue = [top]
        for path in queue:
            if path in look.fresh or path in look.skipped:
                continue
            if look.size > _MOST_ENTRIES or len(look.fresh) >= _MOST_DIRECTORIES:
                look.gap = look.gap or "there are more folders than are looked into"
                return
            try:
                listing = self._listing(withheld, path, look.known.get(path))
            except OSError as error:
                # What was a folder a moment ago is a link, a file or gone.
                look.changed = look.changed or (error.errno in _EXCHANGED and path != top)
                look.gap = look.gap or _unseen(path, error)
                continue
            look.take(path, listing)
            queue += listing.folders

    def _listing(
        self, withheld: ReadDenyPatterns, path: str, known: _FolderListing | None
    ) -> _FolderListing:
        if known is not None and known.stamp == identity(self.paths.lstat(path)):
            return known
        handle = self.paths.open_folder(path)
        try:
            stamp = self._stamps.of(os.fstat(handle))
            with os.scandir(handle) as entries:
                return self._sort(withheld, path.rstrip("/"), stamp, entries)
        finally:
            os.close(handle)

    def _sort(
        self,
        withheld: ReadDenyPatterns,
        above: str,
        stamp: Stamp | None,
        entries: Iterable[os.DirEntry[str]],
    ) -> _FolderListing:
        found: list[str] = []
        links: list[str] = []
        folders: list[str] = []
        repository, size = False, 0
        for entry in entries:
            size += 1
            name = entry.name
            below = f"{above}/{name}"
            repository = repository or name == ".git"
            if withheld.ends(name) and withheld.hides(below):
                (links if entry.is_symlink() else found).append(below)
            elif entry.is_dir(follow_symlinks=False) and withheld.reaches(below):
                folders.append(below)
        return _FolderListing(stamp, tuple(found), tuple(links), tuple(folders), repository, size)

    def _around(self, paths: set[str]) -> str | None:
        """A withheld name that is a link to something above a root cannot be hidden."""
        tops = [f"{root.rstrip('/')}/" for root in self._roots]
        if any(top.startswith(f"{path.rstrip('/')}/") for path in paths for top in tops):
            return "a withheld name leads to the whole workspace"
        return None


class _FinderPass:
    """One walk over everything: what is known from before, and what was found."""

    def __init__(self, known: dict[str, _FolderListing], skipped: frozenset[str]) -> None:
        self.known = known
        self.skipped = skipped
        self.fresh: dict[str, _FolderListing] = {}
        self.found: list[str] = []
        self.links: list[str] = []
        # Whether a name meant something else when it was entered than when it was listed.
        self.changed = False
        self.repositories: list[str] = []
        self.size = 0
        self.gap: str | None = None

    def take(self, path: str, listing: _FolderListing) -> None:
        """Note what a directory holds."""
        self.fresh[path] = listing
        self.found += listing.found
        self.links += listing.links
        self.size += listing.size
        if listing.repository:
            self.repositories.append(path)


def _starts(globs: Sequence[PathGlob], roots: Sequence[str]) -> Iterator[str]:
    """The directories outside the roots in which what a pattern names could lie."""
    tops = [f"{root.rstrip('/')}/" for root in roots]
    for glob in globs:
        if glob.floating:
            continue
        fixed = 0
        while fixed < len(glob.names) and not _WILD.intersection(glob.names[fixed]):
            fixed += 1
        literal = "/".join((glob.top, *glob.names[:fixed]))
        start = literal if fixed < len(glob.names) else literal.rpartition("/")[0]
        if not any(f"{start}/".startswith(top) for top in tops):
            yield start or "/"


def _real(path: str) -> str | None:
    """What a withheld name leads to, None if to nothing."""
    real = real_path(path)
    return real if os.path.lexists(real) else None


def _outermost(paths: set[str]) -> Iterator[str]:
    """Without those that lie in another of them."""
    last = None
    for path in sorted(paths, key=lambda one: f"{one}/"):
        if last is None or not f"{path}/".startswith(f"{last.rstrip('/')}/"):
            last = path
            yield path


def _unseen(path: str, error: OSError) -> str | None:
    """Why a directory could not be listed, if a command might be able to."""
    if not isinstance(error, PermissionError):
        return None
    try:
        ours = os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return None
    return f"{path!r} cannot be looked into" if ours else None
