"""The synchronous door: from threads, inside a running loop, and never a deadlock."""

import asyncio
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from tests.support.waiting import wait_until

import handrail
import handrail.sync
from handrail import ProblemRaised


def test_the_same_runtime_without_async(workspace):
    workspace.write("a.txt", "x\n")

    with handrail.sync.open(workspace.root, store=":memory:", mode="accept-edits") as rt:
        with rt.turn() as turn:
            read = rt.call("read_file", {"path": "a.txt"}, id="r")
            rt.batch([{"name": "write_file", "arguments": {"path": "b", "content": "y"}}])
        ordering = rt.plan([{"id": "1", "name": "list_files"}])
        declared = rt.declare("openai")
        messages = rt.tool_messages([read], "openai")
        records = rt.wait(rt.runtime.store.calls(limit=5))

    assert read.text == "x"
    assert workspace.read("b") == b"y"
    assert ordering.groups == (("1",),)
    assert declared[0]["type"] == "function"
    assert messages == [{"role": "tool", "tool_call_id": "r", "content": "x"}]
    assert {one.turn for one in records} == {turn}


@pytest.mark.needs_sandbox
def test_every_part_of_the_runtime_is_reached_without_await(workspace):
    made = []

    @handrail.tool(reads_only=True)
    def fetch(page: str) -> str:
        """Fails once."""
        made.append(page)
        if len(made) == 1:
            raise RuntimeError("no route")
        return f"the page {page}"

    with handrail.sync.open(workspace.root, mode="sandboxed") as rt:
        rt.register(fetch)
        rt.call("fetch", {"page": "home"}, id="f")
        (letter,) = rt.dead_letters.items("pending")
        again = rt.dead_letters.retry(letter.id)
        rt.grants.grant("write_file", "notes/**")
        granted = [one.rule.text for one in rt.grants.active()]
        revoked = rt.revoke("write_file(notes/**)")
        left = rt.grants.active()
        known = rt.registry.has_tool("fetch")
        started = rt.call("run_command", {"command": "sleep 307", "background": True})
        (job,) = rt.jobs.list()
        killed = rt.jobs.kill(job.id)
        newest = rt.store.calls(call_id="f")
        root, queued, hooks = rt.session.roots[0], rt.plan_queue.items(), rt.hooks

    assert (again.text, known) == ("the page home", True)
    assert (granted, list(revoked), left) == (["allow write_file(notes/**)"], [], ())
    assert (started.data["job"], killed.state) == (job.id, "killed")
    assert [one.call_id for one in newest] == ["f"]
    assert (root, queued, list(hooks)) == (str(workspace.root), (), [])


def test_what_a_runtime_does_not_have_is_no_attribute_of_the_door_either(workspace):
    with handrail.sync.open(workspace.root, store=":memory:") as rt:
        with pytest.raises(AttributeError, match="'Runtime' object has no attribute 'letters'"):
            rt.letters  # noqa: B018 - that it raises
        with pytest.raises(AttributeError, match="'BackgroundJobs' object has no attribute 'stop'"):
            rt.jobs.stop  # noqa: B018 - likewise
        with pytest.raises(ProblemRaised, match="there is no failed call 9"):
            rt.dead_letters.retry(9)
        listed = dir(rt), dir(rt.jobs)
    with pytest.raises(ProblemRaised, match="closed"):
        rt.jobs.list()

    assert {"jobs", "call"} <= set(listed[0])
    assert {"list", "kill"} <= set(listed[1])


def test_many_threads_share_one_runtime(workspace):
    workspace.write("a.txt", "".join(f"<{number}>\n" for number in range(32)))

    def edit(number):
        arguments = {"path": "a.txt", "old_string": f"<{number}>", "new_string": f"{number}"}
        return rt.call("edit_file", arguments)

    with (
        handrail.sync.open(workspace.root, store=":memory:", mode="accept-edits") as rt,
        ThreadPoolExecutor(8) as pool,
    ):
        results = list(pool.map(edit, range(32)))

    assert all(one.ok for one in results)
    assert workspace.read("a.txt") == b"".join(b"%d\n" % number for number in range(32))


async def test_it_works_where_a_loop_is_already_running(workspace):
    workspace.write("a.txt", "x\n")

    with handrail.sync.open(workspace.root, store=":memory:") as rt:
        assert rt.call("read_file", {"path": "a.txt"}).text == "x"


@pytest.mark.parametrize("kind", ["sync tool", "async tool"])
def test_inside_a_tool_of_the_same_runtime_it_raises_instead_of_deadlocking(workspace, kind):
    caught = []

    def again() -> str:
        """Calls its own runtime."""
        try:
            rt.call("list_files")
        except RuntimeError as error:
            caught.append(str(error))
        return "done"

    async def again_async() -> str:
        """Calls its own runtime."""
        return again()

    function = handrail.tool(name="again", reads_only=True)(
        again if kind == "sync tool" else again_async
    )
    with handrail.sync.open(workspace.root, store=":memory:") as rt:
        rt.register(function)
        result = rt.call("again")

    assert result.text == "done"
    assert "wait for itself" in caught[0]


def test_a_tool_may_use_another_runtime(workspace):
    with (
        handrail.sync.open(workspace.root, store=":memory:") as inner,
        handrail.sync.open(workspace.root, store=":memory:") as outer,
    ):

        @handrail.tool(reads_only=True)
        def ask_other() -> str:
            """Calls another runtime."""
            return inner.call("list_files").status.value

        outer.register(ask_other)
        assert outer.call("ask_other").text == "ok"


def test_ctrl_c_cancels_the_call_and_leaves_the_runtime_usable(workspace):
    started = threading.Event()

    @handrail.tool(reads_only=True)
    async def slow() -> str:
        """Waits for ever."""
        started.set()
        await asyncio.Event().wait()
        return ""

    def interrupt():
        started.wait(5)
        os.kill(os.getpid(), signal.SIGINT)

    with handrail.sync.open(workspace.root, store=":memory:") as rt:
        rt.register(slow)
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            rt.call("slow", id="s")
        recorded = partial(rt.runtime.store.calls, call_id="s")
        wait_until(lambda: rt.wait(recorded())[0].completed is not None)
        record = rt.wait(recorded())[0]
        after = rt.call("list_files")

    assert record.completed["status"] == "interrupted"
    assert after.ok


def test_a_bad_workspace_raises_and_leaves_no_thread(tmp_path):
    before = set(threading.enumerate())

    with pytest.raises(ProblemRaised):
        handrail.sync.open(tmp_path / "none")

    assert set(threading.enumerate()) <= before


def test_a_closed_door_says_so_and_events_reach_a_listener(workspace):
    told = []

    with handrail.sync.open(workspace.root, store=":memory:") as rt:
        rt.subscribe(lambda event: told.append(event.type))
        rt.call("list_files")

    assert told == ["tool_call_start", "tool_call_end"]
    with pytest.raises(ProblemRaised, match="closed"):
        rt.call("list_files")


def test_ctrl_c_right_after_the_hand_over_cancels_the_call_too(workspace, monkeypatch):
    with handrail.sync.open(workspace.root, store=":memory:") as rt:
        loop = rt._loop
        hand_over = loop.call_soon_threadsafe
        interrupted = []

        def interrupt_once(callback, *args, **named):
            handle = hand_over(callback, *args, **named)
            if not interrupted:
                interrupted.append(True)
                raise KeyboardInterrupt
            return handle

        @handrail.tool(reads_only=True)
        async def slow() -> str:
            """Waits for ever."""
            await asyncio.Event().wait()
            return ""

        rt.register(slow)
        monkeypatch.setattr(loop, "call_soon_threadsafe", interrupt_once)
        with pytest.raises(KeyboardInterrupt):
            rt.call("slow", id="s")
        [record] = rt.wait(rt.runtime.store.calls(call_id="s"))
        after = rt.call("list_files")

    assert record.completed["status"] == "interrupted"
    assert after.ok
