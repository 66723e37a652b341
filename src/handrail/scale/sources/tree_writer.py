"""Writes the files of a source into a new directory: no name leads out of it, links come last."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.scale import messages

_CHUNK: Final = 1 << 20
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_PATH: Final = 4096
_MAX_PARTS: Final = 200
_LOGIN: Final = re.compile(r"//[^/\s]*@")


def without_login(text: str) -> str:
    """Remove the user names and passwords from URLs in a text."""
    return _LOGIN.sub("//", text)


class TreeLimits(NamedTuple):
    """The limits of a source."""

    bytes: int
    entries: int


class TreeWriter:
    """Fills one directory, to which nothing else writes. `source` is named in problems."""

    def __init__(self, root: Path, limits: TreeLimits, source: str) -> None:
        self._root = root
        self._limits = limits
        self._source = without_login(source)
        self._bytes = 0
        self._entries = 0
        # Created last, so that no file is written through a link.
        self._links: dict[str, str] = {}

    def unreadable(self, reason: object) -> ProblemRaised:
        """Return the problem of a source that cannot be read."""
        return messages.SOURCE_FAILED.error(source=self._source, reason=without_login(str(reason)))

    def add_directory(self, name: str) -> None:
        """Create a directory, and those above it."""
        self.count_entry()
        self._guard(lambda: (self._root / self._checked(name)).mkdir(parents=True, exist_ok=True))

    def add_file(self, name: str, content: IO[bytes], *, executable: bool = False) -> None:
        """Write a file from a stream."""
        self.count_entry()
        path = self._root / self._checked(name)
        self._guard(lambda: self._write(path, content, 0o755 if executable else 0o644))

    def add_copy(self, name: str, earlier: str) -> None:
        """Write a file with the content of a file that was written before."""
        origin = self._root / self._checked(earlier)
        if origin.is_symlink() or not origin.is_file():
            raise self.refuse(f"{name!r} is a link to {earlier!r}, which is not a file before it")
        with origin.open("rb") as content:
            self.add_file(name, content, executable=os.access(origin, os.X_OK))

    def add_link(self, name: str, target: str) -> None:
        """Note a symbolic link, which `finish` creates."""
        self.count_entry()
        checked = self._checked(name)
        if not target or "\0" in target or len(target) > _MAX_PATH:
            raise self.refuse(f"the link {name!r} has no valid target")
        inside = os.path.normpath(os.path.join(os.path.dirname(checked), target))  # noqa: PTH118, PTH120
        if os.path.isabs(target) or inside == ".." or inside.startswith("../"):  # noqa: PTH117
            raise self.refuse(f"the link {name!r} leads out of the workspace")
        self._links[checked] = target

    def finish(self) -> None:
        """Create the links; raises `untrusted` if one leads out of the directory through others."""
        for name, target in self._links.items():
            self._guard(lambda at=name, to=target: self._link(at, to))  # type: ignore[misc]
        for name in self._links:
            if not is_inside(self._root / name, self._root):
                raise self.refuse(f"the link {name!r} leads out of the workspace")

    def count_entry(self) -> None:
        """Count one entry; raises `too_large`."""
        self._entries += 1
        if self._entries > self._limits.entries:
            raise self.too_large("entries", self._limits.entries)

    def refuse(self, reason: str) -> ProblemRaised:
        """Return the problem of a source that is not used."""
        return messages.SOURCE_UNSAFE.error(source=self._source, reason=reason)

    def too_large(self, what: str, limit: int) -> ProblemRaised:
        """Return the problem of a source beyond its limits."""
        return messages.SOURCE_TOO_LARGE.error(source=self._source, limit=limit, what=what)

    def _checked(self, name: str) -> str:
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or "\0" in name or not parts:
            raise self.refuse(f"the name {name[:200]!r} leads out of the workspace")
        if len(name) > _MAX_PATH or len(parts) > _MAX_PARTS:
            raise self.refuse(f"a name has {len(name):,} characters in {len(parts):,} parts")
        return "/".join(parts)

    def _write(self, path: Path, content: IO[bytes], mode: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, _CREATE, mode), "wb") as made:
            while chunk := content.read(_CHUNK):
                self._bytes += len(chunk)
                if self._bytes > self._limits.bytes:
                    raise self.too_large("bytes", self._limits.bytes)
                made.write(chunk)

    def _link(self, name: str, target: str) -> None:
        path = self._root / name
        # Checked before anything is created: a directory above may be a link that was created
        # before.
        if not is_inside(path.parent, self._root):
            raise self.refuse(f"the link {name!r} leads out of the workspace")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def _guard(self, act: Callable[[], object]) -> None:
        try:
            act()
        except FileExistsError as error:
            raise self.refuse(f"{error.filename!r} occurs twice") from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise self.unreadable(reason) from error


def is_inside(path: Path, root: Path) -> bool:
    """Return whether a path, with all links followed, leads to something below a directory."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def discard_tree(path: Path) -> None:
    """Remove a directory and everything in it, even without permissions on it."""

    def retry(function: Callable[..., object], name: str, _: object) -> None:
        for one in (os.path.dirname(name), name):  # noqa: PTH120
            if not os.path.islink(one):  # noqa: PTH114
                _make_writable(one)
        try:
            function(name)
        except OSError:
            return

    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path, onerror=retry)


def _make_writable(name: str) -> None:
    try:
        os.chmod(name, 0o700)  # noqa: PTH101
    except OSError:
        return


def measure_tree(paths: Iterable[Path]) -> int:
    """Return the bytes on disk below some directories; links are not followed."""
    total = 0
    waiting = [str(path) for path in paths]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            # Removed meanwhile, or not accessible.
            continue
    return total
