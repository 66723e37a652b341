"""Very many calls at once, and several processes on one store and one workspace."""

import asyncio
import gc
import json
import subprocess
import sys
import tracemalloc
from collections import Counter

import anyio
import pytest

import handrail
from handrail.store.chain.verify import verify

WORKER = """
import asyncio, json, sys
import handrail

async def main(root, store, name, count):
    settings = {"loop_guard": "off", "freshness": "off", "commands": False, "store_timeout_s": 60}
    opening = handrail.open(
        root, store=store, mode="accept-edits", durability="process", config=settings
    )
    made = []
    async with opening as rt:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(count)):
            calls = [
                {"name": "write_file", "arguments":
                    {"path": "shared.txt", "content": f"{name}-{number}\\n", "mode": "append"}},
                {"name": "write_file", "arguments":
                    {"path": f"{name}/{number}.txt", "content": name}},
                {"name": "read_file", "arguments": {"path": "shared.txt"}},
                {"name": "edit_file", "arguments":
                    {"path": "board.txt", "old_string": f"{name}: {number}\\n",
                     "new_string": f"{name}: {number + 1}\\n"}},
            ]
            made += [(one.call_id, one.status.value, one.text) for one in await rt.batch(calls)]
        print(json.dumps({"session": rt.session.id, "made": made}), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def _thousand(rt, calls):
    """Reads, writes, appends to one file, edits of one file and failures, all at once."""

    def one(number):
        match number % 5:
            case 0:
                return rt.call("read_file", {"path": "read.txt"})
            case 1:
                return rt.call("write_file", {"path": f"new/{number}.txt", "content": str(number)})
            case 2:
                appended = {"path": "log.txt", "content": f"{number}\n", "mode": "append"}
                return rt.call("write_file", appended)
            case 3:
                old, new = f"[{number}]\n", f"<{number}>\n"
                return rt.call(
                    "edit_file", {"path": "board.txt", "old_string": old, "new_string": new}
                )
            case _:
                return rt.call("read_file", {"path": f"missing-{number}.txt"})

    return await asyncio.gather(*(one(number) for number in range(calls)))


async def _run(workspace, path, calls):
    workspace.write("read.txt", "here\n")
    workspace.write("log.txt", "")
    workspace.write("board.txt", "".join(f"[{number}]\n" for number in range(calls)))
    settings = {"loop_guard": "off", "freshness": "off", "commands": False}
    async with handrail.open(
        workspace.root, store=path, mode="accept-edits", durability="process", config=settings
    ) as rt:
        with anyio.fail_after(300):
            results = await _thousand(rt, calls)
        records = await rt.store.calls(limit=calls * 2)
    return results, records


def _check_workspace(workspace, calls):
    numbers = range(calls)
    assert Counter(workspace.read("log.txt").decode().split()) == Counter(
        str(number) for number in numbers if number % 5 == 2
    )
    board = "".join(f"<{n}>\n" if n % 5 == 3 else f"[{n}]\n" for n in numbers)
    assert workspace.read("board.txt").decode() == board
    made = {f"new/{number}.txt" for number in numbers if number % 5 == 1}
    assert workspace.tree().keys() == {"read.txt", "log.txt", "board.txt", *made}


@pytest.mark.needs_sandbox
@pytest.mark.parametrize(
    "calls", [1_000, pytest.param(5_000, marks=pytest.mark.torture)], ids=["thousand", "more"]
)
async def test_calls_made_all_at_once_lose_and_double_nothing(workspace, tmp_path, calls):
    path = tmp_path / "store.db"

    results, records = await _run(workspace, path, calls)

    assert [one.ok for one in results] == [number % 5 != 4 for number in range(calls)]
    ids = [one.call_id for one in results]
    assert len(set(ids)) == calls
    assert Counter(one.call_id for one in records) == Counter(ids)
    told = {one.call_id: one.completed["status"] for one in records}
    assert told == {one.call_id: one.status for one in results}
    integrity = verify(path)
    assert (integrity.broken, integrity.open_sessions) == (None, {})
    # Two rows for each call, and an intent for each of the three that change something.
    assert integrity.rows == calls * 2 + calls // 5 * 3
    _check_workspace(workspace, calls)


async def _reads(rt, count):
    await asyncio.gather(*(rt.call("read_file", {"path": "large.txt"}) for _ in range(count)))


async def test_memory_does_not_grow_with_the_calls_made(workspace, tmp_path):
    workspace.write("large.txt", "some line of text\n" * 1_000)
    settings = {"loop_guard": "off", "commands": False}
    grown = []
    async with handrail.open(
        workspace.root, store=tmp_path / "store.db", durability="process", config=settings
    ) as rt:
        await _reads(rt, 100)
        await rt.store.flush()
        tracemalloc.start()
        try:
            for _ in range(6):
                await _reads(rt, 100)
                await rt.store.flush()
                # Only what is kept counts, not what waits for the garbage collector.
                gc.collect()
                grown.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()

    # A call's text is 18 kB: kept anywhere, three hundred of them would be 5.4 MB more in the later
    # rounds. The least of three rounds: for a moment after a flush, the writer still has its last rows.
    assert min(grown[3:]) - min(grown[:3]) < 100_000


def _start(workspace, path, name, count):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, workspace.root, path, name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("processes", "rounds"),
    [(8, 10), pytest.param(8, 100, marks=pytest.mark.torture)],
    ids=["eight", "for longer"],
)
def test_processes_on_one_store_and_workspace_lose_and_double_nothing(
    workspace, tmp_path, processes, rounds
):
    path, names = tmp_path / "store.db", [f"p{number}" for number in range(processes)]
    workspace.write("shared.txt", "")
    workspace.write("board.txt", "".join(f"{name}: 0\n" for name in names))
    workers = [_start(workspace, path, name, rounds) for name in names]
    # All are running before any may begin.
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * processes
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    told = [json.loads(worker.communicate(timeout=300)[0]) for worker in workers]

    assert [worker.returncode for worker in workers] == [0] * processes
    made = [(one["session"], *call) for one in told for call in one["made"]]
    assert [call for call in made if call[2] != "ok"] == []
    assert Counter(workspace.read("shared.txt").decode().split()) == Counter(
        f"{name}-{number}" for name in names for number in range(rounds)
    )
    assert workspace.read("board.txt").decode() == "".join(f"{one}: {rounds}\n" for one in names)
    integrity = verify(path)
    assert (integrity.broken, integrity.open_sessions) == (None, {})
    assert (integrity.sessions, integrity.rows) == (processes, processes * rounds * (4 * 2 + 3))
    assert [name for name in workspace.tree() if ".handrail-" in name] == []
