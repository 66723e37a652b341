"""Tools, hooks, listeners and callers that misbehave: the pipeline answers, records, goes on."""

import asyncio
import sys
import threading

import anyio
import pytest

import handrail
import handrail.sync
from handrail import Effect, Output, Rewrite, Status, Verdict


def own_tool(function, **attributes):
    class Own(handrail.Tool):
        name = "own"
        summary = "Misbehaves."
        effects = handrail.Effects.PURE

        class params(handrail.Params):
            pass

        async def run(self, args, ctx):
            return await function()

    tool = Own()
    for key, value in attributes.items():
        setattr(type(tool), key, value)
    return tool


async def _garbage(value):
    return value


@pytest.mark.feature("A17", "F01")
@pytest.mark.parametrize(
    "value",
    [None, "text", 5, Output(None), Output(b"x"), Output("x", meta=5), Output("x", modifiers=(1,))],
)
async def test_what_is_no_output_is_a_failure_with_a_record(open_runtime, value):
    async with open_runtime() as rt:
        rt.register(own_tool(lambda: _garbage(value)))
        results = await rt.batch([{"name": "own"}, {"name": "list_files"}])
        records = await rt.store.calls(limit=5)

    assert [one.status for one in results] == [Status.FAILED, Status.OK]
    assert all(one.completed is not None for one in records)


def _raise(error):
    raise error


@pytest.mark.parametrize(
    "error",
    [asyncio.CancelledError(), SystemExit(3), BaseExceptionGroup("g", [ValueError()])],
    ids=["cancelled", "exit", "group"],
)
async def test_whatever_a_tool_raises_is_its_own_failure(open_runtime, error):
    async def run():
        _raise(error)

    async with open_runtime() as rt:
        rt.register(own_tool(run))
        results = await rt.batch([{"name": "own"}, {"name": "list_files"}])
        single = await rt.call("own")

    assert [one.status for one in results] == [Status.FAILED, Status.OK]
    assert single.problem.code == "internal"
    assert asyncio.current_task().cancelling() == 0


@pytest.mark.parametrize("where", ["footprint", "risk"])
async def test_a_tool_that_cannot_even_be_prepared_is_a_recorded_failure(open_runtime, where):
    async with open_runtime() as rt:
        rt.register(own_tool(lambda: _garbage(Output("")), **{where: lambda self, args: 1 / 0}))
        result = await rt.call("own")
        (record,) = await rt.store.calls(limit=5)

    assert result.problem.code == "internal"
    assert record.completed["status"] == "failed"


@pytest.mark.parametrize("arguments", [[1], 5, b"x", {1: 2}, 1.5])
async def test_arguments_that_are_no_object_are_refused(open_runtime, arguments):
    async with open_runtime() as rt:
        result = await rt.call("list_files", arguments)
        batch = await rt.batch([{"name": "list_files", "arguments": arguments}])

    assert result.problem.code == "invalid_arguments"
    assert batch[0].problem.code == "invalid_arguments"


async def test_cancelling_twice_ends_one_call_and_nothing_else(open_runtime):
    started = asyncio.Event()

    async def stubborn():
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Output("went on")

    async with open_runtime() as rt:
        rt.register(own_tool(stubborn))
        batch = asyncio.create_task(
            rt.batch(
                [{"id": "1", "name": "list_files"}, {"id": "2", "name": "own"}, {"name": "grep"}]
            )
        )
        await asyncio.wait_for(started.wait(), 5)
        first, second = await rt.cancel("2"), await rt.cancel("2")
        with anyio.fail_after(5):
            results = await batch

    assert (first, len(results)) == (True, 3)
    assert second in (True, False)
    assert results[0].ok


async def test_a_deadline_inside_a_task_that_was_asked_to_end_before_is_still_ours(open_runtime):
    async def slow():
        await asyncio.Event().wait()

    async def caller(rt):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await rt.call("own")

    async with open_runtime() as rt:
        rt.register(own_tool(slow, timeout_s=0.05))
        task = asyncio.create_task(caller(rt))
        await asyncio.sleep(0)
        task.cancel()
        with anyio.fail_after(5):
            result = await task

    assert result.problem.code == "timeout"


async def test_the_deadline_ends_a_call_after_its_time_and_not_before(open_runtime):
    ended = []

    async def slow():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(asyncio.get_running_loop().time())

    async with open_runtime() as rt:
        rt.register(own_tool(slow, timeout_s=0.2))
        begun = asyncio.get_running_loop().time()
        result = await rt.call("own")

    assert result.problem.code == "timeout"
    assert "0.2 s" in result.text
    assert ended[0] - begun >= 0.19


@pytest.mark.parametrize("where", ["preflight", "plan"])
async def test_a_step_before_running_has_the_deadline_too(open_runtime, where):
    async def hang(self, args, ctx):
        await asyncio.Event().wait()

    async with open_runtime() as rt:
        tool = type("Own", (handrail.Tool,), {
            "name": "own", "summary": "x", "params": handrail.Params, "timeout_s": 0.05,
            "effects": handrail.Effects.WRITES_PATHS if where == "plan" else handrail.Effects.PURE,
            where: hang,
        })()  # fmt: skip
        rt.register(tool)
        with anyio.fail_after(5):
            result = await rt.call("own")

    assert result.problem.code == "timeout"


async def test_closing_waits_for_what_is_being_written(workspace, tmp_path):
    store = tmp_path / "store.db"
    content = "x" * 30_000_000
    rt = await handrail.open(workspace.root, store=store, mode="accept-edits")
    task = asyncio.create_task(rt.call("write_file", {"path": "a", "content": content}, id="w"))
    with anyio.fail_after(20):
        while not any(workspace.root.iterdir()):
            await asyncio.sleep(0.001)
    await rt.aclose()
    result = await task
    async with handrail.open(workspace.root, store=store) as again:
        (record,) = await again.store.calls(call_id="w")

    assert record.completed is not None
    written = workspace.tree().get("a") == content.encode()
    assert written == bool(record.completed["changes"])
    assert result.changes or not written
    assert [name for name in workspace.tree() if "handrail" in name] == []


def test_closing_the_sync_door_frees_a_thread_that_waits(workspace):
    started, results = threading.Event(), []

    async def stubborn():
        started.set()
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)
                raise

    rt = handrail.sync.open(workspace.root, store=":memory:")
    rt.register(own_tool(stubborn))

    def call():
        try:
            results.append(rt.call("own"))
        except BaseException as error:  # noqa: BLE001
            results.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    started.wait(5)
    rt.close()
    thread.join(5)

    assert not thread.is_alive()
    assert len(results) == 1


async def test_a_hook_that_wants_the_person_asked_is_heard_and_a_rewrite_is_on_record(
    workspace, open_runtime
):
    class Asking:
        async def before(self, call):
            if call.tool == "read_file":
                return Rewrite({"path": "b.txt"})
            return Verdict(Effect.ASK, "look twice", "hook")

        async def after(self, call, result):
            return None

    workspace.write("a.txt", "a\n")
    workspace.write("b.txt", "b\n")
    asked = []

    async with open_runtime(approver=lambda request: asked.append(request.reason)) as rt:
        rt.hooks.append(Asking())
        write = await rt.call("write_file", {"path": "c", "content": "x"})
        read = await rt.call("read_file", {"path": "a.txt"}, id="r")
        (record,) = await rt.store.calls(call_id="r")

    assert write.problem.code == "denied"
    assert asked == ["look twice"]
    assert read.text == "b"
    assert record.completed["rewritten"] == {"path": "b.txt"}


async def test_a_call_that_is_cancelled_in_a_post_hook_is_on_record(workspace, open_runtime):
    inside = asyncio.Event()

    class Slow:
        async def before(self, call):
            return None

        async def after(self, call, result):
            inside.set()
            await asyncio.Event().wait()

    async with open_runtime() as rt:
        rt.hooks.append(Slow())
        task = asyncio.create_task(rt.call("write_file", {"path": "a", "content": "x"}, id="w"))
        await asyncio.wait_for(inside.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (record,) = await rt.store.calls(call_id="w")

    assert record.completed["changes"]
    assert workspace.read("a") == b"x"


async def test_a_listener_that_ends_the_program_does_not_unwrite_the_record(
    workspace, open_runtime
):
    def rude(event):
        if event.type == "file_changed":
            raise KeyboardInterrupt

    async with open_runtime() as rt:
        rt.subscribe(rude)
        with pytest.raises(KeyboardInterrupt):
            await rt.call("write_file", {"path": "a", "content": "x"}, id="w")
        (record,) = await rt.store.calls(call_id="w")

    assert record.completed["status"] == "ok"


async def test_a_tool_may_call_tools_of_its_own_runtime(workspace, tmp_path):
    @handrail.tool
    async def outer() -> str:
        """Calls another tool."""
        inner = await rt.call("write_file", {"path": "a", "content": "x"})
        return inner.status.value

    async with handrail.open(workspace.root, store=tmp_path / "s.db", mode="bypass") as rt:
        rt.register(outer)
        with anyio.fail_after(5):
            result = await rt.call("outer")

    assert result.text == "ok"
    assert workspace.read("a") == b"x"


async def test_many_repeats_of_one_id_do_not_starve_the_first(workspace, open_runtime):
    asked = []

    async def approver(request):
        asked.append(request.call_id)
        await asyncio.sleep(0.01)
        return True

    call = {"id": "same", "name": "list_files"}
    async with open_runtime(mode="confirm-all", approver=approver) as rt:
        with anyio.fail_after(5):
            results = await rt.batch([call] * 25)

    assert [one.ok for one in results] == [True] * 25
    assert asked == ["same"]


async def test_concurrent_appends_to_a_new_file_all_arrive(workspace, open_runtime):
    async with open_runtime() as rt:
        results = await asyncio.gather(
            *(
                rt.call("write_file", {"path": "log", "content": f"{n}\n", "mode": "append"})
                for n in range(8)
            )
        )

    assert [one.ok for one in results] == [True] * 8, [one.text for one in results]
    assert sorted(workspace.read("log").split()) == [b"%d" % n for n in range(8)]


async def test_the_listener_of_one_call_hears_its_heartbeat(open_runtime):
    beats = asyncio.Event()

    async def slow():
        await beats.wait()
        return Output("done")

    def listener(event):
        if event.type == "tool_call_heartbeat":
            beats.set()

    async with open_runtime(config={"heartbeat_s": 0.02}) as rt:
        rt.register(own_tool(slow))
        with anyio.fail_after(5):
            result = await rt.call("own", on_event=listener)

    assert result.text == "done"


async def test_a_dry_run_says_that_a_person_would_be_asked(open_runtime):
    async with open_runtime(dry_run=True) as rt:
        result = await rt.call("write_file", {"path": ".envrc", "content": "x"})

    assert result.status is Status.PLANNED
    assert "would be asked first" in result.text


async def test_a_huge_name_does_not_come_back(open_runtime):
    async with open_runtime() as rt:
        result = await rt.call("x" * 5_000_000)

    assert len(result.text) < 1000
    assert sys.getsizeof(result.text) < 5000
