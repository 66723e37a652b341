"""Runs inside a confinement: tries to get out in every way it knows, and prints what worked.

A program of its own, with Python's library and nothing else. `attacks.py GIVEN` where GIVEN
is JSON; prints JSON, attack → None if it got through, else the error.
"""

import ctypes
import json
import os
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
        **network(given),
        **protected(given),
        **as_root(given),
        **kernel(given),
    }
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
        "metadata:chmod": lambda: os.chmod(f"{outside}/chmod", 0o606),
        "metadata:utime": lambda: os.utime(f"{outside}/utime", (1, 1)),
        "metadata:setxattr": lambda: os.setxattr(f"{outside}/setxattr", "user.x", b"1"),
        "fs_read:a secret": lambda: read(f"{outside}/secret"),
        "fs_read:names": lambda: os.listdir(outside),
        "fs_read:home": lambda: read(f"{given['home']}/.ssh/id"),
        "fs_read:hidden": lambda: read(f"{given['second']}/hidden/secret"),
        "fs_read:hidden, after a move": lambda: (
            os.rename(f"{given['second']}/way", f"{given['second']}/moved"),
            read(f"{given['second']}/moved/to/hidden/secret"),
        ),
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
