"""Devices of a sandbox for commands of root, so that changes of mode and owner stay in the sandbox.

bubblewrap shows the devices of the machine. They belong to root, so a command of root could change
them: without write permission on /dev/null, most programs of other users fail.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.host.files.locked_directory import (
    LockedDirectory,
    create_locked_directory,
    remove_tree,
)
from handrail.host.sandbox.temp_dirs import TEMP_PREFIX

# Maps each name to its major and minor number.
_DEVICES: Final = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "tty": (5, 0),
}
_MODE: Final = 0o666


class DeviceNodes:
    """The sandbox's own device nodes, made when they are first needed. There are none for users
    other than root, who cannot change the devices of the machine, nor where root may not make any.

    Nodes in `lasting` are kept, because jobs may outlive this process and start programs later. If
    `lasting` is None or cannot contain devices, the nodes are made in a temporary directory, which
    `close` removes.
    """

    def __init__(self, lasting: Path | None = None) -> None:
        self._lasting = lasting
        self._directory: LockedDirectory | None = None
        self._paths: Mapping[str, str] | None = None

    @property
    def paths(self) -> Mapping[str, str]:
        """Maps each path in the sandbox to the node that is shown there."""
        if self._paths is None:
            self._paths = (
                (self._make_lasting() or self._make_temporary()) if os.geteuid() == 0 else {}
            )
        return self._paths

    @property
    def protects(self) -> bool:
        """Whether no command can change the devices of the machine."""
        return os.geteuid() != 0 or bool(self.paths)

    def close(self) -> None:
        """Remove the nodes that are not kept; may be called twice."""
        if self._directory is not None:
            remove_tree(self._directory.path)
            os.close(self._directory.handle)
        self._directory, self._paths = None, None

    def _make_lasting(self) -> Mapping[str, str]:
        if self._lasting is None:
            return {}
        try:
            self._lasting.mkdir(mode=0o700, parents=True, exist_ok=True)
            return _nodes(Path(os.path.realpath(self._lasting)))
        except OSError:
            return {}

    def _make_temporary(self) -> Mapping[str, str]:
        try:
            self._directory = create_locked_directory(f"{TEMP_PREFIX}dev-")
            return _nodes(self._directory.path)
        except OSError:
            # A container may forbid it, or its file system may not support devices.
            self.close()
            return {}


def _nodes(folder: Path) -> Mapping[str, str]:
    return {f"/dev/{name}": _make_node(folder / name, name) for name in _DEVICES}


def _make_node(path: Path, name: str) -> str:
    device = os.makedev(*_DEVICES[name])
    with suppress(FileExistsError):
        os.mknod(path, stat.S_IFCHR | _MODE, device)
    found = path.lstat()
    if not stat.S_ISCHR(found.st_mode) or found.st_rdev != device:
        raise OSError(errno.EEXIST, "not the device of this name", str(path))
    # An earlier command may have changed the mode and owner of a node that is kept.
    os.chown(path, 0, 0)
    path.chmod(_MODE)
    if name == "null":
        _check_usable(path)
    return str(path)


def _check_usable(path: Path) -> None:
    """Raise OSError if the file system of the node does not support devices."""
    os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
