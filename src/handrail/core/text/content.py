"""The bytes of a file, which may be large: stored in parts, and hashed at most once, when needed."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

Buffer = bytes | memoryview


class Content:
    """The bytes of one file, as a sequence of buffers that are never changed."""

    __slots__ = ("_digest", "_hashing", "parts", "size")

    def __init__(self, *parts: Buffer) -> None:
        self.parts: Sequence[Buffer] = parts
        self.size = sum(len(part) for part in parts)
        self._digest: str | None = None
        self._hashing = threading.Lock()

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes, in hex; costs one pass the first time."""
        if self._digest is not None:
            return self._digest
        # A thread that needs the hash while another computes it waits for the result.
        with self._hashing:
            if self._digest is None:
                state = hashlib.sha256()
                for part in self.parts:
                    state.update(part)
                self._digest = state.hexdigest()
        return self._digest

    @property
    def hashed(self) -> bool:
        """Whether the hash is already computed."""
        return self._digest is not None

    def tobytes(self) -> bytes:
        """The bytes in one piece; not copied if they are a single part of type bytes."""
        if len(self.parts) == 1 and isinstance(self.parts[0], bytes):
            return self.parts[0]
        return b"".join(self.parts)

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Content):
            return NotImplemented
        return self.size == other.size and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Content({self.size} bytes)"
