"""Where what outlives a runtime is kept: the store of a workspace and what lies beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handrail.host.state.directories import workspace_state

MEMORY: Final = ":memory:"


@dataclass(frozen=True, slots=True)
class StatePaths:
    """Where what outlives a runtime is kept; `directory` None: in memory only."""

    store: str
    directory: Path | None

    @property
    def blobs(self) -> Path | None:
        """Old contents."""
        return self.directory / "blobs" if self.directory else None

    @property
    def oversized(self) -> Path | None:
        """Full texts of results that were too long."""
        return self.directory / "oversized" if self.directory else None


def find_state_paths(root: Path, store: str | Path | None) -> StatePaths:
    """Where the store of a workspace is and what lies beside it."""
    if store is None:
        directory = workspace_state(root)
        return StatePaths(str(directory / "store.db"), directory)
    if str(store) == MEMORY:
        return StatePaths(MEMORY, None)
    path = Path(store).absolute()
    return StatePaths(str(path), path.parent / f"{path.name}.d")
