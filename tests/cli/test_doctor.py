import hashlib
import sys
from pathlib import Path

import handrail as package


def test_the_report_names_what_runs_and_what_is_enforced(handrail):
    report = handrail("doctor", "--json").json

    assert report["handrail"]["version"] == package.__version__
    assert report["handrail"]["package"] == str(Path(package.__file__).parent)
    assert report["handrail"]["interpreter"] == sys.executable
    assert {"openat2", "seccomp", "landlock_abi", "write", "network"} <= set(report["kernel"])
    rg = report["programs"]["rg"]
    assert rg["version"].startswith("ripgrep ")
    assert rg["sha256"] == hashlib.sha256(Path(rg["path"]).read_bytes()).hexdigest()


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
    assert f"the Python that runs Handrail lies inside the workspace: {sys.prefix}" in done.out


def test_a_damaged_store_is_a_problem_and_the_report_goes_on(handrail, tmp_path):
    store = tmp_path / "store.db"
    store.write_bytes(b"nonsense" * 1000)

    done = handrail("--store", store, "doctor")

    assert done.code == 1
    assert "problem: the store" in done.out
    assert "CPython" in done.out


def test_a_broken_configuration_is_a_problem_and_the_report_goes_on(handrail, own_home):
    file = own_home / "config" / "handrail" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("mode = [")

    done = handrail("doctor", "--json")

    assert done.code == 1
    assert str(file) in done.json["problems"][0]
    assert done.json["config"]["exists"] is True
