"""What is readable beside the workspace: the system, toolchains, and never a whole home."""

import os
import sys

from handrail.host.sandbox.visible_paths import find_visible_paths, user_home


def lay(home, *names):
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")


def test_toolchains_of_the_home_are_shown_and_their_secrets_hidden(tmp_path):
    lay(tmp_path, ".cargo/bin/cargo", ".cargo/credentials", ".ssh/id", ".config/git/config")

    visible_paths = find_visible_paths([], environ={"HOME": str(tmp_path)})

    below = {
        os.path.relpath(path, tmp_path)
        for path in visible_paths.read
        if path.startswith(str(tmp_path))
    }
    assert below == {".cargo", ".config/git/config"}
    assert {f"{tmp_path}/.cargo/credentials", f"{tmp_path}/.ssh"} <= set(visible_paths.hidden)


def test_a_folder_of_programs_brings_what_it_needs_but_not_a_home(tmp_path):
    lay(
        tmp_path,
        "home/miniconda/bin/python",
        "home/.local/bin/x",
        "home/bin/y",
        "tool/bin/z",
        "flat/w",
    )
    home = tmp_path / "home"
    path = os.pathsep.join(
        str(tmp_path / name)
        for name in (
            "home/miniconda/bin",
            "home/.local/bin",
            "home/bin",
            "tool/bin",
            "flat",
            "missing",
        )
    )

    visible_paths = find_visible_paths(
        [], environ={"HOME": str(home), "PATH": f"{path}:relative::"}
    )

    ours = {
        os.path.relpath(one, tmp_path)
        for one in visible_paths.read
        if one.startswith(str(tmp_path))
    }
    assert ours == {"home/miniconda", "home/.local/bin", "home/bin", "tool", "flat"}


def test_a_folder_of_programs_above_the_home_or_inside_a_root_adds_nothing(tmp_path):
    home, root = tmp_path / "home", tmp_path / "root"
    lay(tmp_path, "home/x", "root/.venv/bin/python", "bin/x")

    visible_paths = find_visible_paths(
        [str(root)],
        environ={"HOME": str(home), "PATH": f"{tmp_path}:{root}/.venv/bin:{tmp_path}/bin"},
    )

    assert [one for one in visible_paths.read if one.startswith(str(tmp_path))] == [
        f"{tmp_path}/bin"
    ]


def test_the_interpreter_is_shown_wherever_it_lies():
    visible_paths = find_visible_paths([], environ={})

    for prefix in (sys.prefix, sys.base_prefix):
        assert any(os.path.realpath(prefix).startswith(one) for one in visible_paths.read)


def test_a_link_is_shown_with_what_it_leads_to(tmp_path):
    lay(tmp_path, "dotfiles/gitconfig", "home/x")
    (tmp_path / "home" / ".gitconfig").symlink_to(tmp_path / "dotfiles" / "gitconfig")

    visible_paths = find_visible_paths([], environ={"HOME": str(tmp_path / "home")})

    assert {f"{tmp_path}/home/.gitconfig", f"{tmp_path}/dotfiles/gitconfig"} <= set(
        visible_paths.read
    )


def test_a_home_that_is_the_system_is_none():
    assert [user_home({"HOME": value}) for value in ("/", "/usr/games", "relative", "")] == [""] * 4
    assert user_home({}) == ""


def test_nothing_shown_holds_a_place_where_daemons_and_others_live():
    read = set(find_visible_paths([], environ={"HOME": "/root", "PATH": "/usr/bin"}).read)

    assert not read & {"/", "/run", "/var", "/var/run", "/home", "/root", "/tmp", "/proc", "/dev"}


def test_root_hides_what_other_users_may_not_read(monkeypatch, tmp_path):
    from handrail.host.sandbox import visible_paths

    lay(tmp_path, "open", "closed", "folder/inner", "folder/below/inner", "private/x")
    (tmp_path / "closed").chmod(0o640)
    (tmp_path / "folder" / "inner").chmod(0o600)
    (tmp_path / "folder" / "below" / "inner").chmod(0o600)
    (tmp_path / "private").chmod(0o700)

    assert set(visible_paths._root_only_files(str(tmp_path))) == {
        str(tmp_path / name) for name in ("closed", "folder/inner", "folder/below/inner", "private")
    }


def test_a_home_that_is_closed_to_us_is_passed_over(tmp_path, monkeypatch):
    """As after `sudo -u`, which leaves HOME as it was; root could look into any."""
    lay(tmp_path, ".cargo/bin/cargo")
    look = os.stat

    def closed(path, *rest, **more):
        if str(path).startswith(f"{tmp_path}/"):
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, *rest, **more)

    monkeypatch.setattr(os, "stat", closed)
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).startswith(f"{tmp_path}/"))

    visible_paths = find_visible_paths([], environ={"HOME": str(tmp_path)})

    assert not [path for path in visible_paths.read if path.startswith(str(tmp_path))]
