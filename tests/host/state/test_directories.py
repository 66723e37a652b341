"""The state directory is private, ours and outside of every workspace."""

import os
import stat
from pathlib import Path

import pytest

from handrail.core.problems import ProblemRaised
from handrail.host.state.directories import (
    config_home,
    ensure_outside,
    private_directory,
    state_home,
    workspace_state,
)
from handrail.host.state.state_paths import find_state_paths


def refusal(action, *args):
    with pytest.raises(ProblemRaised) as raised:
        action(*args)
    assert raised.value.problem.code == "unavailable"
    return raised.value.problem.message


def test_the_xdg_variables_are_honoured_and_relative_ones_ignored():
    home = {"HOME": "/home/me"}

    assert state_home(home) == Path("/home/me/.local/state/handrail")
    assert state_home({**home, "XDG_STATE_HOME": "/var/x"}) == Path("/var/x/handrail")
    assert state_home({**home, "XDG_STATE_HOME": "x"}) == Path("/home/me/.local/state/handrail")
    assert config_home(home) == Path("/home/me/.config/handrail")
    assert config_home({**home, "XDG_CONFIG_HOME": "/c"}) == Path("/c/handrail")
    assert state_home({}) == Path.home() / ".local/state/handrail"


def test_each_workspace_has_its_own_private_directory(tmp_path):
    home = tmp_path / "state" / "handrail"
    one, two = tmp_path / "a" / "my project!", tmp_path / "b" / "my project!"
    one.mkdir(parents=True)
    two.mkdir(parents=True)
    (tmp_path / "link").symlink_to(one)

    mine = workspace_state(one, home)

    assert mine.parent == home
    assert mine.name.startswith("my-project-")
    assert mine == workspace_state(tmp_path / "link", home)
    assert mine != workspace_state(two, home)
    assert workspace_state("/", home).name.startswith("root-")
    for path in (home, mine):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_the_default_home_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert workspace_state(tmp_path).parent == tmp_path / "handrail"


def test_a_directory_that_others_can_read_is_made_private(tmp_path):
    path = tmp_path / "state"
    path.mkdir()
    path.chmod(0o755)

    private_directory(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_a_directory_that_others_can_write_is_refused(tmp_path, mode):
    path = tmp_path / "state"
    path.mkdir()
    path.chmod(mode)

    assert "other users may write" in refusal(private_directory, path)


def test_a_symlink_a_file_and_a_foreign_directory_are_refused(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("x")

    refusal(private_directory, tmp_path / "link")
    refusal(private_directory, tmp_path / "file")
    assert refusal(private_directory, tmp_path / "file" / "below") == (
        f"Handrail cannot keep its state in '{tmp_path}/file/below': a file is in its way"
    )
    assert "Not a directory" in refusal(private_directory, tmp_path / "file" / "far" / "below")
    monkeypatch.setattr(os, "geteuid", lambda: 424242)
    assert "another user" in refusal(private_directory, tmp_path / "real")


def test_a_state_directory_inside_a_workspace_is_refused(tmp_path):
    home = tmp_path / "home" / "state" / "handrail"
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "link").symlink_to(work)

    assert ensure_outside(home / "x", [str(work)], home) == ()
    assert ensure_outside(tmp_path / "work2", [str(work)], home) == ()
    for path in (work, work / "store", tmp_path / "link" / "store"):
        assert "inside the workspace" in refusal(ensure_outside, path, [str(work)], home)


def test_the_users_own_state_home_inside_the_workspace_is_to_be_hidden(tmp_path):
    home = tmp_path / "state" / "handrail"

    assert ensure_outside(home / "x", [str(tmp_path)], home) == (str(home),)
    assert ensure_outside(home / "x", ["/"], home) == (str(home),)


def test_the_state_of_a_store_lies_beside_it_and_that_of_a_server_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root, own = tmp_path / "work", tmp_path / "mine.db"

    memory = find_state_paths(root, ":memory:")
    file = find_state_paths(root, own)
    server = find_state_paths(root, "postgresql://db.example/records")
    default = find_state_paths(root, None)

    assert memory == (":memory:", None)
    assert file == (str(own), tmp_path / "mine.db.d")
    assert server.store == "postgresql://db.example/records"
    assert server.directory.parent == default.directory
    assert default.store == str(default.directory / "store.db")
