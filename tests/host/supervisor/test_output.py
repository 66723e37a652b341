"""Output of any size and shape: bounded in memory, counted to the byte, never in the way."""

import asyncio
import os
from pathlib import Path

import anyio
import pytest
from tests.support.waiting import wait_until

from handrail.host.state.artifacts import DirectoryArtifacts
from handrail.host.supervisor.client import SPILL_BYTES
from handrail.host.supervisor.runner.run_requests import HEAD_BYTES, TAIL_BYTES
from handrail.host.supervisor.wire import FrameKind, encode_frame

MB = 1 << 20


def peak_mb(pid: int) -> float:
    """The most memory that a process ever had of its own."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


async def test_head_and_tail_are_all_of_it_up_to_their_sizes(programs, processes):
    whole = HEAD_BYTES + TAIL_BYTES

    exact = await processes.run(programs.launch(f"head -c {whole} /dev/zero"))
    over = await processes.run(programs.launch(f"head -c {whole + 1} /dev/zero"))

    assert (exact.stdout.head + exact.stdout.tail, exact.stdout.saved) == (bytes(whole), None)
    assert (len(over.stdout.head), len(over.stdout.tail)) == (HEAD_BYTES, TAIL_BYTES)
    assert over.stdout.saved is not None
    assert Path(over.stdout.saved).read_bytes() == bytes(whole + 1)


async def test_a_long_text_is_whole_on_disk_and_right_at_both_ends(programs, processes):
    ended = await processes.run(programs.launch("seq 300000 | tee copy >&2"))

    text = (programs.folder / "copy").read_bytes()
    captured = ended.stderr
    assert captured.saved is not None
    assert Path(captured.saved).read_bytes() == text
    assert captured.head == text[:HEAD_BYTES]
    assert captured.tail == text[-TAIL_BYTES:]
    assert (captured.total, captured.dropped) == (len(text), 0)
    assert ended.stdout.total == 0


async def test_what_is_beyond_the_quota_is_counted(programs):
    processes = programs.open(spill_bytes=MB)

    ended = await processes.run(programs.launch("head -c 3000000 /dev/zero; printf the-end"))

    captured = ended.stdout
    assert captured.saved is not None
    assert os.path.getsize(captured.saved) == MB
    assert captured.total == 3_000_007
    assert captured.dropped == captured.total - MB - TAIL_BYTES
    assert captured.tail.endswith(b"the-end")


async def test_what_was_saved_is_there_after_other_artifacts_came(programs, processes):
    artifacts = DirectoryArtifacts(programs.folder / "spill")

    ended = await processes.run(
        programs.launch("head -c 40000000 /dev/zero; head -c 40000000 /dev/zero >&2")
    )
    artifacts.save("another", b"x" * 1_000_000)

    for captured in (ended.stdout, ended.stderr):
        assert captured.saved is not None
        assert len(artifacts.load(os.path.basename(captured.saved))) == SPILL_BYTES


async def test_a_full_disk_costs_the_middle_only(programs):
    # Nothing can be written there, not even by root.
    processes = programs.open(spill=Path("/proc/self/task"))

    ended = await processes.run(programs.launch("seq 300000"))

    assert (ended.stdout.saved, ended.exit_code) == (None, 0)
    assert ended.stdout.dropped == ended.stdout.total - HEAD_BYTES - TAIL_BYTES
    assert ended.stdout.tail.endswith(b"299999\n300000\n")


async def test_two_hundred_megabytes_cost_no_memory(programs, processes):
    await processes.run(programs.launch("seq 100000"))
    runner = programs.runners()[0]
    before = peak_mb(runner), peak_mb(os.getpid())

    ended = await processes.run(programs.launch("head -c 200000000 /dev/zero; printf the-end"))

    after = peak_mb(runner), peak_mb(os.getpid())
    assert ended.stdout.total == 200_000_007
    assert ended.stdout.tail[-10:] == b"\0\0\0the-end"
    assert after[0] - before[0] < 4
    assert after[1] - before[1] < 4


@pytest.mark.torture
async def test_a_gigabyte_on_one_line_costs_no_memory(programs, processes):
    await processes.run(programs.launch("true"))
    runner = programs.runners()[0]
    before = peak_mb(runner), peak_mb(os.getpid())

    launch = programs.launch(
        "printf start; head -c 1000000000 /dev/zero | tr '\\0' x; printf end", timeout_s=300
    )
    ended = await processes.run(launch)

    after = peak_mb(runner), peak_mb(os.getpid())
    assert ended.stdout.total == 1_000_000_008
    assert (ended.stdout.head[:6], ended.stdout.tail[-4:]) == (b"startx", b"xend")
    assert after[0] - before[0] < 16
    assert after[1] - before[1] < 16


async def test_output_that_imitates_frames_changes_nothing(programs, processes):
    forged = b"".join(
        encode_frame(kind, {"exit_code": 0, "survivors": []}, b"x" * 99) for kind in FrameKind
    )
    (programs.folder / "forged").write_bytes(forged * 30)

    ended = await processes.run(
        programs.launch("for n in 1 2 3; do cat forged; cat forged >&2; done; exit 9")
    )

    assert ended.exit_code == 9
    assert ended.stdout.head + ended.stdout.tail == forged * 90
    assert ended.stderr.head + ended.stderr.tail == forged * 90


async def test_a_program_finds_no_way_to_our_socket(programs, processes):
    # It may look at every handle of every process that it may look at.
    script = (
        "import os\n"
        "for fd in range(3, 4096):\n"
        "    try: os.write(fd, b'forged')\n"
        "    except OSError: pass\n"
        "    else: print('wrote to', fd)\n"
    )

    ended = await processes.run(programs.launch(("/usr/bin/env", "python3", "-c", script)))

    assert (ended.stdout.total, ended.exit_code) == (0, 0)


async def test_a_program_may_close_its_streams_and_go_on(programs, processes):
    ended = await processes.run(
        programs.launch("echo said; exec >&- 2>&-; until [ -e go ]; do touch go; done; exit 4")
    )

    assert (ended.stdout.head, ended.exit_code) == (b"said\n", 4)


async def test_live_output_arrives_while_it_runs(programs, processes):
    seen = anyio.Event()
    heard = []

    def on_output(stream, data):
        heard.append((stream, data))
        if data == b"ready\n":
            (programs.folder / "go").touch()
            seen.set()

    ended = await processes.run(
        programs.launch("echo ready; until [ -e go ]; do sleep 0.01; done; echo done >&2"),
        on_output,
    )

    assert seen.is_set()
    assert heard == [("stdout", b"ready\n"), ("stderr", b"done\n")]
    assert (ended.stdout.head, ended.stderr.head) == (b"ready\n", b"done\n")


async def test_live_output_is_a_sample_that_says_so(programs, processes):
    heard = []

    ended = await processes.run(
        programs.launch("head -c 50000000 /dev/zero"), lambda stream, data: heard.append(data)
    )

    assert ended.stdout.total == 50_000_000
    assert 0 < sum(map(len, heard)) < 10_000_000
    assert any(b"bytes left out of the live view]" in data for data in heard)


async def test_a_listener_that_fails_does_not_lose_the_result(programs, processes):
    failures = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: failures.append(type(context["exception"]))
    )

    def on_output(stream, data):
        raise LookupError(stream)

    with anyio.fail_after(20):
        ended = await processes.run(programs.launch("echo one; echo two >&2"), on_output)

    assert (ended.stdout.head, ended.stderr.head) == (b"one\n", b"two\n")
    assert set(failures) == {LookupError}


async def test_a_listener_that_is_late_does_not_stop_the_program(programs, processes):
    """The event loop is held up until the program has ended: nothing reads the socket."""
    done = programs.folder / "done"

    def on_output(stream, data):
        wait_until(done.exists)

    with anyio.fail_after(20):
        ended = await processes.run(
            programs.launch("head -c 30000000 /dev/zero; touch done"), on_output
        )

    assert ended.stdout.total == 30_000_000
