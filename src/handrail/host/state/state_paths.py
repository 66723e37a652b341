"""The paths of a workspace's store and of the files next to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.names.store_location import MEMORY, is_store_url, server_name
from handrail.host.messages import UNKNOWN_STORE
from handrail.host.state.directories import private_directory, workspace_state

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class StatePaths(NamedTuple):
    """The store and its directory; `directory` is None for a store in memory. The files that belong
    to a store on a server are kept on this machine, like those of the workspace.
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
    """Return the state paths of a workspace. With a store on a server, its files are kept in
    `beside_server` instead of the user's state directory. Raises `invalid_arguments` for another URL.
    """
    if store is None:
        directory = workspace_state(root)
        return StatePaths(str(directory / "store.db"), directory)
    if str(store) == MEMORY:
        return StatePaths(MEMORY, None)
    if is_store_url(store):
        # Separate from the files of other stores: one store may no longer need a file that another
        # needs.
        home = workspace_state(root) if beside_server is None else private_directory(beside_server)
        return StatePaths(str(store), home / f"{server_name(str(store))}.d")
    if isinstance(store, str) and (url := _URL.match(store)):
        # Not the rest of it, which may contain a password.
        raise UNKNOWN_STORE.error(scheme=url[0], field="store")
    path = Path(store).absolute()
    return StatePaths(str(path), path.parent / f"{path.name}.d")
