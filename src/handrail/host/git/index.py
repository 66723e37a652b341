"""Reads a repository's index: tracked paths and embedded repositories.

Git is not run. An index that is not understood completely raises ValueError.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MAX_BYTES: Final = 64 << 20
_HEADER: Final = struct.Struct(">4sII")
# Time stamps, mode, owner, size, hash and flags of one entry.
_ENTRY: Final = struct.Struct(">24xI12x20xH")
_LINK: Final = 0o160000
_LINK_BYTES: Final = _LINK.to_bytes(4, "big")
_EXTENDED: Final = 0x4000
_LENGTH: Final = 0x0FFF


def embedded_repositories(directory: Path) -> list[str]:
    """Paths of the repositories inside the working tree of this git directory.

    Raises OSError or ValueError.
    """
    for shared in directory.glob("sharedindex.*"):
        if _LINK_BYTES in _bytes(shared):
            raise ValueError(f"{shared} holds other repositories")
    index = directory / "index"
    data = _bytes(index) if os.path.lexists(index) else b""
    # Most indexes have none, and this search is a hundred times faster than parsing.
    return list(_links(data)) if _LINK_BYTES in data else []


def tracked_paths(index: Path) -> Iterator[str]:
    """Every path in an index, relative to its working tree.

    Raises OSError or ValueError.
    """
    if any(index.parent.glob("sharedindex.*")):
        raise ValueError("of a split index the other half lies elsewhere")
    return (name for _, name in _entries(_bytes(index)))


def _links(data: bytes) -> Iterator[str]:
    return (name for mode, name in _entries(data) if mode == _LINK)


def _entries(data: bytes) -> Iterator[tuple[int, str]]:
    try:
        magic, version, count = _HEADER.unpack_from(data)
        if magic != b"DIRC" or version not in (2, 3):
            raise ValueError("an index of another kind")
        start = _HEADER.size
        for _ in range(count):
            mode, flags = _ENTRY.unpack_from(data, start)
            name = start + _ENTRY.size + (2 if flags & _EXTENDED else 0)
            end = data.index(b"\0", name)
            # Fails if the hashes are longer than SHA-1.
            if min(end - name, _LENGTH) != flags & _LENGTH or name == end:
                raise ValueError("an index that does not add up")
            yield mode, os.fsdecode(data[name:end])
            # Padded with at least one NUL.
            start += (end - start + 8) & ~7
    except struct.error as error:
        raise ValueError("an index that ends early") from error


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"{path} is too long")
    return data
