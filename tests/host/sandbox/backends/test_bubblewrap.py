"""What a program sees through bubblewrap, and that nothing of the person's is changed by it."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.support.scenes import files_in, scenery

from handrail.host.sandbox.backends.bubblewrap import BubblewrapBackend
from handrail.host.sandbox.probe import fixture

pytestmark = pytest.mark.needs_bubblewrap


@pytest.fixture
def ws(tmp_path):
    workspace = tmp_path / "ws"
    workspace.mkdir()
    return workspace


def test_a_protected_name_that_exists_is_held_and_one_that_does_not_is_not_made(ws):
    (ws / ".vscode").mkdir()
    (ws / ".vscode" / "tasks.json").write_text("{}")
    (ws / ".envrc").write_text("x")
    before = files_in(ws)
    held = tuple(f"{ws}/{name}" for name in (".vscode", ".envrc", ".idea", "deep/.git", ".npmrc"))

    with scenery("bubblewrap", [ws]) as scene:
        done = [
            scene.run(command, read_only=held)
            for command in (
                "echo evil > .vscode/tasks.json",
                "echo evil > .envrc",
                "rm .envrc",
                "mv .vscode elsewhere",
                "true",
            )
        ]

    assert [code for code, _, _ in done] == [1, 1, 1, 1, 0]
    assert files_in(ws) == before


def test_what_is_held_outside_of_what_is_writable_is_not_shown_by_that(ws, tmp_path):
    (tmp_path / "config").mkdir()

    with scenery("bubblewrap", [ws]) as scene:
        code, _, _ = scene.run(f"ls {tmp_path}/config", read_only=(f"{tmp_path}/config",))

    assert code != 0


def test_of_very_many_protected_names_those_nearest_to_the_top_are_held(ws):
    held = [ws / ".vscode", *(ws / "packages" / str(number) / ".vscode" for number in range(400))]
    for path in held:
        path.mkdir(parents=True)

    with scenery("bubblewrap", [ws]) as scene:
        code, _, err = scene.run("touch .vscode/x", read_only=tuple(map(str, reversed(held))))

    assert (code, "Read-only" in err) == (1, True)


def test_a_link_is_held_where_it_leads(ws):
    (ws / "real").mkdir()
    (ws / "real" / "config").write_text("x")
    (ws / ".git").symlink_to("real")

    with scenery("bubblewrap", [ws]) as scene:
        done = scene.run(
            "echo evil > .git/config || echo evil > real/config", read_only=(f"{ws}/.git",)
        )

    assert done[0] == 1
    assert (ws / "real" / "config").read_text() == "x"


def test_a_link_that_leads_outside_shows_nothing(ws, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret").write_text("x")
    (ws / ".vscode").symlink_to(tmp_path / "other")

    with scenery("bubblewrap", [ws]) as scene:
        code, _, _ = scene.run("cat .vscode/secret", read_only=(f"{ws}/.vscode",))

    assert code != 0


def test_a_root_that_is_not_writable_is_shown_and_stays_as_it_is(ws, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a").write_text("seen")

    with scenery("bubblewrap", [ws, other]) as scene:
        read = scene.run(f"cat {other}/a", writable=(str(ws),))
        written = scene.run(f"echo x > {other}/a", writable=(str(ws),))

    assert read[:2] == (0, "seen")
    assert "Read-only file system" in written[2]


def test_variables_reach_the_command_and_not_what_confines_it(ws):
    """A library preloaded into bubblewrap itself would run with all of our rights."""
    source = "#include <stdio.h>\n__attribute__((constructor)) void hi(void)"
    marker = ws.parent / "marker"
    (ws / "evil.c").write_text(source + f'{{ fclose(fopen("{marker}", "w")); }}\n')
    library = ws / "evil.so"
    # Without a compiler the loader complains about the file, which shows as well who loads it.
    library.write_text("not a library")
    subprocess.run(
        f"command -v cc >/dev/null && cc -shared -fPIC -o {library} {ws}/evil.c",
        shell=True,
        check=False,
    )
    env = {"LD_PRELOAD": str(library), "ODD NAME": "x y", "EMPTY": ""}

    with scenery("bubblewrap", [ws]) as scene:
        launch = scene.launch("env", env=env)
        recipe = scene.sandbox.recipe(launch)
        done = fixture.run_probe_program(recipe, deadline_s=30)

    assert not marker.exists()
    assert "LD_PRELOAD" not in recipe.env
    assert {f"LD_PRELOAD={library}", "ODD NAME=x y", "EMPTY="} <= set(
        done.stdout.decode().splitlines()
    )


def test_the_variables_are_those_of_the_launch_and_no_others(ws, monkeypatch):
    monkeypatch.setenv("SECRET_OF_OURS", "x")

    with scenery("bubblewrap", [ws]) as scene:
        _, out, _ = scene.run("exec env", env={"LC_ALL": "C"})

    names = {line.split("=")[0] for line in out.splitlines()}
    assert names - {"PWD", "SHLVL", "_"} == {"PATH", "HOME", "LC_ALL", "TMPDIR"}


def test_the_command_line_of_bubblewrap_tells_nothing_about_the_outside(ws, tmp_path):
    hidden = tmp_path / "elsewhere"
    hidden.mkdir()

    with scenery("bubblewrap", [ws], hidden=[hidden]) as scene:
        place = scene.sandbox.recipe(scene.launch("true")).argv
        kept = place[place.index("/tmp") - 1]
        # Handles of what it read must not be there either: 3 is that of the listing itself.
        _, out, _ = scene.run(
            "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; ls /proc/self/fd", env={"OWN": "secret"}
        )

    seen, *handles = out.splitlines()
    assert "--args" in seen
    assert not [one for one in (kept, "secret", "--bind", "--setenv", "elsewhere") if one in seen]
    assert handles == ["0", "1", "2", "3"]


@pytest.mark.parametrize("name", ["OWN", "PATH"])
def test_a_zero_byte_in_a_variable_starts_nothing(ws, name):
    """It would end the word, and what follows would be an option of bubblewrap."""
    with scenery("bubblewrap", [ws]) as scene:
        recipe = scene.sandbox.recipe(scene.launch("true", env={name: "x\0--bind\0/\0/mnt"}))
        with pytest.raises(ValueError, match="null byte"):
            fixture.run_probe_program(recipe, deadline_s=30)


def test_the_temporary_directory_is_private_and_kept_between_commands(ws):
    theirs = Path("/tmp/handrail-theirs")
    with scenery("bubblewrap", [ws]) as scene, tempfile.NamedTemporaryFile(dir="/tmp") as outside:
        first = scene.run(f"echo kept > /tmp/a; echo $TMPDIR; ls /tmp; touch {theirs}")
        second = scene.run("cat /tmp/a")
        place = scene.sandbox.recipe(scene.launch("true")).argv
        kept = Path(place[place.index("/tmp") - 1])
        assert (kept / "a").read_text() == "kept\n"

    # What is shown below the real one, such as a workspace or this very Python, has its way there.
    ways = {word.split("/")[2] for word in place if word.startswith("/tmp/")}
    code, (where, *names) = first[0], first[1].split()
    assert (code, where) == (0, "/tmp")
    assert {"a"} <= set(names) <= {"a", *ways} - {kept.name}
    assert Path(outside.name).name not in names
    assert second[1] == "kept\n"
    assert not theirs.exists()
    assert not kept.exists()


def test_a_link_planted_in_the_temporary_directory_leads_no_mount_astray(ws):
    """The workspace of this test lies below /tmp, so its mount goes through the private one."""
    first = "/" + "/".join(ws.parts[1:3])
    assert first.startswith("/tmp/"), "the tests' directories lie elsewhere; see pytest's basetemp"

    with scenery("bubblewrap", [ws]) as scene:
        moved = scene.run(f"mv {first} /tmp/away")
        linked = scene.run(f"rm -rf {first}; ln -s /etc {first}")
        after = scene.run("echo ok > here && cat here")

    assert moved[0] != 0
    assert "busy" in moved[2]
    assert "busy" in linked[2]
    assert after[:2] == (0, "ok\n")
    assert (ws / "here").read_text() == "ok\n"


def test_home_is_private_but_for_toolchains(ws, tmp_path):
    home = tmp_path / "home"
    for name in (
        ".ssh/id",
        ".cargo/bin/tool",
        ".cargo/credentials.toml",
        ".config/app/token",
        "notes",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")

    with scenery("bubblewrap", [ws], home=home) as scene:
        _, seen, _ = scene.run("cd; find . -type f -readable -exec grep -l x {} + | sort")
        written = scene.run("echo x > ~/.cache-file && cat ~/.cache-file")
        tool = scene.run("echo evil > ~/.cargo/bin/tool")

    assert seen.split() == ["./.cargo/bin/tool"]
    assert written[:2] == (0, "x\n")
    assert tool[0] != 0
    assert not (home / ".cache-file").exists()


def test_secrets_stay_hidden_when_the_workspace_is_the_home(tmp_path):
    home = tmp_path / "home"
    for name in (".ssh/id", ".netrc", "project/a", ".local/state/handrail/store.db"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("secret")
    state = home / ".local/state/handrail"

    with scenery("bubblewrap", [home], home=home, hidden=[state]) as scene:
        _, seen, _ = scene.run(
            f"cat .ssh/id .netrc project/a; ls {state} .ssh; mv .local x; cat x/state/handrail/*"
        )

    assert seen.replace(f"{state}:", "").replace(".ssh:", "").split() == ["secret"]
    assert files_in(home)[".ssh/id"] == "secret"


def test_handles_that_the_command_did_not_ask_for_are_closed(ws):
    with scenery("bubblewrap", [ws]) as scene:
        _, out, _ = scene.run("echo /proc/self/fd/*")

    assert {Path(handle).name for handle in out.split()} <= {"0", "1", "2", "3", "255"}


def test_a_machine_that_lets_nobody_mount_proc_is_used_as_far_as_it_goes(ws):
    with scenery("bubblewrap", [ws]) as scene:
        launch = scene.launch("echo $$; cat /proc/self/comm; : > /proc/self/comm")
        places = scene.sandbox._visible_paths()
        from handrail.host.sandbox.visible_paths import SharedMounts

        recipe = BubblewrapBackend("/usr/bin/bwrap", own_proc=False).recipe(
            launch, SharedMounts((str(ws),), (), scene.sandbox._temporary.path, places)
        )
        done = fixture.run_probe_program(recipe, deadline_s=30)

    assert done.stdout.split()[1] == b"cat"
    assert b"Read-only file system" in done.stderr


def test_remounting_is_what_root_could_do_and_is_stopped(ws):
    """Pins why `--cap-drop ALL` and the filter are there: without them root gets through."""
    (ws / ".git").mkdir()
    command = "mount -o remount,bind,rw .git && echo evil > .git/config"

    with scenery("bubblewrap", [ws]) as scene:
        recipe = scene.sandbox.recipe(scene.launch(command, read_only=(f"{ws}/.git",)))
        stopped = fixture.run_probe_program(recipe, deadline_s=30)
        argv = list(recipe.argv)
        for option in ("--cap-drop", "--seccomp"):
            at = argv.index(option)
            del argv[at : at + 2]
        assert not (ws / ".git/config").exists()
        bare = recipe._replace(
            argv=tuple(argv), filter=b"", file_arguments=recipe.file_arguments - 4
        )
        control = fixture.run_probe_program(bare, deadline_s=30)

    assert stopped.exit_code != 0
    if os.geteuid() == 0:
        assert control.exit_code == 0
        assert (ws / ".git/config").read_text() == "evil\n"


def test_a_program_that_wants_to_outlive_the_command_does_not(ws):
    with scenery("bubblewrap", [ws]) as scene:
        code, out, _ = scene.run("setsid sleep 61.5 >/dev/null 2>&1 & echo started")

    assert (code, out) == (0, "started\n")
    assert wait_until(lambda: not running("61.5"))


def running(argument):
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and argument in (entry / "cmdline").read_text().split("\0"):
                found.append(entry.name)
        except OSError:
            continue
    return found


def wait_until(holds):
    import select

    for _ in range(500):
        if holds():
            return True
        select.select([], [], [], 0.01)
    return False
