"""The filter for commands, read the way the kernel reads it, for every machine we know."""

import errno
import struct

import pytest

from handrail.host.processes import seccomp
from handrail.host.sandbox.backends import syscall_filter

ALLOWED = "allowed"
X86, ARM = syscall_filter._MACHINES["x86_64"], syscall_filter._MACHINES["aarch64"]
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_VSOCK = 1, 2, 10, 16, 40
STREAM, DGRAM, RAW, SEQPACKET = 1, 2, 3, 5
CLOEXEC, NONBLOCK = 0o2000000, 0o4000


def verdict(
    machine, number, *arguments, inet=False, ipc=False, attributes=False, tcp=False, audit=None
):
    """What the kernel would do with a call: ALLOWED, or the name of the error."""
    lines = syscall_filter._lines(machine, inet=inet, ipc=ipc, attributes=attributes, tcp=tcp)
    program = seccomp.assemble(lines)
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=IIQ6Q", number, audit or machine.audit, 0, *padded)
    at = accumulator = 0
    while True:
        code, taken, otherwise, value = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == seccomp.LOAD_WORD:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == seccomp.AND_WITH:
            accumulator &= value
        elif code == seccomp.RETURN:
            return ALLOWED if value == seccomp.ALLOW else errno.errorcode[value & 0xFFFF]
        else:
            holds = {
                seccomp.JUMP_IF_EQUAL: accumulator == value,
                seccomp.JUMP_IF_AT_LEAST: accumulator >= value,
                seccomp.JUMP_IF_ANY_BIT: bool(accumulator & value),
            }[code]
            at += taken if holds else otherwise


machines = pytest.mark.parametrize("machine", [X86, ARM], ids=["x86_64", "aarch64"])


@machines
def test_no_jump_leaves_the_program(machine):
    for inet in (False, True):
        for ipc in (False, True):
            given = syscall_filter._lines(machine, inet=inet, ipc=ipc, attributes=ipc, tcp=not inet)
            program = seccomp.assemble(given)
            lines = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
            for index, (code, to, otherwise, _) in enumerate(lines):
                assert otherwise == 0
                assert (to > 0) == (code & 0x07 == 0x05)
                assert index + 1 + to < len(lines) or code == seccomp.RETURN


@machines
def test_sockets_that_lead_outside_do_not_exist(machine):
    def make(family, kind=STREAM, protocol=0, **given):
        return verdict(machine, machine.socket, family, kind, protocol, **given)

    assert [make(family) for family in (AF_UNIX, AF_VSOCK, 17, 38)] == ["EAFNOSUPPORT"] * 4
    assert [make(family) for family in (AF_INET, AF_INET6)] == ["EAFNOSUPPORT"] * 2
    assert [make(family, inet=True) for family in (AF_INET, AF_INET6)] == [ALLOWED] * 2
    assert make(AF_UNIX, inet=True) == "EAFNOSUPPORT"
    # The kernel looks at the low half of the family only, and so must we.
    assert make(AF_UNIX | 1 << 32) == "EAFNOSUPPORT"
    assert make(AF_NETLINK, RAW, 0) == ALLOWED
    assert make(AF_NETLINK, RAW, 4) == "EAFNOSUPPORT"


@machines
def test_pairs_work_unless_they_can_be_sent_elsewhere(machine):
    def pair(kind, family=AF_UNIX):
        return verdict(machine, machine.socketpair, family, kind)

    assert [pair(kind) for kind in (STREAM, SEQPACKET)] == [ALLOWED] * 2
    assert [pair(STREAM | CLOEXEC), pair(SEQPACKET | CLOEXEC | NONBLOCK)] == [ALLOWED] * 2
    assert [pair(DGRAM), pair(DGRAM | CLOEXEC), pair(RAW)] == ["EAFNOSUPPORT"] * 3
    assert pair(STREAM, family=30) == "EAFNOSUPPORT"


@machines
def test_processes_start_but_namespaces_do_not(machine):
    assert verdict(machine, machine.clone, 0x01200011) == ALLOWED
    assert verdict(machine, machine.clone, 0x003D0F00) == ALLOWED
    for bit in (17, 25, 26, 27, 28, 29, 30):
        assert verdict(machine, machine.clone, 1 << bit | 17) == "EPERM"
        assert verdict(machine, machine.unshare, 1 << bit) == "EPERM"
    assert verdict(machine, machine.unshare, 0x80) == "EPERM"
    assert verdict(machine, machine.unshare, 0x200 | 0x400) == ALLOWED
    assert verdict(machine, 435) == "ENOSYS"


@machines
def test_nobody_types_for_the_person(machine):
    assert verdict(machine, machine.ioctl, 0, 0x5412) == "EPERM"
    assert verdict(machine, machine.ioctl, 0, 0x5412 | 1 << 32) == "EPERM"
    assert verdict(machine, machine.ioctl, 0, 0x541C) == "EPERM"
    assert verdict(machine, machine.ioctl, 0, 0x5401) == ALLOWED


@machines
def test_with_a_proxy_only_tcp_sockets_exist_and_none_connects_by_sending(machine):
    def make(family, kind=STREAM, protocol=0):
        return verdict(machine, machine.socket, family, kind, protocol, tcp=True)

    assert [make(AF_INET), make(AF_INET6, STREAM | CLOEXEC), make(AF_INET, STREAM, 6)] == [
        ALLOWED
    ] * 3
    for family, kind, protocol in (
        (AF_INET, DGRAM, 0), (AF_INET, RAW, 6), (AF_INET, STREAM, 262), (AF_INET, STREAM, 132),
        (AF_INET, SEQPACKET, 0), (AF_UNIX, STREAM, 0), (AF_VSOCK, STREAM, 0),
    ):  # fmt: skip
        assert make(family, kind, protocol) == "EAFNOSUPPORT"
    assert verdict(machine, machine.listen, 3, 5, tcp=True) == "EPERM"
    assert verdict(machine, machine.listen, 3, 5, inet=True) == ALLOWED
    for number, flags in machine.sends:
        plain, fast = [0] * 6, [0] * 6
        fast[flags] = 0x20000000 | 0x4000
        assert verdict(machine, number, *plain, tcp=True) == ALLOWED
        assert verdict(machine, number, *fast, tcp=True) == "EPERM"


# FS_IOC_SETFLAGS and SETVERSION for 64 and 32 bits, FSSETXATTR, ENABLE_VERITY,
# SET_ENCRYPTION_POLICY, BTRFS_IOC_SUBVOL_CREATE, FAT_IOCTL_SET_ATTRIBUTES, FIDEDUPERANGE
CHANGING_IOCTLS = (0x40086602, 0x40046602, 0x40087602, 0x40047602, 0x401C5820, 0x40806685,
                   0x800C6613, 0x5000940E, 0x40047211, 0xC0189436)  # fmt: skip
# TCGETS, FIONREAD, FS_IOC_GETFLAGS, FSGETXATTR, FIEMAP, FICLONE, SIOCGIFNAME
READING_IOCTLS = (0x5401, 0x541B, 0x80086601, 0x801C581F, 0xC020660B, 0x40049409, 0x8910)


@pytest.mark.finding("F32")
@machines
def test_an_open_file_is_not_enough_to_change_its_attributes(machine):
    for number in CHANGING_IOCTLS:
        assert verdict(machine, machine.ioctl, 3, number) == "EPERM"
        assert verdict(machine, machine.ioctl, 3, number, attributes=True) == ALLOWED
    for number in READING_IOCTLS:
        assert verdict(machine, machine.ioctl, 3, number) == ALLOWED


@machines
def test_shared_memory_is_there_only_where_it_is_private(machine):
    assert {verdict(machine, number) for number in machine.ipc} == {"EPERM"}
    assert {verdict(machine, number, ipc=True) for number in machine.ipc} == {ALLOWED}


@machines
def test_limits_and_priorities_are_changed_only_of_the_calling_process(machine):
    calls = {
        "own limit": (machine.prlimit, 0, 7),
        "own priority": (machine.setpriority, 0, 0),
        "group's priority": (machine.setpriority, 1, 0),
        "own io priority": (machine.ioprio_set, 1, 0),
    }
    others = {
        "limit": (machine.prlimit, 77, 7),
        "priority": (machine.setpriority, 0, 77),
        "user's priority": (machine.setpriority, 2, 0),
        "io priority": (machine.ioprio_set, 1, 77),
        "user's io priority": (machine.ioprio_set, 3, 0),
    }

    assert {name: verdict(machine, *call) for name, call in calls.items()} == dict.fromkeys(
        calls, ALLOWED
    )
    assert {name: verdict(machine, *call) for name, call in others.items()} == dict.fromkeys(
        others, "EPERM"
    )
    assert {verdict(machine, *call, ipc=True) for call in others.values()} == {ALLOWED}


@machines
def test_other_ways_into_the_kernel_are_closed(machine):
    assert verdict(machine, machine.socket, AF_INET, audit=0x40000003) == "EPERM"
    assert verdict(machine, 0x40000000 | machine.socket, AF_INET) == "EPERM"
    for number in (425, 426, 427, 438, 442):
        assert verdict(machine, number) == "EPERM"


def test_the_numbers_mean_what_the_names_say():
    assert [verdict(X86, number) for number in (101, 165, 308, 321)] == ["EPERM"] * 4
    assert [verdict(ARM, number) for number in (117, 40, 268, 280)] == ["EPERM"] * 4
    # read, openat, execve, futex, pidfd_open
    assert [verdict(X86, number) for number in (0, 257, 59, 202, 434)] == [ALLOWED] * 5
    assert [verdict(ARM, number) for number in (63, 56, 221, 98, 434)] == [ALLOWED] * 5


def test_an_unknown_machine_gets_no_filter(monkeypatch):
    syscall_filter.command_filter.cache_clear()
    monkeypatch.setattr(syscall_filter.platform, "machine", lambda: "sparc64")
    try:
        assert syscall_filter.command_filter(inet=True, ipc=True, attributes=True) == b""
    finally:
        syscall_filter.command_filter.cache_clear()
