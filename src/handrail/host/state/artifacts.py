"""Stores large texts and tool files outside the workspace.

Names come from calls, so they are made safe before they become paths. The oldest artifacts are
removed when the quota is exceeded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.host.clock import SystemClock
from handrail.host.messages import ARTIFACT_GONE, ARTIFACT_NOT_KEPT, ARTIFACT_TOO_LARGE

QUOTA_BYTES: Final = 64 * 1024 * 1024
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")
_REFERENCE: Final = re.compile(r"[0-9a-f]{8}-[A-Za-z0-9._-]{1,80}")
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class _StoredArtifact(NamedTuple):
    mtime_ns: int
    size: int
    reference: str


class DirectoryArtifacts:
    """Stores artifacts as private files, or in memory if there is no directory. `spilled` returns
    where programs then write long output.
    """

    def __init__(
        self,
        directory: Path | None,
        *,
        quota_bytes: int = QUOTA_BYTES,
        spilled: Callable[[], str] | None = None,
    ) -> None:
        self._directory = directory
        self._quota_bytes = quota_bytes
        self._memory: dict[str, bytes] = {}
        self._spilled = spilled

    def save(self, name: str, data: bytes) -> str:
        """Store bytes under a safe form of the name; return the reference.

        Raises `too_large` if they exceed the quota, `unavailable` if the disk is full.
        """
        if len(data) > self._quota_bytes:
            raise ARTIFACT_TOO_LARGE.error(count=len(data))
        reference = f"{os.urandom(4).hex()}-{_ODD.sub('-', name).strip('-.')[:80] or 'artifact'}"
        try:
            self._make_room(len(data))
            if self._directory is None:
                self._memory[reference] = data
            else:
                _write(self._directory / reference, data)
        except OSError as error:
            raise ARTIFACT_NOT_KEPT.error(name=name, reason=error.strerror) from error
        return reference

    def load(self, reference: str) -> bytes:
        """The artifact with this reference; raises `not_found`."""
        if not _REFERENCE.fullmatch(reference):
            raise _missing_problem(reference)
        directory = self._directory
        if directory is None:
            if reference in self._memory:
                return self._memory[reference]
            if self._spilled is None:
                raise _missing_problem(reference)
            directory = Path(self._spilled())
        try:
            descriptor = os.open(directory / reference, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise _missing_problem(reference) from error
        with os.fdopen(descriptor, "rb") as file:
            return file.read()

    def sweep(self, older_than_s: float) -> int:
        """Remove older artifacts; return their number."""
        if self._directory is None:
            return 0
        oldest = SystemClock.now_ns() - int(older_than_s * 1e9)
        old = [kept for kept in self._list_artifacts() if kept.mtime_ns < oldest]
        for kept in old:
            self._remove(kept.reference)
        return len(old)

    def _make_room(self, size: int) -> None:
        kept = self._list_artifacts()
        total = sum(one.size for one in kept) + size
        for one in kept:
            if total <= self._quota_bytes:
                return
            self._remove(one.reference)
            total -= one.size

    def _list_artifacts(self) -> list[_StoredArtifact]:
        """Return all artifacts, oldest first."""
        if self._directory is None:
            return [_StoredArtifact(0, len(data), name) for name, data in self._memory.items()]
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found: list[_StoredArtifact] = []
        with os.scandir(self._directory) as entries:
            for entry in entries:
                # Another process may remove it meanwhile.
                with suppress(FileNotFoundError):
                    if _REFERENCE.fullmatch(entry.name):
                        info = entry.stat(follow_symlinks=False)
                        found.append(_StoredArtifact(info.st_mtime_ns, info.st_size, entry.name))
        return sorted(found)

    def remove(self, reference: str) -> None:
        """Remove the artifact with this reference, if it exists."""
        if _REFERENCE.fullmatch(reference):
            self._remove(reference)

    def _remove(self, reference: str) -> None:
        if self._directory is None:
            self._memory.pop(reference, None)
        else:
            (self._directory / reference).unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, _CREATE, 0o600)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _missing_problem(reference: str) -> ProblemRaised:
    return ARTIFACT_GONE.error(reference=reference)
