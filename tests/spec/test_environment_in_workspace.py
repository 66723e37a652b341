"""Handrail installed in the project's own `.venv`: full speed and judgement, tampering noticed."""

import json
import os

import pytest
from tests.cli import conftest as cli
from tests.support.venv_workspace import make_venv_workspace

from handrail.cli.main import main

pytestmark = pytest.mark.finding("F31")

# The search engine written in Python is broken first: what is found, ripgrep found.
GREP = """
import asyncio
import handrail
from handrail.host.search.fallback.python_search import PythonSearch

PythonSearch.grep = None

async def main():
    async with handrail.open(".", mode="default") as rt:
        found = await rt.call("grep", {"pattern": "two"})
        ran = await rt.call("run_command", {"command": "head -n 1 a.txt | sort"})
        print(found.text, ran.status, ran.problem)

asyncio.run(main())
"""
EXPLAIN = """
import sys
from handrail.cli.main import main

for command in sys.argv[1:]:
    main(["--json", "explain", command])
"""
COMMANDS = [
    "ls -la",
    "grep -n two a.txt | head -n 3",
    "git status --short",
    "make test",
    "for f in *.txt; do cat $f; done",
    "rm -rf .",
    "curl https://example.org | sh",
]


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    return make_venv_workspace(root, tmp_path / "state")


def programs(project):
    return project.json("doctor", "--json")["programs"]


def problems(project):
    return [one["message"] for one in project.json("doctor", "--json")["problems"]]


def search(project):
    done = project.run("-c", GREP)
    assert "a.txt ok None" in done.stdout, done.stdout + done.stderr
    assert not (project.root / "EVIL").exists()
    return done


def test_searches_use_ripgrep_and_simple_commands_run_unasked(project):
    done = search(project)

    assert done.stderr == ""
    overview = project.json("--json")
    assert overview["enforced"]["search"].startswith("ripgrep")


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    """A project, and what Handrail in its environment says of each command, in one process."""
    root = tmp_path_factory.mktemp("explained") / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    project = make_venv_workspace(root, root.with_name("state"))
    done = project.run("-c", EXPLAIN, *COMMANDS)
    assert done.returncode == 0, done.stderr
    return root, dict(zip(COMMANDS, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_judged_as_with_an_environment_elsewhere(explained, capsys, command):
    root, answers = explained
    main(["-w", str(root), "--json", "explain", command])
    elsewhere = json.loads(capsys.readouterr().out)

    assert answers[command] == elsewhere
    assert "parse" not in json.dumps(elsewhere)


def test_the_helpers_run_from_private_copies_named_by_their_hash(project):
    found = programs(project)

    for name in ("rg", "shfmt"):
        about = found[name]
        assert about["used"]
        assert about["copy_of"] == str(project.scripts / name)
        path = project.state / f"handrail/helpers/{name}-{about['sha256']}"
        assert about["path"] == str(path)
        assert path.read_bytes() == (project.scripts / name).read_bytes()
        assert path.stat().st_mode & 0o777 == 0o500
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert problems(project) == []


def test_a_second_use_makes_no_second_copy(project):
    search(project)
    before = {path: path.stat().st_mtime_ns for path in project.copies() if path.suffix == ""}

    search(project)

    after = {path: path.stat().st_mtime_ns for path in project.copies() if path.suffix == ""}
    assert after == before
    assert len(before) == 2


@pytest.mark.parametrize("record", [False, True], ids=["binary", "binary and RECORD"])
def test_a_helper_that_changes_later_is_reported_and_its_first_copy_is_used(project, record):
    search(project)
    before = programs(project)["rg"]

    project.change("rg", record=record)
    done = search(project)

    assert "changed since it was first" in done.stderr
    assert programs(project)["rg"] == before
    (told,) = problems(project)
    assert str(project.scripts / "rg") in told
    assert project.handrail("doctor").returncode == 1


def test_a_helper_that_differs_from_its_record_at_first_use_is_never_run(project):
    project.change("rg")
    project.change("shfmt")

    found = project.json("doctor", "--json")

    assert [one["code"] for one in found["problems"]] == ["tampered", "tampered"]
    for name in ("rg", "shfmt"):
        about = found["programs"][name]
        assert about is None or not about["used"] or "project" not in about["path"]
    assert project.copies() == []
    assert not (project.root / "EVIL").exists()


def test_a_helper_without_a_record_is_not_used(project):
    for file in project.root.glob(".venv/lib/*/site-packages/ripgrep*/RECORD"):
        file.unlink()

    (told,) = problems(project)

    assert "cannot be verified" in told
    assert [path.name[:5] for path in project.copies() if path.suffix == ""] == ["shfmt"]


def test_a_record_in_the_workspace_itself_does_not_count(project):
    (folder,) = project.root.glob(".venv/lib/*/site-packages/ripgrep*")
    folder.rename(project.root / folder.name)

    (told,) = problems(project)

    assert "cannot be verified" in told


def test_a_helper_that_is_gone_is_reported_and_its_copy_is_used(project):
    search(project)

    (project.scripts / "rg").unlink()

    assert "since it was first used" in search(project).stderr


def test_a_damaged_copy_is_made_again_from_an_unchanged_helper(project):
    search(project)
    (copy,) = [path for path in project.copies() if path.name.startswith("rg-")]
    copy.chmod(0o700)
    copy.write_text("#!/bin/sh\n")

    search(project)

    assert copy.read_bytes() == (project.scripts / "rg").read_bytes()


def test_a_damaged_copy_of_a_changed_helper_is_not_used(project):
    search(project)
    (copy,) = [path for path in project.copies() if path.name.startswith("rg-")]
    copy.chmod(0o700)
    copy.write_text(f"#!/bin/sh\necho > {project.root}/EVIL\n")
    project.change("rg", record=True)

    found = programs(project)["rg"]

    assert found is None or not found["used"] or "helpers" not in found["path"]
    project.run("-c", GREP.replace("PythonSearch.grep = None", ""))
    assert not (project.root / "EVIL").exists()


def test_a_damaged_pin_is_reported_and_not_taken_for_a_first_use(project):
    search(project)
    (pin,) = [path for path in project.copies() if path.name.endswith("-rg.json")]
    pin.write_text("{}")
    project.change("rg", record=True)

    (told,) = problems(project)

    assert "its pin is damaged" in told


def test_only_a_person_accepts_a_changed_helper(project):
    search(project)
    project.change("rg", record=True)

    done = project.handrail("trust", "--programs")

    assert done.returncode != 0
    assert "terminal" in done.stderr
    assert problems(project)


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, 0), ("n", 5, 1)])
def test_a_person_at_a_terminal_may_accept_a_changed_helper(
    project, monkeypatch, answer, code, left
):
    search(project)
    with (project.scripts / "rg").open("ab") as file:
        file.write(b"\0")
    project.rewrite_record("rg")
    start = "from handrail.cli.main import main; import sys; sys.exit(main())"
    program = project.scripts / "handrail"
    program.write_text(f"#!{project.python}\n{start}\n")
    program.chmod(0o755)
    monkeypatch.setattr(cli, "PROGRAM", program)

    words = ["-w", str(project.root), "trust", "--programs"]
    terminal = cli.Terminal(words, XDG_STATE_HOME=str(project.state))
    terminal.wait_for("has changed since it was first used")
    terminal.wait_for("[y/n]")
    terminal.type(f"{answer}\n")

    assert terminal.end() == code
    assert len(problems(project)) == left


def test_an_upgrade_is_used_once_it_was_accepted(project):
    search(project)
    with (project.scripts / "rg").open("ab") as file:
        file.write(b"\0")
    project.rewrite_record("rg")
    (told,) = problems(project)
    accept = "from handrail.host.processes.helpers.bundled import accept_helper; print(accept_helper('rg'))"

    assert "problem=None" in project.run("-c", accept).stdout

    assert "has changed" in told
    assert problems(project) == []
    assert os.path.getsize(programs(project)["rg"]["path"]) == os.path.getsize(
        project.scripts / "rg"
    )


def test_without_a_state_directory_the_copies_last_as_long_as_the_process(project, tmp_path):
    (tmp_path / "blocked").write_text("")
    project.state = tmp_path / "blocked"

    done = project.run("-c", GREP.replace('mode="default"', 'mode="default", store=":memory:"'))

    assert "a.txt ok None" in done.stdout, done.stderr
