"""How the runner reads output: pipes with much of it are enlarged and read less often."""

import os

import pytest

from handrail.host.supervisor.runner import program
from handrail.host.supervisor.runner.process_tree import EventLoop
from handrail.host.supervisor.runner.program import CHUNK, OutputSinks

FULL = 1 << 16


@pytest.fixture
def pauses(monkeypatch):
    taken = []
    monkeypatch.setattr(program.time, "sleep", taken.append)
    return taken


@pytest.fixture
def reading():
    """Write each data to a new pipe and return what the runner read."""
    loop, found = EventLoop(), bytearray()
    sinks = OutputSinks(loop, bytearray(CHUNK))

    def read(*pieces):
        writing = sinks.open(found.extend)
        for piece in pieces:
            os.write(writing, piece)
            loop.turn(0)
        os.close(writing)
        sinks.close()
        return bytes(found)

    return read


def test_short_output_is_read_without_a_pause(reading, pauses):
    assert reading(b"one\n", b"two\n") == b"one\ntwo\n"
    assert pauses == []


def test_output_gathers_in_a_pipe_that_was_full(reading, pauses):
    pieces = (b"a" * FULL, b"b" * 100)

    assert reading(*pieces) == b"".join(pieces)
    assert len(pauses) == 2
    assert max(pauses) < 0.001


def test_a_terminal_is_read_without_a_pause(pauses):
    loop, found = EventLoop(), bytearray()
    sinks = OutputSinks(loop, bytearray(CHUNK))
    master, terminal = os.openpty()
    sinks.adopt(master, found.extend)
    os.write(terminal, b"x" * 1000)

    loop.turn(0)

    os.close(terminal)
    sinks.close()
    assert found == b"x" * 1000
    assert pauses == []
