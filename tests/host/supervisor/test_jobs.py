"""Background jobs: numbered, listened to, ended, and found again by whoever comes later."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from tests.support.waiting import wait_exit

from handrail.core.ports.processes import Job, JobState
from handrail.core.problems import ProblemRaised
from handrail.host.processes.procfs import process_stat

CLAIM = """
import sys
from pathlib import Path
from handrail.host.supervisor import job_records
print(*(job_records.claim_job_id(Path(sys.argv[1]))[0] for _ in range(20)))
"""


@pytest.mark.feature("Z01", "Z02", "Z03")
async def test_a_job_runs_in_the_background_and_its_output_is_kept(programs, processes):
    job = await processes.start(
        programs.launch("echo one; until [ -e go ]; do sleep 0.01; done; echo two >&2; exit 3"),
        programs.request(),
    )
    running = await processes.output(job.id, 0, 0, 1000)
    (programs.folder / "go").touch()
    ended = await processes.output(job.id, 0, 20, 1000)

    assert job == Job(
        "1", "session", "call", "the command", "what it does", job.started_at, JobState.RUNNING,
        job.pid,
    )  # fmt: skip
    assert (running.job, running.data in (b"", b"one\n")) == (job, True)
    assert (ended.data, ended.next_offset, ended.missing) == (b"one\ntwo\n", 8, 0)
    assert ended.job == job._replace(
        state=JobState.EXITED, pid=None, exit_code=3, ended_at=ended.job.ended_at
    )
    assert await processes.jobs() == [ended.job]


async def test_output_goes_on_where_the_last_look_ended(programs, processes):
    job = await processes.start(programs.launch("seq 1000"), programs.request())
    await processes.output(job.id, 0, 20, 0)

    text, offset = b"", 0
    while part := await processes.output(job.id, offset, 0, 333):
        text += part.data
        offset = part.next_offset
        if not part.data:
            break

    assert text == b"".join(b"%d\n" % n for n in range(1, 1001))
    assert (await processes.output(job.id, 10**9, 0, 10)).data == b""


async def test_waiting_for_a_job_has_an_end(programs, processes):
    job = await processes.start(programs.launch("sleep 600"), programs.request())

    with anyio.fail_after(20):
        seen = await processes.output(job.id, 0, 0.05, 100)

    assert (seen.job.state, seen.data) == (JobState.RUNNING, b"")


@pytest.mark.feature("Z04", "E52")
async def test_killing_a_job_ends_all_of_it(programs, processes):
    job = await processes.start(
        programs.launch("trap '' TERM; setsid sleep 600 & echo up; sleep 601; sleep 602"),
        programs.request(),
    )

    killed = await processes.kill(job.id)

    assert killed.state is JobState.KILLED
    assert programs.alive() == []
    with pytest.raises(ProblemRaised, match="already ended: killed") as caught:
        await processes.kill(job.id)
    assert caught.value.problem.code == "conflict"


@pytest.mark.parametrize("number", ["2", "0", "-1", "01", "1/../1", "..", "", "1\n", "x" * 5000])
async def test_a_number_that_is_no_jobs_is_not_found(programs, processes, number):
    await processes.start(programs.launch("true"), programs.request())

    for attempt in (processes.kill(number), processes.output(number, 0, 0, 1)):
        with pytest.raises(ProblemRaised) as caught:
            await attempt
        assert caught.value.problem.code == "not_found"
        assert caught.value.problem.hint == "jobs: 1"


async def test_a_job_may_have_a_deadline(programs, processes):
    job = await processes.start(programs.launch("sleep 600", timeout_s=0.2), programs.request())

    ended = await processes.output(job.id, 0, 20, 100)

    assert ended.job.state is JobState.TIMED_OUT
    assert programs.alive() == []


async def test_a_job_that_cannot_start_leaves_no_number(programs, processes):
    with pytest.raises(ProblemRaised, match="could not be started: No such file"):
        await processes.start(programs.launch(("/no/such/program",)), programs.request())

    assert await processes.jobs() == []
    assert (await processes.start(programs.launch("true"), programs.request())).id == "1"


async def test_records_are_private(programs, processes):
    job = await processes.start(programs.launch("echo secret"), programs.request())
    await processes.output(job.id, 0, 20, 100)

    place = programs.state / "jobs" / job.id
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (place, *place.iterdir())}
    assert modes == {"1": 0o700, "job.json": 0o600, "output.0": 0o600}


async def test_a_chatty_job_does_not_fill_the_disk(programs, processes):
    job = await processes.start(
        programs.launch("head -c 60000000 /dev/zero; echo the-end"), programs.request()
    )
    await processes.output(job.id, 0, 60, 0)

    place = programs.state / "jobs" / job.id
    size = sum(path.stat().st_size for path in place.glob("output.*"))
    middle = await processes.output(job.id, 2_000_000, 0, 100)
    end = await processes.output(job.id, 60_000_000, 0, 100)
    assert size <= 16 << 20
    assert middle.missing > 40_000_000
    assert middle.next_offset == 2_000_000 + middle.missing + 100
    assert (end.data, end.missing) == (b"the-end\n", 0)


async def test_jobs_end_with_the_runtime(programs):
    processes = programs.open()
    await processes.start(programs.launch("trap '' TERM; sleep 600; sleep 601"), programs.request())

    await processes.aclose()

    assert programs.alive() == []
    assert [job.state for job in await programs.open().jobs()] == [JobState.KILLED]


async def test_without_a_directory_nothing_is_kept(programs):
    processes = programs.open(directory=None, spill=None)
    job = await processes.start(programs.launch("pwd; sleep 600"), programs.request(keep=True))
    ended = await processes.run(programs.launch("seq 100000"))
    scratch = Path(ended.stdout.saved).parent
    assert (scratch / "jobs" / "1").is_dir()

    await processes.aclose()

    assert not job.kept
    assert programs.alive() == []
    assert not scratch.exists()


async def test_a_kept_job_goes_on_and_is_found_and_killed_by_another(programs, start_runtime):
    runtime = await start_runtime("keep:echo hello; sleep 600", lines=1)
    await anyio.to_thread.run_sync(runtime.wait)
    other = programs.open()

    [job] = await other.jobs()
    await programs.until((programs.state / "jobs/1/output.0").exists)
    heard = await other.output(job.id, 0, 0, 100)
    killed = await other.kill(job.id)

    assert (job.id, job.state, job.kept) == ("1", JobState.RUNNING, True)
    assert process_stat(job.pid) is None
    assert heard.data == b"hello\n"
    assert killed.state is JobState.KILLED
    assert programs.alive() == []
    assert programs.runners() == []


async def test_a_kept_job_survives_the_killing_of_its_runtime(programs, start_runtime):
    runtime = await start_runtime("keep:until [ -e go ]; do sleep 0.01; done; echo done; exit 4",
                                  "job:sleep 600", "run:echo up; sleep 601", lines=3)  # fmt: skip

    runtime.kill()
    wait_exit(runtime)
    other = programs.open()
    await programs.until(
        lambda: len(other._jobs.all()) == 2 and other._jobs.all()[1].state is JobState.KILLED
    )
    kept, ended = await other.jobs()
    (programs.state / "go").touch()
    last = await other.output("1", 0, 20, 100)

    assert (kept.state, ended.state) == (JobState.RUNNING, JobState.KILLED)
    assert (last.job.state, last.job.exit_code, last.data) == (JobState.EXITED, 4, b"done\n")
    await programs.until_dead()


async def test_output_waits_for_the_program_of_a_killed_runner(programs, processes):
    job = await processes.start(programs.launch("sleep 600"), programs.request())
    [runner] = programs.runners()

    os.kill(runner, signal.SIGKILL)
    seen = await processes.output(job.id, 0, 20, 100)

    assert (seen.job.state, seen.job.pid) == (JobState.LOST, None)


async def test_a_job_whose_runner_was_killed_is_lost(programs, processes):
    job = await processes.start(programs.launch("sleep 600"), programs.request())
    [runner] = programs.runners()

    os.kill(runner, signal.SIGKILL)
    await programs.until_dead()
    seen = await processes.output(job.id, 0, 20, 100)

    assert (seen.job.state, seen.job.pid, seen.job.exit_code) == (JobState.LOST, None, None)
    with pytest.raises(ProblemRaised, match="already ended: lost"):
        await processes.kill(job.id)


async def test_a_number_of_a_process_that_is_another_now_is_not_trusted(programs, processes):
    """The record of a crash names this very test as runner, but since another time."""
    job = await processes.start(programs.launch("true"), programs.request())
    await processes.output(job.id, 0, 20, 0)
    path = programs.state / "jobs" / job.id / "job.json"
    record = json.loads(path.read_text())
    record["job"]["state"] = "running"
    for name in ("keeper", "program"):
        record[name].update(pid=os.getpid(), start=1)
    path.write_text(json.dumps(record))

    [seen] = await processes.jobs()

    assert seen.state is JobState.LOST


@pytest.mark.parametrize("text", ["", "{", "[]", '{"job": {}}', '{"job": 1}', "\x00"])
async def test_a_record_that_cannot_be_read_is_no_job(programs, processes, text):
    place = programs.state / "jobs" / "7"
    place.mkdir(parents=True)
    (place / "job.json").write_text(text)

    assert await processes.jobs() == []
    assert (await processes.start(programs.launch("true"), programs.request())).id == "8"


async def test_numbers_are_claimed_once_by_two_processes(programs):
    claimers = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM, str(programs.folder / "jobs")], stdout=subprocess.PIPE
        )
        for _ in range(3)
    ]

    numbers = [int(n) for one in claimers for n in one.communicate(timeout=60)[0].split()]

    assert sorted(numbers) == list(range(1, 61))


async def test_old_jobs_make_room(programs, processes):
    for _ in range(24):
        job = await processes.start(programs.launch("true"), programs.request())
        await processes.output(job.id, 0, 20, 0)

    numbers = [int(job.id) for job in await processes.jobs()]

    assert numbers == list(range(4, 25))


async def test_a_cancelled_start_leaves_no_job(programs, processes):
    with anyio.CancelScope() as scope:
        scope.cancel()
        await processes.start(programs.launch("sleep 600"), programs.request(keep=True))

    await programs.until_dead()
    assert await processes.jobs() == []


async def test_only_a_kept_job_that_runs_is_waited_for_no_longer(programs, processes):
    kept = [processes._jobs.kept]
    await processes.start(programs.launch("sleep 600"), programs.request())
    kept.append(processes._jobs.kept)
    job = await processes.start(programs.launch("sleep 600"), programs.request(keep=True))
    kept += [processes._jobs.kept, programs.open()._jobs.kept]
    await processes.kill(job.id)

    assert [*kept, processes._jobs.kept] == [False, False, True, False, False]
