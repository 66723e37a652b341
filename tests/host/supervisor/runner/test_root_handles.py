"""Programs start from the roots' own handles, and see what these are."""

import errno
import os

import pytest

from handrail.core.ports.processes import Confinement, Launch
from handrail.host.files.root_identity import RootHandle, is_in_place
from handrail.host.sandbox.backends.bubblewrap import BubblewrapBackend
from handrail.host.sandbox.backends.landlock_grants import inode_key
from handrail.host.sandbox.recipe import Recipe
from handrail.host.sandbox.visible_paths import SharedMounts, VisiblePaths
from handrail.host.supervisor.runner.launch import RootHandles


@pytest.fixture
def root(tmp_path):
    top = tmp_path / "ws"
    (top / "sub").mkdir(parents=True)
    (top / "a").write_text("mine")
    handle = os.open(top, os.O_PATH)
    yield RootHandle(str(top), handle)
    os.close(handle)


def opened(recipe, *roots):
    with RootHandles(roots).open(recipe) as ready:
        target = os.readlink(ready.cwd) if ready.cwd.startswith("/proc/") else ready.cwd
        return ready._replace(cwd=target)


@pytest.mark.finding("F06")
def test_a_program_starts_in_a_directory_by_its_handle(root, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(root.path)

    assert opened(Recipe(("x",), {}, f"{root.path}/sub"), root).cwd == f"{root.path}/sub"
    assert opened(Recipe(("x",), {}, root.path), root).cwd == root.path
    assert opened(Recipe(("x",), {}, "/usr"), root).cwd == "/usr"
    assert opened(Recipe(("x",), {}, f"{root.path}/sub")).cwd == f"{root.path}/sub"


@pytest.mark.finding("F06")
def test_a_link_in_a_root_is_entered_only_if_it_stays_inside(root, tmp_path):
    os.symlink("sub", f"{root.path}/in")
    os.symlink(tmp_path, f"{root.path}/out")

    assert opened(Recipe(("x",), {}, f"{root.path}/in"), root).cwd == f"{root.path}/sub"
    with pytest.raises(OSError, match="leads out of the workspace"):
        opened(Recipe(("x",), {}, f"{root.path}/out"), root)
    with pytest.raises(FileNotFoundError) as missing:
        opened(Recipe(("x",), {}, f"{root.path}/gone"), root)
    assert missing.value.filename == f"{root.path}/gone"


@pytest.mark.finding("F06")
@pytest.mark.parametrize("instead", ["nothing", "folder", "link", "file"])
def test_a_root_that_is_not_in_its_place_is_stale(root, tmp_path, instead):
    assert is_in_place(root)
    os.rename(root.path, tmp_path / "moved")
    match instead:
        case "folder":
            os.mkdir(root.path)
        case "link":
            os.symlink(tmp_path / "moved", root.path)
        case "file":
            (tmp_path / "ws").write_text("")

    assert not is_in_place(root)
    with pytest.raises(OSError) as stale:
        opened(Recipe(("x",), {}, "/"), root)
    assert (stale.value.errno, stale.value.filename) == (errno.ESTALE, root.path)


def recipe_for(root, *read_only):
    """How bubblewrap is started that can mount handles, whether there is one here or not."""
    confinement = Confinement((root.path,), read_only=read_only)
    scene = SharedMounts((root.path,), (), "/tmp", VisiblePaths("", (), ()))
    launch = Launch(("/bin/true",), root.path, {"A": "--bind-try"}, confinement, None)
    return BubblewrapBackend("/usr/bin/bwrap", by_handle=True).recipe(launch, scene)


@pytest.mark.finding("F03", "F06")
def test_bubblewrap_mounts_what_lies_in_a_root_by_handle(root):
    os.mkdir(f"{root.path}/.git")
    recipe = recipe_for(root, f"{root.path}/.git")

    ready = opened(recipe, root)

    bound = [at for at, word in enumerate(ready.argv) if word.endswith("bind-fd")]
    assert [ready.argv[at] for at in bound] == ["--bind-fd", "--ro-bind-fd"]
    assert [int(ready.argv[at + 1]) for at in bound] == ready.handles
    assert [ready.argv[at + 2] for at in bound] == [root.path, f"{root.path}/.git"]
    assert ready.file_arguments == recipe.file_arguments


@pytest.mark.finding("F03")
@pytest.mark.parametrize("way", ["link", "withheld"])
def test_a_mount_whose_source_became_another_is_left_out(root, way):
    os.mkdir(f"{root.path}/.git")
    os.mkdir(f"{root.path}/secret")
    recipe = recipe_for(root, f"{root.path}/.git")
    closed = inode_key(os.stat(f"{root.path}/secret"))
    os.rename(f"{root.path}/.git", f"{root.path}/aside")
    if way == "link":
        os.symlink("secret", f"{root.path}/.git")
    else:
        os.rename(f"{root.path}/secret", f"{root.path}/.git")

    ready = opened(recipe._replace(denied=(closed,)), root)

    assert f"{root.path}/.git" not in ready.argv
    assert "--bind-fd" in ready.argv
    assert ready.file_arguments == recipe.file_arguments - 3
    assert ready.argv[ready.file_arguments + 1 :] == ["--", "/bin/true"]
