"""Identifies processes across machines and reboots, directories across renames, and open
runtimes.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW

# Processes of other machines that have ended.
_ENDED: Final[set[str]] = set()

_AT_FDCWD: Final = -100
_BIRTH: Final = 0x800
# struct statx: 256 bytes; stx_mask at 0, stx_btime (seconds, nanoseconds) at 80.
_SIZE: Final = 256
_SECONDS: Final = 80
_NANOSECONDS: Final = 88


@cache
def this_process() -> str:
    """Return the identifier of this process, unique on all machines."""
    return process_name(os.getpid())


def process_name(pid: int) -> str:
    """Return machine, boot, pid and start time: pids alone are reused."""
    return f"{socket.gethostname()}/{_boot()}/{pid}/{_start_time(pid)}"


def may_still_run(owner: str) -> bool:
    """Return whether that process may be alive. True for a process of another machine, unless
    `note_ended` was called for it.
    """
    host, _, rest = owner.partition("/")
    if host != socket.gethostname():
        return owner not in _ENDED
    boot, _, process = rest.partition("/")
    if boot != _boot():
        return False
    pid, _, started = process.partition("/")
    return pid.isdigit() and _start_time(int(pid)) == started != ""


def note_ended(owner: str) -> None:
    """Note that a process of another machine has ended, as shown by a lock that only it held."""
    _ENDED.add(owner)


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return "unknown"


def _start_time(pid: int) -> str:
    try:
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return _alive_without_proc(pid)
    # The command name may contain anything; the fields follow its last parenthesis.
    fields = status.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


def _alive_without_proc(pid: int) -> str:
    if Path("/proc/self").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return "alive"
    return "alive"


def folder_identity(path: str) -> str:
    """Return an identifier of the directory; "" if there is none. It consists of the inode, which
    is reused, and the time of birth where the file system keeps one; not of the device, whose
    number can change at boot.
    """
    try:
        info = Path(path).stat()
    except OSError:
        return ""
    born = getattr(info, "st_birthtime", None) or _birth(os.fsencode(path))
    return f"{info.st_ino}" if born is None else f"{info.st_ino}.{born}"


def _birth(path: bytes) -> str | None:
    statx = _statx()
    if statx is None:
        return None
    found = ctypes.create_string_buffer(_SIZE)
    if statx(_AT_FDCWD, path, 0, _BIRTH, found) != 0:
        return None
    raw = memoryview(found).cast("B")
    if not int.from_bytes(raw[:4], sys.byteorder) & _BIRTH:
        return None
    seconds = int.from_bytes(raw[_SECONDS : _SECONDS + 8], sys.byteorder, signed=True)
    return f"{seconds}.{int.from_bytes(raw[_NANOSECONDS : _NANOSECONDS + 4], sys.byteorder)}"


@cache
def _statx() -> Any:
    """The C library's statx; None if it has none."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    if function is not None:
        function.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_void_p,
        )
    return function


class RuntimePresence:
    """Marks this runtime as open by a locked file, until `close`."""

    def __init__(self, directory: Path) -> None:
        """Create the file; raises OSError."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        while True:
            self._name = os.urandom(8).hex()
            self._handle = os.open(directory / self._name, _FLAGS | os.O_EXCL, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            if os.fstat(self._handle).st_nlink:
                return
            # Another runtime removed the file as stale before it was locked.
            os.close(self._handle)

    def is_only_runtime(self) -> bool:
        """Return whether no other runtime is open. Removes the files of crashed runtimes."""
        return not any(
            self._is_held(path) for path in self._directory.iterdir() if path.name != self._name
        )

    def close(self) -> None:
        """Remove the file; may be called twice."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with suppress(OSError):
                (self._directory / self._name).unlink()
            os.close(handle)

    def _is_held(self, path: Path) -> bool:
        try:
            handle = os.open(path, _FLAGS & ~os.O_CREAT)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False
