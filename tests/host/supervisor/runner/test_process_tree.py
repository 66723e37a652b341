"""Whatever a program leaves behind is ended with it; its neighbours are not."""

import signal

import anyio
import pytest
from tests.support.waiting import wait_until_async

from handrail.host.sandbox.recipe import Recipe

DOUBLE_FORK = "(setsid bash -c 'sleep 600 & disown' &)"
NAMELESS = "(env -i setsid bash -c 'cd /; exec -a innocent sleep 600' MARK &)"


@pytest.mark.feature("E34")
async def test_a_background_child_does_not_hold_the_result_back(programs, processes):
    with anyio.fail_after(10):
        ended = await processes.run(programs.launch("sleep 60 & echo hi"))

    assert (ended.stdout.head, ended.exit_code, ended.ended_children) == (b"hi\n", 0, 1)
    assert programs.alive() == []


@pytest.mark.parametrize(
    ("left", "count"),
    [
        ("setsid sleep 600 &", 1),
        ("nohup sleep 600 > /dev/null 2>&1 &", 1),
        (DOUBLE_FORK, 1),
        ("for n in 1 2 3 4 5; do setsid sleep 600 & done", 5),
        ("(trap '' TERM HUP INT; setsid sleep 600 & setsid sleep 601 &)", 2),
        ("yes &", 1),
    ],
)
async def test_what_is_left_running_is_ended_and_counted(programs, processes, left, count):
    # It must have come far enough to be found.
    ended = await processes.run(
        programs.launch(f"{left}\nuntil pgrep -f 'sleep 60|^yes'; do :; done")
    )

    assert (ended.exit_code, ended.survivors) == (0, ())
    assert ended.ended_children >= count
    assert programs.alive() == []


@pytest.mark.parametrize("kind", ["plain", "setsid", "double", "deaf"])
async def test_a_timeout_ends_the_whole_tree(programs, processes, kind):
    commands = {
        "plain": "sleep 600 & sleep 601 | sleep 602",
        "setsid": "setsid sleep 600 & setsid setsid sleep 601 & sleep 602",
        "double": f"{DOUBLE_FORK}; sleep 602",
        "deaf": "trap '' TERM INT HUP; setsid sleep 600 & sleep 601; sleep 602; sleep 603",
    }

    ended = await processes.run(programs.launch(commands[kind], timeout_s=0.5))

    assert (ended.timed_out, ended.cancelled, ended.survivors) == (True, False, ())
    assert ended.exit_code in (-signal.SIGTERM, -signal.SIGKILL)
    assert ended.duration_s >= 0.5
    assert programs.alive() == []


async def test_a_polite_program_may_tidy_up_after_a_timeout(programs, processes):
    ended = await processes.run(
        programs.launch(
            "trap 'echo tidy; exit 3' TERM; echo ready; while :; do sleep 0.01; done", timeout_s=0.5
        )
    )

    assert (ended.stdout.head, ended.exit_code, ended.timed_out) == (b"ready\ntidy\n", 3, True)


async def test_endless_output_stops_on_time(programs, processes):
    with anyio.fail_after(20):
        ended = await processes.run(programs.launch("yes", timeout_s=0.5))

    assert ended.timed_out
    assert ended.stdout.head.startswith(b"y\ny\n")
    assert ended.stdout.total > 1_000_000
    assert programs.alive() == []


COMET = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
while True:
    if os.fork():
        os._exit(0)
    {move}
"""


@pytest.mark.parametrize("move", ["pass", "os.setsid()"])
async def test_a_program_that_always_moves_on_to_a_child_is_caught(programs, processes, move):
    """It never has more than two processes, and none of them lives for a millisecond."""
    script = COMET.format(move=move)
    (programs.folder / "comet.py").write_text(script)

    ended = await processes.run(
        programs.launch("python3 comet.py $MARK; sleep 600; sleep 601", timeout_s=0.7)
    )

    assert (ended.timed_out, ended.survivors) == (True, ())
    assert ended.stdout.head == b"up\n"
    assert programs.alive() == []


async def test_a_wide_tree_that_ignores_everything_is_ended(programs, processes):
    command = "trap '' TERM HUP; for n in {1..40}; do setsid bash -c 'sleep 600; sleep 601' & done; wait; wait"

    ended = await processes.run(programs.launch(command, timeout_s=1))

    assert (ended.timed_out, ended.survivors) == (True, ())
    assert programs.alive() == []


async def test_more_processes_than_anybody_needs_are_ended_at_once(programs, processes):
    """Nobody is asked politely then; SIGTERM would have been answered by each of them."""
    command = (
        "trap 'echo asked' TERM; for n in {1..1050}; do sleep 600 & done; touch all; wait; wait"
    )

    with anyio.fail_after(60):
        ended = await processes.run(programs.launch(command, timeout_s=6))

    assert (programs.folder / "all").exists()
    assert (ended.timed_out, ended.survivors, ended.stdout.head) == (True, (), b"")
    assert programs.alive() == []


async def test_a_stopped_tree_is_ended(programs, processes):
    ended = await processes.run(
        programs.launch("sleep 600 & kill -STOP $!; kill -STOP $$", timeout_s=0.5)
    )

    assert (ended.timed_out, ended.survivors) == (True, ())
    assert programs.alive() == []


async def test_the_end_of_one_program_is_not_the_end_of_another(programs, processes):
    """Both leave children that nothing marks as theirs."""
    results = {}
    patient = f"{NAMELESS}; {DOUBLE_FORK}; touch started; until [ -e go ]; do sleep 0.01; done; pgrep -cf innocent"

    async def run(name, command):
        results[name] = await processes.run(programs.launch(command))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run, "patient", patient)
            await programs.until((programs.folder / "started").exists)
            await run("quick", f"{NAMELESS}; {DOUBLE_FORK}; sleep 600 & exit 3")
            assert results["quick"].ended_children >= 2
            (programs.folder / "go").touch()

    assert results["patient"].exit_code == 0
    assert results["patient"].ended_children == 2
    assert programs.alive() == []


async def test_cancelling_ends_the_tree_before_the_caller_goes_on(programs, processes):
    started = anyio.Event()
    alive = []

    async def run():
        try:
            await processes.run(
                programs.launch("trap '' TERM; setsid sleep 600 & echo up; sleep 601; sleep 602"),
                lambda stream, data: started.set(),
            )
        finally:
            alive.extend(programs.alive())

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await started.wait()
            await wait_until_async(lambda: len(programs.alive()) >= 2)
            group.cancel_scope.cancel()

    assert alive == []
    assert (await processes.run(programs.launch("echo next"))).stdout.head == b"next\n"


async def test_cancelling_before_anything_started_leaves_nothing(programs, processes):
    with anyio.CancelScope() as scope:
        scope.cancel()
        await processes.run(programs.launch("sleep 600"))

    await programs.until_dead()
    assert (await processes.run(programs.launch("echo next"))).stdout.head == b"next\n"


@pytest.mark.needs_bubblewrap
async def test_with_a_process_table_of_its_own_the_tree_goes_with_its_first_process(programs):
    def walled(launch):
        argv = ("/usr/bin/bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--die-with-parent",
                "--proc", "/proc", *launch.argv)  # fmt: skip
        return Recipe(argv, launch.env, launch.cwd, own_pids=True)

    processes = programs.open(walled)
    left = await processes.run(programs.launch(f"{DOUBLE_FORK}; sleep 600 & echo hi"))
    late = await processes.run(
        programs.launch(
            f"trap 'echo tidy; exit 3' TERM; {DOUBLE_FORK}; sleep 600 & wait", timeout_s=0.7
        )
    )
    deaf = await processes.run(programs.launch("trap '' TERM; sleep 600; sleep 601", timeout_s=0.7))

    assert (left.stdout.head, left.exit_code, left.survivors) == (b"hi\n", 0, ())
    assert (late.stdout.head, late.exit_code, late.timed_out) == (b"tidy\n", 3, True)
    assert (deaf.timed_out, deaf.survivors) == (True, ())
    assert programs.alive() == []
