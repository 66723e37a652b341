"""The record of a job on disk: written by its runner, read by every runtime of the workspace.

A record says "running" until the end is written. Whether the job really runs is read from the
kernel.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.core.ports.processes import Connection, Job, JobState
from handrail.host.processes.procfs import ProcessIdentity

SEGMENT_BYTES: Final = 1 << 20
# In addition to the first one.
LAST_SEGMENTS: Final = 15
_PREFIX: Final = "output."
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

# The number of ended jobs whose output is kept; older ones are removed when a new job starts.
KEPT_ENDED: Final = 20
_FILE: Final = "job.json"
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}")
# A claimed id that has no record after this time was left by a crash.
_UNUSED_S: Final = 60.0


class JobRecord(NamedTuple):
    """A job, its first process, and the runner that supervises it."""

    job: Job
    program: ProcessIdentity
    runner: ProcessIdentity

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {
            "job": self.job._asdict(),
            "program": self.program.to_dict(),
            "keeper": self.runner.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> JobRecord:
        """The record that `to_dict` returned."""
        job = {**fields["job"], "state": JobState(fields["job"]["state"])}
        job["connections"] = tuple(Connection(*one) for one in job.get("connections", ()))
        return cls(
            Job(**job),
            ProcessIdentity.from_dict(fields["program"]),
            ProcessIdentity.from_dict(fields["keeper"]),
        )


def claim_job_id(directory: Path) -> tuple[str, Path]:
    """Create the directory of the next free job id; atomic between processes."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _make_room(directory)
    number = max(map(int, _numbers(directory)), default=0) + 1
    while True:
        place = directory / str(number)
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
            continue
        return str(number), place


def write_record(place: Path, record: JobRecord) -> None:
    """Replace the record atomically."""
    temporary = place / f"{_FILE}.new"
    handle = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    with os.fdopen(handle, "w", encoding="ascii") as file:
        json.dump(record.to_dict(), file)
    temporary.rename(place / _FILE)


def read_record(directory: Path, number: str) -> JobRecord | None:
    """Return a job's record with its actual state; None if there is no such job."""
    if not _NUMBER.fullmatch(number):
        return None
    record = _read_stored(directory / number)
    if record is None or record.job.state is not JobState.RUNNING or record.runner.alive:
        return record
    # The runner may have written the final record between the two reads.
    record = _read_stored(directory / number)
    if record is None or record.job.state is not JobState.RUNNING or record.program.alive:
        return record
    return record._replace(job=record.job._replace(state=JobState.LOST, pid=None))


def read_all_records(directory: Path) -> list[JobRecord]:
    """All jobs, oldest first."""
    found = [read_record(directory, number) for number in sorted(_numbers(directory), key=int)]
    return [record for record in found if record is not None]


def _read_stored(place: Path) -> JobRecord | None:
    try:
        text = (place / _FILE).read_text("ascii")
    except OSError:
        return None
    try:
        return JobRecord.from_dict(json.loads(text))
    except (ValueError, KeyError, TypeError):
        # Not a record of this version.
        return None


def _make_room(directory: Path) -> None:
    import shutil

    ended = []
    for number in sorted(_numbers(directory), key=int):
        record = read_record(directory, number)
        if record is not None and record.job.state is not JobState.RUNNING:
            ended.append(number)
        elif record is None and _is_unused_id(directory / number):
            shutil.rmtree(directory / number, ignore_errors=True)
    for number in ended[:-KEPT_ENDED]:
        shutil.rmtree(directory / number, ignore_errors=True)


def _is_unused_id(place: Path) -> bool:
    with suppress(OSError):
        return time.time() - place.stat().st_mtime > _UNUSED_S
    return False


def _numbers(directory: Path) -> list[str]:
    try:
        return [entry.name for entry in directory.iterdir() if _NUMBER.fullmatch(entry.name)]
    except FileNotFoundError:
        return []


class JobOutputWriter:
    """Writes the output of a job, both streams in order of arrival."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._number = -1
        self._file = -1
        self._free = 0

    def take(self, data: memoryview) -> None:
        """Write more output. After a disk error nothing more is written."""
        try:
            while data:
                if not self._free:
                    self._next()
                written = os.write(self._file, data[: self._free])
                self._free -= written
                data = data[written:]
        except OSError:
            self.close()
            self._directory = Path(os.devnull)

    def close(self) -> None:
        """Close the current segment."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
        self._free = 0

    def _next(self) -> None:
        self.close()
        self._number += 1
        self._file = os.open(_path(self._directory, self._number), _CREATE, 0o600)
        self._free = SEGMENT_BYTES
        old = self._number - LAST_SEGMENTS
        if old > 0:
            _path(self._directory, old).unlink(missing_ok=True)


class JobOutputPart(NamedTuple):
    """A part of a job's output; see `JobOutput`."""

    data: bytes
    next_offset: int
    missing: int


def read_output(directory: Path, offset: int, limit: int) -> JobOutputPart:
    """Read at most `limit` bytes at `offset`, up to the next gap."""
    sizes = _sizes(directory)
    offset = max(offset, 0)
    start = _first_kept(sizes, offset)
    data = bytearray()
    position = start
    while len(data) < limit:
        number, inside = divmod(position, SEGMENT_BYTES)
        piece = _read_piece(_path(directory, number), inside, limit - len(data))
        if not piece:
            break
        data += piece
        position += len(piece)
    return JobOutputPart(bytes(data), position, start - offset)


def _first_kept(sizes: Mapping[int, int], offset: int) -> int:
    """Return the offset of the first kept byte from the offset on; the offset if there is none."""
    for number in sorted(sizes):
        start = number * SEGMENT_BYTES
        if start + sizes[number] > offset:
            return max(start, offset)
    # Past the end nothing is missing, because nothing was written yet.
    return offset


def _sizes(directory: Path) -> dict[int, int]:
    sizes = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            number = entry.name.removeprefix(_PREFIX)
            if entry.name != number and number.isdigit():
                try:
                    sizes[int(number)] = entry.stat(follow_symlinks=False).st_size
                except FileNotFoundError:
                    # The job dropped this segment during the scan.
                    continue
    return sizes


def _read_piece(path: Path, offset: int, limit: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(handle, limit, offset)
    finally:
        os.close(handle)


def _path(directory: Path, number: int) -> Path:
    return directory / f"{_PREFIX}{number}"
