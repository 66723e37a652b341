"""A worker process of a fleet: reads orders from standard input, runs them concurrently in one
event loop and writes their results to standard output. It ends at once when its input ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any, Final

from handrail.scale.executor import BEAT_S
from handrail.scale.task_runner import FleetTaskRunner, WorkerSettings

_MAX_LINE: Final = 16 << 20
_log = logging.getLogger("handrail")


class FleetWorker:
    """Runs the orders of one process."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Work until the input ends."""
        settings = WorkerSettings.from_dict(json.loads(await reader.readline()))
        # The lock is held by this process alone, not by the programs that it starts.
        os.set_inheritable(settings.lock, False)
        runner = FleetTaskRunner(settings)
        self._write({"ready": True})
        beat = asyncio.create_task(self._send_heartbeats())
        while line := await reader.readline():
            task = asyncio.create_task(self._work(runner, json.loads(line)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        beat.cancel()

    async def _work(self, runner: FleetTaskRunner, order: Mapping[str, Any]) -> None:
        result = await runner.run(order)
        self._write({"number": order["number"], "result": result})

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self._write({"alive": True})

    def _write(self, value: Mapping[str, Any]) -> None:
        data = memoryview(json.dumps(value).encode() + b"\n")
        while data:
            data = data[os.write(self._output, data) :]


async def _serve(orders: int, output: int) -> None:
    reader = asyncio.StreamReader(limit=_MAX_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(orders, "rb")
    )
    await FleetWorker(output).run(reader)
    # As if killed: the next fleet continues what still runs, from its record.
    os._exit(0)


def main() -> None:
    """Run the worker as a process."""
    # Output of a library must not look like a result.
    orders, output = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    try:
        asyncio.run(_serve(orders, output))
    except (BrokenPipeError, json.JSONDecodeError):
        # The fleet has ended.
        os._exit(1)


if __name__ == "__main__":
    main()
