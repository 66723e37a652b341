import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from handrail.host.sandbox.temp_dirs import TempDirectory


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_made_when_asked_for_and_removed_with_everything_in_it(elsewhere):
    temporary = TempDirectory()
    assert list(elsewhere.iterdir()) == []

    path = Path(temporary.path)
    (path / "a" / "b").mkdir(parents=True)
    (path / "a" / "b" / "file").write_text("x")
    (path / "a" / "b").chmod(0)
    (path / "outside").symlink_to(elsewhere)
    assert temporary.path == str(path)
    temporary.close()
    temporary.close()

    assert list(elsewhere.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(elsewhere):
    code = (
        "import os, sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
        "from handrail.host.sandbox.temp_dirs import TempDirectory\n"
        "kept = TempDirectory(); print(kept.path, flush=True); os.kill(os.getpid(), 9)"
    )
    dead = subprocess.run(
        [sys.executable, "-c", code, str(elsewhere)], capture_output=True, text=True, check=False
    ).stdout.strip()
    assert Path(dead).is_dir()
    living = TempDirectory()
    first = living.path

    second = TempDirectory()
    places = {first, second.path}

    assert {str(path) for path in elsewhere.iterdir()} == places
    living.close()
    second.close()


def test_a_stranger_of_the_same_name_is_left_alone(elsewhere):
    (elsewhere / "handrail-tmp-file").write_text("x")
    (elsewhere / "handrail-tmp-link").symlink_to("/etc")

    temporary = TempDirectory()
    assert Path(temporary.path).is_dir()
    temporary.close()

    assert sorted(os.listdir(elsewhere)) == ["handrail-tmp-file", "handrail-tmp-link"]


def test_a_new_folder_is_not_removed_before_it_is_locked(tmp_path, monkeypatch):
    """Others sweep while it is being made: it has no name yet that they look for."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    flock = fcntl.flock

    def sweeping(handle, how):
        if not how & fcntl.LOCK_UN:
            monkeypatch.setattr(fcntl, "flock", flock)
            other = TempDirectory()
            assert Path(other.path).is_dir()
            other.close()
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", sweeping)
    temporary = TempDirectory()

    assert Path(temporary.path).is_dir()
    temporary.close()
    assert list(tmp_path.iterdir()) == []
