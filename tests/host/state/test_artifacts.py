"""Artifacts are kept safely, within a quota, and cannot be used to read anything else."""

import errno
import os
import stat

import pytest

from handrail.core.problems import ProblemRaised
from handrail.host.clock import SystemClock
from handrail.host.state.artifacts import DirectoryArtifacts


@pytest.fixture(params=["directory", "memory"])
def artifacts(request, tmp_path):
    directory = tmp_path / "artifacts" if request.param == "directory" else None
    return DirectoryArtifacts(directory, quota_bytes=1000)


def refusal(action, *args):
    with pytest.raises(ProblemRaised) as raised:
        action(*args)
    return raised.value.problem.code


def test_what_was_saved_is_loaded(artifacts):
    one = artifacts.save("call_1.txt", b"full text")
    two = artifacts.save("call_1.txt", b"another")

    assert (artifacts.load(one), artifacts.load(two)) == (b"full text", b"another")
    assert one.endswith("-call_1.txt")


@pytest.mark.parametrize("name", ["../../etc/x", "a/b", "\0\n", "", "..", ".hidden", "x" * 500])
def test_a_name_never_becomes_a_path(artifacts, tmp_path, name):
    reference = artifacts.save(name, b"data")

    assert artifacts.load(reference) == b"data"
    assert "/" not in reference
    assert {path.name for path in tmp_path.iterdir()} <= {"artifacts"}


@pytest.mark.parametrize("reference", ["", "..", "../secret", "/etc/passwd", "00000000-x", "a\0b"])
def test_a_foreign_reference_finds_nothing(artifacts, tmp_path, reference):
    (tmp_path / "secret").write_text("SECRET")
    artifacts.save("a", b"x")

    assert refusal(artifacts.load, reference) == "not_found"


def test_the_oldest_go_when_the_quota_is_full(artifacts, tmp_path):
    kept = []
    for n in range(5):
        kept.append(artifacts.save(f"a{n}", b"x" * 300))
        for path in tmp_path.glob(f"artifacts/*a{n}"):
            os.utime(path, (n, n))

    codes = []
    for reference in kept:
        try:
            codes.append(len(artifacts.load(reference)))
        except ProblemRaised as raised:
            codes.append(raised.problem.code)
    assert codes == ["not_found", "not_found", 300, 300, 300]
    assert refusal(artifacts.save, "big", b"x" * 1001) == "too_large"


def test_files_are_private_and_a_link_in_their_place_is_not_followed(tmp_path):
    artifacts = DirectoryArtifacts(tmp_path / "artifacts")
    reference = artifacts.save("a", b"data")
    path = tmp_path / "artifacts" / reference

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert refusal(artifacts.load, reference) == "not_found"


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch):
    artifacts = DirectoryArtifacts(tmp_path)

    def fail(*args, **kwargs):
        os.close(args[0])
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fdopen", fail)

    assert refusal(artifacts.save, "a", b"data") == "unavailable"
    assert list(tmp_path.iterdir()) == []


def test_sweeping_removes_what_is_old(tmp_path):
    artifacts = DirectoryArtifacts(tmp_path)
    old, new = artifacts.save("old", b"x"), artifacts.save("new", b"x")
    os.utime(tmp_path / old, (1, 1))
    (tmp_path / "not ours").write_text("x")
    os.utime(tmp_path / "not ours", (1, 1))

    assert artifacts.sweep(3600) == 1

    assert refusal(artifacts.load, old) == "not_found"
    assert artifacts.load(new) == b"x"
    assert (tmp_path / "not ours").exists()
    assert DirectoryArtifacts(None).sweep(0) == 0


def test_the_system_clock_goes_forward():
    clock = SystemClock()

    assert clock.now_ns() > 1_700_000_000 * 10**9
    assert clock.monotonic() <= clock.monotonic()
