"""Runs inside a confinement: tries to get out in every way it knows, and prints what worked.

A program of its own, with Python's library and nothing else. `attacks.py GIVEN` where GIVEN
is JSON; prints JSON, attack → None if it got through, else the error.
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
MPTCP = 262
CLONE_NEWUSER = 0x10000000


def main(given):
    attacks = {
        **files(given),
        **metadata(given),
        **network(given),
        **protected(given),
        **as_root(given),
        **kernel(given),
        **ipc(given),
    }
    attacks["signals:limit"] = lambda: resource.prlimit(
        given["victim"], resource.RLIMIT_CPU, (100, 100)
    )
    attacks["signals:priority"] = lambda: os.setpriority(os.PRIO_PROCESS, given["victim"], 19)
    # A signal to the victim comes last but one: it is gone afterwards.
    attacks["signals:kill"] = lambda: os.kill(given["victim"], signal.SIGTERM)
    attacks["userns:unshare"] = lambda: libc("unshare", CLONE_NEWUSER)
    return {name: outcome(attack) for name, attack in attacks.items()}


def outcome(attack):
    try:
        result = attack()
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return "it did nothing" if result is False else None


def files(given):
    outside, work = given["outside"], given["workspace"]
    return {
        "fs_write:create": lambda: write(f"{outside}/created"),
        "fs_write:append": lambda: os.close(
            os.open(f"{outside}/append", os.O_WRONLY | os.O_APPEND)
        ),
        "fs_write:truncate": lambda: os.truncate(f"{outside}/truncate", 0),
        "fs_write:unlink": lambda: os.unlink(f"{outside}/unlink"),
        "fs_write:rename": lambda: os.rename(f"{outside}/rename", f"{outside}/renamed"),
        "fs_write:move in": lambda: os.rename(f"{outside}/move", f"{work}/moved"),
        "fs_write:hard link in": lambda: (
            os.link(f"{outside}/link", f"{work}/linked"),
            write(f"{work}/linked"),
        ),
        "fs_write:through a symlink": lambda: (
            os.symlink(f"{outside}/symlink", f"{work}/symlink"),
            write(f"{work}/symlink"),
        ),
        "fs_write:through /proc/self/root": lambda: write(f"/proc/self/root{outside}/by_root"),
        "fs_write:through /proc/PID/root": lambda: write(
            f"/proc/{given['victim']}/root{outside}/by_victim"
        ),
        "fs_write:through /proc/PID/cwd": lambda: write(f"/proc/{given['victim']}/cwd/by_cwd"),
        "fs_write:make a device": lambda: os.mkfifo(f"{outside}/fifo"),
        "metadata:shared memory": lambda: os.close(os.open(given["shared"], os.O_WRONLY)),
        "fs_read:a secret": lambda: read(f"{outside}/secret"),
        "fs_read:names": lambda: os.listdir(outside),
        "fs_read:home": lambda: read(f"{given['home']}/.ssh/id"),
        "fs_read:hidden": lambda: read(f"{given['second']}/hidden/secret"),
        "fs_read:hidden, after a move": lambda: (
            os.rename(f"{given['second']}/way", f"{given['second']}/moved"),
            read(f"{given['second']}/moved/to/hidden/secret"),
        ),
    }


def remove_xattr(file):
    try:
        os.removexattr(file, "user.there")
    except OSError as error:
        # Removed by an earlier attack: nothing would have stopped this one.
        if error.errno != errno.ENODATA:
            raise


CHANGES = {
    "chmod": lambda file: os.chmod(file, 0o606),
    "chown": lambda file: os.chown(file, -1, os.getegid()),
    "utime": lambda file: os.utime(file, (1, 1)),
    "setxattr": lambda file: os.setxattr(file, "user.x", b"1"),
    "removexattr": remove_xattr,
}
# Numbers that only x86-64 has, each with what follows the path.
OLD_CALLS = {"chmod": (90, 0o606), "chown": (92, -1, -1), "lchown": (94, -1, -1)}
OLD_CALLS |= {"utime": (132, 0), "utimes": (235, 0)}
HERE, EMPTY_PATH = -100, 0x1000
READ_FLAGS, WRITE_FLAGS = 0x80086601, 0x40086602


def metadata(given):
    """Each change of a file that is only seen, and of one that is not, by every way to name it."""
    attacks = {}
    for place in ("outside", "shown"):
        top = given[place]
        for call, change in CHANGES.items():
            file = f"{top}/{call}"
            attacks |= {
                f"metadata:{call} {place} by {way}": lambda way=way, file=file, change=change: WAYS[
                    way
                ](given, file, change)
                for way in WAYS
            }
        attacks |= {
            f"metadata:{call} {place} by number": lambda given=numbers, top=top: syscall(
                given[0], f"{top}/utime".encode(), *given[1:]
            )
            for call, numbers in OLD_CALLS.items()
            if os.uname().machine == "x86_64"
        }
        attacks |= newest(place, f"{top}/setxattr")
    return attacks


def newest(place, file):
    value = ctypes.create_string_buffer(b"1", 1)
    given = struct.pack("=QII", ctypes.addressof(value), 1, 0)
    return {
        f"metadata:fchmodat2 {place}": lambda: by_handle(
            file, lambda handle: syscall(452, handle, b"", 0o604, EMPTY_PATH)
        ),
        f"metadata:setxattrat {place}": lambda: by_handle(
            file,
            lambda handle: (value, syscall(463, handle, b"", EMPTY_PATH, b"user.y", given, 16)),
        ),
        f"metadata:removexattrat {place}": lambda: syscall(
            466, HERE, file.encode(), 0, b"user.there"
        ),
        f"metadata:file_setattr {place}": lambda: syscall(
            469, HERE, file.encode(), bytes(24), 24, 0
        ),
        f"metadata:flags {place}": lambda: by_reading(None, file, same_flags),
    }


def same_flags(handle):
    flags = bytearray(8)
    fcntl.ioctl(handle, READ_FLAGS, flags)
    fcntl.ioctl(handle, WRITE_FLAGS, bytes(flags))


def by_link(given, file, change):
    link = f"{given['workspace']}/link"
    os.symlink(file, link)
    try:
        change(link)
    finally:
        os.unlink(link)


def by_handle(file, change):
    handle = os.open(file, os.O_PATH)
    try:
        change(handle)
    finally:
        os.close(handle)


def by_reading(given, file, change):
    del given
    handle = os.open(file, os.O_RDONLY)
    try:
        change(handle)
    finally:
        os.close(handle)


def by_folder(given, file, change):
    del given
    folder, name = os.path.split(file)
    by_handle(folder, lambda handle: change(f"/proc/self/fd/{handle}/{name}"))


def by_directory(given, file, change):
    """From the directory of the process, upwards."""
    change(os.path.relpath(file, given["workspace"]))


WAYS = {
    "path": lambda given, file, change: change(file),
    "link": by_link,
    "handle": lambda given, file, change: by_handle(
        file, lambda handle: change(f"/proc/self/fd/{handle}")
    ),
    "read-only handle": by_reading,
    "folder": by_folder,
    "directory": by_directory,
}


def network(given):
    here = ("127.0.0.1", given["tcp"])
    return {
        "tcp:connect": lambda: connect(socket.AF_INET, 0, here),
        "mptcp:connect": lambda: connect(socket.AF_INET, MPTCP, here),
        "udp:heard": lambda: answered(("127.0.0.1", given["udp"])),
        "unix_path:stream": lambda: connect(socket.AF_UNIX, 0, given["stream"]),
        "unix_path:datagram": lambda: send(
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), given["datagram"]
        ),
        "unix_path:datagram of a pair": lambda: send(
            socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0], given["datagram"]
        ),
        "unix_path:raw socket of a pair": lambda: send(
            socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0], given["datagram"]
        ),
        "unix_abstract:stream": lambda: connect(socket.AF_UNIX, 0, "\0" + given["abstract"]),
        "sockets:vsock": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close(),
        "sockets:alg": lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET).close(),
        "sockets:netlink diag": lambda: socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW, 4
        ).close(),
    }


def protected(given):
    work = given["workspace"]
    return {
        "protected:write .git/config": lambda: write(f"{work}/.git/config"),
        "protected:write a hook": lambda: write(f"{work}/.git/hooks/pre-commit"),
        "protected:write .git/commondir": lambda: write(f"{work}/.git/commondir"),
        "protected:remount .git": lambda: (
            libc("mount", None, f"{work}/.git".encode(), None, 0x1020, None)
            or write(f"{work}/.git/remounted")
        ),
        "protected:unmount .git": lambda: libc("umount2", f"{work}/.git".encode(), 2),
        "protected:write a nested .git": lambda: write(f"{work}/sub/.git/config"),
        "protected:replace .venv/bin/ls": lambda: (
            write(f"{work}/.venv/bin/ls.new"),
            os.rename(f"{work}/.venv/bin/ls.new", f"{work}/.venv/bin/ls"),
        ),
        "protected:move .git away": lambda: (
            os.rename(f"{work}/.git", f"{work}/old.git"),
            os.mkdir(f"{work}/.git"),
            write(f"{work}/.git/config"),
        ),
    }


def as_root(given):
    del given
    return {
        "root:set the core handler": lambda: os.close(
            os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)
        ),
        "root:switch a processor off": lambda: os.close(
            os.open("/sys/devices/system/cpu/cpu1/online", os.O_WRONLY)
        ),
        "root:make a device": lambda: os.mknod("device", 0o20600, os.makedev(1, 3)),
        "root:change the owner": lambda: os.chown("mine", 1, 1),
        "root:read what only root may": lambda: read("/etc/shadow"),
    }


def kernel(given):
    victim = given["victim"]
    return {
        "proc_view:environment": lambda: given["mark"] in read(f"/proc/{victim}/environ"),
        "proc_view:list": lambda: given["mark"] in read(f"/proc/{victim}/cmdline"),
        "ptrace:seize": lambda: libc("ptrace", 0x4206, victim, 0, 0),
        "ptrace:memory": lambda: steal(victim),
        "ptrace:pidfd_getfd": lambda: syscall(438, os.pidfd_open(victim), 0, 0),
        "userns:clone": clone_newuser,
        "userns:clone3": clone3_newuser,
        "kernel:io_uring": lambda: syscall(425, 1, ctypes.create_string_buffer(120)),
        "kernel:keys": libc_keys,
        "kernel:set-user-id programs": lambda: "NoNewPrivs:\t0" in read("/proc/self/status"),
    }


def ipc(given):
    """Objects of the user that are reached by a number, without a key."""
    one_more, message = struct.pack("=Hhh", 0, 1, 0), struct.pack("=q8s", 1, b"x")
    return {
        "fs_write:attach shared memory": lambda: attach(given["memory"]),
        "fs_write:remove shared memory": lambda: libc("shmctl", given["memory"], 0, None),
        "fs_write:read a queue": lambda: libc(
            "msgrcv", given["queue"], ctypes.create_string_buffer(64), 32, 0, 0o4000
        ),
        "fs_write:write a queue": lambda: libc("msgsnd", given["queue"], message, 8, 0o4000),
        "fs_write:set a semaphore": lambda: libc("semctl", given["semaphore"], 0, 16, 5),
        "fs_write:add to a semaphore": lambda: libc("semop", given["semaphore"], one_more, 1),
        "fs_write:remove a POSIX queue": lambda: syscall(
            {"x86_64": 241, "aarch64": 181}[os.uname().machine], given["named queue"].encode()
        ),
    }


def attach(number):
    LIBC.shmat.restype = ctypes.c_void_p
    if LIBC.shmat(number, None, 0) == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def write(path):
    with open(path, "w") as file:
        file.write("marker")


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def connect(family, protocol, address):
    with socket.socket(family, socket.SOCK_STREAM, protocol) as client:
        client.settimeout(2)
        client.connect(address)


def answered(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(1)
        client.connect(address)
        client.send(b"x")
        return client.recv(1) == b"y"


def send(client, path):
    with client:
        client.sendto(b"x", path)


def libc(name, *arguments):
    if getattr(LIBC, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def syscall(number, *arguments):
    result = LIBC.syscall(
        ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)
    )
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def clone_newuser():
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    child = syscall(number, CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def clone3_newuser():
    arguments = struct.pack("=8Q", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    child = syscall(435, ctypes.create_string_buffer(arguments, 64), 64)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def libc_keys():
    number = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
    syscall(number, ctypes.c_char_p(b"user"), ctypes.c_char_p(b"handrail-test"), b"x", 1, -2)


def steal(victim):
    """The first bytes of what the victim's memory map names, by process_vm_readv."""
    start = int(read(f"/proc/{victim}/maps").split("-")[0], 16)
    buffer = ctypes.create_string_buffer(4)
    local = struct.pack("=QQ", ctypes.addressof(buffer), 4)
    remote = struct.pack("=QQ", start, 4)
    number = {"x86_64": 310, "aarch64": 270}[os.uname().machine]
    syscall(number, victim, local, 1, remote, 1, 0)
    return buffer.raw == b"\x7fELF"


if __name__ == "__main__":
    json.dump(main(json.loads(sys.argv[1])), sys.stdout)
