"""Landlock system calls: restrict what a thread, and every process that it starts, may open.

A restriction binds the calling THREAD and cannot be undone: call `restrict_thread` and `enter` only
on a temporary thread.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Sequence
from functools import cache
from typing import Final

# Equal on all architectures.
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_RULE_PATH_BENEATH: Final = 1
_VERSION_FLAG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38

_EXECUTE: Final = 1 << 0
_WRITE_FILE: Final = 1 << 1
_READ_DIR: Final = 1 << 3
_READ: Final = 1 << 2 | _READ_DIR
_TRUNCATE: Final = 1 << 14
_IOCTL_DEVICE: Final = 1 << 15
_ALL: Final = (1 << 16) - 1
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | 1 << 2 | _TRUNCATE | _IOCTL_DEVICE
# Bits 0-12 came with ABI 1; later ABIs added: rename across directories, truncate, device ioctl.
_FS_BITS_BY_ABI: Final = {1: 13, 2: 14, 3: 15, 4: 15}
_FS_BITS_NEWEST: Final = 16
_TCP_BIND_AND_CONNECT: Final = 0b11
_SCOPE_SOCKETS_AND_SIGNALS: Final = 0b11
_ABI_WITH_TCP: Final = 4
_ABI_WITH_SCOPES: Final = 6


@cache
def abi() -> int:
    """The kernel's Landlock ABI version; 0 if it has none."""
    if sys.platform != "linux":
        return 0
    return max(_syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG), 0)


def restrict_thread(read: Sequence[str | int], execute: Sequence[str]) -> bool:
    """Restrict this thread to reading beneath `read` and executing `execute`.

    A missing path is ignored; an int is an open directory. All other files, TCP, signals and
    abstract sockets to the outside are denied as far as the kernel supports that. Returns whether
    the kernel agreed; this cannot be undone.

    Truncating (not writing) stays allowed beneath `read`: otherwise the kernel looks for that right
    in all parents of every opened file, and a large search takes a tenth longer. The filter in
    `seccomp` denies it.
    """
    if not abi():
        return False
    ruleset = _create_ruleset()
    if ruleset < 0:
        return False
    try:
        allowed = all(_allow(ruleset, place, _READ | _TRUNCATE) for place in read)
        allowed &= all(_allow(ruleset, place, _READ | _EXECUTE) for place in execute)
        return allowed and enter(ruleset)
    finally:
        os.close(ruleset)


def make_ruleset(
    read: Sequence[int], write: Sequence[int], listed: Sequence[int] = (), *, network: bool
) -> int | None:
    """Make a ruleset for `enter`: reading and executing beneath `read`, everything beneath `write`,
    listing directories beneath `listed`. Returns None if the kernel refuses.

    All arguments are open handles, because a name could lead elsewhere by now. Signals and abstract
    sockets to the outside are denied, and TCP unless `network`, as far as the kernel supports that.
    """
    if not abi():
        return None
    ruleset = _create_ruleset(network=network)
    if ruleset < 0:
        return None
    allowed = all(_add_rule(ruleset, handle, _READ | _EXECUTE) for handle in read)
    allowed &= all(_add_rule(ruleset, handle, _READ_DIR) for handle in listed)
    allowed &= all(_add_rule(ruleset, handle, _ALL) for handle in write)
    if allowed:
        return ruleset
    os.close(ruleset)
    return None


def enter(ruleset: int) -> bool:
    """Restrict this thread to a ruleset; return whether the kernel agreed. Cannot be undone."""
    return no_new_privileges() and _syscall(_RESTRICT_SELF, ruleset, 0) == 0


def no_new_privileges() -> bool:
    """Disable set-user-id programs for this thread, which the kernel requires first."""
    return bool(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def _create_ruleset(*, network: bool = False) -> int:
    version = abi()
    attributes = struct.pack("=Q", _handled_rights())
    if version >= _ABI_WITH_TCP:
        attributes += struct.pack("=Q", 0 if network else _TCP_BIND_AND_CONNECT)
    if version >= _ABI_WITH_SCOPES:
        attributes += struct.pack("=Q", _SCOPE_SOCKETS_AND_SIGNALS)
    return _syscall(_CREATE_RULESET, attributes, len(attributes), 0)


def _allow(ruleset: int, place: str | int, rights: int) -> bool:
    if isinstance(place, int):
        return _add_rule(ruleset, place, rights)
    try:
        handle = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        return _add_rule(ruleset, handle, rights)
    finally:
        os.close(handle)


def _add_rule(ruleset: int, handle: int, rights: int) -> bool:
    rights &= _handled_rights()
    if not stat.S_ISDIR(os.fstat(handle).st_mode):
        rights &= _OF_FILES
    rule = struct.pack("=Qi", rights, handle)
    return _syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0) == 0


def _handled_rights() -> int:
    return (1 << _FS_BITS_BY_ABI.get(abi(), _FS_BITS_NEWEST)) - 1


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(_libc().syscall(ctypes.c_long(number), *converted))


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
