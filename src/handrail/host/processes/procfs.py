"""Reads processes in /proc, and identifies a process so that it can be recognised later.

Pids are reused, so a process is identified by its pid and start time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

# Positions after the name in /proc/PID/stat.
_STATE: Final = 0
_PARENT: Final = 1
_GROUP: Final = 2
_START: Final = 19
_CHUNK: Final = 4096
_DEAD: Final = "ZXx"


class ProcessStat(NamedTuple):
    """Fields of /proc/PID/stat."""

    parent: int
    group: int
    start: int
    dead: bool


class ProcessIdentity(NamedTuple):
    """A process, identified within this boot and pid namespace."""

    pid: int
    start: int
    machine: str

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Return the identity of a living process; None if there is none."""
        stat = process_stat(pid)
        return None if stat is None or stat.dead else cls(pid, stat.start, machine())

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the identity from the values that `to_dict` returned."""
        return cls(int(fields["pid"]), int(fields["start"]), str(fields["machine"]))

    def to_dict(self) -> dict[str, Any]:
        """The identity as JSON values."""
        return self._asdict()

    @property
    def alive(self) -> bool:
        """Whether this process still runs, as far as this pid namespace shows."""
        return ProcessIdentity.of(self.pid) == self


def process_stat(pid: int) -> ProcessStat | None:
    """Return the stat of a process; None if there is no such process."""
    try:
        text = _content(f"/proc/{pid}/stat")
    except OSError:
        return None
    # The name may contain anything; the last parenthesis ends it.
    fields = text[text.rfind(b")") + 2 :].decode("ascii").split()
    return ProcessStat(
        int(fields[_PARENT]), int(fields[_GROUP]), int(fields[_START]), fields[_STATE] in _DEAD
    )


def child_pids(pid: int) -> list[int]:
    """Return the pids of a process's children; some may be missing while they change."""
    if not _lists_children():
        return _children_by_scan(pid)
    found: list[int] = []
    try:
        with os.scandir(f"/proc/{pid}/task") as tasks:
            for task in tasks:
                found += map(int, _content(f"{task.path}/children").split())
    except OSError:
        # The process ended meanwhile; its children have another parent now.
        return found
    return found


def _content(path: str) -> bytes:
    # Without pathlib and buffering: a tree of a thousand processes is read at once.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = b""
        # Read until the end: the kernel returns the list in short pieces.
        while chunk := os.read(handle, _CHUNK):
            content += chunk
        return content
    finally:
        os.close(handle)


def _children_by_scan(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            stat = process_stat(int(entry.name))
            if stat is not None and stat.parent == pid:
                found.append(int(entry.name))
    return found


@cache
def _lists_children() -> bool:
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


@cache
def machine() -> str:
    """Return an identifier of this boot and pid namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
