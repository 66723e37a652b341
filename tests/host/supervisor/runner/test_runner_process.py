"""The socket between a runner and its runtime."""

import os
import socket

import pytest

from handrail.host.supervisor.runner import runner_process
from handrail.host.supervisor.runner.runner_process import RuntimeChannel
from handrail.host.supervisor.wire import FrameDecoder, FrameKind, encode_frame


@pytest.fixture
def ends():
    """The channel of a runner, and the runtime's end of its socket."""
    theirs, ours = socket.socketpair()
    theirs.settimeout(10)
    with theirs, ours:
        yield RuntimeChannel(ours), theirs


def fill(channel, runtime):
    """Send output until the runtime's end is full; what is in it."""
    count = 0
    while channel.offer("stdout", b"x" * 50_000, 0):
        count += 1
        assert count < 1000
    return count


def read_all(runtime, decoder=None):
    decoder, frames = decoder or FrameDecoder(), []
    runtime.setblocking(False)
    while True:
        try:
            data = runtime.recv(1 << 16)
        except BlockingIOError:
            return frames
        if not data:
            return frames
        frames += decoder.feed(data)


def test_frames_are_received_however_they_are_cut(ends):
    channel, runtime = ends
    data = encode_frame(FrameKind.RUN, {"a": 1}, b"body") + encode_frame(FrameKind.END, {})

    runtime.sendall(data[:7])
    assert channel.receive() == []
    runtime.sendall(data[7:])

    first, second = channel.receive()
    assert (first.kind, first.header, first.body) == (FrameKind.RUN, {"a": 1}, b"body")
    assert (second.kind, second.header, second.body) == (FrameKind.END, {}, b"")
    assert not channel.closed


def test_nothing_received_is_not_the_end(ends):
    channel, _ = ends

    assert channel.receive() == []
    assert not channel.closed
    assert channel.fileno() >= 0


def test_the_end_of_the_runtime_is_seen(ends):
    channel, runtime = ends
    runtime.close()

    assert channel.receive() == []
    assert channel.closed


def test_descriptors_are_taken_once_and_no_program_inherits_them(ends):
    channel, runtime = ends
    reading, writing = os.pipe()
    frame = encode_frame(FrameKind.HANDLES, {})

    socket.send_fds(runtime, [frame], [reading, writing])
    assert channel.receive() == []
    handles = channel.take_handles()

    assert len(handles) == 2
    assert [os.get_inheritable(one) for one in handles] == [False, False]
    os.write(handles[1], b"through")
    assert os.read(handles[0], 10) == b"through"
    assert channel.take_handles() == []
    for handle in (reading, writing, *handles):
        os.close(handle)


def test_live_output_is_sent_with_what_was_skipped(ends):
    channel, runtime = ends

    assert channel.offer("stderr", b"text", 7) is True

    [frame] = read_all(runtime)
    assert (frame.kind, frame.header) == (FrameKind.OUTPUT, {"stream": "stderr", "skipped": 7})
    assert frame.body == b"text"


def test_live_output_never_waits_for_a_slow_runtime(ends):
    channel, runtime = ends

    count = fill(channel, runtime)
    assert channel.offer("stdout", b"refused", 0) is False
    # The rest of the last frame is sent with the next one.
    frames = read_all(runtime)
    assert channel.offer("stdout", b"later", 1) is True
    frames += read_all(runtime)

    assert count > 0
    assert b"refused" not in {frame.body for frame in frames}


def test_no_frame_is_cut_by_a_slow_runtime(ends):
    channel, runtime = ends
    count = fill(channel, runtime)
    decoder, sizes = FrameDecoder(), []

    while not channel.offer("stdout", b"end", 0):
        sizes += [len(frame.body) for frame in decoder.feed(runtime.recv(1 << 16))]
    while sizes[-1:] != [3]:
        sizes += [len(frame.body) for frame in decoder.feed(runtime.recv(1 << 16))]

    assert sizes == [50_000] * count + [3]


def test_an_answer_is_written_completely(ends):
    channel, runtime = ends

    channel.send(FrameKind.ENDED, {"exit_code": 3}, b"body")

    [frame] = read_all(runtime)
    assert (frame.kind, frame.header, frame.body) == (FrameKind.ENDED, {"exit_code": 3}, b"body")


def test_an_answer_waits_for_a_runtime_that_reads_late(ends, monkeypatch):
    channel, runtime = ends
    frames, decoder = [], FrameDecoder()
    real = runner_process.select.poll

    class Poll:
        """Reads at the other end whenever the channel has to wait."""

        def __init__(self):
            self._real = real()

        def register(self, *given):
            self._real.register(*given)

        def poll(self, wait_ms):
            frames.extend(decoder.feed(runtime.recv(1 << 20)))
            return self._real.poll(wait_ms)

    monkeypatch.setattr(runner_process.select, "poll", Poll)
    channel.send(FrameKind.ENDED, {}, b"y" * 3_000_000)
    frames += read_all(runtime, decoder)

    assert [len(frame.body) for frame in frames] == [3_000_000]
    assert not channel.closed


def test_a_runtime_that_does_not_read_is_given_up(ends, monkeypatch):
    channel, _ = ends
    monkeypatch.setattr(runner_process, "_PATIENCE_MS", 1)

    channel.send(FrameKind.ENDED, {}, b"y" * 3_000_000)

    assert channel.closed
    assert channel.offer("stdout", b"x", 0) is False


def test_a_runtime_that_has_ended_is_no_error(ends):
    channel, runtime = ends
    runtime.close()

    channel.send(FrameKind.ENDED, {}, b"y")

    assert channel.closed


def test_closing_ends_the_runtimes_side_and_keeps_the_descriptor(ends):
    channel, runtime = ends

    channel.close()
    channel.close()

    assert channel.closed
    assert runtime.recv(10) == b""
    assert channel.fileno() >= 0
