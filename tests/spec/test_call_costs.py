"""What a small read and a small edit cost: system calls, thread switches, statements and function
calls, which do not depend on how busy the machine is.
"""

import os
import sys
from collections import Counter

import pytest
from bench import a_read
from bench.figure import Scale

from handrail.store.sqlite import writer

READS = 5
# What a caller's thread does to hand work to another one, or to a later pass of the loop.
SWITCHES = {"run_in_executor", "create_task", "call_soon", "call_soon_threadsafe", "call_later"}


class CallCounter:
    """Counts the functions that this thread calls inside the block: Python's by name, those of the
    operating system by name, without `getpid`.
    """

    def __init__(self):
        self.python = Counter()
        self.system = Counter()

    def __enter__(self):
        sys.setprofile(self._count)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)

    def _count(self, frame, event, argument):
        if event == "call":
            self.python[frame.f_code.co_name] += 1
        elif event == "c_call" and argument.__module__ == "posix" and argument is not os.getpid:
            self.system[argument.__name__] += 1


@pytest.mark.finding("F77")
async def test_a_small_read_stays_in_its_thread_and_makes_few_calls(workspace, open_runtime):
    workspace.write("a.txt", "a line of text\n" * 60)
    async with open_runtime(config={"loop_guard": "off"}) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        with CallCounter() as counted:
            for _ in range(READS):
                result = await rt.call("read_file", {"path": "a.txt"})

    assert result.ok
    once = dict.fromkeys(("stat", "open", "fstat", "read", "close"), READS)
    assert counted.system == once
    assert SWITCHES.isdisjoint(counted.python)
    assert counted.python.total() / READS < 118


@pytest.mark.finding("F77")
async def test_reads_are_measured_in_turns_and_in_tight_loops(tmp_path):
    scale = Scale(files=1, rounds=1, calls=40, deep_mb=1, big_edit_mb=1)

    turns, loops = await a_read.measure(tmp_path, scale)

    assert "in turns" in turns.what
    assert turns.bar == 4.5
    assert "in tight loops" in loops.what
    assert loops.bar == 8


@pytest.mark.finding("F76")
async def test_a_small_edit_syncs_twice_commits_twice_and_switches_threads_once(
    workspace, open_runtime, tmp_path, monkeypatch
):
    workspace.write("a.txt", "an ordinary line\n" * 30 + "0\n")
    # On a slow machine the first row would otherwise get a commit of its own.
    monkeypatch.setattr(writer, "GROUP_S", 60.0)
    synced, statements = [], []
    sync = os.fsync
    async with open_runtime(config={"loop_guard": "off"}, store=tmp_path / "store.db") as rt:

        async def edit(number):
            words = {"old_string": f"{number}\n", "new_string": f"{number + 1}\n"}
            return (await rt.call("edit_file", {"path": "a.txt", **words})).unwrap()

        await rt.call("read_file", {"path": "a.txt"})
        await edit(0)
        await rt.store.flush()
        monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), sync(handle)))
        connection = rt.store._writer._database.db
        connection.set_trace_callback(statements.append)
        with CallCounter() as counted:
            await edit(1)
        await rt.store.flush()
        connection.set_trace_callback(None)

    own = [one for one in statements if not one.startswith("--")]
    # The new content and its directory; the record syncs itself once, before the change.
    assert len(synced) == 2
    assert [one for one in own if one.startswith("PRAGMA synchronous")] == [
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = NORMAL",
    ]
    assert own.count("COMMIT") == 2
    assert len(own) <= 16
    assert counted.python["run_in_executor"] == 1
    assert counted.python.total() < 850
