"""Protected names around a command: whatever it does to them, they are as before afterwards."""

import stat
from pathlib import Path

import pytest
from tests.support.protected_workspace import repaired, tree, whats

HOOK = ".git/hooks/pre-commit.sample"


TAMPERING = [
    ("echo evil >> .git/config", {".git/config": "changed"}),
    ("chmod +x .git/hooks/pre-commit.sample", {HOOK: "changed"}),
    ("echo x > .git/hooks/pre-commit", {".git/hooks/pre-commit": "created"}),
    ("rm .git/hooks/pre-commit.sample", {HOOK: "removed"}),
    ("rm -r .git/hooks", {".git/hooks": "removed"}),
    ("rm -r .git/hooks; ln -s ../src .git/hooks", {".git/hooks": "replaced"}),
    ("rm .git/config; mkdir .git/config; touch .git/config/x", {".git/config": "replaced"}),
    ("rm .git/config; ln -s /etc/passwd .git/config", {".git/config": "replaced"}),
    ("echo /evil > .git/commondir", {".git/commondir": "created"}),
    ("touch .git/config.worktree .git/gitdir", None),
    ("echo '* filter=x' > .git/info/attributes", {".git/info/attributes": "created"}),
    ("echo /evil > .git/objects/info/alternates", {".git/objects/info/alternates": "created"}),
    ("mkdir x; mv .git/objects/info x; ln -s ../../x .git/objects/info; mv x/info y", None),
    ("echo evil > .git/modules/libs/one/config", {".git/modules/libs/one/config": "changed"}),
    ("echo x > .git/modules/libs/one/hooks/post-checkout", None),
    ("mkdir -p .git/worktrees/w; cd .git/worktrees/w; echo a >HEAD; echo / >commondir", None),
    ("mkdir .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo", None),
    ("mv .git old", {".git": "removed"}),
    ("mv .git old; echo 'gitdir: /evil' > .git", {".git": "replaced"}),
    ("mv .git old; ln -s old .git", {".git": "replaced"}),
    ("mv .git old; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit", {".git": "replaced"}),
    ("mkdir x; mv .git x/g; mv x .git", {".git": "replaced"}),
    ("mv vendor/lib moved", {"vendor/lib/.git": "removed"}),
    ("mv vendor v; ln -s v vendor", {"vendor/lib/.git": "removed"}),
    ("echo evil > vendor/lib/.git/config", {"vendor/lib/.git/config": "changed"}),
    ("echo x > .envrc", {".envrc": "changed"}),
    ("cp .envrc e; mv e .envrc; echo y >> .envrc", {".envrc": "changed"}),
    ("ln .envrc other", {".envrc": "changed"}),
    ("rm .envrc; echo evil > src/e; ln src/e .envrc", {".envrc": "changed"}),
    ("rm .npmrc; ln -s elsewhere .npmrc", {".npmrc": "changed"}),
    ("rm .npmrc; echo x=y > .npmrc", {".npmrc": "replaced"}),
    ("echo x > sub/.envrc; mkdir -p a/b/.idea; touch a/b/.idea/x", None),
    ("echo x > SITECustomize.py", {"SITECustomize.py": "created"}),
    ("mkdir .Git; echo x > .Git/config", {".Git": "created"}),
    ("rm -r .vscode", {".vscode": "removed"}),
    ("rm -r sub", {"sub/.vscode": "removed"}),
    ("rm -r sub; ln -s src sub", {"sub/.vscode": "removed"}),
    ("rm -r .vscode; ln -s /etc .vscode", {".vscode": "replaced"}),
    ("echo '[1]' > sub/.vscode/tasks.json; touch sub/.vscode/new", None),
    ("chmod 700 .vscode", {".vscode": "changed"}),
    ("echo x > pkg/.venv/bin/ls", {"pkg/.venv/bin/ls": "created"}),
    ("mv pkg/.venv pkg/v; mkdir pkg/w; ln -s w pkg/.venv", None),
    ("ln -s src venv", {"venv": "created"}),
    ("echo x > node_modules/.bin/eslint", {"node_modules/.bin/eslint": "created"}),
    ("echo y > deep/a/b/evil.pth; touch deep/a/more.pth", None),
    ("mkfifo .mcp.json", {".mcp.json": "created"}),
    ("mkdir .claude; mkdir -m 000 .claude/closed; chmod 500 .claude", {".claude": "created"}),
]


@pytest.mark.feature("I01")
@pytest.mark.parametrize(("command", "told"), TAMPERING, ids=[one[0] for one in TAMPERING])
def test_whatever_a_command_does_to_protected_names_is_put_back(work, state, top, command, told):
    before = protected_part(tree(work))

    done = repaired(state, top, command)

    assert protected_part(tree(work)) == before
    assert done
    assert all(one.restored for one in done.values())
    assert told is None or whats(done) == told
    assert state.repair(state.take([top])) == []


def protected_part(found):
    """Without what the commands above leave at ordinary names."""
    leftovers = ("x", "y", "a", "e", "other", "src/e", "pkg/w", "sub/.hidden", ".git/worktrees")
    return {
        path: what
        for path, what in found.items()
        if not any(path == one or path.startswith(f"{one}/") for one in leftovers)
    }


MOVES = [
    "mv .git old",
    "mv .git old; echo 'gitdir: /evil' > .git",
    "mv .git old; ln -s old .git",
    "mv vendor/lib moved",
    "mv vendor v; ln -s v vendor",
    "mv vendor/lib/.git x; mv .git vendor/lib/.git; mv x .git",
    "mv vendor/lib/.git .git/g; mv .git vendor/lib/.git",
    "mv .vscode sub/.vscode/inner; mv sub/.vscode .vscode",
]


@pytest.mark.parametrize("command", MOVES)
def test_a_directory_that_was_moved_is_moved_back_with_all_it_holds(work, state, top, command):
    before, numbers = tree(work), {one: one.lstat().st_ino for one in work.rglob("*")}

    repaired(state, top, command)

    assert tree(work) == before
    assert numbers == {one: one.lstat().st_ino for one in work.rglob("*")}


def test_the_commands_version_is_kept_in_the_quarantine(work, state, top, tmp_path):
    command = "echo evil > .envrc; mkdir .claude; echo h > .claude/hooks; mv .git g; echo p > .git"

    done = repaired(state, top, command)

    kept = {path: Path(one.kept) for path, one in done.items()}
    assert all(path.is_relative_to(tmp_path / "state" / "quarantine") for path in kept.values())
    assert kept[".envrc"].read_text() == "evil\n"
    assert (kept[".claude"] / "hooks").read_text() == "h\n"
    assert kept[".git"].read_text() == "p\n"
    assert stat.S_IMODE((tmp_path / "state" / "quarantine").stat().st_mode) == 0o700


def test_an_ordinary_directory_at_a_protected_name_is_kept_too(work, state, top):
    done = repaired(state, top, "mv .git src/g; mv src .git")

    kept = Path(done[".git"].kept)
    assert tree(kept) == {"main.py": ("-rw-r--r--", b"print(1)\n")}
    assert (work / ".git" / "objects" / "ab" / "cd").exists()


def test_it_is_said_when_more_was_lost_than_is_known(work, state, top):
    done = repaired(state, top, "rm -r .git .vscode")

    assert {path: one.restored for path, one in done.items()} == {".git": False, ".vscode": True}
    assert (work / ".git" / "config").read_text() == "[core]\n\tbare = false\n"


def test_a_command_that_touches_nothing_protected_is_told_nothing(work, state, top):
    command = "echo x > src/new.py; mkdir -p .git/refs/x; echo y > .git/index; mv src code; ls .git"

    assert repaired(state, top, command) == {}
    assert (work / "code" / "new.py").exists()
    assert (work / ".git" / "index").exists()


def test_a_rewrite_with_the_same_content_is_no_tampering(work, state, top):
    command = "cp -p .envrc e; mv e .envrc; cp -rp .vscode v; rm -r .vscode; mv v .vscode"

    assert repaired(state, top, command) == {}


def test_what_is_too_fresh_for_its_time_stamps_is_compared_by_content(work, state, top):
    for count in range(30):
        (work / ".envrc").write_text(f"{count:04}\n")
        snapshot = state.take([top])
        (work / ".envrc").write_text(f"{count:04}"[::-1] + "!")

        done = state.repair(snapshot)

        assert len(done) == (f"{count:04}\n" != f"{count:04}"[::-1] + "!")
        assert (work / ".envrc").read_text() == f"{count:04}\n"


@pytest.mark.parametrize(
    "place", ["node_modules/a", "node_modules/a/b/c", "sub/node_modules/a/node_modules/b"]
)
def test_a_repository_among_installed_packages_is_taken_away(work, state, top, place):
    before = tree(work)

    done = repaired(
        state, top, f"mkdir -p {place}/.git; echo '[core]\n\tfsmonitor=evil' > {place}/.git/config"
    )

    assert whats(done) == {f"{place}/.git": "created"}
    assert {path for path in tree(work) if ".git" in path} == {
        path for path in before if ".git" in path
    }


def test_installed_packages_bring_other_protected_names_along(work, state, top):
    done = repaired(state, top, "mkdir -p node_modules/a/.husky; echo x > node_modules/a/.npmrc")

    assert done == {}
