"""Reads the files that define agents: regular files of limited size, nothing outside their folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from handrail.config.files.frontmatter import InvalidFrontmatter, split_frontmatter
from handrail.core.text.safe_text import safe_text
from handrail.subagents.definitions import SUFFIX, DefinitionFile, InvalidDefinition

MAX_FILES: Final = 100
MAX_BYTES: Final = 64_000
_ENTER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class DefinitionFolder(NamedTuple):
    """A folder with definitions: `inner` below `base`, opened without following links. `source` is "user"
    or "project".
    """

    base: Path
    inner: tuple[str, ...]
    source: str

    @property
    def path(self) -> Path:
        """The folder."""
        return self.base.joinpath(*self.inner)


def read_folder(folder: DefinitionFolder) -> list[DefinitionFile]:
    """The definitions in a folder, in the order of their names; empty if there is no such folder."""
    try:
        with _entered(folder) as descriptor:
            with os.scandir(descriptor) as entries:
                names = sorted(one.name for one in entries if one.name.endswith(SUFFIX))
            return [_read(folder, name, descriptor) for name in names[:MAX_FILES]]
    except OSError:
        return []


@contextmanager
def _entered(folder: DefinitionFolder) -> Iterator[int]:
    # The base is the workspace or the user's folder, whose path may contain links.
    descriptor = os.open(os.path.realpath(folder.base), _ENTER)
    try:
        for name in folder.inner:
            inner = os.open(name, _ENTER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _read(folder: DefinitionFolder, name: str, descriptor: int) -> DefinitionFile:
    path, source = str(folder.path / name), folder.source
    try:
        content = _content(name, descriptor)
        text, digest = content.decode("utf-8"), sha256(content).hexdigest()
    except UnicodeDecodeError:
        return DefinitionFile(path, source, problem="it is not UTF-8")
    except InvalidDefinition as invalid:
        return DefinitionFile(path, source, problem=str(invalid))
    except OSError as error:
        reason = safe_text(error.strerror or "", one_line=True)
        return DefinitionFile(path, source, problem=f"it cannot be read: {reason}")
    try:
        values, body = split_frontmatter(text, "the file")
    except InvalidFrontmatter as error:
        return DefinitionFile(path, source, text, digest, problem=str(error))
    return DefinitionFile(path, source, text, digest, values, body.strip())


def _content(name: str, folder: int) -> bytes:
    info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(info.st_mode):
        raise InvalidDefinition("it is a link or a special file")
    # Unlike `os.fdopen`, `open` closes the descriptor also if it refuses it.
    with open(name, "rb", opener=partial(_open_in, folder)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InvalidDefinition("it is not a regular file")
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InvalidDefinition(f"it has more than {MAX_BYTES // 1_000} kB")
    return content


def _open_in(folder: int, name: str, _flags: int) -> int:
    return os.open(name, _READ, dir_fd=folder)
