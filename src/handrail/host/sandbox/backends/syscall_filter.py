"""The seccomp filter for commands: system calls that a command must not make.

Everything that ordinary programs need works. Calls that reach out of the confinement, or widen the
kernel's attack surface, fail with an error that programs can handle.
"""

from __future__ import annotations

import errno
import platform
import sys
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from handrail.host.processes.seccomp import (
    ALLOW,
    AND_WITH,
    ARGUMENTS,
    JUMP_IF_ANY_BIT,
    JUMP_IF_EQUAL,
    LOAD_WORD,
    RETURN,
    FilterLine,
    assemble,
    error,
    opening,
)

_AF_UNIX: Final = 1
_AF_INET: Final = 2
_AF_INET6: Final = 10
_AF_NETLINK: Final = 16
_NETLINK_ROUTE: Final = 0
_STREAM: Final = 1
_SEQPACKET: Final = 5
_TYPE_MASK: Final = 0xF
_TCP: Final = 6
_MSG_FASTOPEN: Final = 0x20000000
# Insert input into a terminal, and control the console.
_TIOCSTI: Final = 0x5412
_TIOCLINUX: Final = 0x541C
_IOCTL_TYPE: Final = 0xFF00
# ext4 and others (flags, encryption, verity), XFS and others (project, flags), versions, btrfs.
_FILE_IOCTL_TYPES: Final = (ord("f"), ord("X"), ord("v"), 0x94)
# FS_IOC_GETFLAGS and GETVERSION, each for 64 and 32 bits, FIEMAP, FSGETXATTR; FICLONE and
# FICLONERANGE, which need a file opened for writing.
_READING_IOCTLS: Final = (
    0x80086601, 0x80046601, 0x80087601, 0x80047601, 0xC020660B, 0x801C581F,
    0x40049409, 0x4020940D,
)  # fmt: skip
_FAT_SET_ATTRIBUTES: Final = 0x40047211
# CLONE_NEW: NS, CGROUP, UTS, IPC, USER, PID, NET; in `unshare` also TIME.
_NEW_NAMESPACES: Final = 0x7E020000
_NEW_TIME: Final = 0x80
# All processes of a user, in `setpriority` and in `ioprio_set`.
_PRIO_USER: Final = 2
_IOPRIO_USER: Final = 3

_CLONE3: Final = 435
# io_uring x3 (its operations pass no filter), open_tree, move_mount, fsopen, fsconfig, fsmount,
# fspick, pidfd_getfd, mount_setattr, quotactl_fd, open_tree_attr: equal on all machines.
_SHARED: Final = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 443, 467)


class _SyscallNumbers(NamedTuple):
    audit: int
    clone: int
    unshare: int
    socket: int
    socketpair: int
    ioctl: int
    denied: tuple[int, ...]
    # shmget, shmat, shmctl; semget, semop, semctl, semtimedop; msgget, msgsnd, msgrcv, msgctl;
    # mq_open, mq_unlink: shared with programs outside, by a key or by a number that can be guessed.
    ipc: tuple[int, ...]
    # These can change any process of the same user: its limits (a limit of processor time kills the
    # process) and its priority.
    prlimit: int
    setpriority: int
    ioprio_set: int
    listen: int
    # sendto, sendmsg, sendmmsg, each with the index of its flags.
    sends: tuple[tuple[int, int], ...]


# ptrace, process_vm x2, kcmp, keys x3, bpf, perf_event_open, userfaultfd; mount, umount2,
# pivot_root, chroot, setns, open_by_handle_at, kexec x2, modules x3; reboot, swap x2, clocks x2,
# acct, quotactl, nfsservctl, lookup_dcookie, vhangup, syslog; x86 only: iopl, ioperm, uselib,
# _sysctl, modify_ldt
_X86_64: Final = (
    101, 310, 311, 312, 248, 249, 250, 321, 298, 323, 165, 166, 155, 161, 308, 304, 246, 320, 175,
    313, 176, 169, 167, 168, 164, 227, 163, 179, 180, 212, 153, 103, 172, 173, 134, 156, 154,
)  # fmt: skip
_AARCH64: Final = (
    117, 270, 271, 272, 217, 218, 219, 280, 241, 282, 40, 39, 41, 51, 268, 265, 104, 294, 105,
    273, 106, 142, 224, 225, 170, 112, 89, 60, 42, 18, 58, 116,
)  # fmt: skip

_MACHINES: Final = {
    "x86_64": _SyscallNumbers(
        0xC000003E,
        clone=56,
        unshare=272,
        socket=41,
        socketpair=53,
        ioctl=16,
        denied=_X86_64,
        ipc=(29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241),
        prlimit=302,
        setpriority=141,
        ioprio_set=251,
        listen=50,
        sends=((44, 3), (46, 2), (307, 3)),
    ),
    "aarch64": _SyscallNumbers(
        0xC00000B7,
        clone=220,
        unshare=97,
        socket=198,
        socketpair=199,
        ioctl=29,
        denied=_AARCH64,
        ipc=(194, 196, 195, 190, 193, 191, 192, 186, 189, 188, 187, 180, 181),
        prlimit=261,
        setpriority=140,
        ioprio_set=30,
        listen=201,
        sends=((206, 3), (211, 2), (269, 3)),
    ),
}


@cache
def command_filter(*, inet: bool, ipc: bool, attributes: bool, tcp: bool = False) -> bytes:
    """Return the filter for a command; empty if there is none for this machine.

    `inet` allows IP sockets, because there is a network namespace or the network is open. `ipc`
    allows System V and POSIX queues, and changing limits and priorities of other processes, because
    there are namespaces. `attributes` allows ioctls that change files, because there are read-only
    mounts. `tcp` allows TCP sockets, because something else keeps them from connecting.
    """
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        return b""
    return assemble(_lines(machine, inet=inet, ipc=ipc, attributes=attributes, tcp=tcp))


def _lines(
    machine: _SyscallNumbers, *, inet: bool, ipc: bool, attributes: bool, tcp: bool = False
) -> list[FilterLine]:
    denied = machine.denied + _SHARED + (() if ipc else machine.ipc)
    denied += (machine.listen,) if tcp else ()
    sends = machine.sends if tcp else ()
    return [
        *opening(machine.audit),
        FilterLine(JUMP_IF_EQUAL, machine.clone, to="clone"),
        # The flags of `clone3` are in memory, where a filter cannot read them; the C library falls
        # back to `clone`.
        FilterLine(JUMP_IF_EQUAL, _CLONE3, to="unknown"),
        FilterLine(JUMP_IF_EQUAL, machine.unshare, to="unshare"),
        FilterLine(JUMP_IF_EQUAL, machine.socket, to="socket"),
        FilterLine(JUMP_IF_EQUAL, machine.socketpair, to="pair"),
        FilterLine(JUMP_IF_EQUAL, machine.ioctl, to="ioctl"),
        *(FilterLine(JUMP_IF_EQUAL, number, to=f"send{flags}") for number, flags in sends),
        *(() if ipc else _process_jumps(machine)),
        *(FilterLine(JUMP_IF_EQUAL, number, to="deny") for number in denied),
        FilterLine(RETURN, ALLOW),
        *_send_lines(sends),
        *(() if ipc else _process_lines()),
        FilterLine(LOAD_WORD, _argument(0), name="clone"),
        FilterLine(JUMP_IF_ANY_BIT, _NEW_NAMESPACES, to="deny"),
        FilterLine(RETURN, ALLOW),
        FilterLine(LOAD_WORD, _argument(0), name="unshare"),
        FilterLine(JUMP_IF_ANY_BIT, _NEW_NAMESPACES | _NEW_TIME, to="deny"),
        FilterLine(RETURN, ALLOW),
        FilterLine(LOAD_WORD, _argument(1), name="ioctl"),
        FilterLine(JUMP_IF_EQUAL, _TIOCSTI, to="deny"),
        FilterLine(JUMP_IF_EQUAL, _TIOCLINUX, to="deny"),
        *(() if attributes else _file_ioctl_lines()),
        FilterLine(RETURN, ALLOW),
        *_socket_lines(inet=inet, tcp=tcp),
        FilterLine(RETURN, ALLOW, name="allow"),
        FilterLine(RETURN, error(errno.EAFNOSUPPORT), name="family"),
        FilterLine(RETURN, error(errno.ENOSYS), name="unknown"),
        FilterLine(RETURN, error(errno.EPERM), name="deny"),
    ]


def _process_jumps(machine: _SyscallNumbers) -> list[FilterLine]:
    return [
        FilterLine(JUMP_IF_EQUAL, machine.prlimit, to="limit"),
        FilterLine(JUMP_IF_EQUAL, machine.setpriority, to="priority"),
        FilterLine(JUMP_IF_EQUAL, machine.ioprio_set, to="io priority"),
    ]


def _process_lines() -> list[FilterLine]:
    """Allow changing limits and priorities of the calling process (0) and its group only."""
    lines = [
        FilterLine(LOAD_WORD, _argument(0), name="limit"),
        FilterLine(JUMP_IF_EQUAL, 0, to="allow"),
        FilterLine(RETURN, error(errno.EPERM)),
    ]
    for name, user in (("priority", _PRIO_USER), ("io priority", _IOPRIO_USER)):
        lines += [
            FilterLine(LOAD_WORD, _argument(0), name=name),
            FilterLine(JUMP_IF_EQUAL, user, to="deny"),
            FilterLine(LOAD_WORD, _argument(1)),
            FilterLine(JUMP_IF_EQUAL, 0, to="allow"),
            FilterLine(RETURN, error(errno.EPERM)),
        ]
    return lines


def _file_ioctl_lines() -> list[FilterLine]:
    """Deny the ioctls with which a program could change a file that it opened for reading."""
    return [
        *(FilterLine(JUMP_IF_EQUAL, number, to="allow") for number in _READING_IOCTLS),
        FilterLine(JUMP_IF_EQUAL, _FAT_SET_ATTRIBUTES, to="deny"),
        FilterLine(AND_WITH, _IOCTL_TYPE),
        *(FilterLine(JUMP_IF_EQUAL, kind << 8, to="deny") for kind in _FILE_IOCTL_TYPES),
    ]


def _send_lines(sends: Sequence[tuple[int, int]]) -> list[FilterLine]:
    """Deny sending calls that connect first, because these do not call `connect`."""
    lines: list[FilterLine] = []
    for flags in sorted({flags for _, flags in sends}):
        lines += [
            FilterLine(LOAD_WORD, _argument(flags), name=f"send{flags}"),
            FilterLine(JUMP_IF_ANY_BIT, _MSG_FASTOPEN, to="deny"),
            FilterLine(RETURN, ALLOW),
        ]
    return lines


def _tcp_lines() -> list[FilterLine]:
    return [
        FilterLine(LOAD_WORD, _argument(1), name="tcp"),
        FilterLine(AND_WITH, _TYPE_MASK),
        FilterLine(JUMP_IF_EQUAL, _STREAM, to="protocol"),
        FilterLine(RETURN, error(errno.EAFNOSUPPORT)),
        FilterLine(LOAD_WORD, _argument(2), name="protocol"),
        FilterLine(JUMP_IF_EQUAL, 0, to="allow"),
        FilterLine(JUMP_IF_EQUAL, _TCP, to="allow"),
        FilterLine(RETURN, error(errno.EAFNOSUPPORT)),
    ]


def _socket_lines(*, inet: bool, tcp: bool) -> list[FilterLine]:
    """Deny sockets that reach daemons outside (path names) or the host of a virtual machine
    (vsock).
    """
    families = (_AF_INET, _AF_INET6) if inet or tcp else ()
    allowed = "allow" if inet else "tcp"
    return [
        FilterLine(LOAD_WORD, _argument(0), name="socket"),
        *(FilterLine(JUMP_IF_EQUAL, family, to=allowed) for family in families),
        FilterLine(JUMP_IF_EQUAL, _AF_NETLINK, to="netlink"),
        FilterLine(RETURN, error(errno.EAFNOSUPPORT)),
        *(_tcp_lines() if tcp and not inet else ()),
        # Programs list network interfaces with netlink; changing one needs a capability.
        FilterLine(LOAD_WORD, _argument(2), name="netlink"),
        FilterLine(JUMP_IF_EQUAL, _NETLINK_ROUTE, to="allow"),
        FilterLine(RETURN, error(errno.EAFNOSUPPORT)),
        FilterLine(LOAD_WORD, _argument(0), name="pair"),
        FilterLine(JUMP_IF_EQUAL, _AF_UNIX, to="type"),
        FilterLine(RETURN, error(errno.EAFNOSUPPORT)),
        # A datagram socket of a pair can still send to any path.
        FilterLine(LOAD_WORD, _argument(1), name="type"),
        FilterLine(AND_WITH, _TYPE_MASK),
        FilterLine(JUMP_IF_EQUAL, _STREAM, to="allow"),
        FilterLine(JUMP_IF_EQUAL, _SEQPACKET, to="allow"),
        FilterLine(RETURN, error(errno.EAFNOSUPPORT)),
    ]


def _argument(position: int) -> int:
    """Return the offset of the low half of an argument; the kernel checks no more of these."""
    return ARGUMENTS + 8 * position
