"""The one door to a process: what comes through it is held, bounded and ended."""

import os
import socket
import threading
from pathlib import Path

import anyio
import pytest
from tests.support.handles import open_handles

from handrail.host.processes import landlock, seccomp, spawn

MARK = f"mark_of_{os.getpid()}"


@pytest.fixture
def room(tmp_path):
    """A directory with a file in it, and its handle."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.txt").write_text("inside\n")
    (tmp_path / "secret.txt").write_text("SECRET\n")
    handle = os.open(inside, os.O_PATH | os.O_DIRECTORY)
    yield inside, handle
    os.close(handle)


async def run(room, *command: str, deadline_s: float = 10, max_bytes: int = 100_000):
    return await spawn.run(
        command, cwd_fd=room[1], read=[room[1]], deadline_s=deadline_s, max_bytes=max_bytes
    )


async def test_a_process_starts_in_the_handle_and_reads_what_is_granted(room):
    ended = await run(room, "/bin/cat", "a.txt")

    assert ended == spawn.HelperResult(
        b"inside\n", b"", 0, timed_out=False, cut=False, confined=True
    )


async def test_it_starts_in_the_directory_of_the_handle_even_if_that_was_moved(room):
    room[0].rename(room[0].with_name("moved"))
    room[0].symlink_to("/")

    ended = await run(room, "/bin/cat", "a.txt")

    assert ended.stdout == b"inside\n"


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "/proc/1/environ", "link"])
async def test_it_cannot_read_outside(room, path):
    (room[0] / "link").symlink_to("../secret.txt")

    ended = await run(room, "/bin/cat", path)

    assert (ended.stdout, ended.exit_code) == (b"", 1)
    assert b"Permission denied" in ended.stderr


async def test_it_cannot_write_inside_or_outside(room):
    for target in ("b.txt", "a.txt", "../secret.txt"):
        for arrow in (">", ">>", "<>"):
            ended = await run(room, "/bin/sh", "-c", f"echo changed {arrow} {target}")
            assert ended.exit_code == 2
            assert b"cannot" in ended.stderr

    assert (room[0] / "a.txt").read_text() == "inside\n"
    assert (room[0].parent / "secret.txt").read_text() == "SECRET\n"
    assert not (room[0] / "b.txt").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("/bin/chmod", "777", "a.txt"),
        ("/bin/chown", "1", "a.txt"),
        ("/bin/touch", "-d", "2001-01-01", "a.txt"),
        ("/bin/rm", "a.txt"),
        ("/bin/mv", "a.txt", "b.txt"),
        ("/bin/ln", "a.txt", "b.txt"),
        ("/bin/mkdir", "b"),
    ],
)
async def test_it_cannot_change_what_a_file_is(room, command):
    before = (room[0] / "a.txt").stat()

    ended = await run(room, *command)

    assert ended.exit_code != 0
    assert (room[0] / "a.txt").stat() == before
    assert os.listdir(room[0]) == ["a.txt"]


async def test_without_the_filter_it_still_cannot_read_outside_or_write(room):
    for script in ("read x < ../secret.txt", "echo x > b.txt", "echo x >> a.txt", "/bin/cat a.txt"):
        ended = await spawn.run(
            ["/bin/sh", "-c", script],
            cwd_fd=room[1],
            read=[room[1]],
            deadline_s=10,
            max_bytes=1000,
            filtered=False,
        )
        assert ended.exit_code != 0, script

    assert (room[0] / "a.txt").read_text() == "inside\n"
    assert os.listdir(room[0]) == ["a.txt"]


async def test_it_cannot_start_another_program(room):
    ended = await run(room, "/bin/sh", "-c", "/bin/cat a.txt")

    assert ended.stdout == b""
    assert b"denied" in ended.stderr.lower()


async def test_it_gets_an_environment_of_our_making_and_no_input(room, monkeypatch):
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", "/evil")
    monkeypatch.setenv("LD_PRELOAD_NOT", "1")

    ended = await run(room, "/usr/bin/env")
    empty = await run(room, "/bin/cat")

    assert ended.stdout == b"LC_ALL=C.UTF-8\n"
    assert (empty.stdout, empty.exit_code) == (b"", 0)


async def test_it_gets_none_of_our_handles(room):
    with (room[0] / "a.txt").open() as file:
        os.set_inheritable(file.fileno(), True)
        ended = await run(room, "/bin/sh", "-c", f"read line <&{file.fileno()}")

    assert b"Bad file descriptor" in ended.stderr or b"bad fd" in ended.stderr.lower()


async def test_at_its_deadline_it_is_killed_and_what_it_said_is_kept(room):
    with anyio.fail_after(5):
        ended = await run(room, "/bin/sh", "-c", "echo said; while :; do :; done", deadline_s=0.2)

    assert (ended.stdout, ended.timed_out, ended.exit_code) == (b"said\n", True, -9)


async def test_the_deadline_also_ends_what_has_closed_its_output(room):
    script = "exec >&- 2>&-; while :; do :; done"

    with anyio.fail_after(5):
        ended = await run(room, "/bin/sh", "-c", script, deadline_s=0.2)

    assert (ended.timed_out, ended.exit_code) == (True, -9)


async def test_saying_too_much_it_is_killed_and_the_beginning_is_kept(room):
    with anyio.fail_after(5):
        ended = await run(room, "/bin/sh", "-c", "while :; do echo 1234567; done", max_bytes=1000)

    assert ended.stdout == b"1234567\n" * 125
    assert (ended.cut, ended.timed_out, ended.exit_code) == (True, False, -9)


async def test_complaining_too_much_is_drained_and_bounded(room):
    script = "i=0; while [ $i -lt 20000 ]; do echo complaint >&2; i=$((i+1)); done; echo done"

    ended = await run(room, "/bin/sh", "-c", script)

    assert (ended.stdout, len(ended.stderr)) == (b"done\n", 65536)


async def test_what_it_left_running_dies_with_it_and_holds_up_nobody(room):
    # The shell opens /dev/null for what it puts into the background.
    with anyio.fail_after(5):
        ended = await spawn.run(
            ["/bin/sh", "-c", f": {MARK}; while :; do :; done & echo started"],
            cwd_fd=room[1],
            read=[room[1], "/dev/null"],
            deadline_s=60,
            max_bytes=1000,
        )

    assert (ended.stdout, ended.stderr, ended.exit_code) == (b"started\n", b"", 0)
    assert running() == []


async def test_a_program_that_is_not_there_is_an_os_error(room):
    with pytest.raises(FileNotFoundError):
        await run(room, "/bin/no-such-program")


async def test_cancelling_kills_the_whole_group_and_leaves_nothing(room):
    before = open_handles()
    endless = f": {MARK}; while :; do :; done | while :; do :; done"

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(run, room, "/bin/sh", "-c", endless)
            while len(running()) < 3:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()

    assert running() == []
    assert not [t for t in threading.enumerate() if t.name == "handrail-spawn"]
    assert open_handles() - before == set()


async def test_it_has_a_group_of_its_own_in_our_session(room):
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(run, room, "/bin/sh", "-c", f": {MARK}; while :; do :; done")
            while not (found := running()):
                await anyio.lowlevel.checkpoint()
            pid = int(found[0])
            groups = os.getpgid(pid), os.getsid(pid)
            group.cancel_scope.cancel()

    assert groups == (pid, os.getsid(0))
    assert pid != os.getpgrp()


def running() -> list[str]:
    """The processes of this test that still run; one that was killed has no command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_text()
            except OSError:
                continue
            if command.startswith("/bin/sh") and MARK in command:
                found.append(entry.name)
    return found


async def test_many_processes_leave_no_handle_and_no_thread(room):
    before = open_handles()

    async with anyio.create_task_group() as group:
        for _ in range(30):
            group.start_soon(run, room, "/bin/cat", "a.txt")

    assert open_handles() - before == set()
    assert not [t for t in threading.enumerate() if t.name == "handrail-spawn"]


async def test_this_process_itself_stays_free(room):
    await run(room, "/bin/cat", "a.txt")

    (room[0] / "new.txt").write_text("free")
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    assert (room[0].parent / "secret.txt").read_text() == "SECRET\n"


def test_what_is_enforced_is_measured():
    assert spawn.enforcement() == {
        "landlock_abi": landlock.abi(),
        "read_outside": "enforced",
        "write": "partial",
        "network": "partial",
        "filter": "enforced",
    }
    (Path("/dev/null")).write_text("this thread is still free")


def test_without_the_kernels_help_that_is_said(monkeypatch):
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    monkeypatch.setattr(seccomp, "supported", lambda: False)

    assert spawn.enforcement() == {
        "landlock_abi": 0,
        "read_outside": "absent",
        "write": "absent",
        "network": "absent",
        "filter": "absent",
    }


async def test_without_the_kernels_help_the_answer_says_unconfined(room, monkeypatch):
    monkeypatch.setattr(landlock, "abi", lambda: 0)

    assert not (await run(room, "/bin/cat", "a.txt")).confined
