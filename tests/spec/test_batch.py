"""Several calls at once: order where it matters, together where it does not."""

import asyncio
import random
import shutil

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import handrail
from handrail import Status


def call(name, /, id=None, **arguments):
    return {"id": id, "name": name, "arguments": arguments}


@pytest.mark.feature("L02", "L08", "L09", "B13", "B08")
async def test_a_read_after_an_edit_in_one_batch_sees_the_edit(workspace, open_runtime):
    workspace.write("a.txt", "old\n")
    workspace.write("b.txt", "other\n")
    calls = [
        call("edit_file", id="1", path="a.txt", old_string="old", new_string="new"),
        call("read_file", id="2", path="a.txt"),
        call("read_file", id="3", path="b.txt"),
        call("grep", id="4", pattern="new", output_mode="content"),
    ]

    async with open_runtime() as rt:
        ordering = rt.plan(calls)
        results = await rt.batch(calls)

    assert [one.call_id for one in results] == ["1", "2", "3", "4"]
    assert [one.status for one in results] == [Status.OK] * 4
    assert [one.text for one in results[1:3]] == ["new", "other"]
    assert "a.txt:1:new" in results[3].text
    assert ordering.groups == (("1", "3"), ("2", "4"))
    assert str(ordering).splitlines()[1] == "2 after 1"


@pytest.mark.feature("L06")
async def test_aliases_of_one_file_are_one_file(workspace, open_runtime):
    workspace.write("real/a.txt", "0\n")
    (workspace.root / "link").symlink_to("real")
    edits = [
        call("edit_file", path="real/a.txt", old_string="0", new_string="1"),
        call("edit_file", path="link/a.txt", old_string="1", new_string="2"),
        call("edit_file", path="./real/../link/a.txt", old_string="2", new_string="3"),
        call("edit_file", path=str(workspace.root / "link/a.txt"), old_string="3", new_string="4"),
    ]

    async with open_runtime() as rt:
        results = await rt.batch(edits)

    assert [one.ok for one in results] == [True] * 4, [one.text for one in results]
    assert workspace.read("real/a.txt") == b"4\n"
    assert (workspace.root / "link").is_symlink()


@pytest.mark.feature("L01", "L03", "L05", "R-23")
async def test_independent_calls_are_in_flight_together_up_to_the_cap(open_runtime):
    most, now, arrived = 0, 0, asyncio.Event()

    @handrail.tool(reads_only=True)
    async def meet() -> str:
        """Waits until ten are here."""
        nonlocal most, now
        now += 1
        most = max(most, now)
        if now == 10:
            arrived.set()
        await arrived.wait()
        now -= 1
        return "met"

    async with open_runtime(config={"loop_guard": "off"}) as rt:
        rt.register(meet)
        with anyio.fail_after(5):
            results = await rt.batch([call("meet") for _ in range(25)])

    assert [one.text for one in results] == ["met"] * 25
    assert most == 10


@pytest.mark.feature("L04", "L07")
async def test_calls_of_unknown_reach_run_alone_and_in_order(open_runtime):
    log = []

    @handrail.tool
    async def anything(number: int) -> str:
        """May touch anything."""
        log.append(("in", number))
        await asyncio.sleep(0)
        log.append(("out", number))
        return str(number)

    async with open_runtime(mode="bypass") as rt:
        rt.register(anything)
        await rt.batch([call("anything", number=number) for number in range(5)])

    assert log == [(side, number) for number in range(5) for side in ("in", "out")]


async def test_a_question_delays_only_the_calls_that_depend_on_it(workspace, open_runtime):
    for number in range(12):
        workspace.write(f"{number}.txt", "old\n")
    read_done = asyncio.Event()

    async def approver(request):
        await read_done.wait()
        return True

    def listener(event):
        if event.type == "tool_call_end" and event.tool == "grep":
            read_done.set()

    edits = [
        call("edit_file", path=f"{number}.txt", old_string="old", new_string="new")
        for number in range(12)
    ]
    other = workspace.root.parent / "other"
    other.mkdir()

    async with open_runtime(mode="default", approver=approver, directories=[other]) as rt:
        rt.subscribe(listener)
        with anyio.fail_after(10):
            results = await rt.batch([*edits, call("grep", pattern="x", path=str(other))])

    assert all(one.ok for one in results)


@pytest.mark.feature("L06")
async def test_eight_concurrent_edits_of_one_file_lose_nothing(workspace, open_runtime):
    workspace.write("a.txt", "".join(f"line{number}\n" for number in range(8)))

    async with open_runtime() as rt:
        results = await asyncio.gather(
            *(
                rt.call(
                    "edit_file",
                    {"path": "a.txt", "old_string": f"line{n}\n", "new_string": f"done{n}\n"},
                )
                for n in range(8)
            )
        )

    assert all(one.ok for one in results)
    assert workspace.read("a.txt") == b"".join(b"done%d\n" % number for number in range(8))


async def test_a_cancelled_batch_records_every_call(open_runtime, endless):
    slow, started = endless
    async with open_runtime() as rt:
        rt.register(slow)
        task = asyncio.create_task(rt.batch([call("slow"), call("slow")]))
        await asyncio.wait_for(started.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        records = await rt.store.calls(limit=5)

    assert {one.completed["status"] for one in records} == {"interrupted"}


async def test_the_same_id_twice_in_one_batch_runs_once(workspace, open_runtime):
    workspace.write("a.txt", "")
    append = call("write_file", id="w", path="a.txt", content="x", mode="append")

    async with open_runtime() as rt:
        one, two = await rt.batch([append, append])

    assert (one.text, one.ok) == (two.text, two.ok)
    assert workspace.read("a.txt") == b"x"


FILES = ["a", "b", "d/c"]
WORDS = st.sampled_from(["one", "two", "three"])
PATHS = st.sampled_from(FILES)
CALLS = st.one_of(
    st.builds(lambda p: call("read_file", path=p), PATHS),
    st.builds(lambda p, w: call("write_file", path=p, content=w + "\n"), PATHS, WORDS),
    st.builds(
        lambda p, w: call("write_file", path=p, content=w + "\n", mode="append"), PATHS, WORDS
    ),
    st.builds(
        lambda p, a, b: call("edit_file", path=p, old_string=a, new_string=b), PATHS, WORDS, WORDS
    ),
    st.builds(lambda p: call("delete_file", path=p), PATHS),
    st.builds(lambda w: call("grep", pattern=w, output_mode="content", path="."), WORDS),
    st.builds(lambda p: call("list_files", path=p), st.sampled_from([".", "d"])),
    st.builds(lambda: call("find_files", pattern="*")),
    st.builds(lambda p: call("file_info", path=p), PATHS),
)


async def _compare(tmp_path, batch, seed):
    """Run one batch in parallel and call by call; both must see and leave the same."""
    told, left = [], []
    for name in ("together", "alone"):
        root = tmp_path / name / "work"
        shutil.rmtree(root.parent, ignore_errors=True)
        (root / "d").mkdir(parents=True)
        for number, path in enumerate(FILES):
            if (seed >> number) & 1:
                (root / path).write_text("one\ntwo\n")
        # Without the loop guard, which warns about single calls earlier than within a batch.
        config = {"loop_guard": "off", "allow_delete": True, "durability": "process"}
        async with handrail.open(root, store=":memory:", mode="accept-edits", config=config) as rt:
            if name == "together":
                results = await rt.batch(batch)
            else:
                results = [await rt.call(one["name"], one["arguments"]) for one in batch]
        told.append([(one.status, _timeless(one.text)) for one in results])
        left.append(
            {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        )
    assert told[0] == told[1]
    assert left[0] == left[1]


def _timeless(text):
    return "\n".join(line for line in text.splitlines() if "modified" not in line.lower())


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(batch=st.lists(CALLS, min_size=2, max_size=8), seed=st.integers(0, 7))
def test_a_batch_does_what_the_calls_one_by_one_would_do(tmp_path, batch, seed):
    asyncio.run(_compare(tmp_path, batch, seed))


@pytest.mark.torture
@settings(
    max_examples=1000,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(batch=st.lists(CALLS, min_size=2, max_size=8), seed=st.integers(0, 7))
def test_a_thousand_batches_do_what_the_calls_one_by_one_would_do(tmp_path, batch, seed):
    asyncio.run(_compare(tmp_path, batch, seed))


@pytest.mark.feature("L11")
def test_the_grouping_is_pure_and_repeatable():
    from handrail.core.footprint import NOTHING, OPEN_ENDED, reading, writing
    from handrail.engine.batch.scheduler import order

    footprints = [
        writing("file:/w/a"),
        reading("file:/w/a"),
        reading("tree:/w"),
        writing("file:/w/b"),
        NOTHING,
        OPEN_ENDED,
        reading("file:/w/b"),
    ]
    ids = list("ABCDEFG")

    first, second = order(ids, footprints), order(ids, footprints)

    assert first == second
    assert first.waits == ((), (0,), (0,), (2,), (), (0, 1, 2, 3), (3, 5))
    assert first.groups == (("A", "E"), ("B", "C"), ("D",), ("F",), ("G",))
    random.Random(1).shuffle(ids)
    assert order(ids, footprints).waits == first.waits


@pytest.mark.feature("A22", "A23")
async def test_whether_a_call_reads_or_writes_is_told_by_its_arguments(open_runtime):
    class Either(handrail.Tool):
        name = "either"
        summary = "Reads or writes one thing."
        effects = handrail.Effects.SESSION

        class params(handrail.Params):
            write: bool

        def footprint(self, args):
            access = handrail.Access.WRITE if args.write else handrail.Access.READ
            return handrail.Footprint((handrail.Touch("session:thing", access),))

        async def run(self, args, ctx):
            return handrail.Output("done")

    async with open_runtime(mode="default") as rt:
        rt.register(Either())
        reads = rt.plan([call("either", id=str(n), write=False) for n in range(3)])
        mixed = rt.plan([call("either", id=str(n), write=n == 1) for n in range(3)])
        read = await rt.call("either", {"write": False})
        write = await rt.call("either", {"write": True})

    assert reads.groups == (("0", "1", "2"),)
    assert mixed.groups == (("0",), ("1",), ("2",))
    assert read.ok
    assert write.problem.code == "needs_approval"
