"""Copies a directory with everything in it. Blocks, so the caller runs it in a thread."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from handrail.host.files import messages

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def copy_tree(source: str, target: Path, leaves_out: Callable[[str], bool]) -> list[str]:
    """Copy the contents of a directory into an empty one, with permissions and times; links stay
    links. The target itself stays writable: `copy_attributes` gives it the permissions of the
    source. Returns the absolute paths that were left out: those that `leaves_out` names, sockets,
    pipes and devices. Raises `unavailable`.
    """
    left: list[str] = []
    directories: list[tuple[Path, os.stat_result]] = []
    # Handles are used to descend, so that a directory replaced by a link meanwhile is not followed.
    for path, folders, files, handle in os.fwalk(source, onerror=_refuse):
        relative = os.path.relpath(path, source)
        here = target if relative == os.curdir else target / relative
        directories.append((here, os.fstat(handle)))
        for name in [*folders, *files]:
            entry = f"{path}/{name}"
            try:
                copied = not leaves_out(entry) and _copy_entry(name, handle, here)
            except FileNotFoundError:
                # The entry was removed after the directory was listed.
                copied = False
            except OSError as error:
                raise _failed(entry, error) from error
            if not copied:
                left.append(entry)
        # Do not descend into what was left out, or became a directory after the listing.
        folders[:] = [name for name in folders if _is_directory(here / name)]
    for here, seen in reversed(directories[1:]):
        # Permissions may prevent writing to a directory, so they are set last.
        _apply_attributes(here, seen)
    return left


def copy_attributes(source: str, target: Path) -> None:
    """Give a directory the permissions and times of another one; raises `unavailable`."""
    try:
        _apply_attributes(target, Path(source).stat())
    except OSError as error:
        raise _failed(source, error) from error


def _apply_attributes(directory: Path, seen: os.stat_result) -> None:
    os.utime(directory, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    directory.chmod(stat.S_IMODE(seen.st_mode))


def _copy_entry(name: str, handle: int, here: Path) -> bool:
    """Copy one entry of a directory; return False if it is neither file, link nor directory."""
    seen = os.stat(name, dir_fd=handle, follow_symlinks=False)
    if stat.S_ISDIR(seen.st_mode):
        (here / name).mkdir(mode=0o700)
    elif stat.S_ISLNK(seen.st_mode):
        (here / name).symlink_to(os.readlink(name, dir_fd=handle))
    elif stat.S_ISREG(seen.st_mode):
        return _copy_file(name, handle, here / name)
    else:
        return False
    return True


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _copy_file(name: str, handle: int, target: Path) -> bool:
    with os.fdopen(os.open(name, _READ, dir_fd=handle), "rb") as source:
        seen = os.fstat(source.fileno())
        if not stat.S_ISREG(seen.st_mode):
            return False
        with os.fdopen(os.open(target, _CREATE, 0o600), "wb") as made:
            shutil.copyfileobj(source, made, 1 << 20)
            made.flush()
            os.fchmod(made.fileno(), stat.S_IMODE(seen.st_mode))
            os.utime(made.fileno(), ns=(seen.st_atime_ns, seen.st_mtime_ns))
    return True


def _refuse(error: OSError) -> NoReturn:
    raise _failed(str(error.filename), error) from error


def _failed(path: str, error: OSError) -> Exception:
    return messages.COPY_FAILED.error(path=path, reason=error.strerror or error)
