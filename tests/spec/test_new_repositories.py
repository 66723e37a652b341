"""An approved `git init` or `git clone` keeps the repository that it makes, and only that."""

import subprocess

import pytest
from tests.support.machine import SANDBOXES_AND_NONE

import handrail

MADE = {
    "git init -q new": "new/.git/config",
    "git init -q": ".git/config",
    "git init -q --bare bare.git": "bare.git/config",
    "git clone -q origin copy": "copy/.git/config",
    "git clone -q --bare origin bare": "bare/config",
    "git -C origin init -q sub": "origin/sub/.git/config",
    "cd origin && git init -q sub": "origin/sub/.git/config",
}
# Approved as well, but nobody who reads them is told of a repository or of a change to an old one.
NOT_MADE = {
    "git status; python3 plant.py": "new/.git/config",
    "git log --grep init; python3 plant.py": "new/.git/config",
    "git init -q other; python3 plant.py origin": "origin/.git/hooks/pre-commit",
    "git clone -q origin other; python3 plant.py origin": "origin/.git/modules/x/config",
}
PLANT = """
import os, sys
top = sys.argv[1] if sys.argv[1:] else "new"
for path in ("config", "HEAD", "hooks/pre-commit", "modules/x/HEAD", "modules/x/config"):
    path = f"{top}/.g" + f"it/{path}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "a").write("[core]\\n")
    except OSError:
        pass
"""


@pytest.fixture
def work(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    subprocess.run(["git", "init", "-q", "origin"], cwd=work, check=True, timeout=60)
    (work / "plant.py").write_text(PLANT)
    return work


async def run(work, command, backend, **options):
    settings = {"config": {"accept_no_sandbox": True}, "sandbox": backend, "store": ":memory:"}
    async with handrail.open(work, **settings, **options) as rt:
        return await rt.call("run_command", {"command": command})


@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
@pytest.mark.parametrize("command", MADE)
async def test_an_approved_repository_stays(work, command, backend):
    result = await run(work, command, backend, approver=lambda request: True)

    assert result.problem is None, result.text
    assert (work / MADE[command]).is_file()


@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
@pytest.mark.parametrize("command", NOT_MADE)
async def test_nothing_else_of_git_stays(work, command, backend):
    before = (work / "origin/.git/config").read_bytes()

    await run(work, command, backend, approver=lambda request: True)

    assert not (work / NOT_MADE[command]).exists()
    assert (work / "origin/.git/config").read_bytes() == before


@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
async def test_a_repository_that_nobody_approved_is_put_back(work, backend):
    result = await run(work, "git init -q new", backend, mode="bypass")

    assert result.problem.code == "tampered"
    assert not (work / "new/.git").exists()
