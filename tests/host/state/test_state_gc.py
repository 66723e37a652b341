"""What commands leave in the state directory goes when it is old and no job needs it."""

import os
import time

import pytest

from handrail.core.ports.processes import Job, JobState
from handrail.host.processes.procfs import ProcessIdentity
from handrail.host.state.state_gc import PARTS, GcReport, collect_garbage, measure_state
from handrail.host.supervisor import job_records

DAY_NS = 86_400 * 10**9
OLD = time.time() - 10 * 86_400


@pytest.fixture
def home(tmp_path):
    for part, name, size in [
        ("quarantine", "old/1-.git/config", 10),
        ("quarantine", "new/1-.envrc", 20),
        ("tmp", "cache/file", 30),
        ("blobs", ".abc.1.2", 40),
        ("blobs", "abc", 50),
    ]:
        path = tmp_path / part / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    for name in ("quarantine/old", "tmp/cache", "blobs/.abc.1.2", "blobs/abc"):
        os.utime(tmp_path / name, (OLD, OLD))
    return tmp_path


def job(home, number, state, identity, started=OLD):
    place = home / "jobs" / number
    place.mkdir(parents=True)
    (place / "output").write_bytes(b"x" * 5)
    one = Job(number, "s", "c", "sleep 1", "", started, state, None)
    job_records.write_record(place, job_records.JobRecord(one, identity, identity))


def test_every_part_is_measured(home):
    found = measure_state(home)

    assert set(found) == set(PARTS)
    assert (found["quarantine"], found["tmp"], found["blobs"], found["shadow"]) == (30, 30, 90, 0)


def test_what_is_old_goes_and_a_dry_run_only_counts(home):
    job(home, "1", JobState.EXITED, ProcessIdentity(1, 0, "never"))
    job(home, "2", JobState.EXITED, ProcessIdentity(1, 0, "never"), started=time.time())
    before_ns = time.time_ns() - DAY_NS

    planned = collect_garbage(home, before_ns, dry_run=True)
    there = (home / "quarantine/old").exists()
    done = collect_garbage(home, before_ns, dry_run=False)

    assert planned == done
    assert there
    assert done["quarantine"] == GcReport(1, 10)
    assert done["jobs"].things == 1
    assert done["tmp"] == GcReport(2, 70)
    assert sorted(path.name for path in (home / "quarantine").iterdir()) == ["new"]
    assert [path.name for path in (home / "jobs").iterdir()] == ["2"]
    assert [path.name for path in (home / "blobs").iterdir()] == ["abc"]


def test_nothing_is_taken_from_a_running_job(home):
    job(home, "1", JobState.RUNNING, ProcessIdentity.of(os.getpid()))

    done = collect_garbage(home, time.time_ns() - DAY_NS, dry_run=False)

    assert done["jobs"] == GcReport()
    assert done["tmp"] == GcReport(1, 40)
    assert (home / "tmp/cache/file").exists()
