"""What a program keeps under Landlock where bubblewrap cannot be had."""

import pytest
from tests.support.scenes import files_in, scenery

from handrail.host.sandbox.visible_paths import list_except


@pytest.mark.needs_landlock
def test_the_workspace_is_writable_and_the_rest_is_closed(tmp_path):
    ws, other = tmp_path / "ws", tmp_path / "other"
    ws.mkdir()
    other.mkdir()
    (other / "a").write_text("secret")

    with scenery("landlock", [ws]) as scene:
        done = scene.run(
            f"mkdir -p a/b && mv a c && echo x > c/b/d; cat {other}/a; echo x > {other}/new; ls /"
        )

    assert files_in(ws) == {"c": None, "c/b": None, "c/b/d": "x\n"}
    assert done[1] == ""
    assert done[2].count("Permission denied") == 3


@pytest.mark.needs_landlock
def test_a_root_that_is_not_writable_can_be_read(tmp_path):
    ws, other = tmp_path / "ws", tmp_path / "other"
    ws.mkdir()
    other.mkdir()
    (other / "a").write_text("seen")

    with scenery("landlock", [ws, other]) as scene:
        code, out, err = scene.run(f"cat {other}/a; echo x > {other}/a", writable=(str(ws),))

    assert (code, out) == (1, "seen")
    assert "Permission denied" in err


@pytest.mark.needs_landlock
def test_the_temporary_directory_is_named_kept_and_removed(tmp_path):
    from pathlib import Path

    with scenery("landlock", [tmp_path]) as scene:
        _, place, _ = scene.run('echo kept > "$TMPDIR/a"; echo "$TMPDIR"')
        _, kept, _ = scene.run('cat "$TMPDIR/a"; mkdir -p "$XDG_CACHE_HOME" && echo cache')
        mode = Path(place.strip()).stat().st_mode & 0o777

    assert kept == "kept\ncache\n"
    assert mode == 0o700
    assert not Path(place.strip()).exists()


@pytest.mark.needs_landlock
def test_a_hidden_part_of_a_root_costs_new_names_beside_it_and_nothing_else(tmp_path):
    for name in ("project/a", ".local/state/handrail/store", ".local/share/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")

    with scenery("landlock", [tmp_path], hidden=[tmp_path / ".local/state/handrail"]) as scene:
        hidden = scene.run("cat .local/state/handrail/store")
        inside = scene.run("echo y > project/new && cat .local/share/x")
        beside = scene.run("echo y > new")

    assert "Permission denied" in hidden[2]
    assert inside[:2] == (0, "x")
    assert beside[0] != 0


@pytest.mark.needs_landlock
def test_a_link_beside_a_hidden_part_opens_nothing(tmp_path):
    root, other = tmp_path / "root", tmp_path / "other"
    (root / "hidden").mkdir(parents=True)
    (root / "hidden" / "secret").write_text("secret")
    other.mkdir()
    (root / "out").symlink_to(other)
    (root / "in").symlink_to("hidden")

    with scenery("landlock", [root], hidden=[root / "hidden"]) as scene:
        done = scene.run("echo x > out/evil; cat in/secret")

    assert done[1] == ""
    assert done[2].count("Permission denied") == 2
    assert files_in(other) == {}


@pytest.mark.needs_landlock
def test_a_root_swapped_for_a_link_grants_nothing(tmp_path):
    """The recipe is made before the thread gives up its rights."""
    import os

    from handrail.host.sandbox.probe import fixture

    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    other.mkdir()

    with scenery("landlock", [root]) as scene:
        recipe = scene.sandbox.recipe(scene.launch(f"echo x > {other}/evil"))
        root.rmdir()
        os.symlink(other, root)
        done = fixture.run_probe_program(recipe, deadline_s=30)

    assert b"Permission denied" in done.stderr
    assert files_in(other) == {}


def test_what_remains_of_a_tree_is_as_few_trees_as_can_be(tmp_path):
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
    top = str(tmp_path)

    assert list_except(top, []) == [top]
    assert list_except(top, [f"{top}/x/y"]) == [f"{top}/a", f"{top}/e"]
    assert list_except(top, [f"{top}/a/b/c"]) == [f"{top}/a/d", f"{top}/e"]
    assert list_except(top, [top]) == []
    assert list_except(f"{top}/gone", [f"{top}/gone/x"]) == []


@pytest.mark.needs_landlock
def test_folders_above_what_is_not_even_seen_cannot_be_listed(tmp_path):
    for name in ("a/.env", "a/beside", "b/state/store", "b/.env", "b/beside"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    withheld = (f"{tmp_path}/a/.env", f"{tmp_path}/b/.env")

    with scenery("landlock", [tmp_path], hidden=[tmp_path / "b/state"]) as scene:
        listed = scene.run("ls -A a; cat a/beside", writable=(), denied_reads=withheld)
        closed = scene.run("ls -A b b/state; cat b/beside", writable=(), denied_reads=withheld)

    assert listed[1].split() == [".env", "beside", "a/beside"]
    assert closed[1] == "b/beside"
