"""The lines of a run: which events are printed, with which margins, and how much of an output."""

import errno
import io

import pytest

from handrail.cli.commands.agent.run_status import RunStatus
from handrail.cli.commands.agent.view import CommandOutput, HeldOutput, RunView
from handrail.core.problems import Problem


class Told:
    """An event with these facts."""

    def __init__(self, type, **facts):
        self.type, self._facts = type, facts
        vars(self).update({name: facts[name] for name in ("agent", "call_id") if name in facts})

    def to_dict(self):
        return {"type": self.type, **self._facts}


@pytest.fixture(autouse=True)
def no_columns(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)


def make_view(stream=None, status=None):
    """A view, and what it has printed in `shown`."""
    stream = io.StringIO() if stream is None else stream
    view = RunView(stream, status)
    view.shown = stream
    return view


@pytest.fixture
def view():
    return make_view()


def printed(view, *events):
    stream = view.shown
    for event in events:
        view.on_event(event)
    return stream.getvalue().splitlines()


def start(call="c1", agent="main", summary="reads a"):
    return Told("tool_call_start", call_id=call, agent=agent, summary=summary, tool="read_file")


def end(call="c1", status="ok", code=None, reason="", tool="read_file", agent="main"):
    return Told(
        "tool_call_end",
        call_id=call,
        status=status,
        code=code,
        reason=reason,
        tool=tool,
        agent=agent,
    )


def output(text, call="c1"):
    return Told("tool_call_output", call_id=call, text=text)


def agent_start(agent="explore-1", depth=1, task="look around"):
    return Told("agent_start", agent=agent, depth=depth, task=task)


def agent_end(agent="explore-1", status="done"):
    usage = {"input_tokens": 1200, "output_tokens": 34}
    return Told("agent_end", agent=agent, status=status, usage=usage)


def heartbeat(elapsed, call="c1"):
    return Told("tool_call_heartbeat", call_id=call, elapsed_s=elapsed, tool="run_command")


@pytest.mark.parametrize(
    ("pieces", "now", "later"),
    [
        ([], [], []),
        (["a\nb"], ["a"], ["b"]),
        (["a", "b\n"], ["ab"], []),
        (["1\n2\n3\n4\n5\n6\n7\n8\n"], list("12345678"), []),
        (["1\n2\n3\n4\n5\n6\n7\n8\n9\n"], list("12345678"), ["9"]),
        (["x\n" * 8, "y\n" * 8], ["x"] * 8, ["y"] * 8),
        (["x\n" * 8, "y\n" * 9], ["x"] * 8, ["… 1 line left out", *["y"] * 8]),
        (["x\n" * 8, "y\n" * 20 + "z"], ["x"] * 8, ["… 13 lines left out", *["y"] * 7, "z"]),
    ],
)
def test_of_a_long_output_the_first_and_the_last_lines_are_shown(pieces, now, later):
    output = CommandOutput()

    assert [line for piece in pieces for line in output.add(piece)] == now
    assert list(output.end()) == later


def test_text_of_the_model_has_a_margin(view):
    lines = printed(
        view,
        Told("model_text", text="Hel"),
        Told("model_text", text="lo\nyou\x1b\n"),
        Told("model_text", text="and"),
        Told("model_response", usage={"input": 5, "output": 6}),
        Told("model_text", text="more"),
    )

    margin = lines[0].partition("Hello")[0]
    assert margin.strip() and margin != lines[0]
    assert lines == [f"{margin}Hello", f"{margin}you\\x1b", f"{margin}and", f"{margin}more"]


def test_a_line_of_handrail_ends_the_line_of_the_model(view):
    view.on_event(Told("model_text", text="Hello"))
    view.line("done")
    view.line()

    assert view.shown.getvalue().endswith("Hello\ndone\n\n")


def test_a_call_and_its_output(view):
    lines = printed(view, start(summary="runs\nmake"), output("one\ntwo\n"), end())

    assert lines == ["• runs\\nmake", "  ┆ one", "  ┆ two"]


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        (end(status="planned"), ["  not run: it is only planned"]),
        (end(status="error", code="not_found", reason="no a"), ["  error, not_found: no a"]),
        (end(status="refused", code="cancelled"), ["  refused"]),
        (
            end(status="error", code="unknown_tool", tool="grep"),
            ["  error, unknown_tool", "  `handrail run --tools grep` offers it in a new session"],
        ),
        (end(status="error", code="unknown_tool", tool="other"), ["  error, unknown_tool"]),
        (
            end(status="error", code="untrusted", tool="skill"),
            [
                "  error, untrusted",
                "  `handrail skills show NAME` prints it, `handrail skills trust NAME` trusts it",
            ],
        ),
        (end(status="error", code="untrusted", tool="grep"), ["  error, untrusted"]),
        (end(status="ok", code="untrusted", tool="skill"), []),
    ],
)
def test_how_a_call_ended(view, ended, expected):
    assert printed(view, start(), ended)[1:] == expected


def test_an_agent_that_lacks_a_tool_is_named(view):
    lines = printed(
        view,
        agent_start("helper", 0),
        start(),
        end(status="error", code="unknown_tool", tool="grep"),
    )

    assert lines[-1].startswith("  agent helper ")


def test_subagents_are_shown_in_short(view):
    lines = printed(
        view,
        agent_start(),
        start("c2", "explore-1"),
        output("not shown\n", "c2"),
        Told("model_text", agent="explore-1", text="not shown"),
        end("c2", agent="explore-1"),
        start("c3", "explore-1", "writes b"),
        end("c3", "refused", "denied", "a rule", "write_file"),
        agent_end(),
        agent_end(),
        start("c4", "explore-1"),
    )

    shown = [line.removeprefix("  ↳ explore-1 ") for line in lines]
    assert shown[:3] == ["started: look around", "• reads a", "• writes b"]
    assert shown[3] == "write_file refused, denied: a rule"
    assert shown[4:] == ["done, 1,234 tokens", "• reads a"]


def test_other_events(view):
    lines = printed(
        view,
        Told("unknown"),
        Told("model_retry", wait_s=1.25, code="rate_limited"),
        Told("notification", text="look\nhere"),
        Told("budget_warning", used=1234.0, limit=5000, kind="tokens"),
        Told(
            "todos_changed",
            todos=[
                {"id": "1", "content": "a", "status": "completed", "owner": "main"},
                {"id": "2", "content": "b", "status": "in_progress", "owner": "main"},
                {
                    "id": "3",
                    "content": "c",
                    "status": "in_progress",
                    "owner": "main",
                    "active_form": "doing c",
                },
            ],
        ),
    )

    assert "(rate_limited)" in lines[0]
    assert lines[0].endswith("in 1.2 s")
    assert lines[1] == "note: look here"
    assert lines[2] == "budget: 1,234 of 5,000 tokens used"
    assert lines[3:] == ["  ▸ b", "  ▸ doing c"]


def test_a_long_command_is_noted_now_and_then(view):
    lines = printed(view, start(), heartbeat(5), heartbeat(10), heartbeat(19), heartbeat(20))
    printed(view, output("x\n" * 8 + "latest\n"))
    lines_after = printed(view, heartbeat(30))

    assert lines == [
        "• reads a",
        "  ┆ … run_command runs for 10 s",
        "  ┆ … run_command runs for 20 s",
    ]
    assert lines_after[-1] == "  ┆ … run_command runs for 30 s: latest"


@pytest.mark.parametrize(
    ("problem", "lines"),
    [
        (Problem("not_found", "no a"), ["not_found: no a"]),
        (Problem("not_found", "Not found: a", hint="look"), ["Not found: a", "hint: look"]),
    ],
)
def test_a_problem_and_its_hint(view, problem, lines):
    view.problem(problem)

    assert view.shown.getvalue().splitlines() == lines


def test_text_is_one_line_where_there_is_no_terminal(view):
    view.text("one\ntwo " + "x" * 300, indent="  ")
    view.text("session 1 · a model · mode default")
    view.labelled("used", "5 tokens " * 40)
    view.labelled("a long label", "x")
    view.note("remark")

    assert view.shown.getvalue().splitlines() == [
        "  one two " + "x" * 300,
        "session 1 · a model · mode default",
        "used      " + "5 tokens " * 40,
        "a long label x",
        "  remark",
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_at_a_terminal_text_is_wrapped_and_further_rows_are_indented(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    view = make_view(Terminal())
    view.text("word " * 25)
    view.labelled("used", "word " * 15)

    lines = view.shown.getvalue().splitlines()
    assert len(lines) > 3
    assert all(len(line) <= 50 for line in lines)
    assert [line.startswith("  word") for line in lines[:2]] == [False, True]
    labelled = [line for line in lines if line.startswith(("used", " " * 10))]
    assert labelled[0].startswith("used      word")
    assert labelled[1].startswith(" " * 10 + "word")


def test_nothing_is_printed_into_a_question(view):
    stream = view.shown
    view.on_event(Told("model_text", text="Hello"))
    with view.question():
        assert stream.getvalue().endswith("Hello\n")
        with view.question():
            view.line("later")
        assert "later" not in stream.getvalue()
        view.on_event(heartbeat(99))
        view.line("last")
    view.line("after")

    assert stream.getvalue().splitlines()[-3:] == ["later", "last", "after"]
    assert "runs for" not in stream.getvalue()


def test_time_in_a_question_is_not_work(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("handrail.cli.commands.agent.view.time.monotonic", lambda: now[0])
    view = make_view()
    view.on_event(start())
    with view.question():
        now[0] += 50
    view.on_event(heartbeat(55))
    assert "runs for" not in view.shown.getvalue()
    view.on_event(heartbeat(60))
    assert "runs for 10 s" in view.shown.getvalue()
    view.on_event(start("c2"))
    view.on_event(heartbeat(10, "c2"))
    assert view.shown.getvalue().count("runs for 10 s") == 2


def test_held_output_is_folded_as_it_will_be_printed():
    assert HeldOutput(folds=True).isatty()
    assert not HeldOutput(folds=False).isatty()


class Broken(io.StringIO):
    def __init__(self, number):
        super().__init__()
        self.number = number
        self.attempts = 0

    def write(self, text):
        self.attempts += 1
        raise OSError(self.number, "no")


@pytest.mark.parametrize("number", [errno.EPIPE, errno.EIO])
def test_printing_stops_when_nobody_reads(number):
    output = Broken(number)
    view = RunView(output)

    view.line("a")
    view.line("b")
    view.on_event(start())

    assert output.attempts == 1


def test_another_error_of_the_output_is_raised():
    with pytest.raises(OSError):
        RunView(Broken(errno.ENOSPC)).line("a")


def test_the_output_of_a_call_in_one_piece(view):
    view.output_text("one\ntwo\n\n")

    assert view.shown.getvalue() == "  ┆ one\n  ┆ two\n"


def test_the_status_line_follows():
    status = RunStatus()
    view = RunView(io.StringIO(), status)
    view.show_idle("ready")
    assert status.text() == "ready"
    view.on_event(Told("agent_start", agent="main", depth=0, task="x"))
    assert status.text().startswith("working 0 s")
    view.end_task()
    assert status.text() == "ready"
    RunView(io.StringIO()).show_idle("nothing")
    RunView(io.StringIO()).end_task()
