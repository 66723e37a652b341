"""One deny on reading: the file is closed to every tool, and the work around it goes on."""

import os
import subprocess

import pytest

DENY = {"permissions": {"deny": ["read_file(.env)", "Read(secrets/**)"]}}
SECRET = "TOKEN=hunter2"


@pytest.fixture
def project(workspace):
    workspace.write(".env", f"{SECRET}\n")
    workspace.write("secrets/deep/key", f"{SECRET}\n")
    workspace.write("pkg/.ENV", f"{SECRET}\n")
    workspace.write("src/app.py", "TOKEN = load('TOKEN')\n")
    workspace.write("Makefile", "all:\n\t@cat .env secrets/deep/key pkg/.ENV; cat src/app.py\n")
    return workspace


def confined(tool, arguments):
    """A call that is made unasked only where the sandbox hides what is withheld."""
    return pytest.param(tool, arguments, marks=pytest.mark.needs_bubblewrap)


CALLS = [
    ("grep", {"pattern": "TOKEN", "output_mode": "content"}),
    ("grep", {"pattern": "TOKEN", "output_mode": "count"}),
    ("grep", {"pattern": "TOKEN"}),
    ("find_files", {"pattern": "*.py"}),
    ("list_files", {"recursive": True}),
    ("run_command", {"command": "grep -r TOKEN . || true"}),
    confined("run_command", {"command": "cat src/* .e* pkg/.[a-zA-Z]*; true"}),
    confined("run_command", {"command": "find . -type f -exec cat {} + ; true"}),
    confined("run_command", {"command": "make"}),
    confined(
        "execute_code", {"language": "bash", "code": "mv pkg away; cat a*/.E*; cat src/app.py"}
    ),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_the_work_around_a_withheld_file_goes_on_unasked(
    open_runtime, project, tool, arguments
):
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        result = await rt.call(tool, arguments)

    assert result.status in ("ok", "failed"), result.text
    assert "hunter2" not in f"{result.text}{result.data}"
    assert "app.py" in result.text or "load(" in result.text
    assert project.read(".env").decode().strip() == SECRET


REFUSED = [
    ("read_file", {"path": ".env"}),
    ("read_file", {"path": "notes.txt"}),
    ("read_file", {"path": "PKG/../pkg/.ENV"}),
    ("grep", {"pattern": "TOKEN", "path": ".env"}),
    ("grep", {"pattern": "TOKEN", "path": "secrets"}),
    ("file_info", {"path": ".env"}),
    ("edit_file", {"path": ".env", "old_string": "TOKEN=", "new_string": "X="}),
    ("run_command", {"command": "cat .env"}),
    ("run_command", {"command": "cat notes.txt"}),
    ("run_command", {"command": "cp -r secrets /tmp/x"}),
    ("run_command", {"command": "git show HEAD:.env"}),
    ("run_command", {"command": "mv .env visible"}),
]


@pytest.mark.parametrize(("tool", "arguments"), REFUSED)
async def test_what_names_a_withheld_file_is_refused(open_runtime, project, tool, arguments):
    (project.root / "notes.txt").symlink_to(".env")
    (project.root / "PKG").mkdir()
    async with open_runtime(mode="bypass", config=DENY) as rt:
        result = await rt.call(tool, arguments)

    assert result.status == "refused", result.text
    assert "hunter2" not in result.text
    assert project.read(".env").decode().strip() == SECRET


async def test_a_search_says_how_many_paths_it_left_out(open_runtime, project):
    async with open_runtime(config=DENY) as rt:
        result = await rt.call("grep", {"pattern": "TOKEN"})

    # Names may be told: see `list_files` above.
    assert result.text.splitlines()[0] == "src/app.py"
    assert "[incomplete: 3 paths withheld" in result.text


@pytest.mark.needs_bubblewrap
async def test_a_file_that_appears_is_withheld_from_the_next_call(open_runtime, project):
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        await rt.call("grep", {"pattern": "TOKEN"})
        project.write("new/.env", f"{SECRET}\n")
        found = await rt.call("grep", {"pattern": "TOKEN", "output_mode": "content"})
        ran = await rt.call("run_command", {"command": "cat new/.e[m-o]v; grep -r hunter new"})

    assert "4 paths withheld" in found.text
    assert "hunter2" not in found.text + ran.text
    assert "denied to commands" in ran.text


async def test_under_landlock_commands_that_look_go_on_and_others_are_asked(open_runtime, project):
    async with open_runtime(mode="bypass", sandbox="landlock", config=DENY) as rt:
        looked = await rt.call("run_command", {"command": "grep -rh TOKEN ."})
        listed = await rt.call("run_command", {"command": "ls -A ."})
        built = await rt.call("run_command", {"command": "make"})

    assert "load('TOKEN')" in looked.text
    assert "hunter2" not in looked.text
    assert ".env" in listed.text
    assert built.problem.code == "needs_approval"


async def test_where_nothing_confines_commands_they_are_asked_about_as_ever(open_runtime, project):
    config = {**DENY, "accept_no_sandbox": True}
    async with open_runtime(mode="bypass", sandbox="none", config=config) as rt:
        tree = await rt.call("run_command", {"command": "grep -r TOKEN ."})
        built = await rt.call("run_command", {"command": "make"})
        searched = await rt.call("grep", {"pattern": "TOKEN"})

    assert tree.problem.code == "denied"
    assert built.problem.code == "needs_approval"
    assert searched.ok


async def test_what_git_keeps_a_copy_of_is_not_called_hidden(open_runtime, project):
    def git(*words):
        subprocess.run(["git", *words], cwd=project.root, check=True, capture_output=True)

    git("init", "-q")
    git("add", "src")
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        untracked = await rt.call("run_command", {"command": "git diff --cached"})
        git("add", "-f", "secrets")
        first = await rt.call("run_command", {"command": "git diff --cached"})
        second = await rt.call("run_command", {"command": "git diff --cached"})
        elsewhere = await rt.call("run_command", {"command": "cat src/app.py"})

    assert "load('TOKEN')" in untracked.text
    assert [one.problem.code for one in (first, second)] == ["denied", "denied"]
    assert "git tracks 'secrets/deep/key'" in first.text
    assert elsewhere.ok


@pytest.mark.needs_bubblewrap
async def test_a_background_job_does_not_see_them_either(open_runtime, project):
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        started = await rt.call("run_command", {"command": "make", "background": True})
        told = await rt.call("job_output", {"job": started.data["job"], "timeout_s": 20})

    assert "load('TOKEN')" in told.text
    assert "hunter2" not in told.text


@pytest.mark.needs_bubblewrap
async def test_sensitive_files_are_withheld_as_rules_do(open_runtime, project):
    config = {"guardrails": {"sensitive_files": [".env", "secrets/**"]}}
    async with open_runtime(mode="sandboxed", config=config) as rt:
        found = await rt.call("grep", {"pattern": "TOKEN", "output_mode": "content"})
        ran = await rt.call("run_command", {"command": "make"})
        read = await rt.call("read_file", {"path": ".env"})

    assert "3 paths withheld" in found.text
    assert "load('TOKEN')" in ran.text
    assert "hunter2" not in found.text + ran.text + read.text
    assert read.status == "refused"


async def test_nothing_is_looked_for_without_a_deny_on_reading(open_runtime, project, monkeypatch):
    listed = []
    scandir = os.scandir
    async with open_runtime(config={"permissions": {"deny": ["write_file(x)"]}}) as rt:
        await rt.call("grep", {"pattern": "TOKEN"})
        monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
        found = await rt.call("grep", {"pattern": "TOKEN"})

    assert ".env" in found.text
    assert not [path for path in listed if isinstance(path, str)]
