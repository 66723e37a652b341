"""Undo at full length: fifty thousand files, and kills at any moment."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

FILES = 50_000
KILLS = 20
KILLED_FILES = 6_000
MOST_MB = 100
PROGRAM = [sys.executable, "-c", "import sys; from handrail.cli.main import main; sys.exit(main())"]

pytestmark = [pytest.mark.torture, pytest.mark.finding("F20"), pytest.mark.timeout(3_000)]


def fill(root, count):
    for number in range(count):
        folder = root / f"data/d{number // 200}"
        if number % 200 == 0:
            folder.mkdir(parents=True)
        (folder / f"f{number}").write_bytes(f"file {number}\n".encode() * (1 + number % 40))


def fingerprint(root):
    state = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        state.update(f"{path.relative_to(root)}:{path.stat().st_mode:o}:".encode())
        if path.is_file():
            state.update(path.read_bytes())
    return state.hexdigest()


def start(root, state, *words):
    env = {**os.environ, "XDG_STATE_HOME": str(state)}
    with (state.parent / "said").open("wb") as said:
        return subprocess.Popen(
            [*PROGRAM, *words], cwd=root, env=env, stdout=said, stderr=subprocess.STDOUT
        )


def run(root, state, *words):
    """How long it took, the peak of its memory in MB, and what it said."""
    before, process = time.monotonic(), start(root, state, *words)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    said = (state.parent / "said").read_text()
    assert process.returncode == 0, said
    return time.monotonic() - before, used.ru_maxrss // 1024, said


def remove(root, state):
    return run(
        root, state, "call", "run_command", '{"command": "rm -rf data"}', "--mode", "sandboxed"
    )


def test_fifty_thousand_files_come_back_in_twice_the_time_of_half_of_them(tmp_path):
    times, peaks = {}, {}
    for count in (10, FILES // 2, FILES):
        root, state = tmp_path / f"w{count}", tmp_path / f"s{count}"
        root.mkdir()
        fill(root, count)
        before = fingerprint(root)
        remove(root, state)
        assert not (root / "data").exists()
        times[count], peaks[count], said = run(root, state, "undo")
        assert fingerprint(root) == before
        assert len(said.splitlines()) < 110
    print(times, peaks)
    assert times[FILES] <= 2.3 * times[FILES // 2]
    assert peaks[FILES] <= peaks[10] + MOST_MB


def test_killed_at_any_moment_the_next_undo_goes_on(tmp_path):
    root, state = tmp_path / "work", tmp_path / "state"
    root.mkdir()
    fill(root, KILLED_FILES)
    before = fingerprint(root)
    remove(root, state)
    dice = random.Random(20)
    killed = 0
    while killed < KILLS:
        process = start(root, state, "undo")
        try:
            process.wait(dice.uniform(0.5, 3.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait(60)
            killed += 1
        else:
            # It was through: remove them once more.
            assert process.returncode == 0, (tmp_path / "said").read_text()
            assert fingerprint(root) == before
            run(root, state, "redo")
    if fingerprint(root) != before:
        run(root, state, "undo")
    assert fingerprint(root) == before
    assert not list(root.rglob(".handrail-*"))
