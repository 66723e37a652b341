"""`handrail run` with its prompt at the bottom, as a user sees it on a screen, wide and narrow."""

import json
import os
import signal
import termios

import pytest
from tests.support.screen import Screen
from tests.support.waiting import wait_until

ROWS = 40
EVIL = "\x1b]0;title\x07\x1b[2J\x1b[31mred \u202e"


@pytest.fixture(params=[80, 48])
def live(request, terminal, workspace, tmp_path):
    """Start a conversation with a script; `seen` is the screen as the user sees it."""
    config = tmp_path / "ask.toml"
    config.write_text('[permissions]\nask = ["write_file(ask.txt)"]\n')

    def start(*lines, words=(), **environment):
        file = tmp_path / "live.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        words = ["run", "--model", f"script:{file}", "--config", str(config), *words]
        running = terminal(words, columns=request.param, **environment)
        screen, fed = Screen(request.param, ROWS), [0]

        def seen():
            data = running.screen[fed[0] :]
            fed[0] += len(data)
            return screen.feed(data)

        running.seen = seen
        running.wait_until(lambda _: running.seen().lines()[-1] == ">")
        return running

    return start


def call(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


def wait_for(running, text):
    running.wait_until(lambda _: any(text in line for line in running.seen().lines()))


def wait_idle(running):
    running.wait_until(lambda _: running.seen().lines()[-2].startswith("mode "))


GATE = "until [ -e go.txt ]; do sleep 0.1; done; seq 1 60"


def test_a_line_that_is_typed_while_the_model_works_stays_whole(live, workspace):
    words = "These are the words of a model, more of them than one row of the screen can show."
    command = {"text": words, **call("run_command", command=GATE)}
    running = live(command, {"text": "Noted."}, words=["--mode", "bypass"])
    running.type("go\n")
    wait_for(running, "• run_command")
    running.type("use dïgits")
    running.wait_until(lambda _: running.seen().lines()[-1] == "> use dïgits")
    status = running.seen().lines()[-2]
    workspace.joinpath("go.txt").write_text("")
    running.wait_until(lambda _: "│ Noted." in running.seen().lines())
    kept = running.seen().lines()[-1]
    running.type("\x7f\x7fs\n")
    wait_for(running, "> use dïgis")
    wait_idle(running)
    running.type("/exit\n")

    assert running.end() == 0
    assert status.startswith("working ")
    assert "run_command" in status
    # Output has scrolled by meanwhile.
    assert kept == "> use dïgits"
    own = [line for line in running.seen().transcript() if line.startswith("│ ")]
    said = " ".join(line.removeprefix("│ ") for line in own)
    assert said.startswith(f"{words} Noted.")


def test_a_steering_line_reaches_the_model_and_the_status_line_counts(live, workspace, handrail):
    todos = [
        {"content": "Look", "status": "in_progress", "active_form": "Looking"},
        {"content": "Test", "status": "pending"},
    ]
    running = live(
        call("todo_write", todos=todos),
        call("run_command", command=GATE),
        {"text": "Done."},
        words=["--budget", "tokens=200k", "--mode", "bypass"],
    )
    running.type("go\n")
    running.wait_until(lambda _: "0/2 Look" in running.seen().lines()[-2])
    running.type("faster\n")
    wait_for(running, "next step: faster")
    workspace.joinpath("go.txt").write_text("")
    wait_for(running, "│ Done.")
    wait_idle(running)
    running.type("/exit\n")

    assert running.end() == 0
    assert "  faster\n" in handrail("session", "show").out


def test_ctrl_c_gives_the_prompt_back_with_what_was_typed(live):
    running = live({"fault": "hang", "after": 600}, {"text": "A message that hangs."})
    running.type("go\n")
    wait_for(running, "│ A message")
    running.type("half")
    running.wait_until(lambda _: running.seen().lines()[-1] == "> half")
    running.type("\x03")
    # The message would hang for ten minutes; test_terminal_day.py measures how soon.
    wait_for(running, "stopped;")
    running.type("\x15/exit\n")

    # The last task was stopped.
    assert running.end() == 130


def test_a_question_has_the_terminal_for_itself_and_typed_text_comes_back(live, workspace):
    running = live(call("write_file", path="ask.txt", content="x"), {"text": "Written."})
    running.type("go\nyes")
    wait_for(running, "Allow this once?")
    asked = running.seen()
    running.type("yes\n")
    wait_for(running, "│ Written.")
    wait_idle(running)
    kept = running.seen().lines()[-1]
    running.type("\x15/exit\n")

    assert running.end() == 0
    assert workspace.joinpath("ask.txt").read_text() == "x"
    # What was typed before the question neither answered it nor got lost.
    assert not any(line.startswith("working") for line in asked.lines())
    assert kept == "> yes"


@pytest.mark.threat("A11")
def test_no_sequence_of_the_model_reaches_the_terminal(live):
    running = live({"text": f"{EVIL} harmless"})
    running.type("go\n")
    wait_for(running, "harmless")
    wait_idle(running)
    running.type("/exit\n")

    # The screen raises an error for any sequence that Handrail does not write.
    assert running.end() == 0
    assert b"\x1b]" not in running.screen
    assert b"\x1b[2J" not in running.screen


def test_a_pasted_text_of_several_lines_is_one_task(live, handrail):
    running = live({"text": "Understood."})
    running.type("\x1b[200~first line\nsecond line\x1b[201~")
    running.wait_until(lambda _: "↵" in running.seen().lines()[-1])
    running.type("\n")
    wait_for(running, "│ Understood.")
    wait_idle(running)
    running.type("/exit\n")
    running.end()

    assert "  first line\n  second line\n" in handrail("session", "show").out


def test_the_terminal_is_given_back_as_it_was(live):
    running = live({"text": "Hello."})
    before = termios.tcgetattr(running._keyboard)[3]
    os.kill(running._process, signal.SIGTERM)

    assert running.end() == -signal.SIGTERM
    assert not before & termios.ICANON
    left = running.seen()
    assert (left.top, left.bottom) == (0, ROWS - 1)
    assert left.lines()[-1] == ""


@pytest.mark.parametrize("how", [{"TERM": "dumb"}, {"NO_COLOR": "1"}, {"words": ["--plain"]}])
def test_plain_lines_where_they_are_wanted(terminal, tmp_path, how):
    file = tmp_path / "plain.jsonl"
    file.write_text('{"text": "Hello."}\n')
    words = ["run", "--model", f"script:{file}", *how.pop("words", [])]
    running = terminal(words, columns=80, **how)
    running.wait_for("> ")
    running.type("go\n")
    running.wait_for("│ Hello.")
    running.wait_for_prompt()
    running.type("/exit\n")

    assert running.end() == 0
    assert b"\x1b[1;" not in running.screen
    assert b"\x1b7" not in running.screen


def test_nothing_is_printed_into_a_question_and_tasks_show_all_that_runs(live, workspace):
    command = "until [ -e go.txt ]; do sleep 0.1; done; seq 1 3; touch ended.txt"
    working = [
        {"name": "run_command", "arguments": {"command": "sleep 60", "background": True}},
        {"name": "subagent", "arguments": {"task": "Change it", "agent": "explore"}},
        {"name": "run_command", "arguments": {"command": command}},
        {"name": "write_file", "arguments": {"path": "ask.txt", "content": "x"}},
    ]
    lines = [
        {"calls": working},
        {"text": "Ready."},
        {"agent": "explore"},
        call("write_file", path="x.txt", content="x"),
        {"text": "not possible"},
    ]
    running = live(*lines, words=["--mode", "bypass"])
    running.type("go\n")
    wait_for(running, "Allow this once?")
    workspace.joinpath("go.txt").write_text("")
    wait_until(workspace.joinpath("ended.txt").exists)
    running.type("no\n")
    wait_for(running, "│ Ready.")
    wait_idle(running)
    running.type("/tasks\n")

    def rows():
        return "\n".join(running.seen().lines())

    running.wait_until(lambda _: "explore-" in rows().partition("subagents:")[2])
    tasks = rows()
    running.type("/exit\n")

    assert running.end() == 0
    question, _, after = (
        running.screen.decode().partition("Allow this once?")[2].partition("no\r\n")
    )
    assert "┆" not in question
    assert "↳" not in question
    assert "┆ 3" in after
    # What the subagent was not allowed is shown.
    assert "write_file refused," in after
    assert "unknown_tool: " in after
    assert "1  running  sleep 60" in tasks


def test_a_switch_to_a_mode_that_allows_more_is_read_whole(live):
    running = live({"text": "x"}, words=["--mode", "default"])
    running.type("/mode bypass\n")
    running.wait_until(lambda _: running.seen().lines()[-1] == "Type bypass to switch:")
    shown = " ".join(" ".join(running.seen().lines()).split())
    running.type("bypass\n")
    running.wait_until(lambda _: running.seen().lines()[-2].startswith("mode bypass"))
    running.type("/exit\n")

    assert running.end() == 0
    assert "it allows more than default" in shown
