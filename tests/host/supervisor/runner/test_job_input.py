"""What any process writes to the pipe of a job reaches the program."""

import fcntl
import os
import struct
import termios
import time
import tty

import pytest
from tests.support.waiting import wait_until

from handrail.host.supervisor.runner.job_input import INPUT_NAME, JobInput
from handrail.host.supervisor.runner.process_tree import EventLoop
from handrail.host.supervisor.runner.program import CHUNK, OutputSinks


class Job:
    """A job's input, the descriptors of its program, and what the program wrote."""

    def __init__(self, place, *, terminal):
        self.path = place / INPUT_NAME
        self.loop = EventLoop()
        self.sinks = OutputSinks(self.loop, bytearray(CHUNK))
        self.written = bytearray()
        self.entry = JobInput(place, self.loop, terminal=terminal)
        self.outputs = self.entry.outputs(self.sinks, self.written.extend)

    def type(self, data):
        handle = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        os.write(handle, data)
        os.close(handle)

    def turn(self):
        self.loop.turn(time.monotonic())
        return self.entry.each_turn()

    def read(self):
        os.set_blocking(self.outputs.stdin, False)
        try:
            return os.read(self.outputs.stdin, 10_000)
        except BlockingIOError:
            return None

    def end(self):
        self.sinks.close()
        self.entry.release()
        for handle in self.outputs:
            if handle is not None:
                os.close(handle)


@pytest.fixture
def job(tmp_path, request):
    before = set(os.listdir("/proc/self/fd"))
    job = Job(tmp_path, terminal=request.param == "terminal")
    yield job
    job.end()
    assert not job.path.exists()
    # What an earlier test left may be closed in the meantime.
    assert set(os.listdir("/proc/self/fd")) <= before


pipe = pytest.mark.parametrize("job", ["pipe"], indirect=True)
terminal = pytest.mark.parametrize("job", ["terminal"], indirect=True)
both = pytest.mark.parametrize("job", ["pipe", "terminal"], indirect=True)


@both
def test_only_the_user_can_write_to_the_input(job):
    assert job.path.stat().st_mode & 0o777 == 0o600
    assert job.outputs.report is None


@pipe
def test_a_program_with_a_pipe_reads_what_is_written_until_it_is_closed(job):
    assert os.get_blocking(job.outputs.stdin) is True
    job.type(b"one")
    job.type(b"two")

    assert job.read() == b"onetwo"
    assert job.read() is None
    job.entry.close()
    assert job.read() == b""
    assert not job.path.exists()
    job.entry.close()


@pipe
def test_both_outputs_go_to_the_job(job):
    os.write(job.outputs.stdout, b"out")
    os.write(job.outputs.stderr, b"err")

    job.turn()

    assert bytes(job.written) == b"outerr"
    assert job.entry.each_turn() is None


@terminal
def test_a_program_with_a_terminal_reads_lines(job):
    assert all(os.isatty(one) for one in job.outputs[:2])
    size = fcntl.ioctl(job.outputs.stdin, termios.TIOCGWINSZ, bytes(8))
    assert struct.unpack("HHHH", size)[:2] == (50, 200)

    job.type(b"one\n")
    assert job.turn() is None
    assert job.read() == b"one\n"
    os.write(job.outputs.stdout, b"answer")

    wait_until(lambda: job.turn() or b"answer" in job.written)
    job.entry.close()
    assert job.read() == b""


@terminal
def test_what_was_typed_before_the_end_is_read_first(job):
    job.type(b"last\n")
    job.entry.close()

    assert job.read() == b"last\n"
    assert job.read() == b""
    assert job.turn() is None


@terminal
def test_a_full_terminal_is_retried_and_nothing_is_lost(job):
    tty.setraw(job.outputs.stdin)
    sent = b"".join(b"%07d\n" % number for number in range(3000))
    handle = os.open(job.path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(handle, sent)
    os.close(handle)
    got, retried = b"", 0

    end = time.monotonic() + 20
    while len(got) < len(sent):
        begun = time.monotonic()
        assert begun < end
        due = job.turn()
        if due is not None:
            retried += 1
            # Measured from before the turn: the process may be paused at any moment after it.
            assert due > begun
            assert due - time.monotonic() <= 0.05
            got += job.read() or b""
        elif retried and len(got) < len(sent):
            got += job.read() or b""

    assert got == sent
    assert retried > 0


@terminal
def test_a_program_that_closed_its_terminal_reads_nothing(job):
    job.sinks.close()
    for handle in job.outputs[:2]:
        os.close(handle)
    os.close(job.outputs.stdin)
    job.outputs = ()

    job.type(b"one\n")

    assert job.turn() is None
