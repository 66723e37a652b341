"""How programs are found: along the command's own path, as the shell would."""

import os

from handrail.host.processes.command_programs import find_program, resolve


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_first_program_on_the_path_is_found(tmp_path):
    first, second = program(tmp_path / "a" / "tool"), program(tmp_path / "b" / "tool")

    assert find_program("tool", f"{tmp_path}/a:{tmp_path}/b") == first
    assert find_program("tool", f"{tmp_path}/b:{tmp_path}/a") == second
    assert find_program("tool", f"{tmp_path}/c") is None


def test_what_cannot_be_run_is_passed_over(tmp_path):
    (tmp_path / "a" / "tool").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "tool").write_text("text")
    last = program(tmp_path / "c" / "tool")

    assert find_program("tool", ":".join(f"{tmp_path}/{name}" for name in "abc")) == last


def test_the_answer_is_where_links_lead(tmp_path):
    real = program(tmp_path / "workspace" / "evil")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ls").symlink_to(real)

    assert find_program("ls", f"{tmp_path}/bin") == real
    assert resolve(f"{tmp_path}/bin/../bin/ls") == real


def test_the_current_directory_is_no_place_to_look(tmp_path, monkeypatch):
    program(tmp_path / "tool")
    monkeypatch.chdir(tmp_path)

    assert find_program("tool", ".::bin/../") is None


def test_a_path_is_no_name(tmp_path):
    path = program(tmp_path / "tool")

    assert find_program(path, os.fspath(tmp_path)) is None
    assert find_program("", os.fspath(tmp_path)) is None
    assert find_program("a\0b", os.fspath(tmp_path)) is None
