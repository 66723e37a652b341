"""The loop guard in batches: checked by the counts before the batch, counted in call order after it."""

import asyncio

import anyio
import pytest

import handrail
from handrail.engine.batch.loop_guard import STOP_AT, WARN_AT
from handrail.engine.hooking.callbacks import Rewrite

LOOK = {"name": "look"}
WRITE = {"name": "write_file", "arguments": {"path": "a.txt", "content": "new\n"}}


def told(results):
    return ["this is call number" in one.text for one in results]


def yes_after(event, answer=True):
    """A person who answers once something has happened."""

    async def approver(request):
        await event.wait()
        return answer

    return approver


@pytest.fixture
def looks():
    """A tool that always says the same, and an event for when it has run often enough."""
    enough = asyncio.Event()
    ran = 0

    @handrail.tool(reads_only=True)
    async def look() -> str:
        """Says the same each time."""
        nonlocal ran
        ran += 1
        if ran == WARN_AT:
            enough.set()
        return "same"

    return look, enough


@pytest.mark.feature("L08")
@pytest.mark.parametrize("allowed", [True, False])
async def test_outcomes_are_counted_in_call_order(open_runtime, looks, allowed):
    look, enough = looks

    async with open_runtime(mode="default", approver=yes_after(enough, allowed)) as rt:
        rt.register(look)
        with anyio.fail_after(10):
            for _ in range(WARN_AT - 2):
                await rt.batch([LOOK])
            results = await rt.batch([LOOK, WRITE, LOOK])
            [after] = await rt.batch([LOOK])

    assert results[1].ok is allowed
    assert told(results) == [False] * 3
    assert told([after]) == [not allowed]


async def test_a_change_made_before_them_all_ends_no_count(open_runtime, looks):
    look, enough = looks

    async with open_runtime(mode="default", approver=yes_after(enough)) as rt:
        rt.register(look)
        with anyio.fail_after(10):
            results = await rt.batch([WRITE, *[LOOK] * WARN_AT])
            after = [await rt.call("look") for _ in range(WARN_AT - 1)]

    assert results[0].ok
    assert told([*results, *after]) == [False] * (2 * WARN_AT - 1) + [True]


async def test_batches_of_one_call_are_warned_and_refused_like_single_calls(open_runtime):
    call = {"name": "read_file", "arguments": {"path": "gone.txt"}}
    async with open_runtime() as rt:
        batched = [(await rt.batch([call]))[0] for _ in range(STOP_AT + 1)]
    async with open_runtime() as rt:
        alone = [await rt.call(call["name"], call["arguments"]) for _ in range(STOP_AT + 1)]

    assert [one.text for one in batched] == [one.text for one in alone]
    assert [one.problem.code for one in batched][-2:] == ["blocked"] * 2


@pytest.mark.finding("F40")
async def test_equal_calls_of_one_batch_are_judged_by_the_counts_before_it(open_runtime):
    calls = [{"name": "read_file", "arguments": {"path": "gone.txt"}}] * (STOP_AT + 1)
    async with open_runtime() as rt:
        first = [await rt.batch(calls) for _ in range(STOP_AT - 1)]
        last = await rt.batch(calls)

    assert {one.problem.code for batch in first for one in batch} == {"not_found"}
    assert told(first[0]) == [False] * len(calls)
    assert told(first[WARN_AT - 1]) == [True] * len(calls)
    assert {one.problem.code for one in last} == {"blocked"}


async def test_a_change_in_a_batch_lifts_a_refusal_when_the_batch_ends(workspace, open_runtime):
    workspace.write("b.txt", "same\n")
    read = {"name": "read_file", "arguments": {"path": "b.txt"}}
    async with open_runtime() as rt:
        for _ in range(STOP_AT):
            await rt.batch([read])
        refused, *_ = await rt.batch([read])
        _, within = await rt.batch([WRITE, read])
        after, *_ = await rt.batch([read])

    assert [one.problem.code for one in (refused, within)] == ["blocked"] * 2
    assert (after.ok, after.text) == (True, "same")


async def test_a_repeated_call_waits_for_no_other_call(open_runtime, looks):
    look, _ = looks
    ended = asyncio.Event()
    ends = 0

    def listener(event):
        nonlocal ends
        if event.type == "tool_call_end" and event.tool == "look":
            ends += 1
            if ends == 2:
                ended.set()

    async with open_runtime(mode="default", approver=yes_after(ended)) as rt:
        rt.register(look)
        with anyio.fail_after(10):
            for _ in range(WARN_AT - 1):
                await rt.batch([LOOK])
            results = await rt.batch([WRITE, LOOK, LOOK], on_event=listener)

    assert all(one.ok for one in results)
    assert told(results) == [False, True, True]


async def test_looking_at_jobs_waits_for_nobody(open_runtime):
    seen = asyncio.Event()
    ends = 0

    def listener(event):
        nonlocal ends
        ends += event.type == "tool_call_end" and event.tool == "job_list"
        if ends == WARN_AT + 1:
            seen.set()

    async with open_runtime(mode="default", approver=yes_after(seen)) as rt:
        with anyio.fail_after(10):
            calls = [WRITE, *[{"name": "job_list"}] * (WARN_AT + 1)]
            results = await rt.batch(calls, on_event=listener)

    assert all(one.ok for one in results)


async def test_a_tool_may_make_the_call_that_stands_beside_it(workspace, open_runtime):
    workspace.write("b.txt", "same\n")
    read = {"name": "read_file", "arguments": {"path": "b.txt"}}
    began = asyncio.Event()

    @handrail.tool(reads_only=True)
    async def outer() -> str:
        """Makes the call of another's id."""
        await began.wait()
        return (await rt.call("read_file", {"path": "b.txt"}, id="dup")).text

    def listener(event):
        if event.type == "tool_call_start" and event.call_id == "dup":
            began.set()

    async with open_runtime() as rt:
        rt.register(outer)
        await rt.batch([read] * (WARN_AT - 1))
        with anyio.fail_after(10):
            results = await rt.batch([{"name": "outer"}, {"id": "dup", **read}], on_event=listener)

    assert [one.text.splitlines()[0] for one in results] == ["same", "same"]


async def test_two_batches_with_the_same_ids_do_not_wait_for_each_other(workspace, open_runtime):
    answered = asyncio.Event()

    def read(name):
        return {"id": name, "name": "read_file", "arguments": {"path": f"{name}.txt"}}

    def write(name):
        return {"name": "write_file", "arguments": {"path": f"{name}.txt", "content": "new"}}

    for name in "gj":
        workspace.write(f"{name}.txt", "old\n")
    async with open_runtime(mode="default", approver=yes_after(answered)) as rt:
        for name in "gj":
            await rt.batch([{**read(name), "id": None}] * (WARN_AT - 1))
        with anyio.fail_after(10):
            one = asyncio.create_task(rt.batch([write("g"), read("g"), write("g"), read("j")]))
            await asyncio.sleep(0.05)
            two = asyncio.create_task(rt.batch([read("j"), write("j"), read("g")]))
            await asyncio.sleep(0.05)
            answered.set()
            results = [*await one, *await two]

    assert all(one.ok for one in results)


@pytest.mark.parametrize("given_up", [False, True])
async def test_a_change_is_heard_of_also_if_its_id_was_waited_for(
    workspace, open_runtime, given_up
):
    workspace.write("b.txt", "same\n")
    asked, yes, write = asyncio.Event(), asyncio.Event(), {"id": "w", **WRITE}

    async def approver(request):
        asked.set()
        await yes.wait()
        return True

    async with open_runtime(mode="default", approver=approver) as rt:
        for _ in range(WARN_AT - 1):
            await rt.call("read_file", {"path": "b.txt"})
        with anyio.fail_after(10):
            first = asyncio.create_task(rt.batch([{"name": "list_files"}, write]))
            await asked.wait()
            second = asyncio.create_task(rt.batch([write]))
            await asyncio.sleep(0.05)
            if given_up:
                first.cancel()
                await asyncio.wait([first])
            yes.set()
            [done] = await second
        read = await rt.call("read_file", {"path": "b.txt"})

    assert done.changes
    assert read.text == "same"


async def test_calls_that_a_hook_rewrites_are_counted_in_their_order_too(open_runtime):
    enough = asyncio.Event()
    ran = 0

    @handrail.tool(reads_only=True)
    async def look(far: bool = False) -> str:
        """Says the same each time."""
        nonlocal ran
        ran += 1
        if ran == WARN_AT:
            enough.set()
        return "same"

    class Farther:
        async def before(self, call):
            return Rewrite({"far": True}) if call.tool == "look" else None

        async def after(self, call, result):
            return None

    async with open_runtime(mode="default", approver=yes_after(enough)) as rt:
        rt.register(look)
        rt.hooks.append(Farther())
        with anyio.fail_after(10):
            results = await rt.batch([*[LOOK] * (WARN_AT - 1), WRITE, *[LOOK] * (WARN_AT - 1)])
            after = [(await rt.batch([LOOK]))[0] for _ in range(WARN_AT - 1)]

    assert told([*results, *after]) == [False] * (WARN_AT * 3 - 3) + [True]


async def test_a_batch_that_is_cancelled_counts_and_records_what_it_did(open_runtime, looks):
    look, enough = looks

    async def approver(request):
        await asyncio.Event().wait()

    async with open_runtime(mode="default", approver=approver) as rt:
        rt.register(look)
        with anyio.fail_after(10):
            batch = asyncio.create_task(rt.batch([*[LOOK] * (WARN_AT - 1), WRITE, LOOK]))
            await enough.wait()
            batch.cancel()
            with pytest.raises(asyncio.CancelledError):
                await batch
        records = await rt.store.calls(limit=9)
        after = [await rt.call("look") for _ in range(WARN_AT - 1)]

    assert told(after) == [False] * (WARN_AT - 2) + [True]
    assert sorted(one.completed["status"] for one in records) == ["interrupted", *["ok"] * WARN_AT]


@pytest.mark.finding("F40")
async def test_equal_calls_of_one_batch_count_once(open_runtime, looks):
    look, _ = looks
    async with open_runtime() as rt:
        rt.register(look)
        many = await rt.batch([LOOK] * 3 * STOP_AT)
        after = [await rt.call("look") for _ in range(WARN_AT - 1)]

    assert told([*many, *after]) == [False] * (3 * STOP_AT + WARN_AT - 2) + [True]


@pytest.mark.finding("F40")
@pytest.mark.finding("F78")
async def test_equal_calls_that_run_at_the_same_time_count_once(open_runtime, looks):
    look, _ = looks
    async with open_runtime() as rt:
        rt.register(look)
        with anyio.fail_after(60):
            many = await asyncio.gather(*[rt.call("look") for _ in range(500)])
        after = [await rt.call("look") for _ in range(STOP_AT - 1)]

    assert all(one.ok for one in many)
    assert after[-1].problem.code == "blocked"


@pytest.mark.finding("F40")
async def test_a_tool_that_polls_is_never_refused(open_runtime):
    @handrail.tool(reads_only=True, polls=True)
    async def build_state() -> str:
        """Says whether the build has ended."""
        return "running"

    async with open_runtime() as rt:
        rt.register(build_state)
        results = [await rt.call("build_state") for _ in range(2 * STOP_AT)]

    assert all(one.ok for one in results)
    assert told(results) == [False] * len(results)
