"""Finds the files of the workspace whose names suggest that they contain secrets."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from handrail.core.names.sensitive import is_sensitive, is_sensitive_folder, is_sensitive_name
from handrail.core.ports.read_denials import HiddenPaths, PathGlob
from handrail.host.denials.denied_paths import GitCopies
from handrail.host.files.root_identity import RootedPaths
from handrail.host.files.roots import real_path
from handrail.host.snapshots.listing_cache import ListingCache

_MOST_DIRECTORIES: Final = 100_000
_MOST_ENTRIES: Final = 1_000_000
# Installed packages contain public certificates, and keys for their own tests.
_SKIPPED: Final = frozenset({".git", "node_modules", "site-packages"})


class SensitiveNames:
    """Implements `core.ports.read_denials.ReadDenyPatterns` for the names of sensitive files."""

    globs: tuple[PathGlob, ...] = ()
    anchored: None = None

    def hides(self, path: str) -> bool:
        """Return whether the file is sensitive, or lies in a sensitive folder."""
        return is_sensitive(path)

    def ends(self, name: str) -> bool:
        """Return whether a file or folder of this name is sensitive."""
        return is_sensitive_name(name) or is_sensitive_folder(name)

    def reaches(self, path: str) -> bool:
        """Return True: any folder may contain sensitive files."""
        del path
        return True


class _SecretListing(NamedTuple):
    found: tuple[str, ...]
    folders: tuple[str, ...]
    # Whether there is a `.git`.
    repository: bool
    size: int


class SensitiveFileFinder:
    """Finds sensitive files below the roots, not in the `skipped` directories. Thread-safe."""

    def __init__(
        self, roots: Sequence[str], skipped: Sequence[str] = (), paths: RootedPaths | None = None
    ) -> None:
        """`roots` are canonical; `paths` accesses the files in them through the roots' handles."""
        self._paths = RootedPaths() if paths is None else paths
        self._roots = tuple(roots)
        self._skipped = frozenset(skipped)
        self._git = GitCopies(SensitiveNames())
        self._cache = ListingCache[_SecretListing]()
        self._lock = threading.Lock()

    def find(self) -> HiddenPaths:
        """Return the sensitive files and folders that exist now, links with their targets; `gap`
        names one that git tracks. Blocks while directories are listed.
        """
        found: set[str] = set()
        repositories: list[str] = []
        complete = True
        with self._lock:
            listings = self._cache.begin(max_folders=_MOST_DIRECTORIES, max_entries=_MOST_ENTRIES)
            for root in self._roots:
                for visit in listings.walk(self._paths, root, _read_entries, self._skipped):
                    if visit.listing is not None:
                        found.update(visit.listing.found)
                        repositories += [visit.path] if visit.listing.repository else []
                    elif not isinstance(visit.error, FileNotFoundError):
                        complete = False
            self._cache.finish(listings)
            gap = self._git.gap(repositories)
        found.update([real for path in tuple(found) if os.path.lexists(real := real_path(path))])
        return HiddenPaths(tuple(sorted(found)), gap, complete=complete)


def _read_entries(path: str, entries: Iterator[os.DirEntry[str]]) -> _SecretListing:
    found: list[str] = []
    folders: list[str] = []
    repository, size, above = False, 0, path.rstrip("/")
    for entry in entries:
        size += 1
        name = entry.name
        below = f"{above}/{name}"
        repository = repository or name == ".git"
        if entry.is_dir(follow_symlinks=False):
            if is_sensitive_folder(name):
                found.append(below)
            elif name not in _SKIPPED:
                folders.append(below)
        elif is_sensitive_name(name) or (entry.is_symlink() and is_sensitive_folder(name)):
            found.append(below)
    return _SecretListing(tuple(found), tuple(folders), repository, size)
