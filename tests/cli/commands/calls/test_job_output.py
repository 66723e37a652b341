"""The output of a job, in pieces as they come."""

import json
from types import SimpleNamespace

import pytest

from handrail.cli.commands.calls import jobs
from handrail.core.ports.processes import Job, JobOutput, JobState


class Processes:
    """A job that writes these pieces; it runs until the last one was read."""

    def __init__(self, *pieces, missing=0):
        self.pieces, self.missing, self.waits = list(pieces), missing, []

    async def output(self, number, offset, wait_s, most):
        if wait_s:
            self.waits.append(offset)
            return None
        data = self.pieces.pop(0) if self.pieces else b""
        state = JobState.RUNNING if self.pieces else JobState.EXITED
        job = Job(number, "s", "c", "make", "", 0.0, state, 1, None if self.pieces else 0)
        missing, self.missing = self.missing, 0
        return JobOutput(job, data, offset + len(data), missing)


async def show(processes, *, follow=False, as_json=False):
    await jobs._show(processes, SimpleNamespace(job="1", follow=follow, json=as_json))


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        ([b"one\n"], "one\n"),
        ([b"one", b"two"], "onetwo\n"),
        ([b"caf\xc3", b"\xa9\n"], "café\n"),
        ([b"caf\xc3"], "caf\ufffd\n"),
        ([], ""),
        ([b"one\n", b""], "one\n"),
    ],
)
async def test_pieces_are_joined_and_the_last_line_ended(capsys, pieces, shown):
    await show(Processes(*pieces), follow=True)

    assert capsys.readouterr().out == shown


async def test_following_waits_where_there_is_nothing_new(capsys):
    processes = Processes(b"one\n", b"", b"two\n")
    await show(processes, follow=True)

    assert capsys.readouterr().out == "one\ntwo\n"
    assert processes.waits == [4]


async def test_without_following_what_is_there_is_shown(capsys):
    processes = Processes(b"one\n", b"", b"two\n")
    await show(processes)

    assert capsys.readouterr().out == "one\n"
    assert processes.waits == []


async def test_output_that_is_gone_is_said(capsys):
    await show(Processes(b"x\n", missing=10))

    assert "10 bytes" in capsys.readouterr().err


async def test_json_has_each_piece_and_the_state(capsys):
    await show(Processes(b"one\n", b"", b"two\n", missing=3), follow=True, as_json=True)

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["output"], one["offset"], one["missing"], one["state"]) for one in lines] == [
        ("one\n", 0, 3, "running"),
        ("two\n", 4, 0, "exited"),
        ("", 8, 0, "exited"),
    ]
