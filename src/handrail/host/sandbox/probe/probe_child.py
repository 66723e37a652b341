"""The probe program that runs inside the confinement; never imported.

Each attack returns whether it succeeded. It uses only the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

_MPTCP: Final = 262
_NEW_USER: Final = 0x10000000
_PTRACE_SEIZE: Final = 0x4206
_WAIT_S: Final = 0.5
_HERE: Final = -100
_EXCHANGE: Final = 2
_DETACH: Final = 2
_GET_FLAGS: Final = 0x80086601
_SET_FLAGS: Final = 0x40086602
_RACES: Final = 50


def main(given: dict[str, Any]) -> dict[str, bool]:
    """Run all attacks; return for each name whether it succeeded."""
    attempts = {
        **_controls(given),
        **_writing("shown", given),
        **_writing("outside", given),
        **_metadata("shown", given),
        **_metadata("outside", given),
        "meta_shared_memory": lambda: os.close(os.open(given["shared_memory"], os.O_WRONLY)),
        **_reading(given),
        **_hiding("shown", given),
        **_hiding("workspace", given),
        **_network(given),
        **_sockets(given),
        **_protected(given),
        **_processes(given),
    }
    return {name: _succeeds(attempt) for name, attempt in attempts.items()}


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        return attempt() is not False
    except OSError:
        return False


def _controls(given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """Check actions that must work: a program that can do nothing is broken, not confined."""
    return {
        "ok_workspace": lambda: _write(f"{given['workspace']}/new"),
        "ok_temporary": lambda: _write(f"{os.environ['TMPDIR']}/new"),
        "ok_shown": lambda: _read(f"{given['shown']}/file"),
        "ok_null": lambda: _write(os.devnull),
        "ok_beside": lambda: [_read(f"{given[at]}/way/beside") for at in ("shown", "workspace")],
        "ok_sockets": lambda: [Path(name).lstat() for name in ("stream", "datagram")],
    }


def _writing(where: str, given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    file = Path(given[where], "file")
    link = f"{given['workspace']}/{where}"
    return {
        f"write_create_{where}": lambda: _write(f"{file}.new"),
        f"write_open_{where}": lambda: os.close(os.open(file, os.O_WRONLY)),
        f"write_truncate_{where}": lambda: os.truncate(file, 0),
        f"write_link_{where}": lambda: _through_hard_link(file, f"{link}.hard"),
        f"write_symlink_{where}": lambda: _through_link(file, link),
        f"write_folder_{where}": lambda: file.with_name("folder").mkdir(),
        f"write_rename_{where}": lambda: file.rename(f"{file}.moved"),
        f"write_unlink_{where}": file.unlink,
    }


def _metadata(where: str, given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """Change each attribute of a file, by every way to name the file."""
    file = f"{given[where]}/attributes"
    attempts: dict[str, Callable[[], object]] = {
        f"meta_flags_{where}": lambda: _opened(file, os.O_RDONLY, _set_same_flags),
        f"meta_fchmodat2_{where}": lambda: _system_call(452, _HERE, file, 0o640, 0),
        f"meta_setxattrat_{where}": lambda: _set_attribute_at(file),
        f"meta_removexattrat_{where}": lambda: _system_call(466, _HERE, file, 0, "user.probe"),
        f"meta_file_setattr_{where}": lambda: _system_call(469, _HERE, file, bytes(24), 24, 0),
        f"meta_race_{where}": lambda: _race(file, f"{given['workspace']}/{where}.race"),
    }
    for name, change in _CHANGES.items():
        for way, named in _WAYS.items():
            link = f"{given['workspace']}/{where}.link"
            attempts[f"meta_{name}_{way}_{where}"] = partial(named, file, link, change)
    return attempts


_CHANGES: Final[dict[str, Callable[[Any], object]]] = {
    "mode": lambda file: os.chmod(file, 0o640),  # noqa: PTH101 - also by handle
    "owner": lambda file: os.chown(file, -1, os.getegid()),
    "times": lambda file: os.utime(file, (1, 1)),
    "attribute": lambda file: os.setxattr(file, "user.probe", b"1"),
}


def _opened(file: str, flags: int, change: Callable[[int], object]) -> None:
    handle = os.open(file, flags)
    try:
        change(handle)
    finally:
        os.close(handle)


def _by_link(file: str, link: str, change: Callable[[Any], object]) -> None:
    Path(link).symlink_to(file)
    try:
        change(link)
    finally:
        Path(link).unlink()


_WAYS: Final[dict[str, Callable[[str, str, Callable[[Any], object]], object]]] = {
    "path": lambda file, _, change: change(file),
    "link": _by_link,
    "handle": lambda file, _, change: _opened(
        file, os.O_PATH, lambda handle: change(f"/proc/self/fd/{handle}")
    ),
    "read_only": lambda file, _, change: _opened(file, os.O_RDONLY, change),
}


def _set_same_flags(handle: int) -> None:
    flags = bytearray(8)
    fcntl.ioctl(handle, _GET_FLAGS, flags)
    fcntl.ioctl(handle, _SET_FLAGS, bytes(flags))


def _set_attribute_at(file: str) -> None:
    value = ctypes.create_string_buffer(b"1", 1)
    given = struct.pack("=QII", ctypes.addressof(value), 1, 0)
    _system_call(463, _HERE, file, 0, "user.probe", given, len(given))


def _race(file: str, link: str) -> bool:
    """Change a file of the workspace while its name is made to lead to another file."""
    inside, other = Path(f"{link}.inside"), Path(f"{link}.other")
    inside.touch()
    Path(link).symlink_to(inside)
    other.symlink_to(file)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            while True:
                _exchange(Path(link), other)
        os._exit(0)
    try:
        for _ in range(_RACES):
            with contextlib.suppress(OSError):
                os.chmod(link, 0o604)  # noqa: PTH101 - often
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return os.stat(file).st_mode & 0o777 == 0o604  # noqa: PTH116 - likewise


def _reading(given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    return {
        "read_outside": lambda: _read(f"{given['outside']}/secret"),
        "read_hidden": lambda: _read(f"{given['shown']}/hidden/secret"),
        "read_names": lambda: list(Path(given["outside"]).iterdir()),
    }


def _hiding(where: str, given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """Attack denied files and directories, in a read-only and in a writable directory."""
    way, moved = Path(given[where], "way"), Path(given[where], "moved")
    file, beside = way / "withheld", way / "beside"
    aside = Path(given["workspace"], f"{where}.aside")
    return {
        f"hide_{where}_read": lambda: _shows_content(file),
        f"hide_{where}_folder": lambda: _shows_content(way / "closed" / "secret"),
        f"hide_{where}_root": lambda: _shows_content(Path(f"/proc/self/root{file}")),
        f"hide_{where}_link": lambda: _after(aside.hardlink_to, file, told=aside),
        f"hide_{where}_rename": lambda: _after(file.rename, aside, told=aside),
        f"hide_{where}_exchange": lambda: _after(_exchange, file, beside, told=beside),
        f"hide_{where}_unmount": lambda: _after(_unmount, file, told=file),
        f"hide_{where}_move": lambda: _after(way.rename, moved, told=moved / "withheld"),
    }


def _network(given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    here = ("127.0.0.1", given["tcp"])
    return {
        "tcp": lambda: _connect(socket.AF_INET, socket.SOCK_STREAM, 0, here),
        "mptcp": lambda: _connect(socket.AF_INET, socket.SOCK_STREAM, _MPTCP, here),
        # Sending always works; only the receiver knows whether the message arrived.
        "sent_udp": lambda: _send(("127.0.0.1", given["udp"])),
    }


def _sockets(given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    # Relative to the workspace, because socket addresses must be short.
    return {
        "unix_path": lambda: _connect(socket.AF_UNIX, socket.SOCK_STREAM, 0, "stream"),
        "unix_path_pair": lambda: _send_from_pair("datagram"),
        "unix_abstract": lambda: _connect(
            socket.AF_UNIX, socket.SOCK_STREAM, 0, "\0" + given["abstract_socket"]
        ),
    }


def _processes(given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    victim = given["victim"]
    return {
        "proc_environment": lambda: given["mark"] in _read(f"/proc/{victim}/environ"),
        "proc_seen": lambda: _sees(given["victim_argument"]),
        "ptrace": lambda: _call("ptrace", _PTRACE_SEIZE, victim, 0, 0),
        "signals": lambda: _kill(victim),
        # Last: a new user namespace changes the identity of this process.
        "userns": lambda: _call("unshare", _NEW_USER),
    }


def _protected(given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    git = f"{given['workspace']}/.git"
    return {
        "protected_write": lambda: _write(f"{git}/config"),
        "protected_move": lambda: Path(git).rename(f"{git}.moved"),
    }


def _write(path: str) -> None:
    with Path(path).open("w", encoding="ascii") as file:
        file.write("x")


def _read(path: str) -> str:
    return Path(path).read_text("utf-8", "replace")


def _shows_content(path: Path) -> bool:
    """Whether a denied file's content can be read: an opened file may be an empty replacement."""
    return path.read_text("utf-8", "replace") == "withheld"


def _after(act: Callable[..., object], *arguments: Path, told: Path) -> bool:
    act(*arguments)
    return _shows_content(told)


def _exchange(one: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_HERE, bytes(one), _HERE, bytes(other), _EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def _unmount(path: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(bytes(path), _DETACH) != 0:
        raise OSError(ctypes.get_errno(), "umount2")


def _through_hard_link(file: Path, link: str) -> None:
    Path(link).hardlink_to(file)
    _write(link)


def _through_link(file: Path, link: str) -> None:
    Path(link).symlink_to(file)
    os.close(os.open(link, os.O_WRONLY))


def _connect(family: int, kind: int, protocol: int, address: Any) -> None:
    with socket.socket(family, kind, protocol) as client:
        client.settimeout(_WAIT_S)
        client.connect(address)


def _send(address: Any) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", address)


def _send_from_pair(path: str) -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b"x", path)


def _sees(argument: str) -> bool:
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and argument in _read(f"{entry}/cmdline").split("\0"):
                return True
    return False


def _call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno() or errno.EPERM, name)


def _system_call(number: int, *arguments: int | str | bytes) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    given = [
        ctypes.c_long(one)
        if isinstance(one, int)
        else one.encode()
        if isinstance(one, str)
        else one
        for one in arguments
    ]
    if libc.syscall(ctypes.c_long(number), *given) < 0:
        raise OSError(ctypes.get_errno(), str(number))


def _kill(victim: int) -> None:
    # In a pid namespace the number may be this process.
    if victim == os.getpid():
        raise ProcessLookupError
    os.kill(victim, signal.SIGTERM)


if __name__ == "__main__":
    json.dump(main(json.loads(sys.argv[1])), sys.stdout)
