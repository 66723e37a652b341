"""The configuration files of the repository that a directory belongs to, read as text.

None means that it cannot be said which files git would read; nothing is run to find out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MAX_BYTES: Final = 1 << 20
_MOST_FILES: Final = 200
_MODULES_DEEP: Final = 6


def git_configs(directory: str) -> tuple[str, ...] | None:
    """The text of every configuration file of the repository; empty if there is none.

    Those of its submodules are among them, since looking at a repository looks at these too.
    """
    found = _find(Path(directory))
    if found is None:
        return ()
    try:
        common = _common(_directory(found))
        files = [common / "config", *_per_worktree(common, found), *_modules(common / "modules", 0)]
        if len(files) > _MOST_FILES:
            return None
        return tuple(_text(file) for file in files if os.path.lexists(file))
    except (OSError, ValueError):
        return None


def _find(directory: Path) -> Path | None:
    for folder in (directory, *directory.parents):
        if os.path.lexists(folder / ".git"):
            return folder / ".git"
        # A directory that is a repository by itself: git would take its configuration.
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            return folder
    return None


def _directory(found: Path) -> Path:
    """The repository's directory; a `.git` file says where that is."""
    if found.is_dir():
        return found
    text = _text(found)
    if not text.startswith("gitdir:"):
        raise ValueError(f"{found} is no repository")
    return found.parent / text.removeprefix("gitdir:").strip()


def _common(directory: Path) -> Path:
    """Where the configuration is that all working trees of a repository share."""
    pointer = directory / "commondir"
    return directory / _text(pointer).strip() if pointer.exists() else directory


def _per_worktree(common: Path, found: Path) -> Iterator[Path]:
    yield common / "config.worktree"
    directory = _directory(found)
    if directory != common:
        yield directory / "config.worktree"


def _modules(folder: Path, depth: int) -> Iterator[Path]:
    """The configurations of submodules, whose names may hold slashes."""
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
