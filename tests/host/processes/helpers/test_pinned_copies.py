"""Copies of helper programs, and the pins that say which are trusted."""

import hashlib
import json
import os
import stat

import pytest

from handrail.host.processes.helpers import pinned_copies
from handrail.host.processes.helpers.pinned_copies import HelperCopies, hash_file
from handrail.host.processes.helpers.wheel_record import RecordEntry


@pytest.fixture
def settled(monkeypatch):
    """Files count as unchanged for a long time."""
    monkeypatch.setattr(pinned_copies, "_SETTLED_NS", -(10**12))


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "tool"
    path.write_bytes(b"#!/bin/sh\n")
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "helpers"
    path.mkdir()
    return path


@pytest.fixture
def copies(folder):
    return HelperCopies(folder)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def entry(data=b"#!/bin/sh\n", version="1"):
    return RecordEntry("dist", version, sha256(data))


def names(folder):
    return sorted(one.name for one in folder.iterdir())


def test_a_program_is_copied_and_pinned(copies, folder, program):
    path = copies.add("env", "tool", str(program), entry())

    assert path == str(folder / f"tool-{entry().sha256}")
    with open(path, "rb") as copy:
        assert copy.read() == b"#!/bin/sh\n"
        assert stat.S_IMODE(os.fstat(copy.fileno()).st_mode) == 0o500
    pin = copies.read_pin("env", "tool")
    assert pin is not None
    assert pin[:3] == ("dist", "1", entry().sha256)
    assert len(names(folder)) == 2
    assert copies.read_pin("other", "tool") is None
    assert copies.read_pin("env", "other") is None


def test_a_program_with_another_hash_leaves_nothing_behind(copies, folder, program):
    wanted = entry(b"other")

    assert copies.add("env", "tool", str(program), wanted) is None
    assert copies.replace("env", "tool", str(program), wanted) is None
    assert names(folder) == []


def test_an_earlier_pin_is_used_and_only_replace_changes_it(copies, program):
    first = copies.add("env", "tool", str(program), entry())
    assert copies.add("env", "tool", str(program), entry(version="2")) == first
    program.write_bytes(b"new")

    assert copies.add("env", "tool", str(program), entry(b"new")) is None
    assert copies.read_pin("env", "tool").sha256 == entry().sha256
    accepted = copies.replace("env", "tool", str(program), entry(b"new", "2"))

    assert accepted is not None
    assert accepted.endswith(sha256(b"new"))
    assert copies.read_pin("env", "tool")[:3] == ("dist", "2", sha256(b"new"))


@pytest.mark.parametrize(
    "stored",
    [b"", b"[]", b"{}", b'{"distribution": "d"}', b"\xff", b"null"],
)
def test_a_damaged_pin_is_an_error_and_not_a_missing_one(copies, folder, program, stored):
    copies.add("env", "tool", str(program), entry())
    pin = next(folder.glob("*.json"))
    pin.write_bytes(stored)

    with pytest.raises(OSError, match="trust --programs"):
        copies.read_pin("env", "tool")


@pytest.mark.parametrize(
    ("source", "copy", "expected"),
    [
        ("same", "same", (True, True)),
        ("changed", "same", (False, True)),
        ("gone", "same", (False, True)),
        # A copy is made again from the unchanged program only.
        ("same", "changed", (True, True)),
        ("same", "gone", (True, True)),
        ("changed", "changed", (False, False)),
        ("gone", "gone", (False, False)),
    ],
)
def test_a_pin_is_checked_against_the_program_and_its_copy(copies, program, source, copy, expected):
    path = copies.add("env", "tool", str(program), entry())
    for state, file in ((source, str(program)), (copy, path)):
        if state != "same":
            os.unlink(file)
        if state == "changed":
            with open(file, "wb") as changed:
                changed.write(b"other\n")

    found = copies.check("env", "tool", str(program), copies.read_pin("env", "tool"))

    assert found == (expected[0], path if expected[1] else None)
    if expected[1]:
        assert hash_file(path) == entry().sha256


def test_stamps_are_kept_so_that_nothing_is_hashed_again(copies, program, settled, monkeypatch):
    copies.add("env", "tool", str(program), entry())
    first = copies.read_pin("env", "tool")
    assert len(first.source_stamp) == len(first.copy_stamp) == 5
    assert first.source_stamp[2] == len(b"#!/bin/sh\n")

    def refuse(*_):
        raise AssertionError("hashed again")

    monkeypatch.setattr(pinned_copies, "_read_through", refuse)

    assert copies.check("env", "tool", str(program), first)[0]


def test_new_stamps_are_written_to_the_pin(copies, folder, program, settled):
    copies.add("env", "tool", str(program), entry())
    bare = copies.read_pin("env", "tool")._replace(source_stamp=(), copy_stamp=())

    copies.check("env", "tool", str(program), bare)

    pin = copies.read_pin("env", "tool")
    assert (len(pin.source_stamp), len(pin.copy_stamp)) == (5, 5)
    assert json.loads(next(folder.glob("*.json")).read_bytes())["environment"] == "env"
    assert len(names(folder)) == 2


def test_a_file_that_changed_just_now_has_no_stamp(copies, program):
    copies.add("env", "tool", str(program), entry())

    assert copies.read_pin("env", "tool").source_stamp == ()


def test_a_stamp_without_the_hash_is_not_enough(copies, program, settled):
    path = copies.add("env", "tool", str(program), entry())
    pin = copies.read_pin("env", "tool")
    program.write_bytes(b"other")

    assert copies.check("env", "tool", str(program), pin) == (False, path)
    assert copies.read_pin("env", "tool") == pin


@pytest.mark.parametrize(("size", "most", "fits"), [(3, 3, True), (4, 3, False)])
def test_only_files_of_a_limited_size_are_programs(tmp_path, monkeypatch, size, most, fits):
    monkeypatch.setattr(pinned_copies, "_MOST_BYTES", most)
    path = tmp_path / "file"
    path.write_bytes(bytes(size))

    if fits:
        assert hash_file(str(path)) == sha256(bytes(size))
        return
    with pytest.raises(OSError, match="not a program"):
        hash_file(str(path))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5])
def test_a_file_is_hashed_whole_whatever_the_size_of_its_parts(tmp_path, monkeypatch, size):
    monkeypatch.setattr(pinned_copies, "_CHUNK", 2)
    path = tmp_path / "file"
    path.write_bytes(b"abcde"[:size])

    assert hash_file(str(path)) == sha256(b"abcde"[:size])


def test_a_folder_or_a_pipe_is_no_program(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="not a program"):
        hash_file(str(tmp_path / "pipe"))
    with pytest.raises(IsADirectoryError):
        hash_file(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        hash_file(str(tmp_path / "missing"))
