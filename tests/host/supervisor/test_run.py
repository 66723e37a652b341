"""A program runs to its end: what it is given, what it says, how it ends."""

import os
import signal
import stat
from contextlib import nullcontext
from pathlib import Path

import anyio
import pytest
from tests.support.handles import open_handles

from handrail.core.ports.processes import CapturedStream, ProcessResult
from handrail.core.problems import ProblemRaised
from handrail.host.processes.procfs import child_pids
from handrail.host.sandbox.recipe import FILTER_HANDLE, LandlockRules, Recipe
from handrail.host.supervisor.client import SupervisedProcesses


def said(text: bytes) -> CapturedStream:
    return CapturedStream(text, b"", len(text))


async def test_streams_and_exit_code_come_back_apart(programs, processes):
    ended = await processes.run(programs.launch("echo out; echo err >&2; exit 7"))

    assert ended == ProcessResult(7, said(b"out\n"), said(b"err\n"), ended.duration_s)
    assert ended.duration_s > 0


async def test_the_supervisor_loads_while_the_recipe_of_the_first_program_is_made(programs):
    children = []

    def recipe_of(launch):
        children.append(child_pids(os.getpid()))
        return Recipe(launch.argv, launch.env, launch.cwd)

    before = set(child_pids(os.getpid()))
    processes = SupervisedProcesses(recipe_of, None)
    try:
        await processes.run(programs.launch("true"))
        await processes.run(programs.launch("true"))
    finally:
        await processes.aclose()

    first, second = (set(one) - before for one in children)
    assert len(first) == 1
    assert second == first


async def test_every_exit_code_is_told(programs, processes):
    wanted = [0, 1, 2, 100, 126, 127, 128, 137, 200, 254, 255]

    codes = [(await processes.run(programs.launch(f"exit {code}"))).exit_code for code in wanted]

    assert codes == wanted


@pytest.mark.torture
async def test_all_256_exit_codes_are_told(programs, processes):
    for code in range(256):
        assert (await processes.run(programs.launch(f"exit {code}"))).exit_code == code


@pytest.mark.parametrize("name", ["HUP", "INT", "KILL", "TERM", "SEGV", "USR1", "PIPE", "CHLD"])
async def test_a_signal_is_a_negative_exit_code(programs, processes, name):
    ended = await processes.run(programs.launch(f"kill -{name} $$; exit 5"))

    # SIGCHLD ends nobody.
    assert ended.exit_code == (5 if name == "CHLD" else -signal.Signals[f"SIG{name}"])


async def test_bytes_that_are_no_text_arrive_unchanged(programs, processes):
    everything = bytes(range(256)) * 3

    (programs.folder / "data").write_bytes(everything)
    ended = await processes.run(programs.launch("cat data; cat data >&2"))

    assert (ended.stdout, ended.stderr) == (said(everything), said(everything))


async def test_the_environment_is_exactly_what_was_given(programs, processes, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_RUNTIME", "s3cret")
    given = {"ONE": "1", "ODD": os.fsdecode(b"\xff\xfe"), "EMPTY": "", "LINES": "a\nb"}

    ended = await processes.run(programs.launch(("/usr/bin/env", "-0"), env=given))

    found = dict(os.fsdecode(pair).split("=", 1) for pair in ended.stdout.head.split(b"\0") if pair)
    assert found == given


async def test_standard_input_is_empty(programs, processes):
    ended = await processes.run(programs.launch("cat; read line || echo nothing; wc -c"))

    assert ended.stdout == said(b"nothing\n0\n")


async def test_it_starts_in_its_directory_and_session_without_a_terminal(programs, processes):
    ended = await processes.run(
        programs.launch("pwd -P; ps -o sid= -p $$ | tr -d ' '; echo $$; true < /dev/tty")
    )

    folder, session, pid = ended.stdout.head.decode().split()
    assert (folder, session, ended.exit_code) == (str(programs.folder), pid, 1)


async def test_it_inherits_no_handle_but_its_streams(programs, processes):
    (programs.folder / "open").write_text("a file that the runtime has open")
    with (programs.folder / "open").open() as handle:
        os.set_inheritable(handle.fileno(), True)
        first = await processes.run(programs.launch(("/bin/ls", "/proc/self/fd")))
        again = await processes.run(programs.launch(("/bin/ls", "/proc/self/fd")))

    # The last one is the directory that ls reads.
    assert (first.stdout, again.stdout) == (said(b"0\n1\n2\n3\n"), said(b"0\n1\n2\n3\n"))


async def test_the_last_directory_comes_by_a_handle_of_its_own(programs, processes):
    (programs.folder / "sub dir").mkdir()
    report = "trap 'pwd -P >&9' EXIT\n"

    moved = await processes.run(
        programs.launch(report + "cd 'sub dir'; echo /etc", reports_directory=True)
    )
    silent = await processes.run(programs.launch("cd /; pwd", reports_directory=True))
    closed = await processes.run(programs.launch("echo /etc >&9"))

    assert moved.directory == str(programs.folder / "sub dir")
    assert moved.stdout == said(b"/etc\n")
    assert (silent.directory, closed.directory) == (None, None)
    assert closed.exit_code == 1


@pytest.mark.parametrize(
    "text", ["relative", "/one\\n/two", "/nul\\0byte", "", "\\n", "/x" * 5000], ids=range(6)
)
async def test_a_report_that_is_no_single_path_is_none(programs, processes, text):
    ended = await processes.run(programs.launch(f"printf '{text}' >&9", reports_directory=True))

    assert (ended.directory, ended.exit_code) == (None, 0)


async def test_no_core_is_dumped(programs, processes):
    ended = await processes.run(programs.launch("ulimit -c; ulimit -Hc"))

    assert ended.stdout == said(b"0\n0\n")


async def test_memory_is_limited_where_that_is_wanted(programs):
    processes = programs.open(memory_mb=512)

    ended = await processes.run(
        programs.launch("ulimit -v; python3 -c 'bytearray(1 << 30)' || echo refused")
    )

    assert ended.stdout == said(b"524288\nrefused\n")


async def test_signals_are_as_the_kernel_has_them_whatever_the_runtime_did(programs, processes):
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        ended = await processes.run(programs.launch("grep -E 'Sig(Ign|Blk)' /proc/self/status"))
    finally:
        signal.signal(signal.SIGTERM, before)

    # The C library keeps two for itself (32 and 33 with glibc) and lets nobody touch them, so
    # that they stay as whoever started the runtime left them.
    ours = sum(1 << (number - 1) for number in signal.valid_signals())
    blocked, ignored = (int(line.split()[1], 16) for line in ended.stdout.head.splitlines())
    assert (blocked & ours, ignored & ours) == (0, 0)


async def test_a_program_that_does_not_exist_is_named(programs, processes):
    with pytest.raises(ProblemRaised) as caught:
        await processes.run(programs.launch(("/no/such/program", "x")))

    assert caught.value.problem.code == "unavailable"
    assert "'/no/such/program' could not be started:" in str(caught.value)


async def test_a_file_that_is_no_program_is_named(programs, processes):
    (programs.folder / "notes").write_text("not a program")

    with pytest.raises(ProblemRaised, match="notes' could not be started: Permission denied"):
        await processes.run(programs.launch((str(programs.folder / "notes"),)))


async def test_a_directory_that_was_removed_is_named(programs, processes):
    with pytest.raises(ProblemRaised, match=r"the directory '.*gone' cannot be entered: No such"):
        await processes.run(programs.launch("true", cwd=programs.folder / "gone"))

    assert (await processes.run(programs.launch("true"))).exit_code == 0


@pytest.mark.parametrize("env", [{"A": "nul\0byte"}, {"A=B": "1"}, {"BIG": "x" * 3_000_000}])
async def test_what_the_kernel_would_not_take_is_a_problem(programs, processes, env):
    with pytest.raises(ProblemRaised) as caught:
        await processes.run(programs.launch("true", env=env))

    assert caught.value.problem.code == "unavailable"
    assert (await processes.run(programs.launch("true"))).exit_code == 0


async def test_fifty_programs_run_at_the_same_time(programs, processes):
    # Each waits until all are there: one after the other they would never end.
    command = "mkdir in-flight-{n}; until [ $(ls -d in-flight-* | wc -l) = 50 ]; do sleep 0.1; done"
    codes = {}

    async def one(n):
        ended = await processes.run(programs.launch(command.format(n=n) + f"; exit {n}"))
        codes[n] = ended.exit_code

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for n in range(50):
                group.start_soon(one, n)

    assert codes == {n: n for n in range(50)}


@pytest.mark.needs_landlock
async def test_a_restricted_program_is_started_by_a_thread_that_stays(programs):
    def landlocked(launch):
        inside = (str(programs.folder),)
        rules = LandlockRules(("/usr", "/bin", "/lib", "/lib64", "/etc"), inside, network=False)
        return Recipe(launch.argv, launch.env, launch.cwd, landlock=rules, drop_capabilities=True)

    ended = await programs.open(landlocked).run(
        programs.launch(
            "echo yes > inside; cat inside; echo no > /tmp/outside-$MARK; cat < /dev/null"
        )
    )

    assert ended.stdout == said(b"yes\n")
    assert b"Permission denied" in ended.stderr.head


async def test_a_filter_is_handed_over_in_a_memory_file(programs):
    def shown(launch):
        argv = ("/bin/bash", "-c", 'cat <&"$0"', FILTER_HANDLE)
        return Recipe(argv, launch.env, launch.cwd, filter=b"\0filter\xff", own_pids=True)

    ended = await programs.open(shown).run(programs.launch("ignored"))

    assert ended.stdout == said(b"\0filter\xff")


async def test_a_hundred_programs_leave_no_handle_and_no_process(programs, processes):
    await processes.run(programs.launch("true"))
    ours = open_handles()

    for n in range(100):
        ended = await processes.run(
            programs.launch(("/bin/ls", "/proc/self/fd"), reports_directory=n % 2 == 0)
        )

    assert open_handles() - ours == set()
    assert ended.stdout == said(b"0\n1\n2\n3\n")
    runners = programs.runners()
    assert len(runners) == 1
    with seen_by_root_only():
        # Null device three times, its words, connection, runtime, signals, and one pipe end too many.
        assert len(os.listdir(f"/proc/{runners[0]}/fd")) < 14


def seen_by_root_only():
    """Around a look into the helper: its own user is refused, as the helper keeps itself closed."""
    return pytest.raises(PermissionError) if os.geteuid() else nullcontext()


async def test_the_helper_holds_nothing_of_the_runtimes(programs, processes, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_RUNTIME", "s3cret")
    await processes.run(programs.launch("true"))

    runner = programs.runners()[0]

    with seen_by_root_only():
        assert b"SECRET" not in Path(f"/proc/{runner}/environ").read_bytes()
    with seen_by_root_only():
        assert os.readlink(f"/proc/{runner}/cwd") == "/"
    assert os.getsid(runner) != os.getsid(0)


async def test_long_output_is_kept_in_a_private_file(programs, processes):
    ended = await processes.run(programs.launch("seq 100000"))

    assert ended.stdout.saved is not None
    info = os.stat(ended.stdout.saved)
    assert stat.S_IMODE(info.st_mode) == 0o600
    assert os.path.dirname(ended.stdout.saved) == str(programs.folder / "spill")


@pytest.mark.parametrize("size", [0, 1, 70_000, 3_000_000])
async def test_a_program_reads_exactly_what_it_was_given(programs, processes, size):
    given = os.urandom(size)

    ended = await processes.run(programs.launch("wc -c; sha256sum", stdin=given))
    again = await processes.run(programs.launch("cat /dev/stdin | tail -c 9", stdin=given))

    assert ended.stdout.head.split()[0] == str(size).encode()
    assert again.stdout.head == given[-9:]


async def test_a_program_that_reads_nothing_is_not_held_up_by_what_it_could_read(
    programs, processes
):
    ended = await processes.run(programs.launch("echo done", stdin=b"x" * 1_000_000))

    assert ended.stdout == said(b"done\n")


async def test_output_that_is_not_to_be_kept_leaves_no_file(programs, processes):
    loud = "head -c 3000000 /dev/zero"

    ended = await processes.run(programs.launch(loud, spills=False))

    assert (ended.stdout.total, ended.stdout.saved) == (3_000_000, None)
    assert list(programs.folder.glob("spill/*")) == []


async def test_each_program_gets_its_own_environment_whatever_ran_before(programs, processes):
    show = "echo $X; pwd"
    env = {"PATH": "/usr/bin:/bin", "X": "one"}
    (programs.folder / "below").mkdir()
    launches = [
        programs.launch(show, env=env),
        programs.launch(("/nowhere/at/all",), env={"X": "lost"}),
        programs.launch(show, env={**env, "X": "two"}, cwd=programs.folder / "below"),
        programs.launch(show, env=env),
        programs.launch(show, env={"PATH": "/usr/bin:/bin"}),
    ]

    said = []
    for launch in launches:
        try:
            said.append((await processes.run(launch)).stdout.head.decode().split())
        except ProblemRaised as raised:
            said.append(raised.problem.code)

    top = str(programs.folder)
    assert said == [["one", top], "unavailable", ["two", f"{top}/below"], ["one", top], [top]]
