"""Syncs a group of files with one call per file system."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from typing import Any, Final

# Since Linux 5.8 syncfs reports write errors.
_RELIABLE_SINCE: Final = (5, 8)


def can_sync_groups() -> bool:
    """Whether syncfs is as reliable as an fsync of every file."""
    if sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "syncfs"):
        return False
    major, minor = os.uname().release.split(".")[:2]
    return (_number(major), _number(minor)) >= _RELIABLE_SINCE


def sync_filesystems(handles: Iterable[int]) -> None:
    """Sync the file systems of these open handles. Raises OSError."""
    devices = {os.fstat(handle).st_dev: handle for handle in handles}
    for handle in devices.values():
        _syncfs(handle)


def _syncfs(handle: int) -> None:
    call: Any = ctypes.CDLL(None, use_errno=True).syncfs
    if call(handle) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _number(text: str) -> int:
    digits = "".join(one for one in text if one.isdigit())
    return int(digits) if digits else 0
