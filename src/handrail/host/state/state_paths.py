"""The paths of a workspace's store and of the files next to it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from handrail.core.names.store_location import MEMORY, is_store_url, server_name
from handrail.host.state.directories import private_directory, workspace_state


class StatePaths(NamedTuple):
    """The store and its directory; `directory` is None for a store in memory. What stands beside a
    store on a server is kept on this machine, as the files of the workspace are.
    """

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


def find_state_paths(
    root: Path, store: str | Path | None, beside_server: Path | None = None
) -> StatePaths:
    """The state paths of a workspace. `beside_server` takes what stands beside a store on a server,
    instead of the user's state directory.
    """
    if store is None:
        directory = workspace_state(root)
        return StatePaths(str(directory / "store.db"), directory)
    if str(store) == MEMORY:
        return StatePaths(MEMORY, None)
    if is_store_url(store):
        # Apart from that of other stores: what one of them needs no more, another may need.
        home = workspace_state(root) if beside_server is None else private_directory(beside_server)
        return StatePaths(str(store), home / f"{server_name(str(store))}.d")
    path = Path(store).absolute()
    return StatePaths(str(path), path.parent / f"{path.name}.d")
