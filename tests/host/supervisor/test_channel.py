"""Programs that are talked to: messages both ways within bounds, and nothing left at the end."""

import os
import signal
import socket

import anyio
import pytest
from tests.support.handles import open_handles
from tests.support.waiting import wait_exit, wait_until_async

from handrail.core.problems import ProblemRaised
from handrail.host.processes.procfs import child_pids, process_stat
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.runner_connection import RunnerConnection
from handrail.host.supervisor.wire import FrameKind, encode_frame

ECHO = 'while read -r line; do echo "got $line"; done; echo bye'
STEPS = ("opening", "opened", "sent", "received", "ended")


async def talk(channel, text):
    await channel.send(text.encode() + b"\n")
    return await channel.receive_until(b"\n", 1000)


async def test_messages_go_both_ways(programs, processes):
    channel = await processes.open(programs.launch(ECHO))

    with anyio.fail_after(20):
        answers = [await talk(channel, text) for text in ("one", "two ☂")]
        channel.send_eof()
        last = await channel.receive_until(b"\n", 1000)
        end = await channel.receive_until(b"\n", 1000)
        ended = await channel.wait_ended()
    await channel.close()

    assert answers == [b"got one\n", "got two ☂\n".encode()]
    assert (last, end) == (b"bye\n", b"")
    assert (ended.exit_code, ended.cancelled, ended.stdout.total) == (0, False, 0)


async def test_programs_with_a_memory_limit_follow_each_other(programs, processes):
    """Each has a runner of its own, which must not be asked for the next program."""
    answers = []
    for _ in range(30):
        channel = await processes.open(programs.launch(ECHO)._replace(memory_mb=500))
        with anyio.fail_after(20):
            answers.append(await talk(channel, "one"))
            channel.send_eof()
            await channel.wait_ended()
        await channel.close()

    assert answers == [b"got one\n"] * 30


async def test_a_memory_limit_ends_with_the_program_that_could_not_start(programs, processes):
    missing = programs.launch("true")._replace(argv=("/no/such/program",), memory_mb=500)
    with pytest.raises(ProblemRaised):
        await processes.open(missing)

    assert (await processes.run(programs.launch("ulimit -d"))).stdout.head == b"unlimited\n"


async def test_a_message_of_known_length_is_read_exactly(programs, processes):
    channel = await processes.open(programs.launch("printf 'Length: 5\\r\\n\\r\\nhello12345'"))

    with anyio.fail_after(20):
        header = await channel.receive_until(b"\r\n\r\n", 1000)
        body = await channel.receive_exactly(5)
        rest = await channel.receive_exactly(6)
    await channel.close()

    assert (header, body, rest) == (b"Length: 5\r\n\r\n", b"hello", b"")


async def test_large_messages_pass_in_both_directions_at_once(programs, processes):
    channel = await processes.open(programs.launch(("/bin/cat",)))
    data = os.urandom(1 << 20) * 4

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(channel.send, data)
            received = await channel.receive_exactly(len(data))
    await channel.close()

    assert received == data


async def test_messages_of_several_tasks_are_not_mixed(programs, processes):
    channel = await processes.open(programs.launch(("/bin/cat",)))
    messages = [bytes([65 + number]) * 300_000 + b"\n" for number in range(4)]

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for message in messages:
                group.start_soon(channel.send, message)
            received = [await channel.receive_until(b"\n", 1 << 20) for _ in messages]
    await channel.close()

    assert sorted(received) == messages


async def test_a_program_that_floods_waits_and_costs_no_memory(programs, processes):
    channel = await processes.open(programs.launch("yes | head -c 1000000000; echo 1 > done"))

    with anyio.fail_after(20):
        first = await channel.receive_until(b"\n", 100)
        # Long enough for a gigabyte if anybody read it.
        await processes.run(programs.launch("true"))
    written = (programs.folder / "done").exists()
    await channel.close()

    assert (first, written) == (b"y\n", False)


async def test_an_endless_line_is_a_problem(programs, processes):
    channel = await processes.open(programs.launch("tr '\\0' x < /dev/zero"))

    with anyio.fail_after(20), pytest.raises(ProblemRaised) as raised:
        await channel.receive_until(b"\n", 1 << 20)
    await channel.close()

    assert raised.value.problem.code == "too_large"


async def test_sending_to_a_program_that_never_reads_ends_with_the_deadline(programs, processes):
    channel = await processes.open(programs.launch("echo up; sleep 600"))
    await channel.receive_until(b"\n", 100)

    with anyio.move_on_after(0.2) as scope:
        await channel.send(bytes(4 << 20))
    with pytest.raises(ProblemRaised) as raised:
        await channel.send(b"more")
    await channel.close()

    assert scope.cancelled_caught
    assert raised.value.problem.code == "unavailable"


async def test_a_flood_of_stderr_blocks_neither_the_program_nor_us(programs, processes):
    flood = "head -c 50000000 /dev/zero | tr '\\0' e >&2; echo said >&2; echo up; read -r line"
    channel = await processes.open(programs.launch(flood))

    with anyio.fail_after(30):
        first = await channel.receive_until(b"\n", 100)
        await wait_until_async(lambda: b"said" in channel.stderr or len(channel.stderr) == 64 << 10)
        channel.send_eof()
        ended = await channel.wait_ended()
    await channel.close()

    assert first == b"up\n"
    assert len(channel.stderr) <= 64 << 10
    assert ended.stderr.total == 50_000_005
    assert ended.stderr.tail.endswith(b"said\n")


async def test_a_program_that_ended_says_so_with_its_last_words(programs, processes):
    channel = await processes.open(programs.launch("echo 'no such option' >&2; exit 3"))

    with anyio.fail_after(20):
        ended = await channel.wait_ended()
        end = await channel.receive_until(b"\n", 100)
        with pytest.raises(ProblemRaised) as raised:
            await channel.send(b"hello\n")
    await channel.close()

    assert (ended.exit_code, end) == (3, b"")
    assert "no such option" in raised.value.problem.message


async def test_output_that_arrives_with_the_end_is_heard_before_it():
    """A busy machine reads the start, the output and the end of a program at once."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    heard = []
    recipe = Recipe(argv=("true",), env={}, cwd="/")
    connection = RunnerConnection(ours, lambda _: None)
    with theirs:
        await connection.ask(
            FrameKind.OPEN, recipe, {}, on_output=lambda _, data: heard.append(data)
        )
        output = encode_frame(FrameKind.OUTPUT, {"stream": "stderr", "skipped": 0}, b"last words")
        frames = encode_frame(FrameKind.STARTED, {}), output, encode_frame(FrameKind.ENDED, {})
        theirs.sendall(b"".join(frames))
        with anyio.fail_after(20):
            await connection.wait_started()
            await connection.wait_answer()
        connection.close()

    assert heard == [b"last words"]


async def test_a_program_that_is_missing_is_a_problem_and_leaves_no_handle(programs, processes):
    await processes.run(programs.launch("true"))
    before = open_handles()

    for _ in range(3):
        with pytest.raises(ProblemRaised) as raised:
            await processes.open(programs.launch(("/nonexistent/server",)))

    assert raised.value.problem.code == "unavailable"
    assert open_handles() - before == set()


async def test_closing_ends_everything_that_the_program_started(programs, processes):
    stubborn = "trap '' TERM; setsid sleep 600 & echo up; while :; do sleep 1; done"
    channel = await processes.open(programs.launch(stubborn))
    await channel.receive_until(b"\n", 100)
    await wait_until_async(lambda: len(programs.alive()) >= 2)

    await channel.close()
    await channel.close()

    assert programs.alive() == []


async def test_a_time_limit_ends_the_program(programs, processes):
    channel = await processes.open(programs.launch("sleep 600", timeout_s=0.1))

    with anyio.fail_after(20):
        ended = await channel.wait_ended()
    await channel.close()

    assert ended.timed_out


async def test_closing_the_runtime_wakes_who_listens(programs, processes):
    channel = await processes.open(programs.launch("sleep 600"))
    received = []

    async def listen():
        received.append(await channel.receive_until(b"\n", 100))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            await anyio.wait_all_tasks_blocked()
            await processes.aclose()

    assert received == [b""]
    assert programs.alive() == []


async def test_no_program_survives_a_killed_runner(programs, processes):
    channel = await processes.open(programs.launch("echo up; sleep 600"))
    await channel.receive_until(b"\n", 100)
    runner = process_stat(channel.pid).parent

    os.kill(runner, signal.SIGKILL)
    with anyio.fail_after(20), pytest.raises(ProblemRaised) as raised:
        await channel.wait_ended()
    await channel.close()

    assert raised.value.problem.code == "unavailable"
    await programs.until_dead()


async def test_nothing_survives_a_killed_runtime_that_talks(programs, start_runtime):
    runtime = await start_runtime("open:trap '' TERM; echo up; cat; sleep 600", lines=1)
    assert programs.alive()

    runtime.kill()
    wait_exit(runtime)

    await programs.until_dead()


async def rounds(programs, processes, count, start=""):
    """Start, talk and kill, ended at each step in turn; everything is gone after each."""
    launch = programs.launch(f"{start} sleep 600 & {ECHO}")
    for number in range(count):
        step = STEPS[number % len(STEPS)]
        if step == "opening":
            with anyio.move_on_after(number / 10_000):
                channel = await processes.open(launch)
                await channel.close()
            continue
        channel = await processes.open(launch)
        if step != "opened":
            await channel.send(b"x\n")
        if step in ("received", "ended"):
            assert await channel.receive_until(b"\n", 100) == b"got x\n"
        if step == "ended":
            os.kill(channel.pid, signal.SIGKILL)
            await channel.wait_ended()
        await channel.close()


@pytest.mark.parametrize(
    "start",
    ["", pytest.param("trap '' TERM;", id="stubborn", marks=pytest.mark.torture)],
)
async def test_start_talk_and_kill_leave_no_process_and_no_handle(programs, processes, start):
    await rounds(programs, processes, len(STEPS))
    await processes.run(programs.launch("true"))
    before = open_handles()

    # A program that ignores SIGTERM has half a second before it is killed.
    with anyio.fail_after(300 if start else 60):
        await rounds(programs, processes, 100, start)

    await programs.until_dead()
    # Counted: another runner may serve by now, with other handles.
    await wait_until_async(lambda: len(open_handles()) <= len(before))
    await processes.aclose()
    assert [pid for pid in child_pids(os.getpid()) if "handrail" in comm(pid)] == []


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read()
    except FileNotFoundError:
        return ""
