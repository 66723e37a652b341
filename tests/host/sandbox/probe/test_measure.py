"""The measurement itself: it sees what is open, and what it cannot see it calls absent."""

import os
import threading

import pytest

from handrail.core.ports.processes import Strength
from handrail.host.sandbox import visible_paths
from handrail.host.sandbox.backends.bubblewrap import BubblewrapBackend
from handrail.host.sandbox.backends.landlock_backend import LandlockBackend
from handrail.host.sandbox.probe import fixture, measure
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.runner.launch import OutputPipes
from handrail.host.supervisor.tracing import syscall_tracer

HERE = visible_paths.find_visible_paths([])
ENFORCED, PARTIAL, ABSENT = Strength.ENFORCED, Strength.PARTIAL, Strength.ABSENT


class Open:
    """Confines nothing."""

    name = "open"

    def recipe(self, launch, scene):
        env = {**launch.env, "TMPDIR": scene.temporary}
        return Recipe(launch.argv, env, launch.cwd)


class Leaky(LandlockBackend):
    """As Landlock, but one thing is given back."""

    def __init__(self, **given):
        self.given = given

    def recipe(self, launch, scene):
        return super().recipe(launch, scene)._replace(**self.given)


class Instead(Open):
    """Runs something else."""

    def __init__(self, *argv):
        self.argv = argv

    def recipe(self, launch, scene):
        return super().recipe(launch, scene)._replace(argv=self.argv)


@pytest.mark.needs_bubblewrap
def test_bubblewrap_holds_everything_but_what_does_not_exist_yet():
    measured = measure.measure_backend(BubblewrapBackend("/usr/bin/bwrap"), HERE)

    assert measured == {
        **dict.fromkeys(measure.PROPERTIES, ENFORCED),
        "protected_names": Strength.REPAIRED,
        "memory_limit": ABSENT,
        "pids_limit": ABSENT,
    }


@pytest.mark.needs_bubblewrap
def test_without_a_proc_of_its_own_programs_outside_are_seen_but_not_read():
    measured = measure.measure_backend(BubblewrapBackend("/usr/bin/bwrap", own_proc=False), HERE)

    assert measured["proc_view"] == PARTIAL
    assert {name for name, strength in measured.items() if strength != ENFORCED} == {
        "proc_view", "protected_names", "memory_limit", "pids_limit",
    }  # fmt: skip


@pytest.mark.needs_landlock
def test_landlock_alone_keeps_writes_inside():
    measured = measure.measure_backend(LandlockBackend(), HERE)

    assert {name: strength for name, strength in measured.items() if strength != ENFORCED} == {
        "fs_hide": PARTIAL,
        "proc_view": PARTIAL,
        "protected_names": Strength.REPAIRED,
        "memory_limit": ABSENT,
        "pids_limit": ABSENT,
    }


def test_what_confines_nothing_is_seen_to_confine_nothing():
    measured = measure.measure_backend(Open(), HERE)

    held = {name for name, strength in measured.items() if strength != ABSENT}
    # What the supervisor and the repair do, whatever the backend.
    assert held <= {"protected_names", "kill_tree"}


@pytest.mark.needs_landlock
def test_a_missing_filter_is_seen():
    measured = measure.measure_backend(Leaky(filter=b""), HERE)

    assert {measured[name] for name in ("udp", "unix_path", "userns")} == {ABSENT}
    # MPTCP reaches who listens for TCP, so that neither is held.
    assert {measured[name] for name in ("mptcp", "tcp")} == {ABSENT}
    assert measured["fs_read"] == ENFORCED


@pytest.mark.finding("F32")
@pytest.mark.needs_landlock
def test_attributes_that_can_be_changed_outside_are_seen():
    class Careless(LandlockBackend):
        def recipe(self, launch, scene):
            recipe = super().recipe(launch, scene)
            return recipe._replace(landlock=recipe.landlock._replace(attributes=("/",)))

    assert measure.measure_backend(Careless(), HERE)["fs_write"] == PARTIAL


@pytest.mark.finding("F32")
@pytest.mark.needs_landlock
def test_writes_stay_inside_without_a_listener_too(monkeypatch):
    monkeypatch.setattr(syscall_tracer, "_new_listener", lambda **_: -1)

    assert measure.measure_backend(LandlockBackend(), HERE)["fs_write"] == ENFORCED


def test_missing_rules_are_seen():
    measured = measure.measure_backend(Leaky(landlock=None), HERE)

    assert {measured[name] for name in ("fs_write", "fs_read", "fs_hide", "signals")} == {ABSENT}
    assert {measured[name] for name in ("tcp", "udp", "ptrace")} == {ENFORCED}


class Forgetful(BubblewrapBackend):
    """As bubblewrap, but some of what is withheld is not hidden."""

    def __init__(self, *forgotten):
        super().__init__("/usr/bin/bwrap")
        self.forgotten = forgotten

    def recipe(self, launch, scene):
        kept = [one for one in launch.confinement.denied_reads if not one.endswith(self.forgotten)]
        confinement = launch.confinement._replace(denied_reads=tuple(kept))
        return super().recipe(launch._replace(confinement=confinement), scene)


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize(
    ("forgotten", "strength"),
    [
        ("shown/way/withheld", ABSENT),
        ("shown/way/closed", ABSENT),
        ("workspace/way/withheld", PARTIAL),
        ("workspace/way/closed", PARTIAL),
        ("nothing", ENFORCED),
    ],
)
def test_a_withheld_path_that_is_not_hidden_is_seen(forgotten, strength):
    assert measure.measure_backend(Forgetful(forgotten), HERE)["fs_hide"] == strength


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("/bin/false",), "it ended with 1"),
        (("/bin/sh", "-c", "echo nonsense"), "it ended with 0"),
        (("/bin/sh", "-c", "echo []"), "it ended with 0"),
        (("/bin/sh", "-c", "echo first >&2; echo second >&2; exit 1"), "second"),
        (("/bin/sh", "-c", 'echo "{\\"ok_x\\": false}"'), "it refuses what is allowed: ok_x"),
        (("/nonexistent",), "cannot be tried"),
        (("/bin/sleep", "20"), "it did not end within 0.2 s"),
    ],
)
def test_what_gives_no_answer_is_unusable(monkeypatch, argv, why):
    monkeypatch.setattr(measure, "DEADLINE_S", 0.2)
    monkeypatch.setattr(measure, "BUSY_DEADLINE_S", 0.2)

    with pytest.raises(measure.BackendUnusable, match=why):
        measure.measure_backend(Instead(*argv), HERE)


def test_an_attempt_that_nobody_reported_counts_as_one_that_got_through():
    measured = measure._grade_properties({}, {}, own_pids=True)

    assert {name for name, strength in measured.items() if strength != ABSENT} == {
        "protected_names"
    }


def test_either_tracer_is_enough():
    quiet = dict.fromkeys(("tcp", "mptcp"), False)

    assert measure._grade_properties({**quiet}, {"tcp": True}, own_pids=True)["tcp"] == ABSENT
    assert (
        measure._grade_properties({**quiet, "tcp": True}, {"tcp": False}, own_pids=True)["tcp"]
        == ABSENT
    )
    assert measure._grade_properties({**quiet}, {"tcp": False}, own_pids=True)["tcp"] == ENFORCED


def test_a_machine_without_the_tools_to_try_it_is_told(monkeypatch):
    monkeypatch.setattr(measure, "find_binary", lambda name, roots, **_: None)

    with pytest.raises(measure.BackendUnusable, match="'sleep'"):
        measure.measure_backend(LandlockBackend(), HERE)


@pytest.mark.needs_landlock
def test_nothing_is_left_behind(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    measure.measure_backend(LandlockBackend(), HERE)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(BubblewrapBackend("/usr/bin/bwrap"), marks=pytest.mark.needs_bubblewrap),
        pytest.param(LandlockBackend(), marks=pytest.mark.needs_landlock),
        Open(),
    ],
)
def test_a_temporary_directory_with_a_long_name_changes_nothing(tmp_path, monkeypatch, backend):
    """The address of a Unix socket has room for no more than 107 bytes."""
    import tempfile

    usual = measure.measure_backend(backend, HERE)
    far = tmp_path / ("y" * 120)
    far.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(far))

    assert measure.measure_backend(backend, HERE) == usual
    assert list(far.iterdir()) == []


def test_a_trial_that_takes_too_long_is_ended():
    done = fixture.run_probe_program(Recipe(("/bin/sleep", "30"), {}, "/"), deadline_s=0.1)

    assert done == fixture.ProbeOutput(None, b"", b"")


def test_the_thread_of_a_trial_ends_with_it():
    before = set(threading.enumerate())
    recipe = Recipe(("/bin/true",), {}, "/", drop_capabilities=True)

    with open(os.devnull, "wb") as null:
        outputs = OutputPipes(null.fileno(), null.fileno())
        with fixture.start_probe_program(recipe, outputs):
            started = set(threading.enumerate()) - before
    for thread in started:
        thread.join(10)

    assert started
    assert not any(thread.is_alive() for thread in started)


class Busy(Open):
    """Takes longer than the first deadline, as on a machine with much else to do."""

    def recipe(self, launch, scene):
        made = super().recipe(launch, scene)
        late = launch.timeout_s == measure.DEADLINE_S
        return made._replace(argv=("/bin/sleep", "20")) if late else made


def test_a_busy_machine_gets_more_time(monkeypatch):
    monkeypatch.setattr(measure, "DEADLINE_S", 0.2)

    assert measure.measure_backend(Busy(), HERE)["fs_write"] is ABSENT
