"""The paths of a workspace's store and of the files next to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handrail.host.state.directories import workspace_state

MEMORY: Final = ":memory:"


@dataclass(frozen=True, slots=True)
class StatePaths:
    """The store and its directory; `directory` is None for a store in memory."""

    store: str
    directory: Path | None

    @property
    def blobs(self) -> Path | None:
        """The directory of old file contents."""
        return self.directory / "blobs" if self.directory else None

    @property
    def oversized(self) -> Path | None:
        """The directory for the full text of truncated results."""
        return self.directory / "oversized" if self.directory else None


def find_state_paths(root: Path, store: str | Path | None) -> StatePaths:
    """The state paths of a workspace."""
    if store is None:
        directory = workspace_state(root)
        return StatePaths(str(directory / "store.db"), directory)
    if str(store) == MEMORY:
        return StatePaths(MEMORY, None)
    path = Path(store).absolute()
    return StatePaths(str(path), path.parent / f"{path.name}.d")
