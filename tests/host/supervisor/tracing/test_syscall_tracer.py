"""What a program's own processes write is seen, and nobody else's doings are."""

import ctypes
import errno
import json
import os
import struct
import sys

import pytest
from tests.support.confined import folder_of
from tests.support.machine import backend_param
from tests.support.ordinary import USER, run_as_ordinary_user

from handrail.core.problems import ProblemRaised
from handrail.host.sandbox.local_sandbox import open_sandbox
from handrail.host.sandbox.recipe import LandlockRules, Recipe
from handrail.host.supervisor.tracing import syscall_tracer
from handrail.host.supervisor.tracing.process_memory import ProcessMemory
from handrail.host.supervisor.tracing.syscall_tracer import (
    ServiceDuties,
    SyscallService,
    start_service,
)
from handrail.host.supervisor.tracing.traced_syscalls import _AT
from handrail.host.supervisor.tracing.write_log import WriteLog

EVERYWHERE = LandlockRules(("/",), ("/",), True, attributes=("/",))
CONFINED = {
    "alone": lambda launch, notes: Recipe(launch.argv, launch.env, launch.cwd, write_log=notes),
    "landlock": lambda launch, notes: Recipe(
        launch.argv, launch.env, launch.cwd, landlock=EVERYWHERE, write_log=notes
    ),
}


@pytest.fixture
def watched(programs):
    """Runs a command before the eyes of a tracer; returns how it ended and what was seen."""

    async def run(command, recipe_of=CONFINED["alone"], **more):
        notes = programs.folder / "notes"
        processes = programs.open(lambda launch: recipe_of(launch, str(notes)))
        ended = await processes.run(programs.launch(command, **more))
        lines = [json.loads(line) for line in notes.read_text().splitlines()]
        return ended, lines

    return run


def inside(folder, lines):
    top = f"{folder}/"
    return {line[0].removeprefix(top): line[1:] for line in lines if top in line[0]}


@pytest.mark.parametrize("how", [backend_param(how) for how in CONFINED])
async def test_every_way_to_change_a_name_is_seen(programs, watched, how):
    (programs.folder / "old").write_text("12345")
    script = (
        "echo x > new; echo y >> old; mkdir d; cp old d/copy; mv d/copy d/moved; ln -s old link;"
        "ln old hard; rm d/moved; rmdir d; chmod 600 new; truncate -s 3 old; touch empty; cat old"
    )

    ended, lines = await watched(script, CONFINED[how])

    assert ended.exit_code == 0, ended.stderr
    seen = inside(programs.folder, lines)
    assert set(seen) >= {"new", "old", "d", "d/copy", "d/moved", "link", "hard", "empty"}
    assert seen["new"] == [None]
    assert seen["old"][0][0] == 5


async def test_what_is_only_read_is_not_noted(programs, watched):
    (programs.folder / "read").write_text("x")

    _, lines = await watched("cat read; ls; wc -c < read; bash -c 'test -w read'")

    assert inside(programs.folder, lines) == {}


async def test_paths_are_taken_from_where_the_process_is_and_through_links(programs, watched):
    (programs.folder / "real").mkdir()
    os.symlink("real", programs.folder / "way")
    os.symlink("real/target", programs.folder / "end")
    code = (
        "import os; os.chdir('real'); open('../way/a','w'); h=os.open('.',0);"
        "os.close(os.open('b',os.O_CREAT|os.O_WRONLY,dir_fd=h)); open('../end','w');"
        "os.chdir('..'); open('./real/../real//c','w'); os.fchmod(os.open('real/a',0),0o600)"
    )

    _, lines = await watched((sys.executable, "-c", code))

    assert set(inside(programs.folder, lines)) == {
        "real/a", "real/b", "real/target", "real/c"
    }  # fmt: skip


async def test_a_directory_that_is_moved_counts_as_a_tree(programs, watched):
    (programs.folder / "src").mkdir()

    _, lines = await watched("mv src lib")

    assert [f"{programs.folder}/src"] in lines
    assert [f"{programs.folder}/lib"] in lines


async def test_what_is_done_over_and_over_is_noted_once(programs, watched):
    again = (
        "import os\n"
        "os.mkdir('here')\n"
        "for _ in range(300): os.rename('here', 'there'); os.rename('there', 'here')"
    )

    ended, lines = await watched(f'{sys.executable} -c "{again}"')

    assert ended.exit_code == 0, ended.stderr
    assert [line for line in lines if line[0].endswith("/there")] == [
        [f"{programs.folder}/there"],
        [f"{programs.folder}/there", None],
    ]


def test_a_program_that_writes_without_end_does_not_fill_the_disk_with_notes(tmp_path, monkeypatch):
    monkeypatch.setattr("handrail.host.supervisor.tracing.write_log._MOST_BYTES", 10_000)
    memory = ProcessMemory()
    write_log = WriteLog(str(tmp_path / "notes"), memory)
    unlink = next(number for number, call in write_log._calls.items() if call.names == (_AT,))
    for count in range(1000):
        name = ctypes.create_string_buffer(f"{tmp_path}/{count}".encode())
        memory.forget()
        write_log.note(os.getpid(), unlink, [0, ctypes.addressof(name)])
    write_log.close()

    assert 10_000 <= (tmp_path / "notes").stat().st_size < 11_000


async def test_names_that_are_no_text_are_noted_too(programs, watched):
    _, lines = await watched("touch $'a\\nb' $'\\xff\\xfe'")

    assert set(inside(programs.folder, lines)) == {"a\nb", os.fsdecode(b"\xff\xfe")}


async def test_threads_children_and_signals_disturb_nothing(programs, watched):
    code = (
        "import os,signal,threading,subprocess\n"
        "signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(0, .001, .001)\n"
        "def work(n):\n"
        " for i in range(50): open(f't{n}-{i}','w').close()\n"
        "ts=[threading.Thread(target=work,args=(n,)) for n in range(4)]\n"
        "[t.start() for t in ts]; [t.join() for t in ts]\n"
        "subprocess.run(['/bin/sh','-c','for i in 1 2 3; do (echo $i > c$i) & done; wait'])\n"
        "signal.setitimer(0, 0)\n"
    )

    ended, lines = await watched((sys.executable, "-c", code))

    assert ended.exit_code == 0, ended.stderr
    assert len(inside(programs.folder, lines)) == 203


async def test_a_program_that_is_ended_leaves_its_notes(programs, watched):
    ended, lines = await watched("echo x > made; sleep 60", timeout_s=1)

    assert ended.timed_out
    assert "made" in inside(programs.folder, lines)


async def test_a_program_that_cannot_be_started_is_told_as_ever(programs):
    notes = str(programs.folder / "notes")
    processes = programs.open(
        lambda launch: Recipe(("/no/such/program",), launch.env, launch.cwd, write_log=notes)
    )

    with pytest.raises(ProblemRaised):
        await processes.run(programs.launch("true"))


async def test_notes_that_cannot_be_kept_stop_no_program(programs):
    nowhere = "/no/such/folder/notes"
    processes = programs.open(lambda launch: CONFINED["alone"](launch, nowhere))

    ended = await processes.run(programs.launch("echo x > made; echo fine"))

    assert ended.stdout.head == b"fine\n"


@pytest.mark.needs_bubblewrap
async def test_a_program_in_the_sandbox_is_seen_by_its_own_names(programs):
    sandbox = open_sandbox([str(programs.folder)], [])
    notes = programs.folder.parent / f"{programs.folder.name}-notes"
    processes = programs.open(sandbox.recipe)
    launch = programs.launch("cd sub; echo x > a; rm ../b; echo y > /tmp/private")
    (programs.folder / "sub").mkdir()
    (programs.folder / "b").write_text("b")
    confinement = launch.confinement._replace(
        writable=(str(programs.folder),), write_log=str(notes)
    )

    ended = await processes.run(launch._replace(confinement=confinement))

    sandbox.close()
    lines = [json.loads(line) for line in notes.read_text().splitlines()]
    assert ended.exit_code == 0, ended.stderr
    assert set(inside(programs.folder, lines)) == {"sub/a", "b"}


UNLINK = 87 if os.uname().machine == "x86_64" else 35


def test_a_text_that_is_not_there_is_nothing_to_note(tmp_path):
    write_log = WriteLog(str(tmp_path / "notes"), ProcessMemory())

    write_log.note(os.getpid(), UNLINK, [8, 8, 0, 0, 0, 0])
    write_log.note(2**22 - 1, UNLINK, [8, 8, 0, 0, 0, 0])
    write_log.close()

    assert (tmp_path / "notes").read_text() == ""


def test_where_we_may_not_look_the_notes_say_so(tmp_path, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("handrail.host.supervisor.tracing.write_log.Path.readlink", refused)
    text = ctypes.create_string_buffer(b"relative")
    write_log = WriteLog(str(tmp_path / "notes"), ProcessMemory())

    address = ctypes.addressof(text)
    write_log.note(os.getpid(), UNLINK, [address, address, 0, 0, 0, 0])
    write_log.note(os.getpid(), UNLINK, [address, address, 0, 0, 0, 0])
    write_log.close()

    assert (tmp_path / "notes").read_text() == "null\n"


class Asking:
    """A mediator that answers with whether the process still waits."""

    def answer(self, pid, call, arguments, waits):
        return waits()

    def close(self):
        pass


def test_a_process_that_was_killed_does_not_wait_for_its_answer(monkeypatch):
    asked = []

    def answer(handle, request, argument):
        asked.append((request, struct.unpack("=Q", argument)))
        if argument == struct.pack("=Q", 8):
            raise FileNotFoundError(errno.ENOENT, "gone")

    monkeypatch.setattr(syscall_tracer, "_ioctl", answer)
    duties = ServiceDuties(None, Asking(), None)
    service = SyscallService(duties, ProcessMemory(), drops=False)
    waiting = [service._mediate(number, os.getpid(), -1, ()) for number in (7, 8)]
    service.finish()

    assert waiting == [True, False]
    assert asked == [(syscall_tracer._STILL_WAITS, (7,)), (syscall_tracer._STILL_WAITS, (8,))]


def test_a_tracer_that_could_not_begin_says_so(tmp_path):
    recipe = Recipe(("/bin/true",), {}, "/", write_log=str(tmp_path / "notes"))
    service = start_service(recipe)

    service.finish()

    assert (tmp_path / "notes").read_text() == "null\n"


async def test_a_call_that_must_fail_hides_nothing(programs, watched):
    code = (
        "import ctypes, os\nlibc = ctypes.CDLL(None)\n"
        "libc.open(ctypes.c_void_p(8), 1)\nlibc.openat(77, b'x', 1)\n"
        "try: os.unlink('n' * 5000)\nexcept OSError: pass\n"
        "open('after', 'w').close()"
    )

    ended, lines = await watched((sys.executable, "-c", code))

    assert ended.exit_code == 0, ended.stderr
    assert "after" in inside(programs.folder, lines)
    assert None not in lines


async def test_an_ordinary_user_can_watch_too(programs):
    with folder_of(USER) as folder:
        run_as_ordinary_user(
            ["echo x > made; mkdir d; mv made d/moved"],
            folder=str(folder),
            mark=programs.mark,
            write_log=f"{folder}/notes",
        )

        lines = [json.loads(line) for line in (folder / "notes").read_text().splitlines()]
        assert set(inside(folder, lines)) == {"made", "d", "d/moved"}
