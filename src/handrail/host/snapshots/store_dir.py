"""The store of one runtime, locked while it is open, its manifest, and unused stores."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.host.snapshots.content_store import ContentStore
from handrail.host.snapshots.entries import Listing, StorageUsage, TreeEntry, TreeIndex

_HEADER: Final = {"shadow": 1}
_PREFIX: Final = "manifest-"
_APART: Final = "look-"
# Files that a crash left and that no runtime has recovered after this time are removed.
_FORGOTTEN_S: Final = 30 * 86_400
# A file with more lines per directory than this is rewritten.
_WASTE: Final = 4
_LEAST_LINES: Final = 1000
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
_quote: Final = json.encoder.encode_basestring_ascii

LOCK: Final = "lock"
_SLOTS: Final = 16
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class SnapshotStore:
    """The contents and the manifest in one directory."""

    def __init__(self, directory: Path, handle: int) -> None:
        self.directory = directory
        self.contents = ContentStore(directory / "contents", directory / "packs")
        self.manifest = Manifest(directory)
        self._handle = handle

    def close(self) -> None:
        """Close the packs and release the lock."""
        try:
            with suppress(OSError):
                self.contents.close()
        finally:
            os.close(self._handle)


def claim_any(home: Path) -> SnapshotStore:
    """Return the first free store; raises OSError if there is none."""
    for number in range(_SLOTS):
        place = claim(home / str(number))
        if place is not None:
            return place
    raise OSError(f"all {_SLOTS} places in {home} are in use")


def claim(directory: Path) -> SnapshotStore | None:
    """Return the store in this directory; None if it is in use. Raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(directory / LOCK, _FLAGS, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return SnapshotStore(directory, handle)


def remove_unused_stores(home: Path, before_ns: int, *, dry_run: bool) -> int:
    """Empty, or only measure, the free stores that were last used before a time; the bytes."""
    freed = 0
    for directory in _used_before(home, before_ns):
        try:
            place = claim(directory)
        except OSError:
            continue
        if place is None:
            continue
        try:
            freed += sum(_empty(directory, dry_run=dry_run))
        finally:
            place.close()
    return freed


def _used_before(home: Path, before_ns: int) -> Iterator[Path]:
    with suppress(OSError):
        for directory in sorted(home.iterdir()):
            if directory.name.isdigit() and 0 < _last_used_ns(directory) < before_ns:
                yield directory


def _last_used_ns(directory: Path) -> int:
    """Return when the manifest was last written; 0 if never."""
    found = [0]
    with suppress(OSError):
        found += [one.stat().st_mtime_ns for one in directory.iterdir() if one.name != LOCK]
    return max(found)


def _empty(directory: Path, *, dry_run: bool) -> Iterator[int]:
    """Remove everything but the lock file, which waiting processes must find again."""
    for path in list(directory.iterdir()):
        if path.name == LOCK:
            continue
        yield path.lstat().st_size if path.is_file() else 0
        for folder, _, names in os.walk(path):
            for name in names:
                with suppress(OSError):
                    yield os.lstat(f"{folder}/{name}").st_size
        if dry_run:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


class ManifestPosition(NamedTuple):
    """A point in time: the first `length` bytes of a file."""

    name: str
    length: int


class Manifest:
    """The manifest of one store, for the holder of the store's lock."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lines = 0
        self._path: Path | None = None
        # Hashes used by roots in the file that are not open now.
        self.elsewhere: frozenset[str] = frozenset()
        # Positions that are needed later, even after a crash.
        self.kept: list[ManifestPosition] = []

    def load(self, roots: Sequence[str]) -> dict[str, TreeIndex]:
        """Return the indexes of these roots as last saved; empty ones if there are none."""
        newest = self._newest()
        trees: dict[str, TreeIndex] = {}
        if newest is not None:
            trees, self._lines, whole = _read(newest, None)
            # A truncated line would corrupt the next one.
            self._path = newest if whole else None
        others = [tree.digests() for root, tree in trees.items() if root not in roots]
        self.elsewhere = frozenset().union(*others)
        usage = StorageUsage()
        return {root: trees.get(root, TreeIndex(usage)).count_in(usage) for root in roots}

    def load_position(self, position: ManifestPosition) -> dict[str, TreeIndex] | None:
        """Return the indexes at a position; None if the file no longer exists."""
        path = self._directory / position.name
        if Path(position.name).name != position.name or not path.is_file():
            return None
        return _read(path, position.length)[0]

    def save(self, trees: Mapping[str, TreeIndex]) -> ManifestPosition:
        """Save what changed since the last call; raises OSError."""
        known = sum(len(tree.listings) for tree in trees.values())
        if self._path is None or self._lines > max(_LEAST_LINES, _WASTE * known):
            self._begin(trees)
        lines = [line for root, tree in trees.items() for line in _changed(root, tree)]
        if self._path is None:
            raise FileNotFoundError(str(self._directory))
        with self._path.open("ab") as file:
            if lines:
                file.write("".join(lines).encode("ascii"))
                self._lines += len(lines)
            length = file.tell()
        for tree in trees.values():
            tree.dirty.clear()
        return ManifestPosition(self._path.name, length)

    def save_apart(self, trees: Mapping[str, TreeIndex]) -> ManifestPosition | None:
        """Save a partial snapshot until `forget`; return None if it cannot be saved."""
        lines = [line for root, tree in trees.items() for line in _all(root, tree)]
        path = self._directory / f"{_APART}{os.urandom(8).hex()}"
        try:
            _create(path, "".join(lines).encode("ascii"))
            return ManifestPosition(path.name, path.stat().st_size)
        except OSError:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            return None

    def forget(self, position: ManifestPosition | None) -> None:
        """Remove a partial snapshot."""
        if position is not None and position.name.startswith(_APART):
            with suppress(OSError):
                (self._directory / Path(position.name).name).unlink(missing_ok=True)

    def apart(self) -> set[str]:
        """Return the hashes that pending partial snapshots still use."""
        needed: set[str] = set()
        oldest = time.time() - _FORGOTTEN_S
        for path in self._directory.glob(f"{_APART}*"):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink(missing_ok=True)
                    continue
            needed.update(*(tree.digests() for tree in _read(path, None)[0].values()))
        return needed

    def restart(self) -> None:
        """Save everything in a new file next time: the indexes no longer continue the old one."""
        self._path = None

    def _begin(self, trees: Mapping[str, TreeIndex]) -> None:
        """Start a new file with everything; the previous one stays for recovery."""
        old = sorted(self._directory.glob(f"{_PREFIX}*"))
        number = int(old[-1].name.removeprefix(_PREFIX)) + 1 if old else 1
        path = self._directory / f"{_PREFIX}{number:08d}"
        _create(path, b"")
        for tree in trees.values():
            tree.dirty.update(tree.listings)
        self._path, self._lines, self.elsewhere = path, 1, frozenset()
        kept = {position.name for position in self.kept}
        for one in old[:-1]:
            if one.name not in kept:
                one.unlink(missing_ok=True)

    def _newest(self) -> Path | None:
        return max(self._directory.glob(f"{_PREFIX}*"), default=None)


def _create(path: Path, lines: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(f"{_encode(_HEADER)}\n".encode("ascii") + lines)


def _all(root: str, tree: TreeIndex) -> Iterator[str]:
    for rel, listing in tree.listings.items():
        yield _line(root, rel, listing)
    # An empty root is saved too, because it was indexed.
    yield f"{_encode([root, tree.left])}\n"


def _changed(root: str, tree: TreeIndex) -> Iterator[str]:
    for rel in sorted(tree.dirty):
        listing = tree.listings.get(rel)
        yield f"{_encode([root, rel, None])}\n" if listing is None else _line(root, rel, listing)
    if tree.dirty:
        yield f"{_encode([root, tree.left])}\n"


def _line(root: str, rel: str, listing: Listing) -> str:
    """Encode the root, a directory and its entries: names with their signatures, what they are, and
    whether an equal signature proves it. A first look makes a row for every file, and the encoder
    of `json` needs half as long again for them.
    """
    rows = [
        f"{_quote(name)}:[{one[0]},{one[1]},{one[2]},{one[3]},{one[4]},{one[5]},{_quote(what)},"
        f"{'false' if proof is None else 'true'}]"
        for name, (proof, one, what) in listing.items()
    ]
    return f"[{_quote(root)},{_quote(rel)},{{{','.join(rows)}}}]\n"


def _read(path: Path, length: int | None) -> tuple[dict[str, TreeIndex], int, bool]:
    """Return the indexes, the number of lines, and whether all lines were readable."""
    trees: dict[str, TreeIndex] = {}
    count, position = 0, 0
    with suppress(OSError, ValueError, TypeError, KeyError), path.open("rb") as file:
        for line in file:
            position += len(line)
            if not line.endswith(b"\n") or (length is not None and position > length):
                break
            _apply(trees, json.loads(line))
            count += 1
        else:
            return trees, count, True
    return trees, count, False


def _apply(trees: dict[str, TreeIndex], line: Any) -> None:
    if line == _HEADER:
        return
    tree = trees.setdefault(line[0], TreeIndex(StorageUsage()))
    if len(line) == 2:
        tree.left = dict(line[1])
    elif line[2] is None:
        tree.listings.pop(line[1], None)
    else:
        tree.listings[line[1]] = _listing(line[2])


def _listing(rows: Mapping[str, list[Any]]) -> Listing:
    listing: Listing = {}
    for name, row in rows.items():
        signature = (row[0], row[1], row[2], row[3], row[4], row[5])
        listing[name] = TreeEntry(signature if row[7] else None, signature, row[6])
    return listing
