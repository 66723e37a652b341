"""Long batches: what they do is what their calls one by one do, the work per call does not grow
with their length, and other tasks get their turn while they run. Counted, not timed.
"""

import asyncio
import sys

import pytest

import handrail

MOST_STEPS_IN_ONE_PASS = 60_000


def fill(workspace):
    for at in range(20):
        workspace.write(f"d{at}/a.txt", f"file {at}\n" * 5)
    for at in range(5):
        workspace.write(f"shared{at}.txt", "value 0\n")


def mixed(count):
    """Reads, writes of the same and of other files, edits, and reads of folders."""
    kinds = [
        lambda at: ("read_file", {"path": f"d{at % 20}/a.txt"}),
        lambda at: ("write_file", {"path": f"d{at % 20}/n{at}.txt", "content": f"new {at}\n"}),
        lambda at: ("read_file", {"path": f"shared{at % 5}.txt"}),
        lambda at: ("write_file", {"path": f"shared{at % 5}.txt", "content": f"value {at}\n"}),
        lambda at: ("list_files", {"path": f"d{at % 20}"}),
        lambda at: ("edit_file", {"path": f"shared{at % 5}.txt", "old_string": "value",
                                  "new_string": "amount"}),
        lambda at: ("read_file", {"path": f"shared{at % 5}.txt"}),
        lambda at: ("find_files", {"pattern": f"d{at % 20}/n*.txt"}),
    ]  # fmt: skip
    made = [kinds[at % len(kinds)](at) for at in range(count)]
    return [{"name": name, "arguments": arguments} for name, arguments in made]


def files(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.mark.finding("F70")
async def test_a_long_mixed_batch_does_what_its_calls_one_by_one_do(tmp_path, monkeypatch):
    from tests.spec.conftest import Workspace

    told, left = [], []
    for name in ("together", "alone"):
        root = tmp_path / name
        root.mkdir()
        fill(Workspace(root))
        settings = {"store": ":memory:", "mode": "accept-edits", "config": {"loop_guard": "off"}}
        async with handrail.open(root, **settings) as rt:
            if name == "together":
                results = await rt.batch(mixed(400))
            else:
                results = [await rt.call(one["name"], one["arguments"]) for one in mixed(400)]
        told.append([(result.ok, result.text) for result in results])
        left.append(files(root))

    assert left[0] == left[1]
    assert told[0] == told[1]


class Counter:
    """Counts functions called on this thread, in all and the most between two loop passes."""

    def __init__(self):
        self.steps = self.longest = self.passes = 0

    def _profile(self, frame, event, argument):
        self.steps += event in ("call", "c_call")

    async def _watch(self):
        before = self.steps
        while True:
            await asyncio.sleep(0)
            self.longest = max(self.longest, self.steps - before)
            before = self.steps
            self.passes += 1

    async def run(self, work):
        watching = asyncio.create_task(self._watch())
        await asyncio.sleep(0)
        sys.setprofile(self._profile)
        try:
            return await work
        finally:
            sys.setprofile(None)
            watching.cancel()


def reads(count):
    return [
        {"name": "read_file", "arguments": {"path": f"d{at % 20}/a.txt"}} for at in range(count)
    ]


@pytest.mark.finding("F70")
@pytest.mark.parametrize("guard", ["off", "stop"])
async def test_the_work_per_call_and_per_loop_pass_does_not_grow(workspace, open_runtime, guard):
    fill(workspace)
    counters = {}
    async with open_runtime(config={"loop_guard": guard}) as rt:
        await rt.batch(reads(20))
        for count in (100, 1_500):
            counters[count] = Counter()
            results = await counters[count].run(rt.batch(reads(count)))
            assert len(results) == count

    # The watching task itself is counted once per pass, which is a few steps of very many.
    assert counters[1_500].steps / 1_500 <= 1.3 * counters[100].steps / 100
    assert counters[1_500].longest <= MOST_STEPS_IN_ONE_PASS
    assert counters[1_500].passes >= 1_500 / 64


@pytest.mark.finding("F70")
async def test_five_thousand_calls_in_one_batch_are_answered_in_order(workspace, open_runtime):
    workspace.write("a.txt", "x\n" * 5_000)
    calls = [
        {"name": "read_file", "arguments": {"path": "a.txt", "offset": at + 1, "limit": 1}}
        for at in range(5_000)
    ]
    async with open_runtime(config={"loop_guard": "off"}) as rt:
        results = await rt.batch(calls)

    assert [result.data["first"] for result in results] == list(range(1, 5_001))
