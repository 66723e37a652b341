"""Records of jobs on disk: ids, states, room for new ones, and the output in segments."""

import os
import time

import pytest

from handrail.core.ports.processes import Connection, Job, JobState
from handrail.host.processes.procfs import ProcessIdentity
from handrail.host.supervisor import job_records
from handrail.host.supervisor.job_records import (
    KEPT_ENDED,
    SEGMENT_BYTES,
    JobOutputWriter,
    JobRecord,
    claim_job_id,
    read_all_records,
    read_output,
    read_record,
    write_record,
)

pytestmark = pytest.mark.usefixtures("no_open_files")

HERE = ProcessIdentity.of(os.getpid())
GONE = ProcessIdentity(HERE.pid, HERE.start + 1, HERE.machine)


def record(number="1", state=JobState.RUNNING, program=HERE, runner=HERE, **more):
    job = Job(number, "s", "c", "sleep 1", "waits", 1.5, state, 7, **more)
    return JobRecord(job, program, runner)


def keep(directory, one):
    place = directory / one.job.id
    place.mkdir(parents=True, exist_ok=True)
    write_record(place, one)


def test_ids_are_counted_from_one(tmp_path):
    home = tmp_path / "jobs"

    assert claim_job_id(home) == ("1", home / "1")
    assert claim_job_id(home) == ("2", home / "2")
    (home / "7").mkdir()
    (home / "09").mkdir()
    (home / "other").mkdir()
    assert claim_job_id(home)[0] == "8"
    assert (home / "8").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "one",
    [
        record(),
        record(state=JobState.EXITED, exit_code=3, ended_at=2.5),
        record(connections=(Connection("a.example", 443), Connection("b", 1, "no")), kept=True),
    ],
)
def test_a_record_is_read_back(tmp_path, one):
    keep(tmp_path, one)

    assert read_record(tmp_path, "1") == one
    assert read_all_records(tmp_path) == [one]
    assert [path.name for path in (tmp_path / "1").iterdir()] == ["job.json"]
    assert (tmp_path / "1" / "job.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", ["0", "01", "", "../1", "1234567890", "x", "2"])
def test_another_number_has_no_record(tmp_path, number):
    keep(tmp_path, record())

    assert read_record(tmp_path, number) is None


@pytest.mark.parametrize(
    ("program", "runner", "state"),
    [
        (HERE, HERE, JobState.RUNNING),
        (GONE, HERE, JobState.RUNNING),
        (HERE, GONE, JobState.RUNNING),
        (GONE, GONE, JobState.LOST),
    ],
)
def test_a_job_without_any_process_is_lost(tmp_path, program, runner, state):
    keep(tmp_path, record(program=program, runner=runner))

    job = read_record(tmp_path, "1").job

    assert job.state is state
    assert job.pid == (None if state is JobState.LOST else 7)


def test_a_job_that_ended_stays_ended(tmp_path):
    keep(tmp_path, record(state=JobState.EXITED, program=GONE, runner=GONE))

    assert read_record(tmp_path, "1").job.state is JobState.EXITED


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"job": 1}', '{"job": {"state": "new"}}'])
def test_a_record_of_another_version_is_none(tmp_path, text):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "job.json").write_text(text)

    assert read_record(tmp_path, "1") is None
    assert read_all_records(tmp_path) == []


def test_records_are_listed_by_number(tmp_path):
    for number in ("10", "9", "2"):
        keep(tmp_path, record(number))

    assert [one.job.id for one in read_all_records(tmp_path)] == ["2", "9", "10"]
    assert read_all_records(tmp_path / "none") == []


def test_old_jobs_make_room_for_new_ones(tmp_path):
    keep(tmp_path, record("1"))
    for number in range(2, KEPT_ENDED + 4):
        keep(tmp_path, record(str(number), state=JobState.EXITED))

    claim_job_id(tmp_path)

    left = sorted(int(path.name) for path in tmp_path.iterdir())
    assert left == [1, *range(4, KEPT_ENDED + 5)]


def test_an_id_that_a_crash_left_is_removed_after_a_while(tmp_path):
    for name, age in (("1", 120), ("2", 10)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age, time.time() - age))

    assert claim_job_id(tmp_path)[0] == "3"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3"]


@pytest.mark.parametrize(
    ("offset", "limit", "expected"),
    [
        (0, 4, (b"abcd", 4, 0)),
        (0, 99, (b"abcdefgh", 8, 0)),
        (-5, 2, (b"ab", 2, 0)),
        (3, 3, (b"def", 6, 0)),
        (8, 5, (b"", 8, 0)),
        (20, 5, (b"", 20, 0)),
        (0, 0, (b"", 0, 0)),
    ],
)
def test_output_is_read_from_an_offset(tmp_path, offset, limit, expected):
    writer = JobOutputWriter(tmp_path)
    writer.take(memoryview(b"abcd"))
    writer.take(memoryview(b"efgh"))
    writer.close()
    writer.close()
    (tmp_path / "output.x").write_bytes(b"no segment")
    (tmp_path / "3").write_bytes(b"no segment")

    assert read_output(tmp_path, offset, limit) == expected


def test_what_is_between_kept_segments_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(job_records, "SEGMENT_BYTES", 4)
    monkeypatch.setattr(job_records, "LAST_SEGMENTS", 2)
    writer = JobOutputWriter(tmp_path)
    for at in range(0, 20, 5):
        writer.take(memoryview(b"abcdefghijklmnopqrst"[at : at + 5]))
    writer.close()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["output.0", "output.3", "output.4"]
    assert read_output(tmp_path, 0, 99) == (b"abcd", 4, 0)
    assert read_output(tmp_path, 4, 99) == (b"mnopqrst", 20, 8)
    assert read_output(tmp_path, 13, 3) == (b"nop", 16, 0)


def test_after_a_disk_error_nothing_more_is_written(tmp_path, monkeypatch):
    writer = JobOutputWriter(tmp_path)
    writer.take(memoryview(b"ab"))

    def no_room(*_):
        raise OSError(28, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(job_records.os, "write", no_room)
        writer.take(memoryview(b"cd"))
    writer.take(memoryview(b"ef"))
    writer.close()

    assert read_output(tmp_path, 0, 99) == (b"ab", 2, 0)


def test_a_segment_holds_a_megabyte(tmp_path):
    writer = JobOutputWriter(tmp_path)
    writer.take(memoryview(b"x" * (SEGMENT_BYTES + 1)))
    writer.close()

    assert sorted(path.stat().st_size for path in tmp_path.iterdir()) == [1, SEGMENT_BYTES]
