"""A program that waits for its input: ready in time, confined, and never left behind."""

import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from tests.support.waiting import running, wait_exit, wait_until

from handrail.host.processes import spawn
from handrail.host.processes.binaries import find_binary
from handrail.host.processes.prestart import PrestartedHelper
from handrail.host.processes.procfs import child_pids
from handrail.host.processes.shfmt import Shfmt

CAT = find_binary("cat", [])


@pytest.fixture
def ahead():
    made = PrestartedHelper([CAT], deadline_s=10, max_bytes=1 << 20)
    yield made
    made.close()


def prepare(ahead):
    """Ask until one stands ready."""
    for _ in range(2):
        if ahead._ready is None:
            ahead.run(b"")
    wait_until(lambda: ahead._ready is not None)
    return ahead._ready


def test_from_the_second_time_on_one_stands_ready(ahead):
    assert ahead.run(b"one") is None
    assert ahead._thread is None
    assert ahead.run(b"two") is None
    wait_until(lambda: ahead._ready is not None)

    done = ahead.run(b"three")

    assert (done.stdout, done.stderr, done.exit_code, done.timed_out) == (b"three", b"", 0, False)
    wait_until(lambda: ahead._ready is not None)
    assert ahead.run(b"four").stdout == b"four"


def test_it_is_confined_as_if_it_were_started_now(tmp_path):
    (tmp_path / "secret").write_text("x")
    command = [find_binary("dd", []), f"if={tmp_path}/secret"]
    now = spawn.run_now(command, feed=b"x", deadline_s=10, max_bytes=100)
    ahead = PrestartedHelper(command, deadline_s=10, max_bytes=100)
    prepare(ahead)

    # It has failed already, so that nobody may be there to read.
    done = ahead.run(b"")
    ahead.close()

    assert b"Permission denied" in now.stderr
    assert (done.stdout, done.stderr, done.exit_code) == (now.stdout, now.stderr, now.exit_code)
    assert done.confined


def test_its_time_begins_with_the_input():
    ahead = PrestartedHelper([find_binary("sleep", []), "60"], deadline_s=0.2, max_bytes=100)
    ready = prepare(ahead)

    assert ready.helper._process.poll() is None
    done = ahead.run(b"x")
    ahead.close()

    assert done.timed_out


def test_one_that_was_killed_says_nothing(ahead):
    ready = prepare(ahead)
    os.kill(ready.helper._process.pid, signal.SIGKILL)

    assert ahead.run(b"text") is None
    assert prepare(ahead)
    assert ahead.run(b"text").stdout == b"text"


def test_more_than_a_pipe_holds_is_left_to_others(ahead):
    prepare(ahead)

    assert ahead.run(b"x" * (64 << 10)) is None
    assert ahead.run(b"x" * (32 << 10)).stdout == b"x" * (32 << 10)


def test_a_program_that_is_nowhere_is_left_to_others(tmp_path):
    ahead = PrestartedHelper([str(tmp_path / "none")], deadline_s=1, max_bytes=1)

    assert [ahead.run(b"x") for _ in range(3)] == [None] * 3
    wait_until(lambda: not ahead._thread.is_alive())
    ahead.close()


def test_a_program_that_went_away_is_left_to_others(tmp_path):
    shutil.copy(CAT, tmp_path / "cat")
    ahead = PrestartedHelper([str(tmp_path / "cat")], deadline_s=10, max_bytes=10)
    prepare(ahead)

    (tmp_path / "cat").unlink()

    assert ahead.run(b"x").stdout == b"x"
    wait_until(lambda: not ahead._coming)
    assert ahead.run(b"x") is None
    ahead.close()


def test_closing_leaves_no_process_and_no_thread(ahead):
    before = threading.active_count()
    pid = prepare(ahead).helper._process.pid
    assert pid in child_pids(os.getpid())

    ahead.close()
    ahead.close()

    assert pid not in child_pids(os.getpid())
    assert threading.active_count() == before
    assert ahead.run(b"x") is None


def test_a_forked_child_leaves_it_alone(ahead):
    ready = prepare(ahead)

    child = os.fork()
    if child == 0:
        ahead.close()
        os._exit(0 if ahead.run(b"x") is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    assert ready.helper._process.poll() is None
    assert ahead.run(b"x").stdout == b"x"


def test_it_ends_with_whoever_is_killed():
    code = (
        "import sys, time; from handrail.host.processes.prestart import PrestartedHelper\n"
        f"one = PrestartedHelper([{CAT!r}], deadline_s=9, max_bytes=9)\n"
        "one.run(b''), one.run(b'')\n"
        "while one._ready is None: time.sleep(0.01)\n"
        "print(one._ready.helper._process.pid, flush=True); time.sleep(60)"
    )
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    with running(started) as runtime:
        handle = os.pidfd_open(int(runtime.stdout.readline()))
        runtime.kill()
        wait_exit(runtime)

    os.set_blocking(handle, False)
    wait_until(lambda: _ended(handle))
    os.close(handle)


def _ended(handle):
    try:
        signal.pidfd_send_signal(handle, 0)
    except ProcessLookupError:
        return True
    return False


def test_the_parser_says_the_same_whoever_reads(monkeypatch):
    commands = [f"if [ {number} -ge 0 ]; then ls; fi" for number in range(6)]
    now, ready = Shfmt(find_binary("shfmt", [])), Shfmt(find_binary("shfmt", []), ahead=True)
    expected = [now.parse(command) for command in commands]

    trees = [ready.parse(command) for command in commands[:2]]
    wait_until(lambda: ready._ahead._ready is not None)
    monkeypatch.setattr(spawn, "run_now", None)
    for command in commands[2:]:
        trees.append(ready.parse(command))
        wait_until(lambda: ready._ahead._ready is not None)
    ready.close()

    assert trees == expected
