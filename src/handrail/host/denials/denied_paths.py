"""Finds the existing paths that read-deny patterns match, so that the sandbox can hide them.

A directory that cannot be listed is reported as a gap, never skipped silently.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.ports.read_denials import HiddenPaths, PathGlob, ReadDenyPatterns
from handrail.host.files.root_identity import RootedPaths
from handrail.host.files.roots import real_path
from handrail.host.repository_files import tracked_paths
from handrail.host.snapshots.listing_cache import FolderVisit, ListingCache, ListingPass

Inode = tuple[int, int]

_MOST_INODES: Final = 200_000

_POINTER: Final = b"gitdir:"


class GitCopies:
    """Checks whether git tracks denied files, because the sandbox cannot hide the copies in git's
    object store. Only the index is read, and only after it changed; older commits are not searched.
    """

    def __init__(self, withheld: ReadDenyPatterns) -> None:
        self._withheld = withheld
        self._known: dict[str, tuple[tuple[int, ...], str | None]] = {}

    def gap(self, repositories: Iterable[str]) -> str | None:
        """Return a sentence if git tracks denied files in one of these working trees, else None."""
        return next(filter(None, map(self._tracked_denied, repositories)), None)

    def _tracked_denied(self, tree: str) -> str | None:
        index = _index(tree)
        if index is None:
            return None
        try:
            info = index.stat()
        except OSError:
            return None
        stamp = (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
        known = self._known.get(tree)
        if known is None or known[0] != stamp:
            known = self._known[tree] = stamp, self._look(tree, index)
        return known[1]

    def _look(self, tree: str, index: Path) -> str | None:
        try:
            held = next(
                (name for name in tracked_paths(index) if self._is_denied_name(tree, name)), None
            )
        except (OSError, ValueError) as error:
            return f"what git tracks in {tree!r} cannot be read: {error}"
        return None if held is None else f"git tracks {held!r}, so its copies can be read"

    def _is_denied_name(self, tree: str, name: str) -> bool:
        if name.endswith("/"):
            # A sparse index names a directory that is not checked out as one entry.
            return self._withheld.reaches(f"{tree}/{name}".rstrip("/"))
        # Most names cannot match because of one of their parts.
        if not any(map(self._withheld.ends, name.split("/"))):
            return False
        return self._withheld.hides(f"{tree}/{name}")


def _index(tree: str) -> Path | None:
    git = Path(tree, ".git")
    if git.is_dir():
        return git / "index"
    try:
        with git.open("rb") as file:
            pointer = file.read(4096)
    except OSError:
        return None
    if not pointer.startswith(_POINTER):
        return None
    target = os.fsdecode(pointer.removeprefix(_POINTER).strip())
    return Path(os.path.normpath(Path(tree, target))) / "index"


_MOST_DIRECTORIES: Final = 100_000
_MOST_ENTRIES: Final = 1_000_000
_WILD: Final = frozenset("*?[\\")
_TRIES: Final = 20
_EXCHANGED: Final = frozenset((errno.ELOOP, errno.ENOTDIR, errno.ENOENT))


class _DenyListing(NamedTuple):
    """The entries of one directory that matter for read denials."""

    # Denied entries, except links.
    found: tuple[str, ...]
    # Denied entries that are links.
    links: tuple[str, ...]
    # Directories in which something could be denied.
    folders: tuple[str, ...]
    # Whether there is a `.git`.
    repository: bool
    size: int


class DeniedPathFinder:
    """Finds denied paths below the roots, and outside them where a pattern is absolute.
    `skipped` are directories that are hidden anyway. Thread-safe.
    """

    def __init__(
        self,
        withheld: ReadDenyPatterns,
        roots: Sequence[str],
        skipped: Sequence[str] = (),
        paths: RootedPaths | None = None,
    ) -> None:
        """`roots` are canonical; `paths` accesses the files in them through the roots' handles."""
        self.paths = RootedPaths() if paths is None else paths
        self._roots = tuple(roots)
        self._skipped = frozenset(skipped)
        self._tops = [(withheld, root) for root in roots]
        if withheld.anchored is not None:
            self._tops += [
                (withheld.anchored, top) for top in _outside_starts(withheld.globs, roots)
            ]
        self._git = GitCopies(withheld)
        self._cache = ListingCache[_DenyListing]()
        self._lock = threading.Lock()

    def find(self) -> HiddenPaths:
        """Return the denied paths that exist now. Blocks while directories are listed."""
        with self._lock:
            look = self._look()
            paths = {*look.found, *filter(None, map(_real_target, look.links))}
            gaps = [look.gap, self._enclosing_gaps(paths), self._git.gap(look.repositories)]
        gap = next(filter(None, gaps), None)
        return HiddenPaths(tuple(_outermost(paths)), gap, complete=look.gap is None)

    def _look(self) -> _FinderPass:
        """Walk all directories; repeat if names were replaced meanwhile."""
        for _ in range(_TRIES):
            look = _FinderPass()
            listings = self._cache.begin(max_folders=_MOST_DIRECTORIES, max_entries=_MOST_ENTRIES)
            for withheld, top in self._tops:
                self._walk(look, listings, withheld, top)
            self._cache.finish(listings)
            if not look.changed:
                return look
        look.gap = look.gap or "names keep being exchanged during the search for denied paths"
        return look

    def _walk(
        self,
        look: _FinderPass,
        listings: ListingPass[_DenyListing],
        withheld: ReadDenyPatterns,
        top: str,
    ) -> None:
        if withheld.hides(top):
            look.links.append(top)
            return

        def read(path: str, entries: Iterator[os.DirEntry[str]]) -> _DenyListing:
            return _read_entries(withheld, path.rstrip("/"), entries)

        for visit in listings.walk(self.paths, top, read, self._skipped):
            look.take(visit, is_top=visit.path == top)
            if visit.listing is None and visit.error is None:
                look.gap = (
                    look.gap or "there are more directories than can be searched for denied paths"
                )
                return

    def _enclosing_gaps(self, paths: set[str]) -> str | None:
        """Report a denied name that links to a directory above a root: that cannot be hidden."""
        tops = [f"{root.rstrip('/')}/" for root in self._roots]
        if any(top.startswith(f"{path.rstrip('/')}/") for path in paths for top in tops):
            return "a denied name links to the whole workspace"
        return None


class _FinderPass:
    """The result of one walk over all directories."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.links: list[str] = []
        # Whether a name was replaced between listing it and entering it.
        self.changed = False
        self.repositories: list[str] = []
        self.gap: str | None = None

    def take(self, visit: FolderVisit[_DenyListing], *, is_top: bool) -> None:
        """Add the result of one directory."""
        listing, error = visit.listing, visit.error
        if listing is not None:
            self.found += listing.found
            self.links += listing.links
            if listing.repository:
                self.repositories.append(visit.path)
        elif error is not None:
            # The entry was a directory when it was listed, and is now a link, a file or gone.
            self.changed = self.changed or (error.errno in _EXCHANGED and not is_top)
            self.gap = self.gap or _listing_gap(visit.path, error)


def _read_entries(
    withheld: ReadDenyPatterns, above: str, entries: Iterator[os.DirEntry[str]]
) -> _DenyListing:
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
    return _DenyListing(tuple(found), tuple(links), tuple(folders), repository, size)


def _outside_starts(globs: Sequence[PathGlob], roots: Sequence[str]) -> Iterator[str]:
    """Return the directories outside the roots in which a pattern could match."""
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


def _real_target(path: str) -> str | None:
    """Return the target of a denied name; None if it does not exist."""
    real = real_path(path)
    return real if os.path.lexists(real) else None


def _outermost(paths: set[str]) -> Iterator[str]:
    """Return the paths that do not lie inside another one of them."""
    last = None
    for path in sorted(paths, key=lambda one: f"{one}/"):
        if last is None or not f"{path}/".startswith(f"{last.rstrip('/')}/"):
            last = path
            yield path


def _listing_gap(path: str, error: OSError) -> str | None:
    """Return why a directory could not be listed, if a command could list it; else None."""
    if not isinstance(error, PermissionError):
        return None
    try:
        ours = os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return None
    return f"{path!r} cannot be listed" if ours else None


def inode_number(info: os.stat_result) -> Inode:
    """Return the identity of a file on this machine, independent of its name."""
    return info.st_dev, info.st_ino


class InodeSet(NamedTuple):
    """The inodes of denied files and directories. `complete` is False if some are missing."""

    inodes: frozenset[Inode] = frozenset()
    complete: bool = True

    def covers(self, info: os.stat_result) -> bool:
        """Return whether an open file is denied. With an incomplete set, every file with several
        names counts as denied, because one of the names may be.
        """
        if inode_number(info) in self.inodes:
            return True
        return not self.complete and info.st_nlink > 1

    def union(self, other: InodeSet) -> InodeSet:
        """Return the inodes of both sets."""
        return InodeSet(self.inodes | other.inodes, self.complete and other.complete)


class _InodeListing(NamedTuple):
    inodes: tuple[Inode, ...]
    folders: tuple[str, ...]
    size: int


class DeniedInodes:
    """Collects the inodes of denied paths. Not thread-safe."""

    def __init__(self, paths: RootedPaths | None = None) -> None:
        """`paths` accesses the files in the roots through the roots' handles."""
        self._paths = RootedPaths() if paths is None else paths
        self._cache = ListingCache[_InodeListing]()

    def collect(self, hidden: HiddenPaths) -> InodeSet:
        """Return the inodes of these paths and of everything below them. Blocks."""
        listings = self._cache.begin(max_folders=sys.maxsize, max_entries=sys.maxsize)
        inodes: set[Inode] = set()
        complete = hidden.complete
        for path in hidden.paths:
            try:
                info = self._paths.lstat(path)
            except FileNotFoundError:
                continue
            except OSError:
                complete = False
                continue
            inodes.add(inode_number(info))
            if stat.S_ISDIR(info.st_mode):
                complete &= self._collect_below(path, listings, inodes)
            if len(inodes) > _MOST_INODES:
                complete = False
                break
        self._cache.finish(listings)
        return InodeSet(frozenset(inodes), complete)

    def _collect_below(
        self, top: str, listings: ListingPass[_InodeListing], inodes: set[Inode]
    ) -> bool:
        """Add the inodes below a directory; return whether all of them were added."""
        complete = True
        for visit in listings.walk(self._paths, top, _inode_entries):
            if visit.info is not None and visit.listing is not None:
                inodes.add(inode_number(visit.info))
                inodes.update(visit.listing.inodes)
            elif not isinstance(visit.error, FileNotFoundError):
                complete = False
                # The entry may have become a file after its directory was listed.
                with suppress(OSError):
                    inodes.add(inode_number(self._paths.lstat(visit.path)))
            if len(inodes) > _MOST_INODES:
                return False
        return complete


def _inode_entries(path: str, entries: Iterator[os.DirEntry[str]]) -> _InodeListing:
    inodes: list[Inode] = []
    folders: list[str] = []
    size = 0
    for entry in entries:
        size += 1
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(info.st_mode):
            folders.append(f"{path}/{entry.name}")
        else:
            inodes.append(inode_number(info))
    return _InodeListing(tuple(inodes), tuple(folders), size)
