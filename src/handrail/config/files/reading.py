"""Reads configuration files once, with a size limit; project files only from inside the workspace.

The bytes that are parsed are the bytes that are displayed and hashed. A missing file is skipped;
a file that exists and cannot be read is an error.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from handrail.config import messages
from handrail.core.problems import ProblemRaised

MAX_BYTES: Final = 256_000
_FOLDER: Final = ".handrail"
PROJECT: Final = (f"{_FOLDER}/config.toml", f"{_FOLDER}/config.yaml")
LOCAL: Final = (f"{_FOLDER}/config.local.toml", f"{_FOLDER}/config.local.yaml")

# O_NONBLOCK: opening a FIFO would otherwise block forever.
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ENTER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileText(NamedTuple):
    """The content of one configuration file."""

    name: str  # path relative to the workspace, for messages
    path: Path
    text: str
    digest: str  # SHA-256 of the bytes


def read_user_file(path: Path) -> FileText | None:
    """Read a file of the user, following symbolic links; None if it does not exist."""
    try:
        descriptor = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError) as error:
        if path.is_symlink():
            raise _unreadable(path, "the symbolic link is broken") from error
        return None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    return _read(str(path), path, descriptor)


def read_project_file(root: Path, names: tuple[str, ...]) -> FileText | None:
    """Read the one of these files that the workspace has; None if it has none of them.

    Raises `outside_workspace` if a symbolic link leaves the workspace, `invalid_arguments` if
    more than one of the files exists.
    """
    found = [one for one in (_read_inside(root, name) for name in names) if one is not None]
    if len(found) > 1:
        raise messages.TWO_FILES.error(root=str(root), first=found[0].name, second=found[1].name)
    return found[0] if found else None


def _read_inside(root: Path, name: str) -> FileText | None:
    path = root / name
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    top = os.path.realpath(root)
    target = os.path.realpath(path)
    if not target.startswith(f"{top.rstrip('/')}/"):
        raise messages.LINK_OUT_OF_WORKSPACE.error(path=str(path))
    try:
        descriptor = _open_beneath(top, os.path.relpath(target, top).split("/"))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    return _read(name, path, descriptor)


def _open_beneath(top: str, parts: list[str]) -> int:
    """Open a resolved path one component at a time without following symbolic links, so that
    a link created after resolution makes the open fail.
    """
    with ExitStack() as opened:
        place = os.open(top, _ENTER)
        opened.callback(os.close, place)
        for part in parts[:-1]:
            place = os.open(part, _ENTER, dir_fd=place)
            opened.callback(os.close, place)
        return os.open(parts[-1], _READ | os.O_NOFOLLOW, dir_fd=place)


def _read(name: str, path: Path, descriptor: int) -> FileText:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _unreadable(path, "it is not a file")
    try:
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    if len(data) > MAX_BYTES:
        raise _unreadable(path, f"it is longer than {MAX_BYTES:,} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, f"line {line} is not UTF-8") from error
    return FileText(name, path, text.removeprefix("\ufeff"), sha256(data).hexdigest())


def _unreadable(path: Path, why: str) -> ProblemRaised:
    # Falling back to defaults would silently drop what the file was written for.
    return messages.UNREADABLE_FILE.error(path=str(path), reason=why)
