"""Processes that may still run, folders, and which runtimes are open."""

import os
import subprocess
import sys

import pytest

from handrail.host.state.identities import (
    RuntimePresence,
    folder_identity,
    may_still_run,
    note_ended,
    process_name,
    this_process,
)

pytestmark = pytest.mark.usefixtures("no_open_files")


def test_a_process_of_another_machine_runs_until_its_end_is_noted():
    owner = "elsewhere/boot/1/2"

    assert may_still_run(owner)
    note_ended(owner)
    assert not may_still_run(owner)
    assert may_still_run("elsewhere/boot/1/3")
    assert may_still_run(this_process())
    note_ended(this_process())
    assert may_still_run(this_process())


@pytest.mark.parametrize(
    "rest", ["", "x/1/2", "{boot}", "{boot}/", "{boot}/x/1", "{boot}/{pid}/", "{boot}/{pid}"]
)
def test_what_names_no_process_of_this_machine_does_not_run(rest):
    host, boot, pid, _ = this_process().split("/")

    assert not may_still_run(f"{host}/{rest.format(boot=boot, pid=pid)}")


def test_a_process_that_ended_and_was_not_waited_for_does_not_run():
    child = subprocess.Popen([sys.executable, "-c", ""])
    name = process_name(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    runs, gone = may_still_run(name), process_name(child.pid)
    child.wait(30)

    assert not runs
    assert gone.endswith("/")
    assert process_name(child.pid).endswith("/")


def test_a_name_has_the_machine_the_boot_the_number_and_the_start():
    host, boot, pid, started = this_process().split("/")

    assert pid == str(os.getpid())
    assert len(boot) == 36
    assert started.isdigit()
    assert host


def test_two_folders_differ_and_a_missing_one_has_no_identity(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = folder_identity(str(tmp_path / "a")), folder_identity(str(tmp_path / "b"))

    assert one != two
    assert one == folder_identity(str(tmp_path / "a"))
    assert one.partition(".")[0] == str((tmp_path / "a").stat().st_ino)
    assert folder_identity(str(tmp_path / "missing")) == ""


def test_a_runtime_is_the_only_one_until_another_opens(tmp_path):
    place = tmp_path / "open"
    one = RuntimePresence(place)
    assert one.is_only_runtime()
    two = RuntimePresence(place)
    assert not one.is_only_runtime()
    assert not two.is_only_runtime()
    assert len(list(place.iterdir())) == 2
    two.close()
    two.close()
    assert one.is_only_runtime()
    assert len(list(place.iterdir())) == 1
    one.close()
    assert list(place.iterdir()) == []
    assert place.stat().st_mode & 0o777 == 0o700


def test_the_file_of_a_crashed_runtime_is_removed(tmp_path):
    one = RuntimePresence(tmp_path)
    (tmp_path / "crashed").write_text("")
    (tmp_path / "folder").mkdir()

    assert one.is_only_runtime()
    assert not (tmp_path / "crashed").exists()
    one.close()
