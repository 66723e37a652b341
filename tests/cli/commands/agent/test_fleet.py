"""`handrail fleet`: what its options mean, and what it prints about a fleet."""

import asyncio
import json
import os
import signal
import socket
from contextlib import closing
from types import SimpleNamespace

import pytest

from handrail.cli.commands.agent import fleet as command
from handrail.cli.exit_codes import ExitCode
from handrail.core.problems import ProblemRaised
from handrail.scale import fleet as scale
from handrail.scale.executor import DEFAULT_AGENTS, LocalExecutor
from handrail.scale.journal import FleetCounts, FleetJournal
from handrail.scale.ray_executor import RayExecutor
from handrail.scale.report import FleetReport
from handrail.scale.state import FleetState
from handrail.scale.tasks import parse_task


def report(passed=1, ended=1, waiting=0):
    counts = FleetCounts(waiting, 0, ended, passed, {}, {}, 10, 0.0, None)
    return FleetReport("s", counts, 1.0)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        (" 20 ", 20),
        ("3k", 3 << 10),
        ("3KB", 3 << 10),
        ("4m", 4 << 20),
        ("2g", 2 << 30),
        ("1T", 1 << 40),
        ("5b", 5),
    ],
)
def test_sizes(text, size):
    assert command._size(text) == size


@pytest.mark.parametrize("text", ["", "0", "0g", "-1", "1.5g", "g", "1 g", "1kk"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ProblemRaised) as raised:
        command._size(text)

    assert raised.value.problem.code == "invalid_arguments"


@pytest.mark.parametrize(
    ("made", "draining", "code"),
    [
        (report(), False, ExitCode.DONE),
        (report(), True, ExitCode.DONE),
        (report(passed=0), False, ExitCode.FAILED),
        (report(waiting=1), True, ExitCode.ABORTED),
        (report(waiting=1), False, ExitCode.BUDGET),
    ],
)
def test_the_exit_code_says_how_the_fleet_ended(made, draining, code):
    assert command._exit_code(made, SimpleNamespace(draining=draining)) is code


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "--state", "s"),
        ("status",),
        ("stop",),
        ("--session", "s", "status", "t.jsonl"),
    ],
)
def test_a_fleet_needs_its_tasks_and_has_no_session(handrail, words):
    position = 2 if words[0] == "--session" else 0
    assert handrail(*words[:position], "fleet", *words[position:]).code == 2


class Fleet:
    """A fleet that ends at once, as the test says."""

    ended = report()
    made = None

    def __init__(self, tasks, executor, *, state, options):
        self.tasks, self.executor, self.options = tasks, executor, options
        self.state = FleetState(command.Path(state or "s"))
        self.draining = False
        Fleet.made = self

    async def run(self, on_result):
        on_result({"id": "t1"})
        return self.ended


@pytest.fixture
def run(handrail, monkeypatch):
    def start(*words, ended=None):
        monkeypatch.setattr(scale, "Fleet", Fleet)
        monkeypatch.setattr(Fleet, "ended", ended or report())
        return handrail("fleet", "run", "t.jsonl", *words), Fleet.made

    return start


def test_without_options_a_fleet_is_sandboxed_and_local(run):
    done, made = run()

    assert done.code == 0
    assert made.tasks == "t.jsonl"
    assert (made.options.mode, made.options.keep) == ("sandboxed", "records")
    assert made.options.disk_bytes == 2 << 30
    assert made.options.config is None
    assert isinstance(made.executor, LocalExecutor)
    assert not isinstance(made.executor, RayExecutor)
    lines = done.out.splitlines()
    assert lines[-1].startswith("results: ")
    assert "t1" not in done.out


def test_options_are_passed_on(run, workspace):
    (workspace / "h.toml").write_text('mode = "plan"\n')
    words = ("--disk", "1m", "--keep", "all", "--tenant", "alpha:agents=4", "--executor", "ray")
    done, made = run(*words, "--config", "h.toml", "--agents", "3")

    assert done.code == 0
    assert (made.options.mode, made.options.keep, made.options.disk_bytes) == (None, "all", 1 << 20)
    assert made.options.config == str(workspace / "h.toml")
    assert list(made.options.tenants) == ["alpha"]
    assert isinstance(made.executor, RayExecutor)
    assert run("--mode", "bypass")[1].options.mode == "bypass"


def test_the_number_of_agents_has_a_default(monkeypatch):
    given = []
    monkeypatch.setattr("handrail.scale.executor.LocalExecutor", lambda *words: given.append(words))
    for agents in (None, 3):
        command._executor(SimpleNamespace(executor="local", processes=2, agents=agents))

    assert given == [(2, DEFAULT_AGENTS), (2, 3)]


@pytest.mark.parametrize(
    "words",
    [
        ("--tenant", "alpha:tokens=1", "--tenant", "alpha:agents=2"),
        ("--processes", "0"),
        ("--agents", "-3"),
    ],
)
def test_options_that_would_be_dropped_are_refused(run, words):
    Fleet.made = None

    done, made = run(*words)

    assert done.code != 0
    assert made is None


def test_tasks_that_limits_hold_back_have_a_hint(run):
    done, _ = run(ended=report(waiting=1))

    assert done.code == ExitCode.BUDGET
    assert "--tenant" in done.out


def test_a_stopped_fleet_says_how_to_continue(run, monkeypatch):
    async def stop(self, on_result):
        self.draining = True
        return self.ended

    monkeypatch.setattr(Fleet, "run", stop)
    done, _ = run(ended=report(waiting=1))

    assert done.code == ExitCode.ABORTED
    assert done.out.endswith("stopped; run again to continue\n")


@pytest.mark.parametrize("has_state", [True, False])
def test_a_fleet_whose_tasks_were_ended_prints_its_counts(run, journal, monkeypatch, has_state):
    async def never(self, on_result):
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
        asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)

    monkeypatch.setattr(Fleet, "run", never)
    monkeypatch.setattr(Fleet, "drain", lambda self: setattr(self, "draining", True), raising=False)
    done, _ = run("--state", journal if has_state else "none")

    assert done.code == ExitCode.ABORTED
    assert "fleet stop --now t.jsonl --state " in done.err
    assert ("stopped: 3 of 4 tasks ended · 1 passed" in done.err) is has_state
    assert has_state or "stopped; run again to continue" in done.err


def test_tasks_that_did_not_pass_have_a_hint(run):
    done, _ = run(ended=report(passed=0))

    assert done.code == ExitCode.FAILED
    assert "handrail fleet report t.jsonl\n" in done.out
    elsewhere, _ = run("--state", "a b", ended=report(passed=0))
    assert "handrail fleet report t.jsonl --state 'a b'\n" in elsewhere.out


def test_json_has_each_result_and_the_report(run):
    done, _ = run("--json")

    assert done.lines[0] == {"id": "t1"}
    assert done.lines[1]["tasks"]["passed"] == 1
    assert len(done.lines) == 2


def task(number):
    text = {"id": f"t{number}", "workspace": {"directory": "/w", "in_place": True}, "prompt": "do"}
    return parse_task(json.dumps(text), number, command.Path("/"))


@pytest.fixture
def journal(workspace):
    """The journal of a fleet of four tasks; one passed with an interrupted call, two failed, one waits."""
    state = workspace / "t.jsonl.fleet"
    state.mkdir()
    usage = {"input_tokens": 1, "output_tokens": 1, "usd": 0}
    more = {"tenant": "a", "text": "", "change_count": 1, "seconds": 1.0}
    results = [
        {"status": "done", "passed": True, "problem": None, "checks": [], "unknown_calls": ["c3"]},
        {
            "status": "done",
            "passed": False,
            "problem": None,
            "checks": [{"command": "a", "exit_code": 1}, {"command": "b", "exit_code": 0}],
            "unknown_calls": [],
        },
        {
            "status": "failed",
            "passed": False,
            "problem": {"message": "two\nlines"},
            "checks": [],
            "unknown_calls": ["c1", "c2"],
        },
    ]
    with closing(FleetJournal(state)) as made:
        made.add_tasks([task(number) for number in range(1, 5)])
        waiting = made.waiting("default", 0, 9) or made.waiting(made.tenants()[0], 0, 9)
        made.start(waiting[:3], 1)
        for one, result in zip(waiting, results, strict=False):
            made.end(one.number, {**more, **result, "id": one.id, "usage": usage}, 2)
    return state


def test_the_report_names_the_tasks_that_did_not_pass(handrail, journal):
    shown = handrail("fleet", "report", "t.jsonl").out.splitlines()
    status = handrail("fleet", "status", "t.jsonl").out.splitlines()

    assert shown[: len(status)] == status
    assert shown[len(status) :] == [
        "not passed:",
        "  t2: done; checks failed: a",
        "  t3: failed; two\\nlines; unknown call: c1; unknown call: c2",
        "passed, but calls were interrupted:",
        "  t1; unknown call: c3",
    ]


def test_the_report_fits_a_narrow_screen_but_a_command_is_in_one_piece(
    handrail, journal, run, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "48")

    for what in ("report", "status"):
        lines = handrail("fleet", what, "t.jsonl").out.splitlines()
        assert max(map(len, lines)) <= 48
    state = "a long directory of the state"
    done, _ = run("--state", state, ended=report(passed=0))
    assert f"    handrail fleet report t.jsonl --state {state!r}" in done.out.splitlines()


def test_the_report_has_a_command_for_the_record_of_each_of_these_tasks(
    handrail, journal, workspace
):
    (workspace / "store 1.db").touch()
    url = "postgresql://me@db.example/h"
    made = [
        ({"record": str(workspace / "store 1.db"), "unknown_calls": ["c3"]}, "'{}' show c3"),
        ({"record": str(workspace / "store 1.db"), "unknown_calls": []}, "'{}' log"),
        ({"record": str(workspace / "store 1.db"), "unknown_calls": ["a", "b"]}, "'{}' log"),
        ({"record": "gone.db", "unknown_calls": []}, None),
        ({"unknown_calls": []}, None),
        ({"record": url, "session": "s1", "unknown_calls": []}, f"{url} --session s1 log"),
    ]
    for result, expected in made:
        words = None if expected is None else expected.format(workspace / "store 1.db")
        command_line = "" if words is None else f"handrail --store {words}"
        assert command._record_command(result) == command_line

    with closing(FleetJournal(journal)) as opened:
        (waiting,) = opened.waiting("default", 0, 9)
        usage = {"input_tokens": 1, "output_tokens": 1, "usd": 0}
        more = {"status": "failed", "passed": False, "problem": {"message": "x"}, "checks": []}
        store = {"record": str(workspace / "store 1.db"), "unknown_calls": ["c9"]}
        opened.end(waiting.number, {**more, **store, "id": "t4", "usage": usage}, 3)
    shown = handrail("fleet", "report", "t.jsonl").out
    assert f"unknown call: c9\n    handrail --store '{workspace}/store 1.db' show c9\n" in shown


def test_the_state_may_be_named_and_is_shown_as_json_or_a_page(handrail, journal, workspace):
    shown = handrail("fleet", "status", "--state", journal, "--json").json
    written = handrail("fleet", "report", "t.jsonl", "--html", "r.html")

    assert shown["tasks"] == {"total": 4, "waiting": 1, "running": 0, "ended": 3, "passed": 1}
    assert written.out == "wrote r.html\n"
    assert "t2" in (workspace / "r.html").read_text()


@pytest.mark.parametrize(
    ("words", "signals"),
    [((), [signal.SIGTERM]), (("--now",), [signal.SIGTERM, signal.SIGINT])],
)
def test_stop_sends_the_signals_that_a_fleet_handles(handrail, monkeypatch, words, signals):
    sent = []
    host = socket.gethostname()
    monkeypatch.setattr(FleetState, "holder", lambda self: f"{host}/boot/4711/1")
    monkeypatch.setattr(os, "kill", lambda *given: sent.append(given))

    done = handrail("fleet", "stop", "t.jsonl", *words)

    assert sent == [(4711, number) for number in signals]
    assert ("end first" in done.out) is (not words)


def test_a_fleet_of_another_machine_is_not_stopped_here(handrail, monkeypatch):
    sent = []
    monkeypatch.setattr(FleetState, "holder", lambda self: "elsewhere/boot/4711/1")
    monkeypatch.setattr(os, "kill", lambda *given: sent.append(given))

    done = handrail("fleet", "stop", "t.jsonl")

    assert (done.code, sent) == (1, [])
    assert "elsewhere" in done.err


def test_a_fleet_that_does_not_run_cannot_be_stopped(handrail, monkeypatch):
    monkeypatch.setattr(FleetState, "holder", lambda self: None)

    assert handrail("fleet", "stop", "t.jsonl").code == 1
