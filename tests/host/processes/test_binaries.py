"""Helper programs are found outside the roots, and only trusted ones."""

import hashlib
import os
import sys
import sysconfig
from pathlib import Path

import pytest

from handrail.host.processes.binaries import find_binary, find_trusted, needs_loader, sha256


@pytest.fixture
def tools(tmp_path):
    folder = tmp_path / "tools"
    folder.mkdir()
    program = folder / "helper"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return folder


def test_ripgrep_is_found_beside_this_python_first(tmp_path):
    found = find_binary("rg", [str(tmp_path)], search_path="/usr/bin")

    assert found == os.path.realpath(Path(sysconfig.get_path("scripts"), "rg"))


def test_a_program_is_found_along_the_path(tools):
    assert find_binary("helper", [], search_path=f"/nowhere:{tools}") == str(tools / "helper")
    assert find_binary("helper", [], search_path="/nowhere") is None


def test_a_program_inside_a_root_is_never_taken(tools, tmp_path):
    assert find_binary("helper", [str(tmp_path)], search_path=str(tools)) is None


def test_a_link_into_a_root_and_a_link_out_of_a_root_are_not_taken(tools, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "helper").symlink_to(tools / "helper")
    inner = root / "evil"
    inner.write_text("#!/bin/sh\n")
    inner.chmod(0o755)
    (tools / "evil").symlink_to(inner)

    assert find_binary("helper", [str(root)], search_path=str(root)) is None
    assert find_binary("evil", [str(root)], search_path=str(tools)) is None


def test_relative_and_empty_entries_of_the_path_are_passed_over(tools, monkeypatch):
    monkeypatch.chdir(tools)

    assert find_binary("helper", [], search_path=":.:../tools") is None


@pytest.mark.parametrize("mode", [0o644, 0o757])
def test_a_file_that_is_not_executable_or_open_to_everybody_is_not_taken(tools, mode):
    (tools / "helper").chmod(mode)

    assert find_binary("helper", [], search_path=str(tools)) is None


@pytest.mark.threat("A46")
@pytest.mark.parametrize("mode", [0o777, 0o1777], ids=["open", "sticky"])
def test_a_program_in_a_directory_that_everybody_may_write_is_not_taken(tools, tmp_path, mode):
    link = tmp_path / "other" / "helper"
    link.parent.mkdir()
    link.symlink_to(tools / "helper")
    both = f"{tools}:{link.parent}"
    assert find_binary("helper", [], search_path=both) == str(tools / "helper")

    tools.chmod(mode)

    assert find_binary("helper", [], search_path=both) is None
    assert find_trusted([str(link), str(tools / "helper")], []) is None


def test_a_link_in_a_directory_that_everybody_may_write_is_not_taken(tools, tmp_path):
    link = tmp_path / "other" / "helper"
    link.parent.mkdir()
    link.symlink_to(tools / "helper")
    link.parent.chmod(0o777)

    assert find_binary("helper", [], search_path=str(link.parent)) is None


def test_a_program_of_somebody_else_is_not_taken(tools, monkeypatch):
    owner = (tools / "helper").stat().st_uid
    os.chown(tools / "helper", 12345, -1) if owner == 0 else monkeypatch.setattr(
        os, "geteuid", lambda: owner + 1
    )

    assert find_binary("helper", [], search_path=str(tools)) is None


def test_a_directory_is_not_a_program(tools):
    (tools / "folder").mkdir()

    assert find_binary("folder", [], search_path=str(tools)) is None


def test_static_programs_are_told_from_those_that_load_libraries(tools, tmp_path):
    static = find_binary("rg", [str(tmp_path)])

    assert static is not None
    assert not needs_loader(static)
    assert needs_loader(os.path.realpath("/bin/cat"))
    assert needs_loader(str(tools / "helper"))


def test_a_programs_hash_is_that_of_its_bytes():
    assert sha256(sys.executable) == hashlib.sha256(Path(sys.executable).read_bytes()).hexdigest()
