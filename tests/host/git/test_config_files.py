"""Which configuration files of a repository are read, wherever its directory is."""

import subprocess

import pytest

from handrail.host.repository_files import read_git_configs


def repository(folder, text="[core]\n"):
    (folder / "objects").mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(text)
    return folder


def test_no_repository_has_no_configuration(tmp_path):
    assert read_git_configs(str(tmp_path)) == ()


def test_a_repository_is_found_from_below(tmp_path):
    repository(tmp_path / ".git", "[a]\n")
    (tmp_path / ".git" / "config.worktree").write_text("[b]\n")
    (tmp_path / "src" / "deep").mkdir(parents=True)

    assert read_git_configs(str(tmp_path / "src" / "deep")) == ("[a]\n", "[b]\n")


def test_a_git_file_leads_to_the_repository_and_what_it_shares(tmp_path):
    shared = repository(tmp_path / "main" / ".git", "[shared]\n")
    own = shared / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "config.worktree").write_text("[own]\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {own}\n")

    assert read_git_configs(str(tmp_path / "w")) == ("[shared]\n", "[own]\n")


def test_submodules_are_read_too(tmp_path):
    top = repository(tmp_path / ".git", "[top]\n")
    repository(top / "modules" / "libs" / "a", "[a]\n")
    repository(top / "modules" / "libs" / "a" / "modules" / "b", "[b]\n")

    assert read_git_configs(str(tmp_path)) == ("[top]\n", "[a]\n", "[b]\n")


def test_a_directory_that_looks_like_a_repository_counts_as_one(tmp_path):
    repository(tmp_path / "docs", "[docs]\n")

    assert read_git_configs(str(tmp_path / "docs")) == ("[docs]\n",)


def test_what_cannot_be_read_is_unknown(tmp_path):
    (tmp_path / ".git").write_text("something else\n")
    assert read_git_configs(str(tmp_path)) is None

    (tmp_path / ".git").write_text("gitdir: x\n")
    repository(tmp_path / "x").joinpath("config").write_bytes(b"\xff\xfe")
    assert read_git_configs(str(tmp_path)) is None


def broken(folder, kind):
    """Something that git passes by on its way up, or takes for a repository only at first."""
    if kind == "empty .git":
        (folder / ".git").mkdir()
    elif kind == "garbage":
        (folder / "objects").mkdir()
        (folder / "HEAD").write_text("garbage\n")
    elif kind == "git with garbage":
        repository(folder / ".git").joinpath("HEAD").write_text("garbage\n")
    else:
        (folder / "HEAD").symlink_to("nowhere")
        (folder / "objects").write_text("no folder\n")


@pytest.mark.parametrize("kind", ["empty .git", "garbage", "git with garbage", "link"])
def test_a_broken_repository_does_not_hide_the_one_above(tmp_path, kind):
    """git skips what is no repository and climbs on; the configuration above is what it reads."""
    repository(tmp_path / ".git", "[filter]\n")
    below = tmp_path / "mask" / "deep"
    below.mkdir(parents=True)
    broken(tmp_path / "mask", kind)

    assert "[filter]\n" in read_git_configs(str(below))


def test_a_directory_that_shares_the_objects_of_another_counts_as_a_repository(tmp_path):
    repository(tmp_path / "there", "[there]\n")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "own" / "commondir").write_text("../there\n")

    assert read_git_configs(str(tmp_path / "own")) == ("[there]\n",)


def test_the_repository_is_that_of_the_real_directory(tmp_path):
    repository(tmp_path / "a" / ".git", "[a]\n")
    (tmp_path / "a" / "src").mkdir()
    (tmp_path / "link").symlink_to("a/src")

    assert read_git_configs(str(tmp_path / "link")) == ("[a]\n",)


def test_an_odd_candidate_above_makes_the_answer_unknown(tmp_path):
    (tmp_path / ".git").write_text("something else\n")
    repository(tmp_path / "inner" / ".git")

    assert read_git_configs(str(tmp_path / "inner")) is None


def git(folder, *words):
    who = ("-c", "user.name=n", "-c", "user.email=e@x")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def nested(top, *inner):
    """A repository with others inside, each of them known to the one around it."""
    top.mkdir()
    git(top, "init", "-q")
    (top / "a file with a rather long name").write_text("x")
    if inner:
        nested(top / inner[0], *inner[1:])
    git(top, "add", ".")
    git(top, "commit", "-qm", "m")
    (top / ".git" / "config").write_text(f"[{top.name}]\n")
    return top


@pytest.mark.parametrize("extended", [False, True])
def test_repositories_inside_are_read_too(tmp_path, extended):
    """`git status` looks into them, and does there what their configuration says."""
    top = nested(tmp_path / "top", "one", "two")
    if extended:
        (top / "new").write_text("x")
        git(top, "add", "-N", "new")

    assert read_git_configs(str(top)) == ("[top]\n", "[one]\n", "[two]\n")


def test_a_submodule_that_is_found_twice_is_read_once(tmp_path):
    top = nested(tmp_path / "top", "one")
    (top / ".git" / "modules").mkdir()
    (top / "one" / ".git").rename(top / ".git" / "modules" / "one")
    (top / "one" / ".git").write_text("gitdir: ../.git/modules/one\n")

    assert read_git_configs(str(top)) == ("[top]\n", "[one]\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:7] + b"\4" + data[8:],
        lambda data: data[:11] + b"\x09" + data[12:],
        lambda data: b"ODD" + data[3:],
        lambda data: data[:100],
        lambda data: data[:12] + b"x" * 12 + data[12:],
    ],
    ids=["other version", "more entries", "other kind", "cut", "longer hashes"],
)
def test_an_index_with_repositories_that_cannot_be_understood_is_unknown(tmp_path, change):
    top = nested(tmp_path / "top", "one")
    index = top / ".git" / "index"
    index.write_bytes(change(index.read_bytes()) + b"\0\0\xe0\0")

    assert read_git_configs(str(top)) is None


def test_a_shared_index_with_repositories_is_unknown(tmp_path):
    top = nested(tmp_path / "top", "one")
    git(top, "update-index", "--split-index")

    assert read_git_configs(str(top)) is None
