"""Every way in which a repository makes git run something: switched off, or found beforehand."""

import os
import stat
import subprocess

import pytest

from handrail.host.repository_files import read_git_configs
from handrail.shell.classify.environment import child_environment
from handrail.shell.classify.git import git_config_is_safe, git_environment

HOOKS = ("post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction")
LOOKS = """
git status
git status --short --branch
git status --ignored --untracked-files=all
git log -p -2 --stat
git log --graph --oneline --all
git log -m -p
git diff
git diff --cached
git diff HEAD~1
git diff --stat main~1 main
git show
git show HEAD~1:a.txt
git blame a.txt
git grep -n one
git ls-files -m
git branch -vv
git tag -l
git remote -v
git stash list
git describe --always --dirty
git submodule status
git rev-parse HEAD
git check-ignore -v a.txt
git shortlog -sn HEAD
git config user.email
git for-each-ref
git worktree list
git cat-file -p HEAD
git reflog
""".strip().splitlines()


class Repository:
    """A repository with two commits and a changed file, and a program that leaves a mark."""

    def __init__(self, folder):
        self.folder = folder
        self.mark = folder.parent / "mark"
        self.program = folder.parent / "evil"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.mark}\ncat\n')
        self.program.chmod(0o755)
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "a@example.org")
        self.git("config", "user.name", "A")
        for number, text in enumerate(("one\n", "one\ntwo\n")):
            (folder / "a.txt").write_text(text)
            self.git("add", "a.txt")
            self.git("commit", "-q", "-m", f"commit {number}")
        (folder / "a.txt").write_text("one\nthree\n")

    def git(self, *words):
        subprocess.run(
            ["git", *words], cwd=self.folder, check=True, env=base(), capture_output=True
        )

    def run(self, command, env, *, cwd=None):
        """Runs a command; answers what the repository's programs have left behind."""
        self.mark.unlink(missing_ok=True)
        subprocess.run(
            ["bash", "--norc", "-c", command],
            cwd=cwd or self.folder, env=env, capture_output=True, check=False, timeout=20,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return self.mark.read_text() if self.mark.exists() else ""

    def tame(self):
        return git_config_is_safe(*read_git_configs(str(self.folder)))


def base():
    kept = child_environment(os.environ)
    return {**kept, "HOME": "/nonexistent", "GIT_CONFIG_SYSTEM": "/dev/null"}


def calm():
    return {**base(), **git_environment()}


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


def sign(repository):
    """A commit that says it is signed, so that git would check the signature."""
    tree = subprocess.check_output(["git", "write-tree"], cwd=repository.folder, text=True).strip()
    text = (
        f"tree {tree}\nauthor A <a@example.org> 1 +0000\ncommitter A <a@example.org> 1 +0000\n"
        "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
    )
    made = subprocess.check_output(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=repository.folder, input=text, text=True,
    )  # fmt: skip
    repository.git("update-ref", "refs/heads/main", made.strip())


def set_every_fixed_name(repository):
    program = str(repository.program)
    for key in (
        *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass"),
        *("core.alternateRefsCommand", "sequence.editor", "gpg.program", "gpg.ssh.program"),
        *("gpg.x509.program", "gpg.openpgp.program", "gpg.ssh.defaultKeyCommand"),
        *("pager.log", "pager.diff", "pager.show", "pager.status", "pager.branch"),
        *("interactive.diffFilter", "core.gitProxy", "uploadpack.packObjectsHook"),
    ):
        repository.git("config", key, program)
    repository.git("config", "credential.helper", f"!{program}")
    repository.git("config", "log.showSignature", "true")
    repository.git("config", "log.diffMerges", "remerge")
    repository.git("config", "status.submoduleSummary", "true")
    repository.git("config", "submodule.recurse", "true")
    for name in ("status", "log", "diff", "show", "branch"):
        repository.git("config", f"alias.{name}", f"!{program}")
    hooks = repository.folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        (hooks / name).write_bytes(repository.program.read_bytes())
        (hooks / name).chmod(0o755)


def test_every_program_with_a_fixed_name_is_switched_off(repository):
    sign(repository)
    set_every_fixed_name(repository)

    assert repository.tame()
    assert {command: repository.run(command, calm()) for command in LOOKS} == dict.fromkeys(
        LOOKS, ""
    )
    # The repository really is a trap: without the environment its programs run.
    assert repository.run("git status", base())
    assert repository.run("git log -1", base())


def test_an_object_that_is_missing_is_not_fetched(repository):
    blob = subprocess.check_output(
        ["git", "rev-parse", "HEAD~1:a.txt"], cwd=repository.folder, text=True
    ).strip()
    path = repository.folder / ".git" / "objects" / blob[:2] / blob[2:]
    path.chmod(stat.S_IWUSR | stat.S_IRUSR)
    path.unlink()
    repository.git("config", "core.repositoryFormatVersion", "1")
    repository.git("config", "extensions.partialClone", "origin")
    repository.git("config", "remote.origin.url", str(repository.folder))
    repository.git("config", "remote.origin.promisor", "true")
    repository.git("config", "remote.origin.uploadpack", str(repository.program))

    repository.program.write_text(f"#!/bin/sh\necho fetched > {repository.mark}\n")

    assert repository.tame()
    assert repository.run("git show HEAD~1:a.txt", calm()) == ""
    assert repository.run("git show HEAD~1:a.txt", base())


def test_a_submodule_runs_nothing_either(repository):
    inner = Repository(repository.folder / "inner")
    repository.git("add", "inner")
    (repository.folder / ".gitmodules").write_text(
        '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n'
    )
    inner.git("config", "core.fsmonitor", str(inner.program))

    seen = {command: inner.run(command, calm(), cwd=repository.folder) for command in LOOKS}

    assert seen == dict.fromkeys(LOOKS, "")
    assert inner.run("git status", base(), cwd=repository.folder)


def test_a_bare_repository_among_the_files_is_not_taken_for_one(repository):
    bare = repository.folder / "docs"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True, env=base())
    with (bare / "config").open("a") as file:
        file.write(f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = {repository.program}\n")

    assert not git_config_is_safe(*read_git_configs(str(bare)))
    assert repository.run("git status", calm(), cwd=bare) == ""
    assert repository.run("git status", base(), cwd=bare)


WILD = {
    "filter.evil.clean": "git status",
    "filter.evil.process": "git diff",
    "diff.evil.textconv": "git log -p -1",
    "diff.evil.command": "git diff",
    "diff.external": "git diff",
}


@pytest.mark.parametrize("key", WILD)
def test_a_filter_or_driver_is_seen_in_the_configuration(repository, key):
    (repository.folder / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    assert repository.tame()
    # Same size and a new time: git has to look at the content.
    (repository.folder / "a.txt").write_text("one\ntwa\n")

    repository.git("config", key, str(repository.program))

    assert not repository.tame()
    # No environment takes these back; that is why somebody has to look.
    assert repository.run(WILD[key], calm())


@pytest.mark.parametrize(
    "text",
    [
        '[filter "x"]\n\tclean = cat\n',
        '[FILTER "x"] smudge = cat',
        "[filter.x]\nprocess = cat",
        '[diff "x"]\n\tTextConv = cat\n',
        '[diff "x"]command = a',
        "[diff]\n\texternal = a",
        '[merge "x"]\n\tdriver = a',
        "[core]\n\tworktree = /",
        "[include]\n\tpath = x",
        '[includeIf "gitdir:/"]\n\tpath = x',
        '[core]\n\ta = "b\\\nc"\n[filter "x"]\nclean=a',
        "[core]\n\ta = b # \\\n[diff]\nexternal = a",
        '[core] a = "#"\n[diff] external = a',
        "[core\n\ta = b",
        "key = value",
        '[core]\n\ta = "never closed',
        "[core]\n\t= x",
    ],
)
def test_what_names_a_program_or_is_not_understood_is_not_tame(text):
    assert not git_config_is_safe(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
        '[remote "origin"]\n\turl = https://example.org/a#b.git ; x\n\tfetch = +refs/*:refs/r/*\n',
        '[branch "filter"]\n\tremote = origin\n# [filter "x"]\n',
        '[diff "x"]\n\txfuncname = "^[a-z]+ = .*$"\n',
        '[core]\n\ta = "[filter \\"x\\"]"\n\tb\n',
        '[core]\n\ta = b \\\n[diff "x"]\n',
        "\ufeff[core]\r\n\tbare = false\r\n",
    ],
)
def test_an_ordinary_configuration_is_tame(text):
    assert git_config_is_safe(text)
