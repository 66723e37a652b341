"""Rights are given up by one thread, all of them or nothing is started."""

import os
import sys
import threading

import pytest
from tests.support.scenes import scenery
from tests.support.waiting import join_threads

from handrail.host.processes import landlock, seccomp
from handrail.host.sandbox.backends import apply
from handrail.host.sandbox.backends.apply import restrict_thread
from handrail.host.sandbox.backends.syscall_filter import command_filter
from handrail.host.sandbox.probe import fixture
from handrail.host.sandbox.recipe import FILTER_HANDLE, LandlockRules, Recipe


def on_a_thread(work):
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    join_threads(thread)
    return results[0]


def status(*names):
    with open("/proc/thread-self/status") as file:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    return [fields[name].strip() for name in names]


def attempt(work):
    try:
        work()
    except OSError as error:
        return error.strerror
    return "done"


def test_a_thread_keeps_no_capability_and_no_way_to_one():
    def restricted():
        apply.drop_capabilities()
        return status("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd")

    before = status("CapEff")
    nothing = "0" * 16
    dropped = on_a_thread(restricted)

    assert dropped[:4] == [nothing] * 4
    # Only who may lock the door can empty the last set; no_new_privs does for the others.
    assert dropped[4] == nothing or os.geteuid() != 0
    assert status("CapEff") == before


@pytest.mark.needs_landlock
def test_writing_reading_and_running_are_what_was_granted(tmp_path):
    for name in ("read", "write", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    recipe = Recipe(
        ("/bin/true",),
        {},
        "/",
        landlock=LandlockRules((f"{tmp_path}/read",), (f"{tmp_path}/write",), network=False),
    )

    def restricted():
        restrict_thread(recipe)
        return [
            attempt((tmp_path / "read/file").read_text),
            attempt(lambda: (tmp_path / "read/file").write_text("y")),
            attempt(lambda: (tmp_path / "write/file").write_text("y")),
            attempt((tmp_path / "write/new").mkdir),
            attempt(lambda: (tmp_path / "write/file").rename(tmp_path / "write/new/file")),
            attempt((tmp_path / "closed/file").read_text),
        ]

    no = "Permission denied"
    assert on_a_thread(restricted) == ["done", no, "done", "done", "done", no]


@pytest.mark.needs_landlock
def test_the_filter_stands_when_the_recipe_brings_one():
    recipe = Recipe(
        ("/bin/true",), {}, "/", filter=command_filter(inet=False, ipc=False, attributes=False)
    )

    def restricted():
        restrict_thread(recipe)
        return status("NoNewPrivs", "Seccomp")

    assert on_a_thread(restricted) == ["1", "2"]
    assert status("Seccomp") == ["0"]


@pytest.mark.needs_landlock
def test_bubblewrap_gets_its_filter_by_hand_and_an_untouched_thread():
    recipe = Recipe(
        ("/usr/bin/bwrap", "--seccomp", FILTER_HANDLE), {}, "/", filter=b"whatever", own_pids=True
    )

    def restricted():
        restrict_thread(recipe)
        return status("NoNewPrivs", "Seccomp")

    assert on_a_thread(restricted) == ["0", "0"]


@pytest.mark.needs_landlock
def test_a_command_cannot_say_by_its_words_that_it_takes_the_filter_itself(tmp_path):
    with scenery("landlock", [tmp_path]) as scene:
        plain = scene.launch("")
        words = ("/bin/sh", "-c", 'echo "$1"; grep Seccomp: /proc/self/status', "sh", FILTER_HANDLE)
        recipe = scene.sandbox.recipe(plain._replace(argv=words))
        done = fixture.run_probe_program(recipe, deadline_s=30)

    assert done.stdout.decode().split() == [FILTER_HANDLE, "Seccomp:", "2"]


@pytest.mark.parametrize(
    ("recipe", "broken"),
    [
        (Recipe(("x",), {}, "/", landlock=LandlockRules((), (), network=False)), "landlock"),
        (Recipe(("x",), {}, "/", filter=b"\0" * 8), "filter"),
        (Recipe(("x",), {}, "/", drop_capabilities=True), "privileges"),
    ],
    ids=["landlock", "filter", "privileges"],
)
def test_what_cannot_be_had_is_an_error(monkeypatch, recipe, broken):
    if broken == "landlock":
        monkeypatch.setattr(landlock, "abi", lambda: 0)
    if broken == "privileges":
        monkeypatch.setattr(landlock, "no_new_privileges", lambda: False)

    assert on_a_thread(lambda: attempt(lambda: restrict_thread(recipe))) != "done"


def test_capabilities_that_stay_are_an_error(monkeypatch):
    class Stubborn:
        def __getattr__(self, name):
            return lambda *_: -1 if name == "prctl" else 1

    monkeypatch.setattr(apply, "_libc", Stubborn)

    with pytest.raises(OSError, match="capabilities"):
        apply.drop_capabilities()


def test_the_import_is_light():
    import subprocess

    code = "import sys, handrail.host.sandbox.backends.apply; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    heavy = {"pydantic", "asyncio", "anyio", "json", "pathlib", "tempfile", "subprocess"}
    assert heavy & set(loaded) - set(baseline()) == set()


def baseline():
    import subprocess

    code = "import sys, handrail; print(*sys.modules)"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


def test_the_filter_of_searches_is_what_it_was():
    machine = seccomp._MACHINES["x86_64"]

    assert len(seccomp._program(machine)) // 8 == 5 + len(machine.opens) + len(machine.denied) + (
        len(seccomp._SHARED) + 1 + 3 * len(machine.opens) + 1
    )
