"""The pipes of a program, and the loop that reads them."""

import fcntl
import os
import time

import pytest

from handrail.host.supervisor.runner.process_tree import EventLoop
from handrail.host.supervisor.runner.program import CHUNK, OutputSinks


@pytest.fixture
def loop():
    return EventLoop()


@pytest.fixture
def sinks(loop):
    return OutputSinks(loop, bytearray(CHUNK))


def collector():
    parts = []
    return parts, lambda data: parts.append(bytes(data))


def soon():
    return time.monotonic() + 10


def test_output_is_read_in_turns_of_the_loop(loop, sinks):
    parts, sink = collector()
    writing = sinks.open(sink)

    for text in (b"one", b"two"):
        os.write(writing, text)
        loop.turn(soon())
    os.close(writing)
    sinks.close()

    assert parts == [b"one", b"two"]


def test_no_program_inherits_a_pipe(sinks):
    writing = sinks.open(lambda data: None)

    assert os.get_inheritable(writing) is False
    os.close(writing)
    sinks.close()


def test_closing_reads_what_is_left_of_every_pipe(sinks):
    first, sink_first = collector()
    second, sink_second = collector()
    handles = [sinks.open(sink_first), sinks.open(sink_second)]

    os.write(handles[0], b"a" * 60_000)
    os.write(handles[1], b"b")
    sinks.close()

    assert (b"".join(first), b"".join(second)) == (b"a" * 60_000, b"b")
    for handle in handles:
        with pytest.raises(BrokenPipeError):
            os.write(handle, b"x")
        os.close(handle)


def test_closing_reads_an_empty_pipe_once_that_a_program_keeps_open(sinks, monkeypatch):
    reads, read = [], os.readv
    parts, sink = collector()
    writing = sinks.open(sink)
    os.write(writing, b"x")

    def count_reads(*given):
        reads.append(1)
        return read(*given)

    monkeypatch.setattr(os, "readv", count_reads)
    sinks.close()
    os.close(writing)

    assert (parts, len(reads)) == ([b"x"], 2)


def test_closing_does_not_read_endless_output(loop):
    handles, count = [], [0]

    def refill(data):
        count[0] += len(data)
        assert count[0] <= 5 << 20
        os.write(handles[0], b"x" * 60_000)

    sinks = OutputSinks(loop, bytearray(CHUNK))
    handles.append(sinks.open(refill))
    os.write(handles[0], b"x" * 60_000)
    sinks.close()

    assert count[0] >= 4 << 20
    os.close(handles[0])


def test_a_pipe_is_closed_at_its_end(loop, sinks):
    parts, sink = collector()
    before = set(os.listdir("/proc/self/fd"))
    writing = sinks.open(sink)
    os.close(writing)

    loop.turn(soon())

    assert parts == []
    assert set(os.listdir("/proc/self/fd")) == before
    # Nothing is polled any more.
    begun = time.monotonic()
    loop.turn(begun)


@pytest.mark.parametrize(("size", "wide"), [(65_535, False), (65_536, True)])
def test_the_pipe_of_a_program_with_much_output_is_enlarged(loop, sinks, size, wide):
    writing = sinks.open(lambda data: None)
    usual = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)

    os.write(writing, bytes(size))
    loop.turn(soon())

    assert (fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ) > usual) is wide
    os.close(writing)
    sinks.close()


def test_a_terminal_is_read_until_no_program_has_it_open(loop, sinks):
    parts, sink = collector()
    master, slave = os.openpty()
    sinks.adopt(master, sink)

    os.write(slave, b"hello")
    loop.turn(soon())
    os.close(slave)
    loop.turn(soon())
    sinks.close()

    assert parts == [b"hello"]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(master)


class TestEventLoop:
    def test_only_the_callbacks_of_ready_descriptors_run(self, loop):
        pipes, called = [os.pipe() for _ in range(3)], []
        for number, (reading, _) in enumerate(pipes):
            loop.add(reading, lambda number=number: called.append(number))
        os.write(pipes[0][1], b"x")
        os.write(pipes[2][1], b"x")

        loop.turn(soon())

        assert sorted(called) == [0, 2]
        for handle in [one for pair in pipes for one in pair]:
            os.close(handle)

    def test_a_removed_descriptor_is_not_polled(self, loop):
        reading, writing = os.pipe()
        called = []
        loop.add(reading, lambda: called.append(1))
        os.write(writing, b"x")
        loop.remove(reading)
        loop.remove(reading)

        loop.turn(time.monotonic())

        assert called == []
        os.close(reading)
        os.close(writing)

    def test_a_callback_may_remove_another_that_is_ready(self, loop):
        pipes, called = [os.pipe() for _ in range(2)], []

        def only_one():
            called.append(1)
            for reading, _ in pipes:
                loop.remove(reading)

        for reading, writing in pipes:
            loop.add(reading, only_one)
            os.write(writing, b"x")
        loop.turn(soon())

        assert called == [1]
        for handle in [one for pair in pipes for one in pair]:
            os.close(handle)

    @pytest.mark.parametrize(("wait_s", "least", "most"), [(0.02, 0.019, 5), (-1, 0, 5)])
    def test_a_turn_ends_when_its_time_is_over(self, loop, wait_s, least, most):
        begun = time.monotonic()

        loop.turn(begun + wait_s)

        assert least <= time.monotonic() - begun < most
