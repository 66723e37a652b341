"""`handrail jobs`: a job started by one command, looked at and ended by others."""

import json
import subprocess
import time

from tests.cli.conftest import PROGRAM


def jobs(handrail):
    return [json.loads(line) for line in handrail("--json", "jobs").out.splitlines()]


def test_a_job_outlives_the_call_that_started_it(handrail):
    # In a process of its own, as people call it: what it leaves running is nobody's child here.
    start = ["--mode", "sandboxed", "call", "run_command", "command=echo up; sleep 60"]
    subprocess.run([PROGRAM, *start, "background=true"], check=True, capture_output=True)
    (job,) = jobs(handrail)
    try:
        for _ in range(200):
            said = handrail("jobs", "output", job["id"]).out
            if said:
                break
            time.sleep(0.05)
    finally:
        ended = handrail("jobs", "kill", job["id"])

    assert job["state"] == "running"
    assert said == "up\n"
    assert ended.out == f"job {job['id']} was ended\n"
    assert jobs(handrail)[0]["state"] == "killed"
    assert "killed" in handrail("jobs").out


def test_no_jobs_and_wrong_numbers_say_so(handrail):
    assert handrail("jobs").out == "no background jobs\n"
    assert handrail("jobs", "kill").code == 2
    missing = handrail("jobs", "output", "9")
    assert missing.code == 1
    assert "9" in missing.err
