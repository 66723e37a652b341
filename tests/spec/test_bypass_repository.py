"""A repository whose linter settings, test settings, build and hooks all try to get out."""

import json
import sys

import pytest
from tests.support import internals
from tests.support.machine import SANDBOXES

import handrail
from handrail.assembly.settings_files import load_from, trust_book
from handrail.config.trust import FOLDER
from handrail.host.state.directories import private_directory, state_home

RUNS = {
    "eslint": "node eslint.config.js",
    "conftest": f"{sys.executable} -m pytest -q -p no:cacheprovider .",
    "build": "sh build.sh",
    "make": "make",
    "npm": "npm run build --silent",
}


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Places that such a repository would like to write to."""
    home = tmp_path / "home"
    (home / ".config").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return [tmp_path / "marker", home / ".bashrc", home / ".config" / "marker"]


@pytest.fixture
def repository(workspace, outside):
    """Every program of it notes that it ran, and writes to every place outside."""
    places = [str(place) for place in outside]
    tries = "".join(
        f"try {{ fs.writeFileSync({json.dumps(place)}, 'x') }} catch (e) {{}}\n" for place in places
    )
    (workspace.root / ".git" / "hooks").mkdir(parents=True)
    places.append(str(workspace.root / ".git" / "hooks" / "pre-commit"))
    javascript = f"const fs = require('fs')\nfs.writeFileSync('ran-js', 'x')\n{tries}"
    python = (
        f"import contextlib, pathlib\npathlib.Path('ran-py').write_text('x')\n"
        f"for place in {places!r}:\n"
        "    with contextlib.suppress(OSError):\n        pathlib.Path(place).write_text('x')\n"
    )
    shell = "touch ran-sh\n" + "".join(f"echo x > {place} 2>/dev/null\n" for place in places)
    workspace.write("eslint.config.js", javascript)
    workspace.write("conftest.py", python)
    workspace.write("test_a.py", "def test(): pass\n")
    workspace.write("build.sh", f"{shell}true\n")
    workspace.write("Makefile", "all:\n\t@sh build.sh\n")
    workspace.write("package.json", '{"scripts": {"build": "sh build.sh"}}')
    hooks = "".join(
        f"[[hooks.{event}]]\ncommand = 'touch ran-hook; sh build.sh'\n"
        for event in ("pre_tool_use", "post_tool_use", "session_start", "session_end")
    )
    workspace.write(".handrail/config.toml", hooks)
    return workspace


def written(outside, repository):
    hook = repository.root / ".git" / "hooks" / "pre-commit"
    return [str(place) for place in (*outside, hook) if place.exists()]


@pytest.mark.needs_node
@pytest.mark.parametrize("backend", SANDBOXES)
async def test_nothing_of_it_gets_out(open_runtime, repository, outside, backend):
    settings = {"mode": "bypass", "sandbox": backend}
    async with open_runtime(**settings) as rt:
        for name, command in RUNS.items():
            await rt.call("run_command", {"command": command, "timeout_s": 120})
            assert written(outside, repository) == [], name
        job = await rt.call("run_command", {"command": "sh build.sh", "background": True})
        await rt.call("job_output", {"job": job.data["job"], "timeout_s": 30})
        code = (repository.root / "conftest.py").read_text()
        await rt.call("execute_code", {"language": "python", "code": code})

    assert written(outside, repository) == []
    for ran in ("ran-js", "ran-py", "ran-sh"):
        assert (repository.root / ran).exists(), ran
    assert not (repository.root / "ran-hook").exists()


@pytest.mark.parametrize("backend", SANDBOXES)
async def test_its_hooks_do_not_get_out_when_they_are_trusted(repository, outside, backend):
    book = trust_book()
    private_directory(state_home() / FOLDER)
    book.add(repository.root, load_from(repository.root, None, {}).digest)
    settings = {"mode": "accept-edits", "store": ":memory:", "sandbox": backend}
    async with handrail.open(repository.root, **settings) as rt:
        await rt.call("write_file", {"path": "a", "content": "x"})

    assert (repository.root / "ran-hook").exists()
    assert written(outside, repository) == []


async def test_where_nothing_holds_them_nothing_of_it_runs_unasked(
    open_runtime, repository, outside
):
    async with open_runtime(mode="bypass", sandbox="none") as rt:
        codes = [
            (await rt.call("run_command", {"command": command})).problem.code
            for command in RUNS.values()
        ]

    assert codes == ["needs_approval"] * len(RUNS)
    assert written(outside, repository) == []
    assert not list(repository.root.glob("ran-*"))


async def test_what_a_job_plants_at_once_does_not_pass_for_what_was_there(
    open_runtime, workspace, monkeypatch
):
    hook = workspace.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(parents=True)
    settings = {"mode": "bypass", "sandbox": "landlock", "approver": lambda request: True}
    async with open_runtime(**settings) as rt:
        guarded = internals.command_runner(rt).protection.guarded
        repair = guarded.repair

        def and_then_the_job_writes(snapshot, *, held=()):
            found = repair(snapshot, held=held)
            hook.write_text("x")
            return found

        with monkeypatch.context() as patch:
            patch.setattr(guarded, "repair", and_then_the_job_writes)
            arguments = {"command": "python3 -c pass", "background": True}
            (await rt.call("run_command", arguments)).unwrap()
        planted = hook.exists()

    assert planted
    assert not hook.exists()
