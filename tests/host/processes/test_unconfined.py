"""Programs with the rights of this process: their limits, and that none of them outlives it."""

import os
import signal
import subprocess
import sys

import pytest
from tests.support.waiting import running, wait_until

from handrail.host.processes.unconfined import run_program

LIMITS = {"environ": {"PATH": os.environ["PATH"]}, "deadline_s": 20.0, "max_bytes": 1000}
# Starts a program that starts another one; both have this word among their arguments.
WAITS = """
import sys
from handrail.host.processes.unconfined import run_program
program = "sh -c 'echo $$ > $0/inner; sleep 60; :' $0 & echo $$ > $0/outer; sleep 60; :"
run_program(["sh", "-c", program, sys.argv[1]], environ={"PATH": sys.argv[2]}, deadline_s=60,
            max_bytes=9, max_file_bytes=1000)
"""


def run(*command, max_file_bytes=1000, **options):
    return run_program(command, **{**LIMITS, **options}, max_file_bytes=max_file_bytes)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_program_gets_its_input_and_gives_its_output_and_code(tmp_path):
    (tmp_path / "given").write_bytes(b"given")
    with (tmp_path / "given").open("rb") as feed:
        assert run("cat", feed=feed) == b"given"
    assert run("printf", "%s|", "a b", "", "$0") == b"a b||$0|"
    with pytest.raises(OSError, match=r"no such thing \(exit code 3\)"):
        run("sh", "-c", "echo no such thing >&2; exit 3")


def test_output_files_and_time_are_limited(tmp_path):
    with pytest.raises(OSError, match="more than"):
        run("head", "-c", "2000", "/dev/zero")
    with pytest.raises(OSError, match="exit code"):
        run("sh", "-c", "head -c 9999 /dev/zero > $0", str(tmp_path / "made"))
    assert (tmp_path / "made").stat().st_size <= 1024
    with pytest.raises(OSError, match="exit code -9"):
        run("sleep", "30", deadline_s=0.2)


def test_a_program_ends_with_the_process_that_started_it(tmp_path):
    command = [sys.executable, "-c", WAITS, str(tmp_path), os.environ["PATH"]]
    names = [tmp_path / "outer", tmp_path / "inner"]
    with running(subprocess.Popen(command)) as process:
        wait_until(lambda: all(one.exists() and one.read_text().strip() for one in names))
        pids = [int(one.read_text()) for one in names]
        assert all(map(is_alive, pids))
        process.send_signal(signal.SIGKILL)
        process.wait(20)

        wait_until(lambda: not any(map(is_alive, pids)))
