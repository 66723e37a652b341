"""A worker process of a fleet, run in this one."""

import asyncio
import json
import os
import tempfile

import pytest
from tests.support.waiting import wait_until_async

from handrail.scale import worker
from handrail.scale.worker import FleetWorker

SETTINGS = {"state": "s", "token": "t", "disk_bytes": 1, "entries": 1, "keep": "all"}


class Runner:
    """Answers orders; the order 0 only when the others are done."""

    def __init__(self, settings):
        self.settings, self.others = settings, asyncio.Event()

    async def run(self, order):
        if order["number"] == 0:
            await asyncio.wait_for(self.others.wait(), 5)
        else:
            self.others.set()
        return {"token": self.settings.token, "text": "x" * 100_000}


async def test_orders_run_concurrently_until_the_input_ends(monkeypatch):
    monkeypatch.setattr(worker, "FleetTaskRunner", Runner)
    monkeypatch.setattr(worker, "BEAT_S", 0.01)
    reader = asyncio.StreamReader()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as lock:
        os.set_inheritable(lock.fileno(), True)
        working = asyncio.create_task(FleetWorker(output.fileno()).run(reader))

        def lines():
            size = os.fstat(output.fileno()).st_size
            return [json.loads(one) for one in os.pread(output.fileno(), size, 0).splitlines()]

        reader.feed_data(json.dumps({**SETTINGS, "lock": lock.fileno()}).encode() + b"\n")
        for number in range(3):
            reader.feed_data(json.dumps({"number": number}).encode() + b"\n")
        await wait_until_async(
            lambda: sum("result" in one for one in lines()) == 3 and {"alive": True} in lines()
        )
        reader.feed_eof()
        await asyncio.wait_for(working, 5)
        written = lines()
        await asyncio.sleep(0.05)

        assert lines() == written
        assert not os.get_inheritable(lock.fileno())
    assert written[0] == {"ready": True}
    results = [one for one in written if "result" in one]
    assert [one["number"] for one in results] == [1, 2, 0]
    assert {one["result"]["token"] for one in results} == {"t"}
    assert {len(one["result"]["text"]) for one in results} == {100_000}


async def test_a_result_is_written_whole_although_the_pipe_is_full(monkeypatch):
    written = bytearray()

    def write(handle, data):
        written.extend(data[:7])
        return len(data[:7])

    monkeypatch.setattr(worker.os, "write", write)
    FleetWorker(1)._write({"number": 1, "text": "é" * 50})

    assert json.loads(written) == {"number": 1, "text": "é" * 50}
    assert written.endswith(b"\n")


@pytest.mark.parametrize("line", [b"", b"{"])
async def test_settings_that_are_no_json_end_the_worker(line):
    reader = asyncio.StreamReader()
    reader.feed_data(line)
    reader.feed_eof()

    with pytest.raises(json.JSONDecodeError):
        await FleetWorker(1).run(reader)
