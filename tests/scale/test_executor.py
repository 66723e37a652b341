"""The processes of a fleet, without processes: results, lost workers, and lines that are wrong."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from handrail.scale import executor
from handrail.scale.executor import LocalExecutor, TaskEnded, WorkerLost, WorkerProcess


class Pipes:
    """The pipes of a worker that prints these lines."""

    def __init__(self, *lines):
        self.reader = asyncio.StreamReader(limit=100)
        for line in lines:
            self.reader.feed_data(line)
        self.reader.feed_eof()
        self.sent, self.ended = [], []
        self.writer = SimpleNamespace(write=self.sent.append, drain=self.drain)
        self.process = SimpleNamespace(pid=7)

    async def drain(self):
        return None

    async def end(self, seconds):
        self.ended.append(seconds)


def line(**values):
    return json.dumps(values).encode() + b"\n"


async def read(*lines, numbers=(), closed=False):
    """What the pool has told after a worker has printed these lines."""
    pool, process = LocalExecutor(1), WorkerProcess(Pipes(*lines), set(numbers))
    pool._workers[0], pool._closed = process, closed
    assert pool.pids == [7]
    await asyncio.wait_for(pool._read(0, process), 5)
    events = []
    while not pool._events.empty():
        events.append(await pool.next_event())
    assert process.pipes.ended == [0.0]
    assert (pool._workers == {}) is not closed
    return events


async def test_results_are_told_before_the_end():
    events = await read(line(ready=1), line(number=3, result={"a": 1}), numbers=(5, 3, 4))
    assert events == [TaskEnded(3, {"a": 1}), WorkerLost(0, (4, 5), ready=True)]


@pytest.mark.parametrize(
    ("lines", "ready"),
    [
        ([], False),
        ([b'{"beat": 1}'], False),
        ([b"x" * 200 + b"\n"], False),
        ([line(beat=1)], True),
        ([line(beat=1), b'{"num'], True),
    ],
)
async def test_a_worker_that_ends_is_lost(lines, ready):
    assert await read(*lines, numbers=(2,)) == [WorkerLost(0, (2,), ready)]


async def test_a_silent_worker_is_lost(monkeypatch):
    monkeypatch.setattr(executor, "SILENT_S", 0.01)
    pool, process = LocalExecutor(1), WorkerProcess(Pipes())
    process.pipes.reader = asyncio.StreamReader()
    pool._workers[0] = process
    await asyncio.wait_for(pool._read(0, process), 5)
    assert await pool.next_event() == WorkerLost(0, (), ready=False)


async def test_the_end_of_a_closed_pool_is_not_told():
    assert await read(line(beat=1), closed=True) == []


async def test_a_task_is_sent_as_a_line_to_its_worker():
    pool, process = LocalExecutor(1), WorkerProcess(Pipes())
    pool._workers[0] = process
    await pool.submit(0, {"number": 4})
    assert process.pipes.sent == [b'{"number": 4}\n']
    assert process.numbers == {4}


async def test_a_worker_that_has_ended_takes_no_task_silently():
    pool, process = LocalExecutor(1), WorkerProcess(Pipes())

    def refuse(data):
        raise BrokenPipeError

    process.pipes.writer.write = refuse
    pool._workers[0] = process
    await pool.submit(0, {"number": 4})
    assert process.numbers == {4}


async def test_a_pool_must_be_started():
    with pytest.raises(RuntimeError):
        await LocalExecutor(1).submit(0, {"number": 1})


async def test_closing_ends_every_worker_once():
    pool = LocalExecutor(2)
    workers = [WorkerProcess(Pipes()) for _ in range(2)]
    pool._workers = dict(enumerate(workers))
    await pool.aclose()
    assert [one.pipes.ended for one in workers] == [[5.0], [5.0]]
    assert pool.pids == []
