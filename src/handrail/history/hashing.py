"""Hashing large contents beside other work: it lets go of the interpreter."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final

from handrail.core.content import Content
from handrail.core.plan import Change

_WORTH_A_THREAD: Final = 256 * 1024


def hash_side_by_side(changes: Iterable[Change]) -> None:
    """Hash the contents of changes, old and new ones at the same time if they are large."""
    changes = list(changes)
    hashing = start_hashing(change.before for change in changes)
    for change in changes:
        _ = change.after_hash
    hashing.join()


class Hashing:
    """Contents being hashed in a thread of their own, if that is worth one."""

    def __init__(self, contents: list[Content]) -> None:
        self._contents = contents
        self._thread: threading.Thread | None = None
        if sum(content.size for content in contents) >= _WORTH_A_THREAD:
            self._thread = threading.Thread(target=self._hash, name="handrail-hash")
            self._thread.start()

    def join(self) -> None:
        """Return once all are hashed."""
        if self._thread is not None:
            self._thread.join()
        self._hash()

    def _hash(self) -> None:
        for content in self._contents:
            _ = content.digest


def start_hashing(contents: Iterable[Content | None]) -> Hashing:
    """Begin to hash these; `join` the result when the hashes are needed."""
    return Hashing([content for content in contents if content is not None])
