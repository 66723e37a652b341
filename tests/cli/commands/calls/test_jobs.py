"""`handrail jobs`: a job started by one command, looked at and ended by others."""

import json
import os
import subprocess

from tests.cli.conftest import PROGRAM


def jobs(handrail):
    return [json.loads(line) for line in handrail("--json", "jobs").out.splitlines()]


def start(command):
    # In a process of its own, as people call it: what it leaves running is nobody's child here.
    words = ["--mode", "sandboxed", "call", "run_command", f"command={command}", "background=true"]
    subprocess.run([PROGRAM, *words], check=True, capture_output=True)


def following(job):
    return subprocess.Popen(
        [PROGRAM, "jobs", "output", job["id"], "--follow"], stdout=subprocess.PIPE
    )


def test_a_job_outlives_the_call_that_started_it(handrail):
    start("echo up; sleep 60")
    (job,) = jobs(handrail)
    try:
        with following(job) as follower:
            assert follower.stdout.readline() == b"up\n"
            said = handrail("jobs", "output", job["id"]).out
            follower.kill()
    finally:
        ended = handrail("jobs", "kill", job["id"])

    assert job["state"] == "running"
    assert said == "up\n"
    assert ended.out == f"stopped job {job['id']}\n"
    assert jobs(handrail)[0]["state"] == "killed"
    assert "killed" in handrail("jobs").out


def test_a_job_is_followed_to_its_end_and_moves_no_cursor(handrail, workspace):
    os.mkfifo(workspace / "gate")
    start(r"printf 'up\n\303'; cat gate; printf '\251\033[2Jend'")
    (job,) = jobs(handrail)
    try:
        with following(job) as follower:
            assert follower.stdout.readline() == b"up\n"
            (workspace / "gate").write_text("")
            rest = follower.stdout.read()
    finally:
        if jobs(handrail)[0]["state"] == "running":
            handrail("jobs", "kill", job["id"])

    assert rest.decode() == "é\\x1b[2Jend\n"
    assert handrail("jobs", "output", job["id"]).out == "up\né\\x1b[2Jend\n"
    parts = [
        json.loads(line)
        for line in handrail("--json", "jobs", "output", job["id"]).out.splitlines()
    ]
    assert "".join(one["output"] for one in parts) == "up\né\x1b[2Jend"
    assert parts[-1]["state"] == "exited"


def test_no_jobs_and_wrong_numbers_say_so(handrail):
    assert handrail("jobs").out == "no background jobs\n"
    assert handrail("jobs", "kill").code == 2
    missing = handrail("jobs", "output", "9")
    assert missing.code == 1
    assert "9" in missing.err
