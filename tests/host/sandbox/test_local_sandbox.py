"""Which sandbox a runtime gets, what it says of it, and what it does without any."""

import sys

import pytest
from tests.support.machine import SANDBOXES_AND_NONE

from handrail.core.ports.processes import Confinement, Launch, Strength
from handrail.core.problems import ProblemRaised
from handrail.host.sandbox import local_sandbox
from handrail.host.sandbox.local_sandbox import open_sandbox
from handrail.host.sandbox.probe import measure
from handrail.host.sandbox.recipe import FILTER_HANDLE, Recipe, proxy_environment


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(local_sandbox, "_known", {})


def launch(root, **confinement):
    given = Confinement((str(root),), **confinement)
    return Launch(("/bin/true",), str(root), {"PATH": "/usr/bin"}, given, None)


@pytest.mark.needs_bubblewrap
def test_bubblewrap_is_the_first_choice(tmp_path):
    sandbox = open_sandbox([str(tmp_path)])

    assert sandbox.backend == "bubblewrap"
    assert sandbox.measured["fs_write"] is Strength.ENFORCED
    recipe = sandbox.recipe(launch(tmp_path))
    assert recipe.argv[0] == "/usr/bin/bwrap"
    assert recipe.own_pids
    assert FILTER_HANDLE in recipe.argv
    sandbox.close()


@pytest.mark.needs_landlock
def test_landlock_is_next_and_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(local_sandbox, "find_binary", lambda name, roots, **_: None)

    sandbox = open_sandbox([str(tmp_path)])

    assert sandbox.backend == "landlock"
    assert list(sandbox.describe()["passed_over"]) == ["bubblewrap"]
    recipe = sandbox.recipe(launch(tmp_path))
    assert recipe.landlock is not None
    assert recipe.drop_capabilities
    sandbox.close()


def test_without_either_there_is_none_and_every_property_is_absent(tmp_path, monkeypatch):
    monkeypatch.setattr(local_sandbox, "find_binary", lambda name, roots, **_: None)
    monkeypatch.setattr(local_sandbox.landlock, "abi", lambda: 0)

    sandbox = open_sandbox([str(tmp_path)])

    assert sandbox.backend == "none"
    assert set(sandbox.measured) == set(measure.PROPERTIES)
    assert set(sandbox.measured.values()) == {Strength.ABSENT}
    assert sandbox.recipe(launch(tmp_path)) == Recipe(
        ("/bin/true",), {"PATH": "/usr/bin"}, str(tmp_path)
    )


def test_another_platform_has_none(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")

    sandbox = open_sandbox([str(tmp_path)])

    assert sandbox.backend == "none"
    assert sandbox.describe()["passed_over"] == dict.fromkeys(
        ("bubblewrap", "landlock"), "only Linux has it"
    )
    assert set(sandbox.measured.values()) == {Strength.ABSENT}


@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
def test_one_can_be_forced(tmp_path, backend):
    sandbox = open_sandbox([str(tmp_path)], backend=backend)

    assert sandbox.backend == backend
    assert sandbox.describe()["passed_over"] == {}


def test_a_forced_one_that_does_not_work_is_a_problem_and_not_a_way_around(tmp_path, monkeypatch):
    monkeypatch.setattr(local_sandbox, "find_binary", lambda name, roots, **_: None)
    sandbox = open_sandbox([str(tmp_path)], backend="bubblewrap")

    with pytest.raises(ProblemRaised) as raised:
        sandbox.recipe(launch(tmp_path))

    assert raised.value.problem.code == "unavailable"
    assert "not installed" in raised.value.problem.message


def test_one_that_does_not_exist_is_refused_at_once(tmp_path):
    with pytest.raises(ProblemRaised) as raised:
        open_sandbox([str(tmp_path)], backend="firejail")

    assert raised.value.problem.code == "invalid_arguments"
    assert "bubblewrap" in raised.value.problem.hint


@pytest.mark.needs_landlock
def test_a_bubblewrap_inside_the_workspace_is_not_ours(tmp_path, monkeypatch):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\ntouch marker\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(local_sandbox, "_SYSTEM_BWRAP", str(tmp_path))

    assert open_sandbox([str(tmp_path)]).backend == "landlock"


@pytest.mark.needs_landlock
def test_a_bubblewrap_that_fails_here_is_passed_over_with_its_own_words(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    fake = elsewhere / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(local_sandbox, "_SYSTEM_BWRAP", str(elsewhere))

    sandbox = open_sandbox([str(tmp_path / "ws")])

    assert sandbox.backend == "landlock"
    assert "setting up uid map" in sandbox.describe()["passed_over"]["bubblewrap"]


@pytest.mark.needs_bubblewrap
def test_where_no_fresh_proc_can_be_mounted_the_old_one_is_shown(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    fake = elsewhere / "bwrap"
    fake.write_text(
        "#!/bin/sh\noptions=$(tr '\\0' ' ' < /proc/self/fd/$2)\n"
        'case " $options " in *" --proc "*) echo "Can\'t mount proc" >&2; exit 1;; esac\n'
        'exec /usr/bin/bwrap "$@"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setattr(local_sandbox, "_SYSTEM_BWRAP", str(elsewhere))

    sandbox = open_sandbox([str(tmp_path / "ws")])

    assert sandbox.backend == "bubblewrap"
    assert sandbox.measured["proc_view"] is Strength.PARTIAL
    assert sandbox.describe()["proc"] == "the machine's, read-only"


def test_a_command_that_a_person_let_out_is_not_confined(tmp_path):
    sandbox = open_sandbox([str(tmp_path)])

    recipe = sandbox.recipe(launch(tmp_path, off=True))

    assert recipe == Recipe(("/bin/true",), {"PATH": "/usr/bin"}, str(tmp_path))


@pytest.mark.needs_landlock
def test_nothing_is_tried_until_it_is_needed_and_then_only_once(tmp_path, monkeypatch):
    tried = []
    real = measure.measure_backend
    monkeypatch.setattr(measure, "measure_backend", lambda *given: tried.append(1) or real(*given))

    first = open_sandbox([str(tmp_path)], backend="landlock")
    assert tried == []
    second = open_sandbox([str(tmp_path)], backend="landlock")
    assert first.measured == second.measured

    assert tried == [1]


@pytest.mark.needs_landlock
def test_what_was_measured_is_remembered_for_the_next_process(tmp_path, monkeypatch):
    cache = tmp_path / "state"
    first = open_sandbox([str(tmp_path)], backend="landlock", cache=cache).measured
    monkeypatch.setattr(local_sandbox, "_known", {})
    monkeypatch.setattr(measure, "measure_backend", lambda *_: pytest.fail("measured again"))

    assert open_sandbox([str(tmp_path)], backend="landlock", cache=cache).measured == first


@pytest.mark.needs_landlock
@pytest.mark.parametrize(
    "kept", [{}, {"tcp": "enforced"}, dict.fromkeys(measure.PROPERTIES, "great")]
)
def test_a_memory_that_is_not_understood_is_measured_anew(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(measure, "load_result", lambda *_: kept)

    measured = open_sandbox([str(tmp_path)], backend="landlock").measured

    assert measured["fs_write"] is Strength.ENFORCED


@pytest.mark.needs_bubblewrap
def test_the_description_names_the_program_and_the_table(tmp_path):
    told = open_sandbox([str(tmp_path)], backend="bubblewrap").describe()

    assert told["path"] == "/usr/bin/bwrap"
    assert len(told["sha256"]) == 64
    assert told["measured"]["tcp"] == "enforced"
    assert list(told["measured"]) == list(measure.PROPERTIES)


@pytest.mark.needs_landlock
def test_a_limit_that_the_supervisor_sets_is_told_as_far_as_it_goes(tmp_path):
    limited = open_sandbox([str(tmp_path)], backend="landlock", memory_limited=True)

    assert limited.measured["memory_limit"] is Strength.PARTIAL
    assert limited.describe()["measured"]["memory_limit"] == "partial"


@pytest.mark.needs_landlock
def test_no_temporary_directory_is_a_problem(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sandbox = open_sandbox([str(tmp_path)], backend="landlock")
    assert sandbox.backend == "landlock"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))

    with pytest.raises(ProblemRaised) as raised:
        sandbox.recipe(launch(tmp_path))

    assert raised.value.problem.code == "unavailable"


@pytest.mark.parametrize(
    ("hosts", "own_network", "without_proxy"),
    [
        (["example.org"], True, "localhost,127.0.0.1,::1"),
        (["example.org", "localhost:8080"], True, ""),
        (["127.0.0.1"], True, ""),
        (["[::1]:80"], True, ""),
        (["example.org"], False, ""),
    ],
)
def test_a_loopback_of_its_own_needs_no_proxy_unless_it_is_listed(
    hosts, own_network, without_proxy
):
    variables = proxy_environment(hosts, own_network=own_network)

    assert {variables["NO_PROXY"], variables["no_proxy"]} == {without_proxy}
    assert len({variables[name] for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY")}) == 1
