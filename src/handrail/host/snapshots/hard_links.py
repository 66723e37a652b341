"""The remaining hard links of files that a program removed, found by inode."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from handrail.core.ports.snapshots import EntryChange, OtherNames
from handrail.host.files.root_identity import RootHandle
from handrail.host.snapshots.entries import TreeIndex

# Candidates per file from which undo can restore the hard link.
_MOST_NAMES: Final = 4
_SKIPPED: Final = frozenset({".git"})

File = tuple[int, int]
Name = tuple[int, str]


def find_other_names(
    deltas: Sequence[EntryChange],
    trees: Sequence[TreeIndex],
    tops: Sequence[RootHandle],
    *,
    everywhere: bool,
) -> dict[Name, OtherNames]:
    """For each removed file that had hard links: its inode, and the remaining names. `everywhere`:
    the indexes are partial, so the roots are searched.
    """
    gone = {(one.root, one.rel) for one in deltas if one.after is None}
    files = {key: trees[key[0]].linked[key[1]] for key in gone if key[1] in trees[key[0]].linked}
    if not files:
        return {}
    found = _search(tops, set(files.values())) if everywhere else _known(trees)
    left: dict[File, list[Name]] = {}
    for name, file in found:
        if name not in gone and len(left.setdefault(file, [])) < _MOST_NAMES:
            left[file].append(name)
    return {key: OtherNames(*file, tuple(left.get(file, ()))) for key, file in files.items()}


def _known(trees: Sequence[TreeIndex]) -> Iterator[tuple[Name, File]]:
    for root, tree in enumerate(trees):
        for rel, file in tree.linked.items():
            yield (root, rel), file


def _search(tops: Sequence[RootHandle], wanted: Collection[File]) -> Iterator[tuple[Name, File]]:
    inodes: Mapping[int, None] = dict.fromkeys(inode for _, inode in wanted)
    for number, top in enumerate(tops):
        folders = [""]
        while folders:
            rel = folders.pop()
            for entry in _entries(top, rel):
                below = f"{rel}/{entry.name}" if rel else entry.name
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _SKIPPED:
                            folders.append(below)
                    elif entry.inode() in inodes:
                        info = entry.stat(follow_symlinks=False)
                        if (info.st_dev, info.st_ino) in wanted:
                            yield (number, below), (info.st_dev, info.st_ino)


def _entries(root: RootHandle, rel: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root.absolute(rel)) as entries:
            return list(entries)
    except OSError:
        # A name found here is only a candidate: it is checked when a link to it is made.
        return []
