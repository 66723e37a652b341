"""Copies of helper programs in the state directory, and the pins that record which are trusted.

A copy is named by its hash and written under a temporary name first. There is one pin per
environment and program; a change of the installed file never replaces it.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.host.processes.helpers.wheel_record import RecordEntry
from handrail.host.state.directories import private_directory, state_home

_FOLDER: Final = "helpers"
_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_CHUNK: Final = 1 << 20
# Larger than any helper.
_MOST_BYTES: Final = 256 << 20
# A file changed more recently than this may change again without new time stamps.
_SETTLED_NS: Final = 2_000_000_000

# Device, inode, size and both times: equal for an unchanged file.
Stamp = tuple[int, ...]


class HelperPin(NamedTuple):
    """A trusted program of an environment, by hash.

    `source_stamp` and `copy_stamp` avoid hashing unchanged files again; empty: hash.
    """

    distribution: str
    version: str
    sha256: str
    source_stamp: Stamp
    copy_stamp: Stamp


class HelperCopies:
    """The copies and pins of helper programs in one private directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read_pin(self, environment: str, name: str) -> HelperPin | None:
        """Return the pin of a program; None if there is none. Raises OSError if it is damaged."""
        try:
            stored = json.loads(self._pin_file(environment, name).read_bytes())
            return HelperPin(
                str(stored["distribution"]),
                str(stored["version"]),
                str(stored["sha256"]),
                tuple(map(int, stored["source_stamp"])),
                tuple(map(int, stored["copy_stamp"])),
            )
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError) as error:
            raise OSError(
                "its pin is damaged; `handrail trust --programs` makes it anew"
            ) from error

    def add(self, environment: str, name: str, source: str, entry: RecordEntry) -> str | None:
        """Copy and pin a program; return the copy's path, None if the content has another hash.

        If another process has pinned the program meanwhile, that pin is used.
        """
        source_stamp = self._copy(name, source, entry.sha256)
        if source_stamp is None:
            return None
        copy = self._copy_file(name, entry.sha256)
        pin = HelperPin(*entry, source_stamp, _stamp(copy.lstat()))
        try:
            self._write_pin(environment, name, pin, replace=False)
        except FileExistsError:
            held = self.read_pin(environment, name)
            return str(copy) if held is not None and held.sha256 == entry.sha256 else None
        return str(copy)

    def replace(self, environment: str, name: str, source: str, entry: RecordEntry) -> str | None:
        """Do what `add` does for a program that the user accepted, replacing an earlier pin."""
        if self._copy(name, source, entry.sha256) is None:
            return None
        self._pin_file(environment, name).unlink(missing_ok=True)
        return self.add(environment, name, source, entry)

    def check(
        self, environment: str, name: str, source: str, pin: HelperPin
    ) -> tuple[bool, str | None]:
        """Return whether the installed file matches the pin, and the path of the pinned copy.

        A lost or damaged copy is made again if the installed file is unchanged.
        """
        source_stamp = _verify(source, pin.sha256, pin.source_stamp)
        copy = self._copy_file(name, pin.sha256)
        copy_stamp = _verify(copy, pin.sha256, pin.copy_stamp)
        lost = copy_stamp is None and source_stamp is not None
        if lost and self._copy(name, source, pin.sha256) is not None:
            copy_stamp = _stamp(copy.lstat())
        if source_stamp is not None and copy_stamp is not None:
            fresh = pin._replace(source_stamp=source_stamp, copy_stamp=copy_stamp)
            if fresh != pin:
                with suppress(OSError):
                    self._write_pin(environment, name, fresh, replace=True)
        return source_stamp is not None, None if copy_stamp is None else str(copy)

    def _copy(self, name: str, source: str, sha256: str) -> Stamp | None:
        """Copy a file to the name of its hash; return its stamp, None if the hash differs."""
        descriptor, temporary = tempfile.mkstemp(prefix=".", dir=self._directory)
        try:
            with open(descriptor, "wb") as copy:  # noqa: PTH123 - a descriptor
                digest, stamp = _read_through(source, copy.write)
                if digest != sha256:
                    return None
                os.fchmod(copy.fileno(), 0o500)
                copy.flush()
                os.fsync(copy.fileno())
            os.replace(temporary, self._copy_file(name, sha256))  # noqa: PTH105 - strings
            temporary = ""
        finally:
            if temporary:
                os.unlink(temporary)  # noqa: PTH108 - a string
        return stamp

    def _write_pin(self, environment: str, name: str, pin: HelperPin, *, replace: bool) -> None:
        text = json.dumps({"environment": environment, **pin._asdict()}, indent=1)
        descriptor, temporary = tempfile.mkstemp(prefix=".", dir=self._directory)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(text.encode("utf-8", "backslashreplace"))
            target = self._pin_file(environment, name)
            if replace:
                os.rename(temporary, target)  # noqa: PTH104 - a string
                return
            os.link(temporary, target)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108 - a string

    def _copy_file(self, name: str, sha256: str) -> Path:
        return self._directory / f"{name}-{sha256}"

    def _pin_file(self, environment: str, name: str) -> Path:
        digest = hashlib.sha256(os.fsencode(environment)).hexdigest()[:16]
        return self._directory / f"{digest}-{name}.json"


def open_helper_copies() -> HelperCopies:
    """The copies in the user's state directory, or in a temporary one if that is unusable."""
    try:
        return HelperCopies(private_directory(private_directory(state_home()) / _FOLDER))
    except ProblemRaised:
        return HelperCopies(_temporary_directory())


def hash_file(path: str) -> str:
    """Return the SHA-256 of a regular file, in hexadecimal. Raises OSError."""
    return _read_through(path, lambda _: None)[0]


@cache
def _temporary_directory() -> Path:
    """A directory that is removed when this process ends."""
    directory = Path(tempfile.mkdtemp(prefix="handrail-helpers-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def _verify(path: str | Path, sha256: str, known: Stamp) -> Stamp | None:
    """The stamp of a file with this hash; None if the hash differs or the file is unreadable."""
    try:
        if known and _stamp(os.stat(path)) == known:  # noqa: PTH116 - a string or a path
            return known
        digest, stamp = _read_through(path, lambda _: None)
    except OSError:
        return None
    return stamp if digest == sha256 else None


def _read_through(path: str | Path, write: Callable[[bytes], object]) -> tuple[str, Stamp]:
    """Hash a regular file while passing its content on; the hash, and the stamp before that."""
    descriptor = os.open(path, _READ)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > _MOST_BYTES:
            raise OSError(f"{str(path)!r} is not a program")
        digest, left = hashlib.sha256(), info.st_size + 1
        while left > 0 and (chunk := file.read(min(_CHUNK, left))):
            digest.update(chunk)
            write(chunk)
            left -= len(chunk)
    settled = time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > _SETTLED_NS
    return digest.hexdigest(), _stamp(info) if settled else ()


def _stamp(info: os.stat_result) -> Stamp:
    return (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
