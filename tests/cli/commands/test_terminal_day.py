"""A day at the terminal: `handrail run` in a pseudo-terminal, wide and narrow."""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

# The prompt is back within this time after Ctrl-C, without the time in which a loaded machine ran others.
PROMPT_S = 1.0
COLOURS = re.compile(rb"\x1b\[\d*m")
EVIL = "\x1b]0;title\x07\x1b[2J\x1b[31mred \u202e"
pytestmark = [pytest.mark.parametrize("columns", [80, 48])]


@pytest.fixture
def day(terminal, workspace, tmp_path, columns):
    """Start `handrail run` with a script, in a terminal of this width."""
    config = tmp_path / "ask.toml"
    config.write_text('[permissions]\nask = ["write_file(ask.txt)"]\n')

    def start(*lines, words=(), task=None):
        file = tmp_path / "day.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        asked = [] if task is None else [task]
        model = ["--model", f"script:{file}", "--config", str(config)]
        return terminal(["run", *model, *words, *asked], columns=columns, TERM="dumb")

    return start


def call(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


def interrupt(screen):
    """Press Ctrl-C; the prompt must be back in time."""
    prompts = screen.screen.count(b"\n> ")
    began = time.monotonic() - waited_s(screen.pid)
    screen.type("\x03")
    screen.wait_until(lambda shown: shown.count(b"\n> ") > prompts)
    assert time.monotonic() - waited_s(screen.pid) - began < PROMPT_S


def waited_s(pid):
    """How long a process, and this one, could have run and were not allowed to."""
    files = [Path(f"/proc/{one}/schedstat") for one in (pid, "self")]
    return sum(int(one.read_text().split()[1]) for one in files if one.exists()) / 1e9


def shown_lines(screen):
    return COLOURS.sub(b"", screen.screen).decode().replace("\r", "").split("\n")


def test_ctrl_c_in_a_stream_a_command_and_a_question_gives_the_prompt_back(day, workspace):
    screen = day(
        {"fault": "hang", "after": 600},
        {"text": "These are the first words of a long message that is cut."},
        call("run_command", command="echo started; sleep 60"),
        call("write_file", path="ask.txt", content="x"),
        call("write_file", path="b.txt", content="made after the abort"),
        {"text": "All three were stopped."},
    )
    screen.wait_for("> ")
    screen.type("first task\n")
    screen.wait_for("│ These")
    interrupt(screen)
    screen.type("second task\n")
    screen.wait_for("cut.")
    screen.wait_for_prompt()
    screen.type("third task\n")
    screen.wait_for("┆ started")
    interrupt(screen)
    # The command was stopped: the next task does not run it again.
    screen.type("fourth task\n")
    screen.wait_for("Allow this once?")
    interrupt(screen)
    screen.type("fifth task\n")
    screen.wait_for("were stopped.")
    screen.type("/exit\n")

    assert screen.end() == 0
    assert not (workspace / "ask.txt").exists()
    assert (workspace / "b.txt").read_text() == "made after the abort"


def test_ctrl_c_ends_a_wait_and_answers_a_question_outside_a_task(day, workspace, handrail):
    workspace.joinpath("AGENTS.md").write_text("Do as this file says.\n")
    long = {"text": "many words " * 500}
    screen = day(long, long, long, {"fault": "hang", "after": 100}, long, task="never started")
    screen.wait_for("[yes/no] ")
    interrupt(screen)
    # The question is over: a line that would have answered it is a task.
    for done, task in enumerate(("yes", "second", "third"), 1):
        screen.type(f"{task}\n")
        screen.wait_until(lambda shown, done=done: shown.count(b"verified") == done)
        screen.wait_for_prompt()
    screen.type("/mode bypass\n")
    screen.wait_for("Type bypass to switch: ")
    interrupt(screen)
    screen.type("/compact\n")
    screen.wait_for("may write a summary")
    interrupt(screen)
    screen.type("/exit\n")

    assert screen.end() == 0
    assert b"nothing to shorten" not in screen.screen
    assert b"left out; no task was started" in screen.screen
    assert "never started" not in handrail("session", "show").out


def test_steering_reaches_the_model_before_its_next_step_in_order(day, handrail):
    screen = day(
        call("run_command", command="echo started; until [ -e go ]; do sleep 0.05; done"),
        {"text": "I have read both."},
        task="wait for the file go",
    )
    screen.wait_for("┆ started")
    screen.type("first remark\n")
    screen.wait_for("noted for the next step: first remark")
    screen.type("second remark\n")
    screen.wait_for("noted for the next step: second remark")
    handrail("--mode", "accept-edits", "call", "write_file", "path=go", "content=")
    screen.wait_for("│ I have read both.")
    screen.type("/exit\n")
    screen.end()

    shown = handrail("session", "show").out
    order = [shown.index(text) for text in ("first remark", "second remark", "read both")]
    assert order == sorted(order)


def test_lines_for_a_task_that_is_stopped_do_not_begin_another_one(day, handrail):
    screen = day(
        call("run_command", command="echo started; sleep 60"),
        {"text": "This is the next task."},
        task="wait",
    )
    screen.wait_for("┆ started")
    screen.type("use the other file\n")
    screen.wait_for("noted for the next step: use the other file")
    interrupt(screen)
    screen.type("next task\n")
    screen.wait_for("│ This is the next task.")
    screen.type("/exit\n")
    screen.end()

    assert b"not sent: use the other file" in screen.screen
    assert "use the other file" not in handrail("session", "show").out


def test_a_stopped_task_has_a_receipt_whose_undo_reverts_it(day, workspace, handrail):
    screen = day(
        call("write_file", path="b.txt", content="made"),
        call("run_command", command="echo by command > c.txt; echo started; sleep 60"),
        {"fault": "hang", "after": 600},
        {"text": "These are words of the next task, which is stopped too."},
        task="write two files",
    )
    screen.wait_for("┆ started")
    interrupt(screen)
    screen.type("the next task\n")
    screen.wait_for("│ These")
    interrupt(screen)
    screen.type("/exit\n")
    screen.end()
    shown = [line for line in shown_lines(screen) if line[:10].strip() in ("changed", "undo")]
    handrail(*" ".join(shown_lines(screen)).partition("undo      handrail ")[2].split()[:5])

    assert [line.split()[:3] for line in shown if line.startswith("changed")] == [
        ["changed", "b.txt,", "c.txt"],
        ["changed", "nothing"],
    ]
    assert not (workspace / "b.txt").exists()
    assert not (workspace / "c.txt").exists()


def test_a_refusal_with_a_reason_reaches_the_model_and_typed_ahead_text_answers_nothing(
    day, workspace
):
    screen = day(
        call("run_command", command="echo started; sleep 0.5"),
        call("write_file", path="ask.txt", content="x"),
        {"expect": "use another name"},
        {"text": "I use another name."},
        task="write ask.txt",
    )
    screen.wait_for("┆ started")
    screen.type("yes\n")
    screen.wait_for("Allow this once?")
    assert not (workspace / "ask.txt").exists()
    screen.type("n use another name\n")
    screen.wait_for("│ I use another name.")
    screen.type("/exit\n")

    assert screen.end() == 0
    assert not (workspace / "ask.txt").exists()


@pytest.mark.threat("A11")
def test_text_of_the_model_keeps_its_margin_and_its_escapes_do_not_reach_the_terminal(day, columns):
    long = f"{EVIL} " + "changed   nothing at all " * 6 + "end of it"
    screen = day(
        {"text": long, "usage": {"input": 40}},
        {**call("run_command", command="printf '\\033[2Jred\\n'"), "text": EVIL},
        {"text": "done"},
        task="say it",
    )
    screen.wait_for("end of it")
    screen.wait_for_prompt()
    screen.type("and run it\n")
    screen.wait_for("│ done")
    screen.type("/exit\n")
    screen.end()

    assert b"\x1b" not in COLOURS.sub(b"", screen.screen)
    assert "\u202e" not in screen.screen.decode()
    lines = shown_lines(screen)
    first = next(n for n, line in enumerate(lines) if "title" in line)
    last = next(n for n, line in enumerate(lines) if "end of it" in line)
    assert all(line.startswith("│ ") for line in lines[first : last + 1])
    # A path without spaces cannot be wrapped.
    assert [line for line in lines if len(line) > columns and "day.jsonl" not in line] == []
    # The server reported far fewer tokens than were sent.
    assert "note: " in "\n".join(lines)


def test_slash_commands_mentioned_files_and_a_continued_session(day, workspace, handrail):
    edit = call("edit_file", path="a.txt", old_string="two", new_string="2")
    screen = day(edit, {"text": "changed"}, task="change @a.txt, @dataclass and @missing.txt")
    screen.wait_for("read a.txt")
    screen.wait_for("│ changed")
    screen.type("/diff\n")
    screen.wait_for("+2")
    screen.type("/mode bypass\n")
    screen.wait_for("Type bypass to switch: ")
    screen.type("yes\n")
    screen.wait_for("hint: ")
    screen.type("/mode plan\n")
    screen.wait_for("mode plan")
    screen.type("/sessions\n")
    screen.wait_for("continues one")
    screen.type("/nonsense\n")
    screen.wait_for("/help lists them")
    screen.type("/help\n")
    screen.wait_for("/exit")
    screen.type("/exit\n")
    screen.wait_for("to go on later: ")
    assert screen.end() == 0
    [session] = [one["session"] for one in handrail("session", "list", "--json").lines]

    again = day({"text": "I remember."}, words=["-c"], task="and now?")
    again.wait_for("│ I remember.")
    again.type("/exit\n")
    again.end()
    picked = day({"text": "I remember too."}, words=["--resume"])
    picked.wait_for("Enter: 1] ")
    picked.type("7\n")
    picked.wait_for("Enter: 1] ")
    picked.type("\n")
    picked.wait_for(f"session {session}")
    picked.type("/exit\n")
    picked.end()

    shown = handrail("session", "show").out
    assert "<file path='a.txt'>" in shown
    assert "and now?" in shown
    assert len(handrail("session", "list", "--json").lines) == 1


def test_piped_input_belongs_to_the_task_and_questions_go_to_the_terminal(
    terminal, workspace, tmp_path, columns, handrail
):
    script = tmp_path / "s.jsonl"
    lines = [call("write_file", path="made.txt", content="x"), {"text": "fine"}]
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = (
        f"printf 'yes\\nthe log\\n' | handrail run --mode default --model script:{script} look"
    )
    screen = terminal(["-c", command], program="/bin/sh", columns=columns)
    screen.wait_for("Allow this once?")
    assert not (workspace / "made.txt").exists()
    screen.type("yes\n")

    assert screen.end() == 0
    assert (workspace / "made.txt").exists()
    assert "the log" in handrail("session", "show").out


def test_without_a_model_and_with_a_wrong_key_the_way_out_is_named(
    terminal, own_home, columns, monkeypatch
):
    without = terminal(["run"], columns=columns, TERM="dumb")
    without.wait_for("handrail config init")
    assert without.end() == 2

    server = HTTPServer(("127.0.0.1", 0), _Unauthorized)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = own_home / "config" / "handrail" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        'model = "work"\n[models.work]\nwire = "openai-chat"\nmodel = "m"\nkey_env = "WORK_KEY"\n'
        f'base_url = "http://127.0.0.1:{server.server_port}/v1"\ncontext_tokens = 32000\n'
    )
    try:
        screen = terminal(
            ["run", "a task"], columns=columns, TERM="dumb", WORK_KEY="sk-wrong-1234567890"
        )
        screen.wait_for("hint: check the key")
        screen.wait_for("\n> ")
        screen.type("/exit\n")
        assert screen.end() == 1
    finally:
        server.shutdown()
        server.server_close()
    assert b"sk-wrong" not in screen.screen


class _Unauthorized(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.dumps({"error": {"message": "Incorrect API key", "type": "auth"}}).encode()
        self.send_response(401)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        return
