"""Walks a tree by handles, applying ignore files and skipping links and special files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from handrail.core.places import Kind, Place
from handrail.host.search.fallback.budget import SearchBudget
from handrail.host.search.fallback.gitignore import Ignores, ignores_above
from handrail.host.search.filters import PathFilter
from handrail.host.search.search_roots import SearchRoot, open_directory, repository_above


class WalkedFile(NamedTuple):
    """A regular file as a name in an open directory; the handle is valid until the next file."""

    rel: str
    directory: int
    name: str


@dataclass(slots=True)
class FileWalk:
    """One walk; `unreadable` counts directories that could not be opened."""

    root: SearchRoot
    place: Place
    allowed: PathFilter
    recursive: bool
    budget: SearchBudget
    unreadable: int = 0

    def __iter__(self) -> Iterator[WalkedFile]:
        if self.place.kind is Kind.FILE:
            yield from self._single()
            return
        pending = [(self.place.rel, self._outside())]
        while pending and not self.budget.over:
            rel, ignores = pending.pop()
            try:
                handle = open_directory(self.root, rel)
            except OSError:
                self.unreadable += 1
                continue
            try:
                yield from self._directory(rel, handle, ignores, pending)
            finally:
                os.close(handle)

    def _directory(
        self, rel: str, handle: int, ignores: Ignores, pending: list[tuple[str, Ignores]]
    ) -> Iterator[WalkedFile]:
        with os.scandir(handle) as scanned:
            entries = list(scanned)
        ignores = ignores.inside(rel, handle, (entry.name for entry in entries))
        base = f"{rel}/" if rel else ""
        for entry in entries:
            path = base + entry.name
            if entry.name == ".git":
                continue
            if entry.is_file(follow_symlinks=False):
                if self.allowed.accepts(path) and not ignores.hides(path, directory=False):
                    yield WalkedFile(path, handle, entry.name)
            elif (
                self.recursive
                and entry.is_dir(follow_symlinks=False)
                and not self.allowed.prunes(path)
                and not ignores.hides(path, directory=True)
            ):
                pending.append((path, ignores))

    def _single(self) -> Iterator[WalkedFile]:
        if not self.allowed.accepts(self.place.rel):
            return
        parent, _, name = self.place.rel.rpartition("/")
        try:
            handle = open_directory(self.root, parent)
        except OSError:
            self.unreadable += 1
            return
        try:
            yield WalkedFile(self.place.rel, handle, name)
        finally:
            os.close(handle)

    def _outside(self) -> Ignores:
        """The ignore files above the place: in the repository above, and in the root."""
        ignores = ignores_above(self.root.path, repository_above(self.root.path))
        parts = Path(self.place.rel).parts
        for depth in range(len(parts)):
            rel = "/".join(parts[:depth])
            try:
                handle = open_directory(self.root, rel)
            except OSError:
                return ignores
            try:
                ignores = ignores.inside(rel, handle, os.listdir(handle))  # noqa: PTH208 - by handle
            finally:
                os.close(handle)
        return ignores
