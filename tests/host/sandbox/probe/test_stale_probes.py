"""A probe that was killed leaves its stage; the next one clears it away, and nothing else."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.support.handles import open_handles
from tests.support.waiting import running

from handrail.host.sandbox.local_sandbox import open_sandbox
from handrail.host.sandbox.probe import fixture, stale_probes
from handrail.host.sandbox.probe.fixture import create_fixture
from handrail.host.sandbox.probe.stale_probes import PREFIX


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """Temporary files and shared memory of this test alone."""
    made = tmp_path / "shm"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(stale_probes, "SHARED", str(made))
    monkeypatch.setattr(fixture, "SHARED", str(made))
    return made


def leave(tmp_path):
    """What killed probes leave, and what only looks like it."""
    for name in ("handrail-probe-left/outside", "handrail-probing", "handrail-unlocked-young"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "shm" / "handrail-probe-12").write_text("probe")
    (tmp_path / "handrail-probe-link").symlink_to(tmp_path / "handrail-probing")
    (tmp_path / "handrail-unlocked-old").mkdir()
    past = time.time() - 7200
    os.utime(tmp_path / "handrail-unlocked-old", (past, past))


KEPT = {"handrail-probing", "handrail-probe-link", "handrail-unlocked-young", "shm"}


@pytest.mark.finding("F14")
def test_what_is_left_goes_and_the_living_and_others_stay(tmp_path, shared):
    leave(tmp_path)
    sleep = str(shutil.which("sleep"))

    with create_fixture(sleep) as first, create_fixture(sleep) as second:
        there = {path.name for path in tmp_path.iterdir()}
        assert there == KEPT | {Path(first.top).name, Path(second.top).name}
        assert len(list(shared.iterdir())) == 2
        assert stale_probes.remove_stale_probes() == 0

    assert {path.name for path in tmp_path.iterdir()} == KEPT
    assert list(shared.iterdir()) == []


@pytest.mark.finding("F14")
def test_the_next_start_clears_away_although_it_need_not_probe(tmp_path, shared):
    leave(tmp_path)

    with closing(open_sandbox([str(tmp_path)], backend="none")) as sandbox:
        assert sandbox.backend == "none"

    assert {path.name for path in tmp_path.iterdir()} == KEPT
    assert list(shared.iterdir()) == []


def test_a_stage_that_was_removed_holds_no_file_open(tmp_path, shared):
    before = open_handles()

    with ExitStack() as ends:
        made = stale_probes.create_probe_dir(ends)
        assert any(target == str(made) for _, target in open_handles() - before)

    assert not made.exists()
    assert [target for _, target in open_handles() - before if PREFIX in target] == []


KILLED = """
import shutil, sys, tempfile, time
from handrail.host.sandbox.probe import fixture, stale_probes
tempfile.tempdir, stale_probes.SHARED, fixture.SHARED = sys.argv[1], sys.argv[2], sys.argv[2]
with fixture.create_fixture(shutil.which("sleep")):
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.finding("F14")
def test_a_killed_probe_is_cleared_away_by_the_next(tmp_path, shared):
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(shared)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, process_group=0)
    with running(started) as probe:
        assert probe.stdout is not None
        assert probe.stdout.readline() == b"ready\n"
        alive = stale_probes.remove_stale_probes()
        os.killpg(probe.pid, signal.SIGKILL)
    left = len(list(shared.iterdir()))

    assert (alive, left) == (0, 1)
    assert stale_probes.remove_stale_probes() == 2
    assert list(shared.iterdir()) == []
