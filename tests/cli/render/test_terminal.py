"""With a person at a terminal: questions, colour, Ctrl-C, what runs."""

import os

import pytest

from handrail.cli.render.status_line import StatusLine
from handrail.core.events import CallEnded, CallHeartbeat

EDIT = ["call", "edit_file", "path=a.txt", "old_string=two", "new_string=2"]
QUESTION = "Allow this once? [yes/no] "


def test_a_change_happens_after_a_yes(terminal, workspace):
    running = terminal(EDIT)
    running.wait_for(QUESTION)
    before = (workspace / "a.txt").read_text()

    running.type("y\n")

    assert running.end() == 0
    assert before == "one\ntwo\n"
    assert (workspace / "a.txt").read_text() == "one\n2\n"


def test_a_no_refuses_the_change(terminal, workspace):
    running = terminal(EDIT)
    running.wait_for(QUESTION)
    running.type("n\n")

    assert running.end() == 5
    assert running.screen.count(b"denied: you declined")
    assert b"hint: " not in running.screen
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


def test_a_yes_typed_before_the_question_does_not_count(terminal, workspace):
    running = terminal(EDIT)
    running.type("y\n")
    running.wait_for(QUESTION)
    running.type("n\n")

    assert running.end() == 5
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


def test_the_person_sees_the_diff_before_answering(terminal):
    running = terminal(EDIT)
    running.wait_for(QUESTION)
    shown = running.screen.decode()
    running.type("n\n")
    running.end()

    assert "-two" in shown
    assert "+2" in shown


def test_ctrl_c_at_the_question_ends_at_once_and_is_recorded(terminal, handrail, workspace):
    running = terminal(EDIT)
    running.wait_for(QUESTION)
    running.type("\x03")

    assert running.end() == 130
    assert b"aborted: nothing was changed" in running.screen
    assert b"Traceback" not in running.screen
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"
    assert handrail("log", "--json").lines[0]["completed"]["status"] == "interrupted"
    assert handrail("verify").code == 0


def test_a_diff_is_coloured_on_a_terminal(terminal):
    running = terminal(["--mode", "accept-edits", *EDIT])

    assert running.end() == 0
    assert b"\x1b[31m-two\x1b[0m" in running.screen
    assert b"\x1b[32m+2\x1b[0m" in running.screen


def test_colour_is_left_out_where_it_is_not_wanted(terminal):
    running = terminal(["--mode", "accept-edits", *EDIT], NO_COLOR="1")

    assert running.end() == 0
    assert b"+2" in running.screen
    assert b"\x1b" not in running.screen


def test_json_is_never_coloured(terminal):
    running = terminal(["--mode", "accept-edits", "--json", *EDIT])

    assert running.end() == 0
    assert b"\x1b" not in running.screen


@pytest.mark.finding("F37")
def test_the_output_of_a_command_is_shown_as_it_comes(terminal, workspace, tmp_path):
    os.mkfifo(workspace / "gate")
    config = tmp_path / "config.toml"
    config.write_text("heartbeat_s = 0.1\n")
    command = r"command=printf 'one\n\033[2Jtwo\n'; cat gate"
    running = terminal(
        ["--mode", "sandboxed", "--config", str(config), "call", "run_command", command]
    )

    running.wait_for("one\r\n")
    running.wait_for("\\x1b[2Jtwo\r\n")
    assert b"\x1b[2J" not in running.screen
    running.screen = b""
    running.wait_for("run_command, ")
    (workspace / "gate").write_text("stdout:\nthree")

    assert running.end() == 0
    line, _, after = running.screen.rpartition(b"\r\x1b[K")
    assert b"run_command, " in line
    assert after == b"> stdout:\r\nthree\r\nexit_code: 0\r\n"


@pytest.mark.finding("F37")
def test_both_streams_of_a_failed_command_are_live(terminal):
    command = "command=echo out; echo err >&2; ls missing.txt"
    running = terminal(["--mode", "bypass", "call", "run_command", command])

    assert running.end() == 1
    lines = running.screen.decode().splitlines()
    assert lines.count("out") == lines.count("err") == 1
    assert lines[-2:] == ["exit_code: 2", lines[-1]]
    assert lines[-1].startswith("command_failed: ")


def test_while_a_person_is_asked_nothing_else_is_drawn(monkeypatch, capsys):
    monkeypatch.setattr("handrail.cli.render.status_line.use_colour", lambda stream: True)
    status, beat = StatusLine(), CallHeartbeat("c", "edit_file", 8.2)

    status.on_event(beat)
    with status.hidden():
        asked = capsys.readouterr().err
        status.on_event(beat)
        assert capsys.readouterr().err == ""
    status.on_event(beat)
    status.on_event(CallEnded("c", "edit_file", "ok", None, 9.0))

    assert asked == "\r\x1b[Kedit_file, 8 s\r\x1b[K"
    assert capsys.readouterr().err == asked
