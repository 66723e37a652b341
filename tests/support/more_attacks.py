"""Runs inside a confinement like `attacks.py`: by other system calls, older and newer ones, and by
objects that have no path. Numbers are those of x86-64.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import pty
import select
import socket
import struct
import sys
import termios

import attacks
from attacks import by_handle, by_reading, libc, read, send, syscall, write

NO_FOLLOW, EMPTY_PATH, HERE = 0x100, 0x1000, -100
READ_XATTR, WRITE_XATTR = 0x801C581F, 0x401C5820
WRITE_FLAGS_32 = 0x40046602
TIOCLINUX = 0x541C
FAST_OPEN = 0x20000000


def main(given):
    parts = (metadata, writes, shared_memory, reads, mounts, processes, kernel, sockets, ipc)
    tried = {}
    for part in parts:
        tried |= part(given)
    # Last: the victim is gone afterwards.
    tried["signals:of a pipe"] = lambda: signal_by_pipe(given["victim"])
    return {name: attacks.outcome(attack) for name, attack in tried.items()}


def in_folder(file, change):
    folder, name = os.path.split(file)
    by_handle(folder, lambda handle: change(handle, name.encode()))


def metadata(given):
    file = f"{given['shown']}/chmod"
    marked = f"{given['shown']}/setxattr"
    times = struct.pack("=4q", 1, 0, 1, 0)
    path = file.encode()
    return {
        "metadata:fchmodat in a folder": lambda: in_folder(
            file, lambda handle, name: syscall(268, handle, name, 0o606)
        ),
        "metadata:fchownat without a name": lambda: by_handle(
            file, lambda handle: syscall(260, handle, b"", -1, os.getegid(), EMPTY_PATH)
        ),
        "metadata:fchownat of a link": lambda: syscall(
            260, HERE, path, -1, os.getegid(), NO_FOLLOW
        ),
        "metadata:utimensat in a folder": lambda: in_folder(
            file, lambda handle, name: syscall(280, handle, name, times, 0)
        ),
        "metadata:utimensat of a handle": lambda: by_reading(
            None, file, lambda handle: syscall(280, handle, None, times, 0)
        ),
        "metadata:futimesat": lambda: syscall(261, HERE, path, times),
        "metadata:lsetxattr": lambda: syscall(189, marked.encode(), b"user.l", b"1", 1, 0),
        "metadata:fsetxattr": lambda: by_reading(
            None, marked, lambda handle: syscall(190, handle, b"user.f", b"1", 1, 0)
        ),
        "metadata:lremovexattr": lambda: syscall(198, marked.encode(), b"user.there"),
        "metadata:fremovexattr": lambda: by_reading(
            None, f"{given['shown']}/utime", lambda h: syscall(199, h, b"user.there")
        ),
        "metadata:project of a file": lambda: by_reading(None, file, same_project),
        "metadata:flags by the old number": lambda: by_reading(
            None, file, lambda handle: fcntl.ioctl(handle, WRITE_FLAGS_32, bytes(8))
        ),
        "metadata:chmod of the other interface": lambda: syscall(0x40000000 | 90, path, 0o606),
        "metadata:chmod as a 32-bit program": lambda: in_32_bits(15, path, 0o606),
    }


def same_project(handle):
    attributes = bytearray(28)
    fcntl.ioctl(handle, READ_XATTR, attributes)
    fcntl.ioctl(handle, WRITE_XATTR, bytes(attributes))


def in_32_bits(number, text, value):
    """A call through the gate of 32-bit programs, in a child: without the gate it dies."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if not os.WIFEXITED(status) or os.WEXITSTATUS(status):
            raise OSError(errno.EPERM, f"status {status}")
        return
    page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, 7)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    code = b"\x53\xb8" + struct.pack("=I", number) + b"\xbb" + struct.pack("=I", start + 64)
    code += b"\xb9" + struct.pack("=I", value) + b"\xcd\x80\x5b\xc3"
    page[: len(code)], page[64 : 65 + len(text)] = code, text + b"\0"
    os._exit(ctypes.CFUNCTYPE(ctypes.c_int)(start)() != 0)


def writes(given):
    outside, shown, work = given["outside"], given["shown"], given["workspace"]
    return {
        "fs_write:openat2": lambda: os.close(
            syscall(437, HERE, f"{outside}/append".encode(), struct.pack("=3Q", 1, 0, 0), 24)
        ),
        "fs_write:by a number for a file": lambda: os.close(by_number(f"{outside}/append", 1)),
        "fs_write:a file without a name": lambda: os.close(
            os.open(outside, os.O_TMPFILE | os.O_WRONLY)
        ),
        "fs_write:exchange": lambda: (
            write(f"{work}/exchanged"),
            syscall(316, HERE, f"{work}/exchanged".encode(), HERE, f"{outside}/link".encode(), 2),
        ),
        "fs_write:link out": lambda: os.link(f"{work}/mine", f"{outside}/linked_out"),
        "fs_write:link a handle in": lambda: by_reading(
            None,
            f"{shown}/utime",
            lambda handle: (
                syscall(
                    265, HERE, f"/proc/self/fd/{handle}".encode(), HERE,
                    f"{work}/by_handle".encode(), 0x400,
                ),
                write(f"{work}/by_handle"),
            ),
        ),
        "fs_write:symbolic link out": lambda: os.symlink("/", f"{outside}/link_to_root"),
        "fs_write:directory": lambda: os.mkdir(f"{outside}/made"),
        "fs_write:socket": lambda: bind(f"{outside}/socket"),
        "fs_write:open a handle again": lambda: by_reading(
            None, f"{shown}/utime", lambda h: os.close(os.open(f"/proc/self/fd/{h}", os.O_WRONLY))
        ),
        "fs_write:truncate a handle": lambda: by_reading(
            None, f"{shown}/chown", lambda handle: os.truncate(f"/proc/self/fd/{handle}", 0)
        ),
        "fs_write:by a program in memory": lambda: run_from_memory(f"{outside}/from_memory"),
        "signals:memory score of another": lambda: put(
            f"/proc/{given['victim']}/oom_score_adj", "500"
        ),
    }  # fmt: skip


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


def by_number(path, flags):
    """Opened by the number that the file system gives it, not by a name."""
    handle = bytearray(struct.pack("=Ii128s", 128, 0, b""))
    buffer = (ctypes.c_char * len(handle)).from_buffer(handle)
    mount = ctypes.c_int()
    syscall(303, HERE, path.encode(), buffer, ctypes.byref(mount), 0)
    top = os.open(".", os.O_RDONLY)
    try:
        return syscall(304, top, buffer, flags)
    finally:
        os.close(top)


def bind(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)


def run_from_memory(target):
    handle = os.memfd_create("shell", 0)
    with open("/bin/sh", "rb") as shell:
        os.write(handle, shell.read())
    child = os.fork()
    if child == 0:
        os.execve(handle, ["sh", "-c", f"echo x > {target}"], {})
    _, status = os.waitpid(child, 0)
    os.close(handle)
    if status:
        raise OSError(errno.EACCES, "the program could not write")


def shared_memory(given):
    shared = given["shared"]
    return {
        "fs_read:names of shared memory": lambda: (
            os.path.basename(shared) in os.listdir("/dev/shm")
        ),
        "fs_write:mode of shared memory": lambda: os.chmod(shared, 0o606),
        "fs_write:rename shared memory": lambda: (
            os.rename(shared, f"{shared}.moved"),
            os.rename(f"{shared}.moved", shared),
        ),
    }


def reads(given):
    outside, victim = given["outside"], given["victim"]
    return {
        "fs_read:attributes": lambda: os.getxattr(f"{outside}/setxattr", "user.there"),
        "fs_read:names of attributes": lambda: os.listxattr(f"{outside}/setxattr"),
        "fs_read:events of a folder": lambda: watch(outside),
        "fs_read:all events of a mount": lambda: os.close(syscall(300, 0, os.O_RDONLY)),
        "fs_read:root of another": lambda: read(f"/proc/{victim}/root{outside}/secret"),
        "fs_read:directory of another": lambda: os.listdir(f"/proc/{victim}/cwd"),
        "proc_view:open files of another": lambda: os.listdir(f"/proc/{victim}/fd"),
        "fs_read:memory of another": lambda: os.close(os.open(f"/proc/{victim}/mem", os.O_RDONLY)),
        "fs_read:memory of the machine": lambda: os.close(os.open("/dev/mem", os.O_RDONLY)),
        "fs_read:messages of the kernel": lambda: syscall(103, 10, 0, 0),
        "fs_read:another's auxiliary values": lambda: read(f"/proc/{victim}/auxv") != "",
        "fs_read:by a number for a file": lambda: os.close(by_number(f"{outside}/secret", 0)),
    }


def watch(folder):
    """Whether a change in the folder is told; the change is one of its times, by reading it."""
    handle = syscall(294, os.O_NONBLOCK)
    try:
        syscall(254, handle, folder.encode(), 0xFFF)
    finally:
        os.close(handle)


def mounts(given):
    outside, work = given["outside"].encode(), given["workspace"].encode()
    return {
        "userns:bind mount": lambda: (
            libc("mount", outside, work, None, 0x1000, None),
            libc("umount2", work, 2),
        ),
        "userns:open_tree": lambda: os.close(syscall(428, HERE, outside, 1)),
        "userns:read by open_tree": lambda: read_tree(given["outside"]),
        "userns:fsopen": lambda: os.close(syscall(430, b"tmpfs", 0)),
        "userns:chroot": lambda: by_child(lambda: os.chroot("/")),
        "userns:join the network of another": lambda: join(f"/proc/{given['victim']}/ns/net"),
        "userns:join a process": lambda: by_child(
            lambda: libc("setns", os.pidfd_open(given["victim"]), 0x40000000)
        ),
        "userns:new network": lambda: by_child(lambda: libc("unshare", 0x40000000)),
        "userns:new mounts": lambda: by_child(lambda: libc("unshare", 0x20000)),
        "userns:pivot_root": lambda: by_child(
            lambda: (libc("unshare", 0x20000), syscall(155, work, work))
        ),
    }


def read_tree(folder):
    handle = syscall(428, HERE, folder.encode(), 0)
    try:
        os.close(os.open("secret", os.O_RDONLY, dir_fd=handle))
    finally:
        os.close(handle)


def join(path):
    handle = os.open(path, os.O_RDONLY)
    by_child(lambda: libc("setns", handle, 0))


def by_child(attack):
    """Tried in a child, so that what changes is gone with it."""
    child = os.fork()
    if child == 0:
        try:
            attack()
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        raise OSError(os.waitstatus_to_exitcode(status), "in the child")


def processes(given):
    victim = given["victim"]
    local = struct.pack("=QQ", ctypes.addressof(ctypes.create_string_buffer(8)), 4)
    return {
        "ptrace:attach": lambda: (
            libc("ptrace", 16, victim, 0, 0),
            libc("ptrace", 17, victim, 0, 0),
        ),
        "ptrace:process_vm_writev": lambda: syscall(
            311, victim, local, 1, struct.pack("=QQ", 4096, 4), 1, 0
        ),
        "ptrace:write memory": lambda: os.close(os.open(f"/proc/{victim}/mem", os.O_RDWR)),
        "ptrace:process_madvise": lambda: syscall(
            440, os.pidfd_open(victim), struct.pack("=QQ", 4096, 4096), 1, 20, 0
        ),
        "ptrace:kcmp": lambda: syscall(312, os.getpid(), victim, 0, 0, 0),
        "ptrace:move_pages": lambda: syscall(279, victim, 0, None, None, None, 0),
        "signals:by a handle": lambda: syscall(424, os.pidfd_open(victim), 0, None, 0),
        "signals:to a thread": lambda: syscall(234, victim, victim, 0),
        "signals:to a group": lambda: os.killpg(os.getpgid(victim), 0),
        "signals:with a value": lambda: syscall(129, victim, 0, struct.pack("=3i116x", 0, 0, -1)),
        "signals:processors": lambda: os.sched_setaffinity(victim, os.sched_getaffinity(0)),
        "signals:scheduling": lambda: os.sched_setscheduler(
            victim, os.SCHED_BATCH, os.sched_param(0)
        ),
        "signals:disk priority": lambda: syscall(251, 1, victim, (2 << 13) | 7),
    }


def signal_by_pipe(victim):
    """Lets the kernel end the victim when a pipe can be read."""
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, victim)
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    with open(f"/proc/{victim}/stat", "rb") as status:
        os.write(writer, b"x")
        for _ in range(50):
            status.seek(0)
            # What has ended is a zombie until its parent asks for it.
            if b") Z " in status.read():
                return True
            select.select([], [], [], 0.02)
    return False


def kernel(given):
    del given
    return {
        "kernel:userfaultfd": lambda: os.close(syscall(323, os.O_CLOEXEC)),
        "kernel:bpf": lambda: syscall(321, 0, struct.pack("=5I44x", 1, 4, 4, 1, 0), 64),
        "kernel:perf_event_open": lambda: os.close(
            syscall(298, struct.pack("=IIQ112x", 1, 128, 0), 0, -1, -1, 0)
        ),
        "kernel:keyctl": lambda: syscall(250, 0, -4, 0),
        "kernel:request_key": lambda: syscall(249, b"user", b"handrail", None, 0),
        "kernel:io_uring_register": lambda: syscall(427, -1, 9, None, 0),
        "kernel:load a module": lambda: syscall(175, b"", 0, b""),
        "kernel:unload a module": lambda: syscall(176, b"handrail_none", 0o4000),
        "kernel:accounting": lambda: syscall(163, None),
        "kernel:name of the machine": lambda: libc(
            "sethostname", os.uname().nodename.encode(), len(os.uname().nodename)
        ),
        "kernel:ports of the processor": lambda: by_child(lambda: syscall(173, 0x80, 1, 1)),
        "kernel:type into a terminal": type_into_terminal,
        "kernel:paste into a console": lambda: on_terminal(
            lambda handle: fcntl.ioctl(handle, TIOCLINUX, b"\x03")
        ),
    }


def type_into_terminal():
    return on_terminal(lambda handle: fcntl.ioctl(handle, termios.TIOCSTI, b"x"))


def on_terminal(attack):
    ours, theirs = pty.openpty()
    try:
        attack(theirs)
    finally:
        os.close(ours)
        os.close(theirs)


def sockets(given):
    here = ("127.0.0.1", given["tcp"])
    kinds = {
        "packet": (socket.AF_PACKET, socket.SOCK_RAW, 0),
        "raw": (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        "sctp": (socket.AF_INET, socket.SOCK_STREAM, 132),
        "udplite": (socket.AF_INET, socket.SOCK_DGRAM, 136),
        "bluetooth": (31, socket.SOCK_RAW, 1),
        "tipc": (30, socket.SOCK_SEQPACKET, 0),
        "rds": (21, socket.SOCK_SEQPACKET, 0),
        "key": (15, socket.SOCK_RAW, 2),
        "xdp": (44, socket.SOCK_RAW, 0),
        "can": (29, socket.SOCK_RAW, 1),
        "netlink firewall": (socket.AF_NETLINK, socket.SOCK_RAW, 12),
        "netlink audit": (socket.AF_NETLINK, socket.SOCK_RAW, 9),
        "netlink encryption": (socket.AF_NETLINK, socket.SOCK_RAW, 6),
        "netlink connector": (socket.AF_NETLINK, socket.SOCK_RAW, 11),
    }
    return {
        **{
            f"sockets:{name}": lambda kind=kind: socket.socket(*kind).close()
            for name, kind in kinds.items()
        },
        "tcp:by the newer address": lambda: attacks.connect(
            socket.AF_INET6, 0, ("::ffff:127.0.0.1", given["tcp"])
        ),
        "tcp:with the first packet": lambda: first_packet(here),
        "tcp:any address": lambda: attacks.connect(socket.AF_INET, 0, ("0.0.0.0", given["tcp"])),
        "udp:without a connection": lambda: echoed(("127.0.0.1", given["udp"])),
        "udp:by the newer address": lambda: echoed(
            ("::ffff:127.0.0.1", given["udp"]), socket.AF_INET6
        ),
        "unix_path:message": lambda: message_to(given["datagram"]),
        "unix_path:several messages": lambda: messages_to(given["datagram"]),
        "unix_path:by a link": lambda: (
            os.symlink(given["stream"], "stream_link"),
            attacks.connect(socket.AF_UNIX, 0, "stream_link"),
        ),
        "unix_abstract:datagram": lambda: send(
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), "\0" + given["abstract"]
        ),
    }


def first_packet(address):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        client.sendto(b"x", FAST_OPEN, address)


def echoed(address, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", address)
        return bool(select.select([client], [], [], 1)[0]) and client.recv(1) == b"y"


def message_to(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendmsg([b"x"], [], 0, path)


def messages_to(path):
    name = struct.pack("=H", socket.AF_UNIX) + path.encode() + b"\0"
    held = [ctypes.create_string_buffer(name, len(name)), ctypes.create_string_buffer(b"x", 1)]
    vector = ctypes.create_string_buffer(struct.pack("=QQ", ctypes.addressof(held[1]), 1), 16)
    header = struct.pack(
        "=QI4xQQQQi4xI4x",
        ctypes.addressof(held[0]),
        len(name),
        ctypes.addressof(vector),
        1,
        0,
        0,
        0,
        0,
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        syscall(307, client.fileno(), ctypes.create_string_buffer(header, 64), 1, 0)


def ipc(given):
    name = given["named queue"].encode()
    return {
        "fs_write:settings of shared memory": lambda: syscall(
            31, given["memory"], 1, ctypes.create_string_buffer(112)
        ),
        "fs_write:settings of a queue": lambda: libc(
            "msgctl", given["queue"], 2, ctypes.create_string_buffer(120)
        ),
        "fs_write:open a POSIX queue": lambda: os.close(syscall(240, name, os.O_RDWR, 0, None)),
        "fs_write:remove a queue": lambda: libc("msgctl", given["queue"], 0, None),
        "fs_write:remove a semaphore": lambda: libc("semctl", given["semaphore"], 0, 0),
    }


if __name__ == "__main__":
    json.dump(main(json.loads(sys.argv[1])), sys.stdout)
