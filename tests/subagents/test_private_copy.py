"""Agents that must not change files run commands on a private copy of the workspace."""

import pytest
from tests.subagents.conftest import call, main_agent

import handrail.host.sandbox.private_copy as private_copy

WRITING = "import pathlib, sys; pathlib.Path('made.txt').write_text('x'); print(sorted(p.name for p in pathlib.Path().iterdir()))"


def script(agent, *more):
    return [
        call("subagent", task="Verify", agent=agent),
        {"text": "end"},
        {"agent": agent},
        call("run_command", command="python3 work.py"),
        *more,
        {"text": "verified"},
    ]


@pytest.mark.feature("P03")
@pytest.mark.threat("A28")
@pytest.mark.parametrize("sandboxed", ["bypass", "sandboxed"])
@pytest.mark.needs_bubblewrap
async def test_what_a_test_writes_is_gone_afterwards(scripted, tmp_path, sandboxed):
    scripted.write("work.py", WRITING)
    scripted.write(".git/config", "")
    lines = script(
        "test",
        {"expect": r"'made\.txt'"},
        {"expect": "private copy"},
        call("run_command", command="python3 work.py"),
        {"expect": r"\['\.git', 'made\.txt', 'work\.py'\]"},
    )
    async with scripted.open(*lines, mode=sandboxed, sandbox="bubblewrap") as rt:
        result = await main_agent(rt).run("Verify")

    (child,) = result.report.children
    assert (child.status, child.refused, child.changes) == ("done", (), ())
    assert set(scripted.files()) == {"work.py", ".git/config"}


ATTEMPTS = {
    "absolute": "open('{root}/made.txt', 'w')",
    "git": "open('.git/hooks/pre-commit', 'w')",
    "existing": "open('a.txt', 'w').write('changed')",
    "link": "import os; os.link('a.txt', 'b.txt'); open('b.txt', 'w').write('changed')",
    "mount": "import os; os.rename('a.txt', 'c.txt')",
    "parent": "open('../made.txt', 'w')",
    "proc": "open('/proc/1/root{root}/made.txt', 'w')",
}


@pytest.mark.feature("P03")
@pytest.mark.threat("A28")
@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.needs_bubblewrap
async def test_no_way_leads_to_the_real_workspace(scripted, attempt):
    scripted.write("a.txt", "a\n")
    scripted.write("work.py", ATTEMPTS[attempt].format(root=scripted.root))
    (scripted.root / ".git/hooks").mkdir(parents=True)
    before = scripted.files()
    async with scripted.open(*script("test"), mode="bypass", sandbox="bubblewrap") as rt:
        result = await main_agent(rt).run("Verify")

    assert result.report.children[0].status == "done"
    assert scripted.files() == before
    assert not (scripted.root.parent / "made.txt").exists()


@pytest.mark.threat("A28")
@pytest.mark.needs_bubblewrap
async def test_denied_files_are_not_in_the_copy(scripted):
    scripted.write("secret.txt", "swordfish")
    scripted.write(
        "work.py", "import pathlib; print('got', pathlib.Path('secret.txt').read_text())"
    )
    lines = script("test", call("run_command", command="ls"))
    deny = {"permissions": {"deny": ["read_file(secret.txt)"]}}
    events = []
    async with scripted.open(*lines, mode="bypass", sandbox="bubblewrap", config=deny) as rt:
        rt.subscribe(events.append)
        await main_agent(rt).run("Verify")

    assert "got swordfish" not in repr(events)


@pytest.mark.threat("A28", "A29")
@pytest.mark.needs_bubblewrap
async def test_a_workspace_that_is_too_large_and_a_job_are_read_only_and_it_is_said(
    scripted, monkeypatch
):
    scripted.write("work.py", WRITING)
    monkeypatch.setattr(private_copy, "MAX_ENTRIES", 0)
    lines = script(
        "test",
        {"expect": "read-only for the command, without a private copy: it has more than 0 files"},
        call("run_command", command="python3 work.py", background=True),
        {"expect": "read-only for the command"},
    )
    async with scripted.open(*lines, mode="bypass", sandbox="bubblewrap") as rt:
        result = await main_agent(rt).run("Verify")

    assert result.report.children[0].status == "done", result.report.children[0]
    assert set(scripted.files()) == {"work.py"}


@pytest.mark.feature("P03")
@pytest.mark.threat("A28")
@pytest.mark.needs_landlock
async def test_with_landlock_alone_the_workspace_is_read_only_and_it_is_said(scripted):
    """Only bubblewrap can show a copy in place of the workspace."""
    scripted.write("work.py", WRITING)
    scripted.write("a.txt", "a\n")
    lines = script(
        "test",
        {"expect": "read-only for the command, without a private copy"},
        {"expect": "Permission denied|Read-only file system"},
        call("run_command", command="echo changed > a.txt"),
    )
    async with scripted.open(*lines, mode="bypass", sandbox="landlock") as rt:
        result = await main_agent(rt).run("Verify")

    (child,) = result.report.children
    assert (child.status, child.changes) == ("done", ())
    assert child.commands[0].exit_code == 1
    # A command that names what it writes is not started.
    assert [one.code for one in child.refused] == ["denied"]
    assert scripted.files()["a.txt"] == "a\n"
    assert "made.txt" not in scripted.files()


@pytest.mark.threat("A28")
async def test_without_a_sandbox_nothing_runs_even_if_the_user_agrees(scripted):
    scripted.write("work.py", WRITING)
    settings = {"mode": "bypass", "sandbox": "none", "approver": lambda request: True}
    async with scripted.open(*script("test"), **settings) as rt:
        result = await main_agent(rt).run("Verify")

    assert [one.code for one in result.report.children[0].refused] == ["denied"]
    assert set(scripted.files()) == {"work.py"}
