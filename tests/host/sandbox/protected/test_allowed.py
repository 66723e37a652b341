"""What a person allowed for a command, and what stays bound and watched all the same."""

import os

import pytest
from tests.support.handles import open_handles
from tests.support.protected_workspace import repaired, run, whats

from handrail.host.files.root_identity import RootHandle
from handrail.host.sandbox.protected.guard import read_only_paths


def test_a_commit_is_no_tampering_where_git_may_write(work, state, top):
    real = work / "real"
    run(work, "mkdir real; cd real; git init -q .; echo 1 > a; git add a")
    commit = "cd real; git -c user.name=n -c user.email=e@x commit -qm m; git branch b; git gc -q"

    done = repaired(state, top, commit, git_writable=True)

    assert done == {}
    assert list((real / ".git" / "objects" / "pack").iterdir())


def test_hooks_and_config_stay_even_where_git_may_write(work, state, top):
    command = "echo x > .git/hooks/pre-commit; git -C real config core.pager evil; rm .git/config"
    run(work, "mkdir real; cd real; git init -q .")

    done = repaired(state, top, command, git_writable=True)

    assert whats(done) == {
        ".git/config": "removed",
        "real/.git/config": "changed",
        ".git/hooks/pre-commit": "created",
    }


REBASE = "mkdir .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo"


def test_a_rebase_may_leave_its_work_where_git_may_write(work, state, top):
    assert repaired(state, top, REBASE, git_writable=True, sequences=True) == {}


PLANTS = [
    (REBASE, ".git/rebase-merge"),
    ("mkdir -p .git/rebase-apply; echo x > .git/rebase-apply/patch", ".git/rebase-apply"),
    ("mkdir .git/sequencer; echo 'exec evil' > .git/sequencer/todo", ".git/sequencer"),
    ("echo '$(evil)' > .git/BISECT_NAMES", ".git/BISECT_NAMES"),
    ("echo '[core]' > .git/config.lock", ".git/config.lock"),
]


@pytest.mark.parametrize(("command", "path"), PLANTS)
def test_no_other_command_leaves_steps_for_git_to_continue_with(work, state, top, command, path):
    """What lies there is run by the next `git rebase --continue`, whoever says that."""
    done = repaired(state, top, command, git_writable=True)

    assert whats(done) == {path: "created"}
    assert not (work / path).exists()


def test_a_line_added_to_a_rebase_that_waits_is_taken_out_again(work, state, top):
    run(work, REBASE.replace("exec evil", "pick 1"))
    todo = work / ".git" / "rebase-merge" / "git-rebase-todo"

    done = repaired(state, top, f"echo 'exec evil' >> {todo}", git_writable=True)

    assert whats(done) == {".git/rebase-merge/git-rebase-todo": "changed"}
    assert todo.read_text() == "pick 1\n"


def test_a_commit_may_end_what_a_cherry_pick_began(work, state, top):
    run(
        work,
        "mkdir real; cd real; git init -q -b main .; git config user.name n; git config user.email e"
        "; echo 1 > a; git add a; git commit -qm 1; git checkout -qb side"
        "; echo 2 > a; git commit -qam 2; git checkout -q main; echo 3 > a; git commit -qam 3"
        "; git cherry-pick main side >/dev/null 2>&1 || git cherry-pick --skip >/dev/null 2>&1 || true",
    )
    begun = work / "real" / ".git" / "sequencer"
    assert begun.is_dir()

    done = repaired(state, top, "cd real; echo 4 > a; git commit -qam 4", git_writable=True)

    assert done == {}
    assert not begun.exists()


def test_a_lock_that_somebody_held_for_a_moment_is_not_put_back(work, state, top):
    run(work, "touch .git/config.lock")

    assert repaired(state, top, "rm .git/config.lock") == {}


LIFTED = [
    ([".envrc"], "echo x > .envrc; echo y > sub/.envrc", {"sub/.envrc": "created"}),
    (["**/.envrc"], "echo x > .envrc; echo y > sub/.envrc", {}),
    ([".git"], "rm -r .git; mkdir .git", {}),
    ([".vscode"], "rm -r .vscode; mkdir .vscode; touch .vscode/x", {}),
    ([".vscode/*"], "touch .vscode/x; rm .vscode/settings.json", {}),
    ([".vscode/x"], "touch .vscode/x .vscode/y", {".vscode/y": "created"}),
    ([".idea/*"], "mkdir .idea; touch .idea/x", {}),
    (["pkg/.venv/bin/"], "touch pkg/.venv/bin/ls", {}),
    (["/"], "echo x > .envrc", {".envrc": "changed"}),
]


@pytest.mark.parametrize(("lifted", "command", "told"), LIFTED)
def test_what_a_person_lifted_is_left_as_the_command_made_it(
    work, state, top, lifted, command, told
):
    assert whats(repaired(state, top, command, lifted=lifted)) == told


def bound(state, top, **allowed):
    snapshot = state.take([top], **allowed)
    snapshot.close()
    return {path.removeprefix(f"{top.path}/") for path in read_only_paths(snapshot)}


ELSEWHERE = {
    "vendor/lib/.git",
    "sub/.vscode",
    "pkg/.venv/bin",
    "node_modules/.bin",
    ".envrc",
    "deep/a/b/evil.pth",
}


def test_what_exists_is_bound_and_links_and_missing_names_are_not(work, state, top):
    assert bound(state, top) == {".git", ".vscode", *ELSEWHERE}


def test_of_a_writable_git_the_parts_that_run_programs_are_bound(work, state, top):
    run(work, REBASE)
    (work / ".git" / "info" / "attributes").touch()

    assert bound(state, top, git_writable=True) == {
        ".git/config",
        ".git/hooks",
        ".git/info/attributes",
        ".git/modules/libs/one/config",
        ".git/modules/libs/one/hooks",
        "vendor/lib/.git/config",
        "vendor/lib/.git/hooks",
        ".vscode",
        *(ELSEWHERE - {"vendor/lib/.git"}),
    }


@pytest.mark.parametrize("lifted", [[".git", ".vscode/new"], [".git", ".vscode/n*"]])
def test_what_is_lifted_is_not_bound_nor_the_directory_it_needs(work, state, top, lifted):
    assert bound(state, top, lifted=lifted) == {".vscode/settings.json", *ELSEWHERE}


ALIASES = [
    (
        "rm -r .vscode; mkdir vs; touch vs/a; ln -s vs .vscode",
        "echo x > vs/tasks.json",
        "vs/tasks.json",
    ),
    ("mkdir e; touch e/env; rm .envrc; ln -s e/env .envrc", "echo x > e/env", "e/env"),
    ("mv .git data; echo 'gitdir: data' > .git", "echo x > data/config", "data/config"),
    ("mv .git data; ln -s data .git", "echo x > data/hooks/a", "data/hooks/a"),
    ("mkdir -p envs/a/bin; ln -s envs/a .venv", "echo x > envs/a/bin/ls", "envs/a/bin/ls"),
    (
        "mkdir sub/g; echo 'gitdir: ../g' > sub/src.git; mkdir w; mv sub/src.git w/.git; mkdir g; touch g/config",
        "echo x > g/config",
        "g/config",
    ),
]


@pytest.mark.parametrize(("ahead", "command", "path"), ALIASES)
def test_what_a_protected_name_leads_to_is_watched_under_its_own(
    work, state, top, ahead, command, path
):
    run(work, ahead)

    assert list(repaired(state, top, command)) == [path]


def test_a_link_that_a_command_makes_does_not_condemn_what_it_points_to(work, state, top):
    done = repaired(state, top, "rm .npmrc; ln -s src .idea; ln -s src/main.py .npmrc")

    assert whats(done) == {".npmrc": "changed", ".idea": "created"}
    assert (work / "src" / "main.py").read_text() == "print(1)\n"


def test_a_link_to_the_directory_it_lies_in_does_not_make_everything_protected(work, state, top):
    run(work, "ln -s . .cursor; ln -s ../.. sub/.idea")

    assert repaired(state, top, "echo x > new; echo y > src/main.py") == {}


def test_each_root_is_watched_once_and_things_move_back_between_them(work, tmp_path, state):
    other = tmp_path / "other"
    (other / ".idea").mkdir(parents=True)
    places = (work, work / "sub", other)
    tops = [RootHandle(str(place), os.open(place, os.O_PATH)) for place in places]
    snapshot = state.take(tops)
    run(work, "mv .git ../other/.git; mv ../other/.idea sub/.idea; touch sub/.envrc")

    done = state.repair(snapshot)

    assert {(path, what) for path, what, *_ in done} == {
        (str(work / ".git"), "removed"),
        (str(other / ".idea"), "removed"),
        (str(work / "sub" / ".envrc"), "created"),
    }
    assert (work / ".git" / "objects" / "ab" / "cd").exists()
    assert (other / ".idea").is_dir()
    assert not (work / "sub" / ".idea").exists()
    for one in tops:
        os.close(one.handle)


def test_handles_are_let_go(work, state, top):
    before = open_handles()

    snapshot = state.take([top])
    during = open_handles()
    state.repair(snapshot)
    state.take([top])

    assert during - before
    assert open_handles() - before == set()


OUTSIDERS = [
    ("echo x > .vscode/settings.json; touch .vscode/new; rm sub/.vscode/tasks.json", {}),
    ("echo x > .envrc; touch .idea", {".idea": "created"}),
    ("mv sub sub2; echo x > sub2/.vscode/tasks.json", {"sub/.vscode": "removed"}),
    ("rm -r .envrc .vscode; echo x > e; mv e .envrc", {}),
    ("echo x > linked", {".vscode/linked": "changed"}),
]


@pytest.mark.parametrize(("command", "told"), OUTSIDERS)
def test_what_the_sandbox_held_was_changed_by_somebody_else(work, state, top, command, told):
    run(work, "touch linked; ln linked .vscode/linked")
    snapshot = state.take([top])
    run(work, command)

    done = state.repair(snapshot, held=read_only_paths(snapshot))

    assert {one.path.removeprefix(f"{work}/"): one.what for one in done} == told


def test_what_somebody_was_allowed_to_change_meanwhile_is_left(work, state, top):
    snapshot = state.take([top])
    run(work, "echo x > .envrc; touch .mcp.json '.a[b].pth'; rm -r .vscode; echo y > sub/.envrc")

    for name in (".envrc", ".mcp.json", ".vscode", ".a[b].pth"):
        snapshot.leave(str(work / name))
    done = state.repair(snapshot)

    assert [(one.path, one.what) for one in done] == [(str(work / "sub" / ".envrc"), "created")]
    assert (work / ".envrc").read_text() == "x\n"
