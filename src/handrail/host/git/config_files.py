"""Reads the configuration files of the repository that a directory belongs to.

The result is None if it is not certain which files git would read. Git is not run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from handrail.host.git.index import embedded_repositories

_MAX_BYTES: Final = 1 << 20
_MOST_FILES: Final = 200
_MODULES_DEEP: Final = 6


def read_git_configs(directory: str) -> tuple[str, ...] | None:
    """The text of every configuration file that git may read there; empty if there is none.

    Repositories inside are included, because git status enters them; so are those above, to which
    git continues if it takes one for broken.
    """
    try:
        found = _candidates(Path(directory).resolve())
        # A submodule can be found in two ways.
        files = {file.resolve(): file for one in found for file in _files(one, 0)}.values()
        if len(files) > _MOST_FILES:
            return None
        return tuple(_text(file) for file in files if os.path.lexists(file))
    except (OSError, ValueError):
        return None


def _candidates(directory: Path) -> Iterator[Path]:
    """Every directory that git could take for the repository, from here up."""
    for folder in (directory, *directory.parents):
        if os.path.lexists(folder / ".git"):
            yield folder / ".git"
        # The directory is a bare repository: git would use its configuration.
        beside = (folder / "objects", folder / "commondir")
        if os.path.lexists(folder / "HEAD") and any(map(os.path.lexists, beside)):
            yield folder


def _files(found: Path, depth: int) -> Iterator[Path]:
    if depth > _MODULES_DEEP:
        raise ValueError(f"{found} is too deep")
    directory = _directory(found)
    common = _common(directory)
    yield common / "config"
    yield common / "config.worktree"
    if directory != common:
        yield directory / "config.worktree"
    yield from _modules(common / "modules", 0)
    tree = found.parent if found.name == ".git" else found
    for inner in embedded_repositories(directory):
        if os.path.lexists(tree / inner / ".git"):
            yield from _files(tree / inner / ".git", depth + 1)


def _directory(found: Path) -> Path:
    """The repository's directory, resolving a `.git` file."""
    if found.is_dir():
        return found
    text = _text(found)
    if not text.startswith("gitdir:"):
        raise ValueError(f"{found} is no repository")
    return found.parent / text.removeprefix("gitdir:").strip()


def _common(directory: Path) -> Path:
    """The directory of the configuration that all working trees share."""
    pointer = directory / "commondir"
    return directory / _text(pointer).strip() if os.path.lexists(pointer) else directory


def _modules(folder: Path, depth: int) -> Iterator[Path]:
    """The configurations of submodules, whose names may contain slashes."""
    if depth > _MODULES_DEEP:
        raise ValueError(f"{folder} is too deep")
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if (entry / "HEAD").exists():
            yield entry / "config"
            yield entry / "config.worktree"
            yield from _modules(entry / "modules", depth + 1)
        elif entry.is_dir() and not entry.is_symlink():
            yield from _modules(entry, depth + 1)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"{path} is too long")
    return data.decode()
