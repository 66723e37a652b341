"""Processes as the kernel shows them in /proc, and how one is recognised again later.

A process number alone means nothing: it is reused. Number and start time together do.
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
    """What /proc tells about a process."""

    parent: int
    group: int
    start: int
    dead: bool


class ProcessIdentity(NamedTuple):
    """A process of this machine since it was last started, in this process table."""

    pid: int
    start: int
    machine: str

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The identity of a living process; None if there is none."""
        stat = process_stat(pid)
        return None if stat is None or stat.dead else cls(pid, stat.start, machine())

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote."""
        return cls(int(fields["pid"]), int(fields["start"]), str(fields["machine"]))

    def to_dict(self) -> dict[str, Any]:
        """For a record on disk."""
        return self._asdict()

    @property
    def alive(self) -> bool:
        """Whether this very process still runs, as far as can be seen from here."""
        return ProcessIdentity.of(self.pid) == self


def process_stat(pid: int) -> ProcessStat | None:
    """The process's stat now, None if there is no such process."""
    try:
        text = _content(f"/proc/{pid}/stat")
    except OSError:
        return None
    # The name may hold anything, brackets and blanks too; the last bracket ends it.
    fields = text[text.rfind(b")") + 2 :].decode("ascii").split()
    return ProcessStat(
        int(fields[_PARENT]), int(fields[_GROUP]), int(fields[_START]), fields[_STATE] in _DEAD
    )


def child_pids(pid: int) -> list[int]:
    """The numbers of a process's children; some may be missing while they come and go."""
    if not _lists_children():
        return _children_by_scan(pid)
    found: list[int] = []
    try:
        with os.scandir(f"/proc/{pid}/task") as tasks:
            for task in tasks:
                found += map(int, _content(f"{task.path}/children").split())
    except OSError:
        # It ended meanwhile; what it left has another parent by now.
        return found
    return found


def _content(path: str) -> bytes:
    # Without pathlib and buffers: a tree of a thousand processes is read in one go.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = b""
        # To the very end: a list is handed out in pieces that are shorter than asked for.
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
    """This start of the machine, and the process table in which numbers mean something."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
