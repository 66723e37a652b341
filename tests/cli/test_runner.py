import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.cli.commands.record import log


def test_a_workspace_that_is_no_directory_is_a_usage_error(handrail, workspace):
    missing = handrail("-w", workspace / "nope", "call", "read_file", "path=a")
    file = handrail("-w", workspace / "a.txt", "log")

    assert (missing.code, file.code) == (2, 2)
    assert missing.err.startswith("invalid_arguments: the workspace ")
    assert f"'{workspace}/nope'" in missing.err


def test_a_named_configuration_that_is_not_there_is_a_usage_error(handrail):
    done = handrail("--config", "nope.toml", "call", "read_file", "path=a.txt")

    assert done.code == 2
    assert "file 'nope.toml'" in done.err


def test_a_broken_configuration_is_named_and_nothing_runs(handrail, own_home):
    file = own_home / "config" / "handrail" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("mode = [")

    done = handrail("call", "read_file", "path=a.txt")

    assert (done.code, done.out) == (2, "")
    assert str(file) in done.err


def test_the_record_can_be_read_in_spite_of_a_broken_configuration(handrail, own_home):
    handrail("call", "read_file", "path=a.txt")
    file = own_home / "config" / "handrail" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("mode = [")

    assert handrail("log").code == 0
    assert handrail("verify").code == 0


def test_a_mode_that_does_not_exist_names_those_that_do(handrail):
    done = handrail("--mode", "brave", "call", "read_file", "path=a.txt")

    assert done.code == 2
    assert "accept-edits" in done.err


@pytest.mark.parametrize("command", ["log", "show", "verify", "call"])
def test_a_store_of_a_newer_version_is_refused_in_words(handrail, tmp_path, command):
    store = tmp_path / "store.db"
    handrail("--store", store, "call", "read_file", "path=a.txt")
    with sqlite3.connect(store) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()

    words = ["call", "read_file", "path=a.txt"] if command == "call" else [command]
    done = handrail("--store", store, *words)

    assert (done.code, done.out) == (6, "")
    assert "schema version 99" in done.err
    assert "hint: upgrade Handrail" in done.err


@pytest.mark.parametrize("command", ["log", "show", "verify"])
def test_a_file_that_is_no_store_is_refused_in_words(handrail, tmp_path, command):
    store = tmp_path / "store.db"
    store.write_bytes(b"this is not a database" * 100)

    done = handrail("--store", store, command)

    assert (done.code, done.out) == (6, "")
    assert done.err.startswith("store_unavailable: ")
    assert "hint: " in done.err


def test_a_problem_is_json_where_json_was_asked_for(handrail):
    done = handrail("--json", "-w", "nope", "log")

    assert (done.code, done.err) == (2, "")
    assert done.json["problem"]["code"] == "invalid_arguments"


def test_a_bug_is_one_line_and_a_request_to_report_it(handrail, monkeypatch):
    monkeypatch.setattr(log, "run", _fail)

    done = handrail("log")

    assert (done.code, done.out) == (1, "")
    assert done.err.removeprefix("internal: ").startswith("ValueError: off by one \\x1b[2J\n")
    assert "HANDRAIL_DEBUG=1" in done.err


def test_a_bug_shows_its_traceback_only_when_asked(handrail, monkeypatch):
    monkeypatch.setattr(log, "run", _fail)
    monkeypatch.setenv("HANDRAIL_DEBUG", "1")

    assert "Traceback" in handrail("log").err


def test_an_interruption_is_one_line_and_its_own_exit_code(handrail, monkeypatch):
    monkeypatch.setattr(log, "run", _interrupt)

    done = handrail("log")

    assert (done.code, done.out, done.err) == (130, "", "interrupted\n")


def test_a_reader_that_has_seen_enough_is_not_an_error(handrail, workspace):
    handrail("call", "read_file", "path=a.txt")
    program = Path(sys.executable).with_name("handrail")

    running = subprocess.Popen([program, "log"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    running.stdout.close()
    errors = running.stderr.read()
    running.stderr.close()

    assert (running.wait(timeout=60), errors) == (0, b"")


def _fail(_options):
    raise ValueError("off by one \x1b[2J")


def _interrupt(_options):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("redirection", "code", "complaint"),
    [(">&-", 0, b""), (">/dev/full", 1, b"unavailable: ")],
)
def test_output_that_cannot_be_written_is_no_bug(handrail, redirection, code, complaint):
    handrail("call", "read_file", "path=a.txt")
    program = Path(sys.executable).with_name("handrail")

    done = subprocess.run(
        ["sh", "-c", f'exec "$0" log {redirection}', program],
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stderr[: len(complaint)]) == (code, complaint)
    assert len(done.stderr.splitlines()) == code


def test_a_directory_that_is_gone_is_no_workspace(workspace):
    program = Path(sys.executable).with_name("handrail")

    done = subprocess.run(
        ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$0" log', program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 2
    assert done.stderr.startswith("invalid_arguments: the workspace '.'")


@pytest.mark.parametrize("words", [("--json", "wibble"), ("log", "--json", "--bogus")])
def test_wrong_words_are_told_as_json_where_that_is_asked_for(handrail, words):
    done = handrail(*words)

    assert (done.code, done.err) == (2, "")
    assert done.lines[0]["problem"]["code"] == "invalid_arguments"
    assert "--help" in done.lines[0]["problem"]["hint"]
