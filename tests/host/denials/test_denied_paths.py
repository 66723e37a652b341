"""Which withheld paths exist: found by every name, again when they come and go, gaps told."""

import os
import subprocess
import time

import pytest
from tests.support.swapping import swapping
from tests.support.withheld import finder_in, withheld_in

from handrail.core.ports.read_denials import HiddenPaths
from handrail.host.denials import denied_paths as module
from handrail.host.denials.denied_paths import DeniedPathFinder
from handrail.host.files.root_identity import RootedPaths, RootHandle


@pytest.fixture
def root(tmp_path):
    made = tmp_path / "ws"
    made.mkdir()
    return made


def put(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def found(finder, root):
    """Paths below the root; there is no gap."""
    hidden = finder.find()
    assert hidden.gap is None
    return [os.path.relpath(path, root) for path in hidden.paths]


def test_what_exists_is_found_at_every_depth_and_in_every_case(root):
    put(root, ".env", "a/b/.ENV", "a/x.pem", "a/y.txt", "node_modules/p/.env", "secrets/k/e/y")

    assert found(finder_in([root], ".env", "*.pem", "secrets/**"), root) == [
        ".env", "a/b/.ENV", "a/x.pem", "node_modules/p/.env", "secrets",
    ]  # fmt: skip


def test_a_folder_stands_for_all_that_is_in_it(root):
    put(root, "secrets/.env", "secrets/a.pem", "secrets-too/a")

    assert found(finder_in([root], ".env", "*.pem", "secrets/**"), root) == ["secrets"]


def test_nothing_is_found_where_nothing_is(root):
    put(root, "a")

    assert finder_in([root], ".env").find() == HiddenPaths()


def test_what_comes_and_goes_is_seen_at_once(root):
    put(root, "a/b/c")
    finder = finder_in([root], ".env")
    assert found(finder, root) == []

    put(root, "a/b/.env")
    assert found(finder, root) == ["a/b/.env"]
    (root / "a/b/.env").rename(root / "a/plain")
    assert found(finder, root) == []
    (root / "a/plain").rename(root / "a/b/.Env")
    assert found(finder, root) == ["a/b/.Env"]


def test_a_folder_is_not_listed_twice_while_its_stamps_are_old(root, monkeypatch):
    put(root, "a/b/c")
    finder = finder_in([root], ".env")
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    # So that the stamps are old enough to prove something.
    monkeypatch.setattr(time, "time_ns", lambda: 1 << 62)

    finder.find()
    once = len(listed)
    finder.find()

    assert once == 3
    assert len(listed) == once


def test_patterns_that_name_a_place_are_not_looked_for_elsewhere(root, monkeypatch):
    put(root, "config/keys/a.key", "src/deep/er/a.key", "other/keys/b.key")
    listed = []
    entered = RootedPaths.open_folder
    monkeypatch.setattr(
        RootedPaths, "open_folder", lambda one, path: listed.append(path) or entered(one, path)
    )

    assert found(finder_in([root], "config/keys/*.key"), root) == ["config/keys/a.key"]
    assert {os.path.relpath(path, root) for path in listed} == {".", "config", "config/keys"}


def test_what_a_withheld_link_leads_to_is_found(root):
    put(root, "config/real.env", "vault/key")
    (root / ".env").symlink_to("config/real.env")
    (root / "secrets").symlink_to("vault")
    (root / "gone.env").symlink_to("nowhere")

    finder = finder_in([root], ".env", "*.env", "secrets")
    assert found(finder, root) == ["config/real.env", "vault"]


def test_a_withheld_link_to_the_workspace_cannot_be_hidden(root):
    (root / ".env").symlink_to(".")

    assert "whole workspace" in finder_in([root], ".env").find().gap


def test_absolute_patterns_are_looked_for_where_they_lie(root, tmp_path):
    put(tmp_path, "etc/keys/a.key", "etc/keys/b.txt", "etc/ssl/c.pem", "home/.ssh/id")
    etc, home = f"/{tmp_path}/etc", str(tmp_path / "home")
    finder = finder_in([root], f"{etc}/keys/*.key", "~/.ssh/**", "*.pem", home=home)

    # A pattern without a folder is meant below the roots: other people's certificates stay.
    assert sorted(found(finder, tmp_path)) == ["etc/keys/a.key", "home/.ssh"]


def test_a_root_in_a_withheld_folder_is_withheld_as_a_whole(tmp_path):
    root = tmp_path / "secrets" / "ws"
    put(root, "a")

    hidden = finder_in([root], f"/{tmp_path}/secrets/**").find()

    assert str(tmp_path / "secrets") in hidden.paths


def test_what_is_hidden_anyway_is_not_entered(root):
    put(root, "state/.env", ".env")
    finder = module.DeniedPathFinder(
        finder_in([root], ".env")._tops[0][0], (str(root),), [f"{root}/state"]
    )

    assert found(finder, root) == [".env"]


def test_more_than_is_looked_at_is_a_gap(root, monkeypatch):
    put(root, "a/x", "b/x", "c/x")
    monkeypatch.setattr(module, "_MOST_DIRECTORIES", 2)

    assert "more directories" in finder_in([root], ".env").find().gap


def test_a_folder_of_ours_that_cannot_be_listed_is_a_gap(root, monkeypatch):
    put(root, "closed/x")
    entered = RootedPaths.open_folder

    def refusing(one, path):
        if path.endswith("closed"):
            raise PermissionError
        return entered(one, path)

    monkeypatch.setattr(RootedPaths, "open_folder", refusing)
    finder = finder_in([root], ".env")

    assert "cannot be listed" in finder.find().gap
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert finder.find().gap is None


@pytest.mark.finding("F03")
def test_what_is_withheld_is_found_while_folders_are_exchanged(root):
    put(root, "d/sub/.env", "other/sub/x")
    (root / "link").symlink_to("other")
    finder = finder_in([root], ".env")
    inode = (root / "d/sub/.env").stat().st_ino

    with swapping(root, ("d", "link")):
        looks = [finder.find() for _ in range(300)]

    assert (root / "d").is_symlink() or (root / "d/sub/.env").stat().st_ino == inode
    names = [[os.path.relpath(path, root) for path in look.paths] for look in looks]
    sure = [told for told, look in zip(names, looks, strict=True) if look.gap is None]
    assert sure
    assert {tuple(told) for told in sure} <= {("d/sub/.env",), ("link/sub/.env",)}


@pytest.mark.finding("F06")
def test_what_is_withheld_is_found_in_the_folder_that_was_opened(root):
    put(root, ".env", "a/.env")
    handle = os.open(root, os.O_PATH)
    paths = RootedPaths([RootHandle(str(root), handle)])
    finder = DeniedPathFinder(withheld_in([root], ".env"), (str(root),), (), paths)
    root.rename(root.with_name("moved"))
    root.mkdir()

    assert found(finder, root) == [".env", "a/.env"]
    os.close(handle)


def git(root, *words):
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


def test_files_that_git_tracks_have_copies_that_nothing_hides(root):
    put(root, "sub/secrets/key", "a", ".env")
    git(root, "init", "-q")
    git(root, "add", "a")
    finder = finder_in([root], "secrets/**", "sub/secrets/**", ".env")
    assert finder.find().gap is None

    git(root, "add", "sub/secrets/key")
    assert "git tracks 'sub/secrets/key'" in finder.find().gap
    git(root, "rm", "-q", "--cached", "sub/secrets/key")
    assert finder.find().gap is None


def test_a_nested_repository_and_a_worktree_are_asked_too(root, tmp_path):
    put(root, "lib/.env", "lib/a")
    git(root / "lib", "init", "-q")
    git(root / "lib", "add", "-f", "a", ".env")
    assert "git tracks '.env'" in finder_in([root], ".env").find().gap

    git(root / "lib", "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "m")
    git(root / "lib", "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "b")
    assert "git tracks '.env'" in finder_in([tmp_path / "tree"], ".env").find().gap


@pytest.mark.parametrize("version", ["4", "damaged"])
def test_an_index_that_cannot_be_read_is_a_gap(root, version):
    put(root, "a")
    git(root, "init", "-q")
    git(root, "add", "a")
    if version == "4":
        git(root, "update-index", "--index-version", "4")
    else:
        index = root / ".git" / "index"
        index.write_bytes(index.read_bytes()[:40])

    assert "cannot be read" in finder_in([root], ".env").find().gap
