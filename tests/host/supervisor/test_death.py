"""Somebody dies who should not: the runtime, a runner, the supervisor. No program lives on."""

import os
import signal
from pathlib import Path

import anyio
import pytest
from tests.support.waiting import wait_exit

from handrail.core.ports.processes import JobState
from handrail.core.problems import ProblemRaised
from handrail.host.processes.procfs import child_pids, process_stat
from handrail.host.supervisor.killed_runtimes import wait_for_killed_runtimes


def helpers_of(pid):
    """The supervisor of a process and its runners."""
    below = [pid]
    for parent in below:
        below += child_pids(parent)
    return [one for one in below if comm(one) in ("handrail-superv", "handrail-runner")]


def comm(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except FileNotFoundError:
        return None


async def test_nothing_survives_a_killed_runtime(programs, start_runtime):
    stubborn = "trap '' TERM; setsid sleep 600 & echo up; sleep 601; sleep 602"
    runtime = await start_runtime(f"run:{stubborn}", f"run:{stubborn}", "job:sleep 603", lines=3)
    helpers = helpers_of(runtime.pid)
    assert len(helpers) == 4

    runtime.kill()
    wait_exit(runtime)

    await programs.until_dead()
    await programs.until(lambda: not any(process_stat(pid) for pid in helpers))


async def test_whoever_comes_next_can_wait_until_nothing_writes_any_more(programs, start_runtime):
    stubborn = "trap '' TERM; setsid sleep 600 & echo up; sleep 601; sleep 602"
    runtime = await start_runtime(f"run:{stubborn}", "job:sleep 603", lines=2)
    [sign] = (programs.state / "running").iterdir()

    runtime.kill()
    wait_exit(runtime)
    assert programs.alive(), "there is nothing to wait for"
    await wait_for_killed_runtimes(programs.state)

    assert programs.alive() == []
    assert not sign.exists()


async def test_nobody_waits_for_the_living_nor_for_a_job_that_is_kept(
    programs, start_runtime, caplog
):
    living = await start_runtime("run:echo up; sleep 600", lines=1)
    killed = await start_runtime("keep:sleep 601", "run:echo up; sleep 602", lines=2)

    killed.kill()
    wait_exit(killed)
    await wait_for_killed_runtimes(programs.state)

    assert [one.name.split("+")[2] for one in (programs.state / "running").iterdir()] == [
        str(living.pid)
    ]
    assert caplog.messages == []
    [job] = [one for one in await programs.open().jobs() if one.state is JobState.RUNNING]
    await programs.open().kill(job.id)


async def test_a_runtime_that_ends_in_peace_leaves_no_sign(programs, processes):
    await processes.run(programs.launch("true"))
    await processes.aclose()

    assert list((programs.state / "running").iterdir()) == []


async def test_a_fork_of_the_runtime_does_not_keep_its_programs_alive(programs, start_runtime):
    runtime = await start_runtime("run:echo up; sleep 600", "fork:", lines=1)

    runtime.kill()
    wait_exit(runtime)

    await programs.until(lambda: not any(comm(pid) == "bash" for pid in programs.alive()))


async def test_a_killed_runner_is_a_problem_and_its_program_is_ended(programs, processes):
    up = anyio.Event()

    async def kill():
        await up.wait()
        [runner] = programs.runners()
        os.kill(runner, signal.SIGKILL)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(kill)
            with pytest.raises(ProblemRaised) as caught:
                await processes.run(
                    programs.launch(
                        "trap '' TERM; setsid sleep 600 & echo up; sleep 601; sleep 602"
                    ),
                    lambda stream, data: up.set(),
                )

    assert caught.value.problem.code == "unavailable"
    assert "helper process" in caught.value.problem.message
    await programs.until_dead()
    assert (await processes.run(programs.launch("echo next"))).stdout.head == b"next\n"


async def test_a_runner_that_died_idle_is_replaced_unseen(programs, processes):
    await processes.run(programs.launch("true"))
    [runner] = programs.runners()

    os.kill(runner, signal.SIGKILL)
    await programs.until(lambda: process_stat(runner) is None)

    # The event loop has not had the time to notice.
    assert (await processes.run(programs.launch("echo next"))).stdout.head == b"next\n"


async def test_a_killed_supervisor_is_replaced_and_running_programs_go_on(programs, processes):
    up = anyio.Event()
    results = []

    async def run():
        command = "echo up; until [ -e go ]; do sleep 0.01; done; echo done"
        results.append(await processes.run(programs.launch(command), lambda stream, data: up.set()))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await up.wait()
            [supervisor] = [
                pid for pid in helpers_of(os.getpid()) if comm(pid) == "handrail-superv"
            ]
            os.kill(supervisor, signal.SIGKILL)
            next_one = await processes.run(programs.launch("echo next"))
            (programs.folder / "go").touch()

    assert next_one.stdout.head == b"next\n"
    assert results[0].stdout.head == b"up\ndone\n"


async def test_a_runner_that_is_stopped_does_not_hold_the_caller(programs, processes, monkeypatch):
    monkeypatch.setattr("handrail.host.supervisor.client.ENDING_S", 0.5)
    await processes.run(programs.launch("true"))
    [runner] = programs.runners()
    os.kill(runner, signal.SIGSTOP)

    with anyio.fail_after(20), pytest.raises(ProblemRaised, match="helper process"):
        await processes.run(programs.launch("sleep 600", timeout_s=0.5))

    await programs.until(lambda: process_stat(runner) is None)


async def test_closing_ends_what_runs(programs):
    processes = programs.open()
    up = anyio.Event()

    async def run():
        with pytest.raises(ProblemRaised) as caught:
            await processes.run(
                programs.launch("trap '' TERM; echo up; sleep 600; sleep 601"),
                lambda stream, data: up.set(),
            )
        assert caught.value.problem.code == "unavailable"

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await up.wait()
            await processes.aclose()
            assert programs.alive() == []

    with pytest.raises(ProblemRaised, match="the runtime is closed"):
        await processes.run(programs.launch("true"))
    assert helpers_of(os.getpid()) == []


async def test_closing_what_was_never_used_starts_nothing(programs):
    await programs.open().aclose()

    assert helpers_of(os.getpid()) == []


async def test_two_runtimes_in_one_process_do_not_touch_each_other(programs):
    one, other = programs.open(), programs.open()
    await one.run(programs.launch("true"))
    await other.run(programs.launch("true"))

    await one.aclose()

    assert (await other.run(programs.launch("echo here"))).stdout.head == b"here\n"
