"""The guard over protected names, by every name a file is known by."""

import errno
import os

import pytest

from handrail.core.footprint import reading, writing
from handrail.core.names.protected_names import fold_name
from handrail.core.names.protected_table import EXECUTED
from handrail.core.verdicts import Risk
from handrail.host.files import local_files as links_module
from handrail.host.files.local_files import LocalFiles, TopLinks
from handrail.policy.policy_input import PolicyInput
from handrail.policy.protected_names import LINK_NAMES, ProtectedNames, protected_reason


@pytest.fixture
def work(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.fixture
def files(work):
    files = LocalFiles([work])
    yield files
    files.close()


def judge(files, path, *, places=True, links=False, **settings):
    place = files.locate(path)
    guard = ProtectedNames(
        files.roots, links=TopLinks(files, LINK_NAMES) if links else None, **settings
    )
    subject = PolicyInput(
        "write_file",
        Risk.MODERATE,
        writing(place.key),
        reads_only=False,
        plan=None,
        edits_files=True,
        places=(place,) if places else (),
    )
    verdict = guard(subject)
    return verdict and verdict.rule


LINKS = [
    (".git", "gitdata", ".git/hooks/pre-commit"),
    (".vscode", "vs", ".vscode/tasks.json"),
    (".envrc", "env.txt", ".envrc"),
    (".npmrc", "nowhere.txt", ".npmrc"),
    (".venv", "vs", ".venv/bin/ls"),
]


@pytest.fixture
def shipped(work):
    """A repository that gives protected names to ordinary files by links."""
    (work / "gitdata" / "hooks").mkdir(parents=True)
    (work / "vs").mkdir()
    (work / "env.txt").write_text("x\n")
    for name, target, _ in LINKS:
        (work / name).symlink_to(target)
    return work


@pytest.mark.feature("I01")
@pytest.mark.parametrize("path", [path for _, _, path in LINKS])
def test_a_link_at_a_protected_name_is_protected_by_that_name(shipped, files, path):
    assert judge(files, path) == "protected:name"


@pytest.mark.parametrize("path", ["a/hooks/x", "sub/../a/config", "a/./config"])
def test_a_link_to_a_link_at_a_protected_name_is_protected(shipped, files, path):
    (shipped / "a").symlink_to(".git")
    (shipped / "sub").mkdir()

    assert judge(files, path) == "protected:name"


def test_a_way_up_from_below_a_link_does_not_hide_its_name(shipped, files):
    (shipped / "gitdata" / "hooks" / "d").mkdir()
    (shipped / "gitdata" / "sub").symlink_to("hooks/d")

    assert files.locate(".git/sub/../pre-commit").rel == "gitdata/hooks/pre-commit"
    assert judge(files, ".git/sub/../pre-commit") == "protected:name"


@pytest.mark.parametrize(
    "path", ["gitdata/hooks/x", "vs/tasks.json", "env.txt", "nowhere.txt", "vs/bin/ls"]
)
def test_what_a_protected_name_is_a_link_to_is_protected_under_its_own(shipped, files, path):
    assert judge(files, path) is None
    assert judge(files, path, links=True) == "protected:name"


def test_links_are_looked_up_again_when_the_directory_changed(work, files):
    os.utime(work, (1, 1))
    links = TopLinks(files, LINK_NAMES)
    before = links()
    (work / ".envrc").symlink_to("env.txt")

    assert before == {}
    assert links() == {str(work / ".envrc"): str(work / "env.txt")}


@pytest.mark.parametrize(
    ("size", "most"), [(0, 500), (1 << 30, 500), (1 << 30, 1)], ids=["large", "small", "long"]
)
def test_links_are_found_in_a_directory_of_any_size(work, files, monkeypatch, size, most):
    monkeypatch.setattr(links_module, "_ONE_LOOK", size)
    monkeypatch.setattr(links_module, "_MOST_LISTED", most)
    (work / ".envrc").symlink_to("env.txt")
    (work / ".bashrc").write_text("no link")

    assert TopLinks(files, LINK_NAMES)() == {str(work / ".envrc"): str(work / "env.txt")}


@pytest.mark.parametrize("spelled", [".ENVRC", ".env\u200crc", ".envrc."])
def test_a_link_is_found_however_its_file_system_spells_the_name(work, files, monkeypatch, spelled):
    (work / spelled).symlink_to("env.txt")
    # As one that leaves characters, or their case, away.
    monkeypatch.setattr(links_module, "_is_link", lambda handle, name: name == ".EnvRC")

    assert list(TopLinks(files, [*LINK_NAMES, ".EnvRC"])()) == [str(work / ".EnvRC")]


@pytest.mark.parametrize("error", [errno.EACCES, errno.EMFILE])
def test_links_are_found_in_a_directory_that_cannot_be_listed(work, files, monkeypatch, error):
    (work / ".envrc").symlink_to("env.txt")
    real = os.open

    def deny(path, flags, *args, **kwargs):
        if path == ".":
            raise OSError(error, "denied")
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(links_module.os, "open", deny)

    assert TopLinks(files, LINK_NAMES)() == {str(work / ".envrc"): str(work / "env.txt")}


def test_a_link_that_leads_out_names_nothing_inside(tmp_path, work, files):
    (work / ".git").symlink_to(tmp_path)
    (work / ".envrc").symlink_to(".envrc")

    assert TopLinks(files, LINK_NAMES)() == {}


def test_a_lifted_name_is_lifted_by_every_way(shipped, files):
    allowed = [".vscode/*", ".venv/*/*"]

    assert judge(files, ".vscode/tasks.json", links=True, allowed=allowed) is None
    assert judge(files, "vs/tasks.json", links=True, allowed=allowed) is None
    assert judge(files, ".envrc", links=True, allowed=allowed) == "protected:name"


@pytest.mark.parametrize(
    ("path", "glob", "lifted"),
    [
        (".vscode/tasks.json", ".vscode/*", True),
        (".vscode/x/.git/hooks/pre-commit", ".vscode/*", False),
        (".vscode/x/tasks.json", ".vscode/**", True),
        ("a/b/.envrc", "**/.envrc", True),
        (".envrc", "**/.envrc", True),
        ("a/.envrc", "*.envrc", False),
        (".vscode/a/b.json", ".vscode/**/b.json", True),
        (".vscode/a/c.json", ".vscode/**/b.json", False),
    ],
)
def test_a_star_lifts_within_one_name_and_two_across(files, path, glob, lifted):
    assert (judge(files, path, allowed=[glob]) is None) == lifted


def test_what_is_handrails_own_cannot_be_lifted(work, files):
    own = [str(work / "state")]

    assert judge(files, "state/x", own=own, allowed=["**"]) == "protected:own"
    assert judge(files, ".git/x", own=own, allowed=["**"]) is None


def test_names_are_judged_beneath_a_workspace_that_is_the_top():
    guard = ProtectedNames(["/"], allowed=["etc/.envrc"])

    def rule(path):
        key = f"file:{path}"
        subject = PolicyInput("t", Risk.MODERATE, writing(key), False, None, edits_files=True)
        verdict = guard(subject)
        return verdict and verdict.reason

    assert rule("/etc/.envrc") is None
    assert rule("/etc/.git/config").startswith("'etc/.git/config' is protected")


def test_reading_by_a_protected_name_is_not_judged(shipped, files):
    place = files.locate(".git/hooks")
    subject = PolicyInput("r", Risk.SAFE, reading(place.key), True, None, False, (place,))

    assert ProtectedNames(files.roots)(subject) is None
    assert list(subject.written_aliases()) == []


@pytest.mark.parametrize("name", [".git", ".GIT", ".Git. .", ".g\u200cit", ".G\ufeffIT."])
def test_spellings_that_some_file_system_takes_for_a_name_are_that_name(name):
    assert fold_name(name) == ".git"
    assert protected_reason(f"a/{name}/config") == EXECUTED[".git/"]
