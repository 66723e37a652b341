"""One deny on writing: the folder stays as it is, and the work around it goes on unasked."""

import subprocess
import sys

import pytest

DENY = {"permissions": {"deny": ["write_file(migrations/**)", "Edit(deep/er/lock.txt)"]}}
GUARDRAIL = {"guardrails": {"protected_files": ["migrations/**", "deep/er/lock.txt"]}}


@pytest.fixture
def project(workspace):
    workspace.write("migrations/a.py", "one\n")
    workspace.write("deep/er/lock.txt", "one\n")
    workspace.write("deep/b.txt", "b\n")
    workspace.write("Makefile", "all:\n\t@cat migrations/a.py; echo new > built\n")
    return workspace


def python(code):
    return f'{sys.executable} -c "{code}"'


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("config", [DENY, GUARDRAIL])
@pytest.mark.parametrize(
    "command", ["make", python("open('built', 'w').write('new' + chr(10))"), "make -C ."]
)
async def test_open_ended_commands_run_unasked(open_runtime, project, config, command):
    async with open_runtime(mode="sandboxed", config=config) as rt:
        result = await rt.call("run_command", {"command": command})

    assert result.ok, result.text
    assert project.read("built") == b"new\n"


ATTACKS = [
    python("open('migr' + 'ations/a.py', 'w').write('x')"),
    python("open('migr' + 'ations/new.py', 'w').write('x')"),
    python("import os; os.remove('migr' + 'ations/a.py')"),
    python("import os; os.rename('migr' + 'ations', 'away')"),
    python("import os; os.chmod('migr' + 'ations/a.py', 0)"),
    python("open('de' + 'ep/er/lock.txt', 'w').write('x')"),
    python("import os; os.replace('deep/b.txt', 'deep/er/' + 'lock.txt')"),
    python("import os; os.rename('de' + 'ep', 'away'); os.makedirs('deep/er')"),
    python("import os; os.rename('deep/' + 'er', 'away'); os.makedirs('deep/er')"),
    python("import os; os.link('migr' + 'ations/a.py', 'x'); open('x', 'w').write('x')"),
    python("import os; os.symlink('migr' + 'ations', 'x'); open('x/a.py', 'w').write('x')"),
]


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("config", [DENY, GUARDRAIL])
@pytest.mark.parametrize("command", ATTACKS)
async def test_no_program_changes_what_is_held(open_runtime, project, config, command):
    before = project.tree()
    async with open_runtime(mode="sandboxed", config=config) as rt:
        result = await rt.call("run_command", {"command": command})

    assert result.problem.code == "command_failed", result.text
    assert project.tree() == before


@pytest.mark.needs_sandbox
@pytest.mark.parametrize("command", ATTACKS)
async def test_without_the_rule_every_one_of_them_gets_through(open_runtime, project, command):
    def state():
        names = sorted(project.root.rglob("*"))
        return [(one, one.stat().st_mode) for one in names], project.tree()

    before = state()
    async with open_runtime(mode="sandboxed") as rt:
        result = await rt.call("run_command", {"command": command})

    assert result.ok, result.text
    assert state() != before


@pytest.mark.parametrize("command", ["touch migrations/x", "mv deep away", "rm -rf migrations"])
async def test_what_names_it_is_denied(open_runtime, project, command):
    async with open_runtime(mode="bypass", config=DENY) as rt:
        result = await rt.call("run_command", {"command": command})

    assert result.problem.code == "denied"


@pytest.mark.needs_bubblewrap
async def test_a_failure_names_the_rule(open_runtime, project):
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        result = await rt.call("run_command", {"command": ATTACKS[0]})

    assert "'deny write_file(migrations/**)' forbids" in result.text
    assert "allow_protected" not in result.text


@pytest.mark.needs_bubblewrap
async def test_git_cannot_bring_another_version(open_runtime, project):
    def git(*words):
        person = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *person, *words], cwd=project.root, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "other")
    project.write("migrations/a.py", "two\n")
    git("commit", "-qam", "two")
    git("checkout", "-q", "main")
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        result = await rt.call("run_command", {"command": "git checkout other"})
        added = await rt.call("run_command", {"command": "git add Makefile"})

    assert "unable to unlink" in result.text
    assert project.read("migrations/a.py") == b"one\n"
    assert added.ok, added.text


@pytest.mark.needs_bubblewrap
async def test_a_repository_in_a_held_folder_does_not_open_it(open_runtime, project):
    project.write("migrations/lib/.git/config", "[core]\n")
    project.write("migrations/lib/.git/HEAD", "ref: refs/heads/main\n")
    before = project.tree()
    command = python("open('migr' + 'ations/lib/.git/x', 'w')")
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        result = await rt.call("run_command", {"command": command})

    assert result.problem.code == "command_failed", result.text
    assert project.tree() == before


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("path", ["migrations/sub/x", "migrations/sub/deep/x"])
async def test_a_rule_within_another_does_not_open_it(open_runtime, project, path):
    project.write(path, "one\n")
    rules = ["write_file(migrations/**)", "write_file(migrations/sub/deep/**)"]
    project.write("migrations/sub/deep/y", "one\n")
    command = python(f"open('migr' + '{path[4:]}', 'w').write('x')")
    async with open_runtime(mode="sandboxed", config={"permissions": {"deny": rules}}) as rt:
        result = await rt.call("run_command", {"command": command})

    assert result.problem.code == "command_failed", result.text
    assert project.read(path) == b"one\n"


async def test_a_lock_above_what_is_held_is_not_opened_by_it(open_runtime, project):
    command = python("open('de' + 'ep/er/new', 'w')")
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        await rt.call("lock_paths", {"globs": ["deep"]}, agent="one")
        result = await rt.call("run_command", {"command": command}, agent="two")

    assert not result.ok
    assert not (project.root / "deep/er/new").exists()


@pytest.mark.needs_bubblewrap
async def test_a_background_job_is_held_too(open_runtime, project):
    command = f"{ATTACKS[0]} || echo held"
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        started = await rt.call("run_command", {"command": command, "background": True})
        job = {"job": started.data["job"], "block": True, "timeout_s": 20}
        output = await rt.call("job_output", job)

    assert "held" in output.text
    assert project.read("migrations/a.py") == b"one\n"


@pytest.mark.needs_bubblewrap
async def test_a_hook_is_held_too(open_runtime, project):
    hook = {"command": "echo x > migrations/a.py; echo ran > ran; true"}
    config = {**DENY, "hooks": {"post_tool_use": [hook]}}
    async with open_runtime(config=config) as rt:
        await rt.call("write_file", {"path": "x", "content": "x"})

    assert project.read("ran") == b"ran\n"
    assert project.read("migrations/a.py") == b"one\n"


@pytest.mark.needs_bubblewrap
async def test_what_does_not_exist_yet_is_asked_about(open_runtime, workspace):
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        before = await rt.call("run_command", {"command": python("print(1)")})
        workspace.write("migrations/a.py", "one\n")
        workspace.write("deep/er/lock.txt", "one\n")
        after = await rt.call("run_command", {"command": python("print(1)")})

    assert before.problem.code == "needs_approval"
    assert "once 'migrations' exists" in before.problem.hint
    assert after.ok


@pytest.mark.parametrize("what", ["link", "other letters"])
async def test_what_could_be_reached_by_another_name_is_asked_about(open_runtime, project, what):
    if what == "link":
        (project.root / "migrations").rename(project.root / "real")
        (project.root / "migrations").symlink_to("real")
    else:
        project.write("Migrations/a.py", "one\n")
    async with open_runtime(mode="sandboxed", config=DENY) as rt:
        result = await rt.call("run_command", {"command": python("print(1)")})

    assert result.problem.code == "needs_approval"


@pytest.mark.parametrize(
    "pattern", ["*.lock", "**/migrations/**", "migrations/*.py", "migrations/*/x"]
)
async def test_what_cannot_be_named_beforehand_is_asked_about(open_runtime, project, pattern):
    deny = {"permissions": {"deny": [f"write_file({pattern})"]}}
    async with open_runtime(mode="sandboxed", config=deny) as rt:
        asked = await rt.call("run_command", {"command": python("print(1)")})
        looked = await rt.call("run_command", {"command": "ls -A"})

    assert asked.problem.code == "needs_approval"
    assert "migrations/**" in asked.problem.hint
    assert looked.ok


@pytest.mark.parametrize("sandbox", ["landlock", "none"])
async def test_where_nothing_can_hold_it_commands_are_asked_about(open_runtime, project, sandbox):
    config = {**DENY, "accept_no_sandbox": True}
    async with open_runtime(mode="bypass", sandbox=sandbox, config=config) as rt:
        built = await rt.call("run_command", {"command": "make"})
        plain = await rt.call("run_command", {"command": "touch beside"})

    assert built.problem.code == "needs_approval"
    assert "bubblewrap" in built.problem.hint
    assert plain.ok, plain.text


@pytest.mark.needs_bubblewrap
async def test_places_outside_are_closed_to_commands_anyway(open_runtime, project):
    deny = {"permissions": {"deny": ["write_file(//srv/data/**)", "write_file(/migrations)"]}}
    async with open_runtime(mode="sandboxed", config=deny) as rt:
        result = await rt.call("run_command", {"command": "make"})

    assert result.ok, result.text


async def test_the_rule_that_surely_means_a_command_is_named_first(open_runtime, workspace):
    config = {"permissions": {"deny": ["write_file(*.lock)"], "ask": ["run_command(git push:*)"]}}
    async with open_runtime(mode="sandboxed", config=config) as rt:
        result = await rt.call("run_command", {"command": "git push"})

    assert "ask run_command(git push:*)" in result.problem.message


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("for f in *.txt; do python3 -c 'print(1)' $f; done", False),
        ("x=1; python3 -c 'print(1)' $x", False),
        ("for c in git; do $c push; done", True),
        ("for c in 'git push'; do eval $c; done", True),
        ("c='git push'; sh -c $c", True),
        ("x=git; npx $x push", True),
        ("x=git; uv run $x push", True),
        ("x=git; uv --quiet run $x push", True),
        ("x=1; docker run $x", True),
        ("PATH=.; python3 -c 'print(1)'", True),
    ],
)
async def test_only_a_program_that_is_unknown_may_be_the_one_of_a_rule(
    open_runtime, workspace, command, asked
):
    config = {"permissions": {"ask": ["run_command(git push:*)"]}}
    async with open_runtime(mode="sandboxed", config=config) as rt:
        result = await rt.call("run_command", {"command": command})

    by_rule = result.problem is not None and "git push:*" in result.problem.message
    assert by_rule is asked, result.text


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("config", [DENY, GUARDRAIL])
async def test_a_folder_that_does_not_exist_is_named_and_making_it_helps(
    open_runtime, project, config
):
    (project.root / "migrations/a.py").unlink()
    (project.root / "migrations").rmdir()
    call = {"command": python("print(1)")}
    async with open_runtime(mode="sandboxed", config=config) as rt:
        asked = await rt.call("run_command", call)
        (project.root / "migrations").mkdir()
        ran = await rt.call("run_command", call)

    assert asked.problem.code == "needs_approval"
    assert "'migrations' does not exist," in asked.text
    assert "read-only for commands" in asked.problem.hint
    assert ran.ok, ran.text
