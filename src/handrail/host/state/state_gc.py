"""Measures and removes what programs and crashes left in a workspace's state directory.

Nothing is removed that a running job could use.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.ports.processes import JobState
from handrail.host.supervisor import job_records

PARTS: Final = ("blobs", "oversized", "jobs", "quarantine", "shadow", "copies", "tmp")
# A content being written has such a name only briefly; an older one was left by a crash.
_UNFINISHED_S: Final = 3600


class GcReport(NamedTuple):
    """The number and the bytes of the removed files."""

    things: int = 0
    bytes: int = 0


def measure_state(directory: Path) -> dict[str, int]:
    """The bytes in each part of the state directory."""
    return {part: _size(directory / part) for part in PARTS}


def collect_garbage(directory: Path, before_ns: int, *, dry_run: bool) -> dict[str, GcReport]:
    """Remove, or only measure, everything older than a time: the quarantine, ended jobs, their
    temporary files, and unfinished contents of crashed writers.
    """
    found = {
        "quarantine": list(_older(directory / "quarantine", before_ns)),
        "jobs": list(_ended(directory / "jobs", before_ns)),
        "tmp": list(_temporary(directory, before_ns)),
    }
    swept = {}
    for part, paths in found.items():
        swept[part] = GcReport(len(paths), sum(_size(path) for path in paths))
        for path in paths if not dry_run else ():
            _remove(path)
    return swept


def remove_jobs(directory: Path, is_started_by: Callable[[str], bool]) -> None:
    """Remove the records and outputs of ended jobs that were started by calls with matching ids."""
    for record in job_records.read_all_records(directory / "jobs"):
        job = record.job
        if is_started_by(job.call_id) and job.state is not JobState.RUNNING:
            _remove(directory / "jobs" / job.id)


def list_running_calls(directory: Path) -> Iterator[str]:
    """Return the ids of the calls whose jobs are running."""
    for record in job_records.read_all_records(directory / "jobs"):
        if record.job.state is JobState.RUNNING:
            yield record.job.call_id


def _older(directory: Path, before_ns: int) -> Iterator[Path]:
    for path in _entries(directory):
        with suppress(OSError):
            if path.lstat().st_mtime_ns < before_ns:
                yield path


def _ended(directory: Path, before_ns: int) -> Iterator[Path]:
    for record in job_records.read_all_records(directory):
        job = record.job
        over = job.state is not JobState.RUNNING
        if over and (job.ended_at or job.started_at) * 1e9 < before_ns:
            yield directory / job.id


def _temporary(directory: Path, before_ns: int) -> Iterator[Path]:
    jobs = job_records.read_all_records(directory / "jobs")
    if not any(record.job.state is JobState.RUNNING for record in jobs):
        yield from _older(directory / "tmp", before_ns)
    for path in _entries(directory / "blobs"):
        with suppress(OSError):
            age_ns = before_ns - path.lstat().st_mtime_ns
            if path.name.startswith(".") and age_ns > _UNFINISHED_S * 1e9:
                yield path


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files below a directory; follows no link."""
    total = 0
    with suppress(OSError):
        info = path.lstat()
        total = info.st_size if stat.S_ISREG(info.st_mode) else 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += os.lstat(f"{folder}/{name}").st_size
    return total


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    # Programs leave directories without write permission (module caches, for example).
    for folder, _, _ in os.walk(path):
        with suppress(OSError):
            os.chmod(folder, stat.S_IRWXU)  # noqa: PTH101 - a name from the walk
    shutil.rmtree(path, ignore_errors=True)
