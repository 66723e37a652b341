"""Which process began something, and whether it still runs."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path


@cache
def this_process() -> str:
    """A name for this process that no other one on any machine has."""
    return process_name(os.getpid())


def process_name(pid: int) -> str:
    """Machine, boot, process id and its start: an id alone is used again."""
    return f"{socket.gethostname()}/{_boot()}/{pid}/{_started(pid)}"


def may_still_run(owner: str) -> bool:
    """Whether that process may be alive; on another machine nobody here can know."""
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
    # The command's name may hold anything; the fields after its last parenthesis do not.
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
