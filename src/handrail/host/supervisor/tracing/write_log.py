"""The log of traced writes: a file with one line for each path.

Paths are resolved as the kernel would for the calling process, from its directory and through
links. They are read from that process's memory and not trusted: the named entry is only stat'ed and
logged.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from handrail.host.files.roots import find_real_path
from handrail.host.supervisor.tracing.call_mediator import signed
from handrail.host.supervisor.tracing.process_memory import ProcessMemory
from handrail.host.supervisor.tracing.traced_syscalls import TRACED_SYSCALLS, PathArgument

# Limits of the log; later writes are not attributed to a program.
_MOST: Final = 200_000
_MOST_BYTES: Final = 64 << 20
_MOST_KNOWN: Final = 4096
_FLUSH_EVERY: Final = 256
_HERE: Final = -100
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


class WriteLog:
    """Logs paths that are about to be written. Lines are `[path, [size, written_ns] or null]`,
    `[path]` for a moved directory, and `null` if the log is incomplete.
    """

    def __init__(self, path: str, memory: ProcessMemory) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(path, flags, 0o600)
        self._calls = TRACED_SYSCALLS.get(os.uname().machine, {})
        self._memory = memory
        self._known: set[str] = set()
        self._trees: set[str] = set()
        self._room = _MOST_BYTES
        # Maps a directory as written to its resolved path; cleared when a rename may have changed
        # it.
        self._leads: dict[str, str] = {}
        self._lines: list[str] = []
        self._blind = False

    def note(self, pid: int, number: int, arguments: Sequence[int]) -> None:
        """Log the paths of a system call that a process is about to make."""
        call = self._calls.get(number)
        if call is None or self._blind or self._room <= 0 or len(self._known) > _MOST:
            return
        try:
            found = [self._path(pid, named, arguments) for named in call.names]
        except (PermissionError, _LinksExchanged):
            self.give_up()
            return
        paths = [path for path in found if path is not None]
        if call.moves and any(map(_is_folder, paths)):
            # The rename concerns everything below the directory, at both paths.
            for path in set(paths) - self._trees:
                self._trees.add(path)
                self._add_line([path])
        for path in paths:
            self._write(path)
        if call.moves or len(self._leads) > _MOST_KNOWN:
            self._leads.clear()

    def flush(self) -> None:
        """Write the buffered lines."""
        if self._lines:
            data = "".join(self._lines).encode("ascii")
            self._lines.clear()
            while data:
                data = data[os.write(self._file, data) :]

    def give_up(self) -> None:
        """Mark the log as incomplete, so that a missing path proves nothing."""
        self._blind = True
        self._lines.append("null\n")

    def close(self) -> None:
        """Close the log; its modification time is the end of tracing."""
        try:
            self.flush()
            os.utime(self._file)
        finally:
            os.close(self._file)

    def _write(self, path: str) -> None:
        if path in self._known:
            return
        self._known.add(path)
        info = _lstat(path)
        met = None if info is None else [info.st_size, info.st_mtime_ns]
        self._add_line([path, met])

    def _add_line(self, said: list[object]) -> None:
        line = f"{_encode(said)}\n"
        self._lines.append(line)
        self._room -= len(line)
        if len(self._lines) >= _FLUSH_EVERY:
            self.flush()

    def _path(self, pid: int, named: PathArgument, arguments: Sequence[int]) -> str | None:
        """Return the path that an argument names, with links in its directories followed; None if
        there is none, so that the call will fail. Raises PermissionError.
        """
        if named.handle:
            return _link(f"/proc/{pid}/fd/{signed(arguments[named.path])}")
        text = self._memory.text(pid, arguments[named.path])
        if text is None:
            return None
        path = os.fsdecode(text)
        if not path.startswith("/"):
            above = self._start_directory(pid, named, arguments)
            if above is None:
                return None
            path = f"{above}/{path}" if path else above
        folder, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return _real_path(path)
        full = f"{self._resolve_folder(folder or '/').rstrip('/')}/{name}"
        return _real_path(full) if named.follows and _is_link(full) else full

    def _start_directory(
        self, pid: int, named: PathArgument, arguments: Sequence[int]
    ) -> str | None:
        handle = _HERE if named.directory < 0 else signed(arguments[named.directory])
        return _link(f"/proc/{pid}/cwd" if handle == _HERE else f"/proc/{pid}/fd/{handle}")

    def _resolve_folder(self, folder: str) -> str:
        known = self._leads.get(folder)
        if known is None:
            known = self._leads[folder] = _real_path(folder)
        return known


class _LinksExchanged(Exception):
    """A name in a path is replaced again and again."""


def _real_path(path: str) -> str:
    found = find_real_path(path)
    if found is None:
        raise _LinksExchanged
    return found


def _link(path: str) -> str | None:
    try:
        return str(Path(path).readlink())
    except PermissionError:
        raise
    except OSError:
        return None


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _is_link(path: str) -> bool:
    info = _lstat(path)
    return info is not None and stat.S_ISLNK(info.st_mode)


def _is_folder(path: str) -> bool:
    info = _lstat(path)
    return info is not None and stat.S_ISDIR(info.st_mode)
