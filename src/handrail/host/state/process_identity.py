"""Identifies processes across machines and reboots."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path


@cache
def this_process() -> str:
    """The identifier of this process, unique on all machines."""
    return process_name(os.getpid())


def process_name(pid: int) -> str:
    """Machine, boot, pid and start time: pids are reused."""
    return f"{socket.gethostname()}/{_boot()}/{pid}/{_started(pid)}"


def may_still_run(owner: str) -> bool:
    """Whether that process may be alive; always true for other machines."""
    host, _, rest = owner.partition("/")
    if host != socket.gethostname():
        return True
    boot, _, process = rest.partition("/")
    if boot != _boot():
        return False
    pid, _, started = process.partition("/")
    return pid.isdigit() and _started(int(pid)) == started != ""


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return "unknown"


def _started(pid: int) -> str:
    try:
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return _alive_without_proc(pid)
    # The command name may contain anything; the fields follow its last parenthesis.
    fields = status.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


def _alive_without_proc(pid: int) -> str:
    if Path("/proc/self").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return "alive"
    return "alive"
