"""Reads files of the git repository that a directory belongs to: configuration, index, history.

The configuration is None if it is not certain which files git would read. Git is not run.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from handrail.host.files.root_identity import lstat_at
from handrail.host.files.roots import LIST

# Each line has the old and the new commit of HEAD, and the reason.
_LOG: Final = "logs/HEAD"
# Changed by a commit, checkout, reset or fetch, but not by read-only commands.
_WATCHED: Final = ("HEAD", _LOG, "packed-refs", "refs/heads", "refs/tags")
_MOVE: Final = re.compile(
    rb"^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t\n]*\t(commit\b)?", re.MULTILINE
)
_BRANCH: Final = re.compile(rb"ref: refs/heads/([\w./-]{1,100})\n?")
_NOTHING: Final = re.compile(rb"0+")
_MOST_BYTES: Final = 1 << 20
_SHORT: Final = 10

_MAX_INDEX_BYTES: Final = 64 << 20
_HEADER: Final = struct.Struct(">4sII")
# Time stamps, mode, owner, size, hash and flags of one entry.
_ENTRY: Final = struct.Struct(">24xI12x20xH")
_LINK: Final = 0o160000
_LINK_BYTES: Final = _LINK.to_bytes(4, "big")
_EXTENDED: Final = 0x4000
_LENGTH: Final = 0x0FFF

_MAX_BYTES: Final = 1 << 20
_MOST_FILES: Final = 200
_MODULES_DEEP: Final = 6


def read_git_configs(directory: str) -> tuple[str, ...] | None:
    """Return the text of every configuration file that git may read in this directory; empty if
    there is none.

    This includes embedded repositories, because `git status` enters them, and repositories above,
    because git continues upwards if it considers a repository broken.
    """
    try:
        found = _candidates(Path(directory).resolve())
        # A submodule can be found twice: by its working tree and in `.git/modules`.
        files = {file.resolve(): file for one in found for file in _config_files(one, 0)}.values()
        if len(files) > _MOST_FILES:
            return None
        return tuple(_text(file) for file in files if os.path.lexists(file))
    except (OSError, ValueError):
        return None


def _candidates(directory: Path) -> Iterator[Path]:
    """Return every directory that git could use as the repository, from this one upwards."""
    for folder in (directory, *directory.parents):
        if os.path.lexists(folder / ".git"):
            yield folder / ".git"
        # The directory is a bare repository: git would use its configuration.
        beside = (folder / "objects", folder / "commondir")
        if os.path.lexists(folder / "HEAD") and any(map(os.path.lexists, beside)):
            yield folder


def _config_files(found: Path, depth: int) -> Iterator[Path]:
    if depth > _MODULES_DEEP:
        raise ValueError(f"{found} is too deep")
    directory = _git_directory(found)
    common = _common_directory(directory)
    yield common / "config"
    yield common / "config.worktree"
    if directory != common:
        yield directory / "config.worktree"
    yield from _submodule_configs(common / "modules", 0)
    tree = found.parent if found.name == ".git" else found
    for inner in embedded_repositories(directory):
        if os.path.lexists(tree / inner / ".git"):
            yield from _config_files(tree / inner / ".git", depth + 1)


def _git_directory(found: Path) -> Path:
    """The repository's directory, resolving a `.git` file."""
    if found.is_dir():
        return found
    text = _text(found)
    if not text.startswith("gitdir:"):
        raise ValueError(f"{found} is no repository")
    return found.parent / text.removeprefix("gitdir:").strip()


def _common_directory(directory: Path) -> Path:
    """Return the directory of the configuration that all working trees of a repository share."""
    pointer = directory / "commondir"
    return directory / _text(pointer).strip() if os.path.lexists(pointer) else directory


def _submodule_configs(folder: Path, depth: int) -> Iterator[Path]:
    """Return the configurations of submodules, whose names may contain slashes."""
    if depth > _MODULES_DEEP:
        raise ValueError(f"{folder} is too deep")
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if (entry / "HEAD").exists():
            yield entry / "config"
            yield entry / "config.worktree"
            yield from _submodule_configs(entry / "modules", depth + 1)
        elif entry.is_dir() and not entry.is_symlink():
            yield from _submodule_configs(entry, depth + 1)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"{path} is too long")
    return data.decode()


def embedded_repositories(directory: Path) -> list[str]:
    """Return the repositories inside this working tree. Raises OSError or ValueError."""
    for shared in directory.glob("sharedindex.*"):
        if _LINK_BYTES in _bytes(shared):
            raise ValueError(f"{shared} holds other repositories")
    index = directory / "index"
    data = _bytes(index) if os.path.lexists(index) else b""
    # Most indexes contain no embedded repository, and this search is a hundred times faster than
    # parsing.
    return list(_gitlinks(data)) if _LINK_BYTES in data else []


def tracked_paths(index: Path) -> Iterator[str]:
    """Return every path in an index. Raises OSError or ValueError."""
    if any(index.parent.glob("sharedindex.*")):
        raise ValueError("of a split index the other half lies elsewhere")
    return (name for _, name in _index_entries(_bytes(index)))


def _gitlinks(data: bytes) -> Iterator[str]:
    return (name for mode, name in _index_entries(data) if mode == _LINK)


def _index_entries(data: bytes) -> Iterator[tuple[int, str]]:
    try:
        magic, version, count = _HEADER.unpack_from(data)
        if magic != b"DIRC" or version not in (2, 3):
            raise ValueError("an index of another kind")
        start = _HEADER.size
        for _ in range(count):
            mode, flags = _ENTRY.unpack_from(data, start)
            name = start + _ENTRY.size + (2 if flags & _EXTENDED else 0)
            end = data.index(b"\0", name)
            # Fails if the hashes are longer than SHA-1.
            if min(end - name, _LENGTH) != flags & _LENGTH or name == end:
                raise ValueError("an index that does not add up")
            yield mode, os.fsdecode(data[name:end])
            # Padded with at least one NUL.
            start += (end - start + 8) & ~7
    except struct.error as error:
        raise ValueError("an index that ends early") from error


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_MAX_INDEX_BYTES + 1)
    if len(data) > _MAX_INDEX_BYTES:
        raise ValueError(f"{path} is too long")
    return data


def history_mark(directory: int, name: str) -> tuple[int, ...] | None:
    """The times of the last history changes of a repository; None if there is no repository."""
    try:
        handle = os.open(name, LIST | os.O_NOFOLLOW, dir_fd=directory)
    except OSError:
        return None
    try:
        times = [lstat_at(handle, path) for path in _WATCHED]
        logged = lstat_at(handle, _LOG)
        # The size of the log is read last, so that every line after that offset is newer than this
        # mark.
        return (*(one.st_ctime_ns if one else 0 for one in times), logged.st_size if logged else 0)
    finally:
        os.close(handle)


def describe_history_change(path: str, before: tuple[int, ...] | None) -> str:
    """Describe what the log recorded since a mark; "" if that is unclear. Only hexadecimal digits
    of the log reach the result.
    """
    try:
        handle = os.open(path, LIST | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        moves = _MOVE.findall(_read(handle, _LOG, before[-1] if before else 0))
        branch = _BRANCH.fullmatch(_read(handle, "HEAD"))
    finally:
        os.close(handle)
    if not moves:
        return ""
    old, new = (one[:_SHORT].decode() for one in (moves[0][0], moves[-1][1]))
    if not all(commit for _, _, commit in moves):
        return f"HEAD moved from {old} to {new}, and stays there"
    on = f" on {branch[1].decode()}" if branch else ""
    back = "" if _NOTHING.fullmatch(moves[0][0]) else f"; `git reset --soft {old}` takes "
    if len(moves) == 1:
        return f"made commit {new}{on}, which stays{back and back + 'it back'}"
    many = f"made {len(moves)} commits up to {new}{on}"
    return f"{many}, which stay{back and back + 'them back'}"


def _read(handle: int, path: str, offset: int = 0) -> bytes:
    """Return the content of a file from an offset; empty if it is not a regular file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
    except OSError:
        return b""
    try:
        regular = stat.S_ISREG(os.fstat(file).st_mode)
        return os.pread(file, _MOST_BYTES, offset) if regular else b""
    finally:
        os.close(file)
