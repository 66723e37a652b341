"""A command of root cannot change the devices of the machine, and has usable ones."""

import os
import stat
from pathlib import Path

import pytest

import handrail
from handrail.core.ports.processes import Confinement, Launch
from handrail.host.sandbox import device_nodes
from handrail.host.sandbox.local_sandbox import open_sandbox
from handrail.host.sandbox.probe.fixture import run_probe_program

DEVICES = ["null", "zero", "full", "random", "urandom", "tty"]
# Of a device that no other program misses for a moment, if the sandbox does not hold.
ATTACK = """
import os
for act in (
    lambda: os.chmod("/dev/full", 0o600),
    lambda: os.utime("/dev/full", (1, 1)),
    lambda: os.setxattr("/dev/full", "trusted.handrail", b"x"),
    lambda: os.unlink("/dev/full"),
    lambda: os.chown("/dev/full", 1, 1),
):
    try:
        act()
    except OSError as error:
        print(error)
"""


def facts(name):
    found = os.stat(f"/dev/{name}")
    return stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, found.st_mtime_ns, found.st_rdev


@pytest.mark.needs_root
@pytest.mark.needs_bubblewrap
async def test_a_command_of_root_changes_no_device_of_the_machine(tmp_path):
    (tmp_path / "attack.py").write_text(ATTACK)
    before = {name: facts(name) for name in DEVICES}
    settings = {"sandbox": "bubblewrap"}
    async with handrail.open(tmp_path, mode="bypass", config=settings, store=":memory:") as rt:
        result = await rt.call("run_command", {"command": "python3 attack.py"})

    assert result.data["exit_code"] == 0
    assert {name: facts(name) for name in DEVICES} == before


@pytest.mark.needs_root
@pytest.mark.needs_bubblewrap
async def test_the_devices_of_a_command_work(tmp_path):
    script = "echo x > /dev/null && head -c2 /dev/zero /dev/urandom /dev/random | wc -c; echo > /dev/full"
    settings = {"sandbox": "bubblewrap"}
    async with handrail.open(tmp_path, mode="bypass", config=settings, store=":memory:") as rt:
        result = await rt.call("run_command", {"command": script})

    assert result.data["exit_code"] == 1
    assert "No space left" in result.data["stderr"]
    assert int(result.data["stdout"]) > 6


@pytest.mark.needs_root
def test_the_nodes_are_removed():
    nodes = device_nodes.DeviceNodes()
    paths = list(nodes.paths.values())
    nodes.close()

    assert len(paths) == len(DEVICES)
    assert not any(Path(path).exists() for path in paths)


@pytest.mark.needs_root
def test_kept_nodes_outlive_the_process_and_are_repaired_by_the_next(tmp_path):
    first = device_nodes.DeviceNodes(tmp_path / "devices")
    kept = dict(first.paths)
    first.close()
    os.chmod(kept["/dev/null"], 0)
    os.chown(kept["/dev/null"], 1, 1)

    assert device_nodes.DeviceNodes(tmp_path / "devices").paths == kept
    found = os.stat(kept["/dev/null"])
    assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (0o666, 0, 0)


@pytest.mark.needs_root
def test_a_directory_with_another_file_of_that_name_is_not_used(tmp_path):
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "zero").write_text("kept")
    nodes = device_nodes.DeviceNodes(tmp_path / "devices")
    try:
        folders = {Path(path).parent for path in nodes.paths.values()}
    finally:
        nodes.close()

    assert len(folders) == 1
    assert tmp_path / "devices" not in folders
    assert (tmp_path / "devices" / "zero").read_text() == "kept"


@pytest.mark.needs_root
def test_a_directory_with_another_device_of_that_name_is_not_used(tmp_path):
    (tmp_path / "devices").mkdir()
    os.mknod(tmp_path / "devices" / "zero", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    nodes = device_nodes.DeviceNodes(tmp_path / "devices")
    try:
        used = Path(nodes.paths["/dev/zero"])
        number = used.stat().st_rdev
    finally:
        nodes.close()

    assert used.parent != tmp_path / "devices"
    assert number == os.makedev(1, 5)


@pytest.mark.needs_root
@pytest.mark.needs_bubblewrap
def test_a_job_that_starts_late_finds_its_devices(tmp_path):
    """The process that asked for a job may have ended before bubblewrap reads its arguments."""
    work = tmp_path / "work"
    work.mkdir()
    kept = tmp_path / "state" / "tmp"
    sandbox = open_sandbox([str(work)], backend="bubblewrap", temporary=kept)
    command = ("/bin/sh", "-c", "echo lost > /dev/null; echo up")
    confinement = Confinement(writable=(str(work),))
    recipe = sandbox.recipe(Launch(command, str(work), dict(os.environ), confinement, 30))
    sandbox.close()

    assert run_probe_program(recipe, deadline_s=30).stdout == b"up\n"


@pytest.mark.needs_root
@pytest.mark.needs_bubblewrap
async def test_where_no_node_can_be_made_the_sandbox_does_not_claim_to_hold(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "not here")

    monkeypatch.setattr(device_nodes.os, "mknod", refuse)
    settings = {"sandbox": "bubblewrap"}
    async with handrail.open(tmp_path, mode="sandboxed", config=settings, store=":memory:") as rt:
        result = await rt.call("run_command", {"command": "touch a"})

    assert result.problem.code == "needs_approval"
