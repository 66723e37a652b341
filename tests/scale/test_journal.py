"""The journal of a fleet and the report that is computed from it."""

import json
import sqlite3
import time
from pathlib import Path

import pytest

from handrail.core.problems import ProblemRaised
from handrail.host.state.identities import this_process
from handrail.scale.journal import FleetCounts, FleetJournal
from handrail.scale.report import FleetReport, progress_text, read_report, task_rate
from handrail.scale.state import FleetState
from handrail.scale.tasks import parse_task

S = 10**9


def line(id, number=1, tenant="a", prompt="do"):
    text = {"id": id, "workspace": {"directory": "/w", "in_place": True}, "prompt": prompt}
    return parse_task(json.dumps({**text, "tenant": tenant}), number, Path("/"))


def result(status="done", passed=True, tokens=10, usd=0.5):
    usage = {"input_tokens": tokens - 1, "output_tokens": 1, "usd": usd}
    return {"status": status, "passed": passed, "usage": usage}


def code(action, *arguments, **options):
    with pytest.raises(ProblemRaised) as raised:
        action(*arguments, **options)
    return raised.value.problem.code


@pytest.fixture
def journal(tmp_path):
    made = FleetJournal(tmp_path)
    yield made
    made.close()


def test_tasks_are_added_once(journal):
    assert journal.add_tasks([line("t1"), line("t2", 2, "b")]) == 2
    assert journal.add_tasks([line("t1"), line("t2", 2, "b"), line("t3", 3)]) == 1

    assert sorted(journal.tenants()) == ["a", "b"]
    found = journal.waiting("a", 0, 10)
    assert [(one.number, one.id, one.line, one.lost) for one in found] == [
        (1, "t1", 1, 0),
        (3, "t3", 3, 0),
    ]
    assert found[0].workspace == "/w"
    assert json.loads(found[0].text)["prompt"] == "do"
    assert [one.id for one in journal.waiting("a", 1, 10)] == ["t3"]
    assert [one.id for one in journal.waiting("a", 0, 1)] == ["t1"]
    assert journal.waiting("c", 0, 10) == []


def test_a_task_that_is_there_twice_or_has_changed_adds_nothing(journal):
    assert code(journal.add_tasks, [line("t0"), line("t1"), line("t1", 2)]) == "duplicate_id"
    assert journal.tenants() == []
    journal.add_tasks([line("t1")])
    journal.start(journal.waiting("a", 0, 10), 1)
    journal.restart("p", 2)
    assert code(journal.add_tasks, [line("t2"), line("t1", prompt="other")]) == "conflict"
    assert code(journal.add_tasks, [line("t2")]) == "conflict"
    assert [one.id for one in journal.waiting("a", 0, 10)] == ["t1"]


def test_a_task_that_was_never_started_follows_its_line(journal):
    journal.add_tasks([line("t1"), line("t2", 2), line("t3", 3)])
    journal.start(journal.waiting("a", 0, 1), 1)
    journal.end(1, result(), 2)

    assert journal.add_tasks([line("t3", 1, "b", "other")]) == 0

    assert journal.tenants() == ["a", "b"]
    assert journal.waiting("a", 0, 10) == []
    (changed,) = journal.waiting("b", 0, 10)
    assert (changed.number, changed.line, json.loads(changed.text)["prompt"]) == (3, 1, "other")
    assert journal.counts().ended == 1


def test_a_task_runs_is_lost_and_ends(journal):
    journal.add_tasks([line("t1"), line("t2", 2)])
    one, two = journal.waiting("a", 0, 10)
    journal.start([one], 5 * S)
    assert [task.id for task in journal.waiting("a", 0, 10)] == ["t2"]

    journal.lose([1, 2], 1)
    assert [task.lost for task in journal.waiting("a", 0, 10)] == [1, 0]
    journal.start([one, two], 6 * S)
    assert journal.end(1, result(), 9 * S)
    assert not journal.end(1, result(tokens=99), 10 * S)
    assert journal.end(2, result("failed", False, usd=None), 8 * S)
    journal.lose([1], 1)
    assert journal.waiting("a", 0, 10) == []
    assert [done["status"] for done in journal.results()] == ["failed", "done"]
    assert journal.used("a") == (20, 0.5)
    assert journal.used("b") == (0, 0.0)


def test_a_fleet_that_starts_again_lets_running_tasks_wait(journal):
    journal.add_tasks([line("t1")])
    journal.restart("p1", 5)
    token = journal.read_meta("token")
    journal.start(journal.waiting("a", 0, 1), 6)
    journal.restart("p2", 7)

    assert len(journal.waiting("a", 0, 10)) == 1
    assert (journal.read_meta("process"), journal.read_meta("begun_ns")) == ("p2", "7")
    assert journal.read_meta("token") == token
    assert len(token) == 32
    assert journal.read_meta("other") is None
    journal.write_meta("other", "x")
    journal.write_meta("other", "y")
    assert journal.read_meta("other") == "y"


def test_counts_by_status_and_tenant(journal):
    journal.add_tasks([line(f"t{at}", at, "ab"[at % 2]) for at in range(1, 6)])
    journal.restart("p", 2 * S)
    journal.start([*journal.waiting("a", 0, 9), *journal.waiting("b", 0, 2)], 3 * S)
    journal.end(2, result(), 4 * S)
    journal.end(1, result("failed", False), 8 * S)

    counts = journal.counts()

    assert (counts.waiting, counts.running, counts.ended, counts.total) == (1, 2, 2, 5)
    assert (counts.passed, counts.tokens, counts.usd) == (1, 20, 1.0)
    assert counts.by_status == {"done": 1, "failed": 1}
    assert counts.by_tenant == {
        "a": {"waiting": 0, "running": 1, "ended": 1, "passed": 1},
        "b": {"waiting": 1, "running": 1, "ended": 1, "passed": 0},
    }
    assert counts.recent == (4 * S, 2, 8 * S)
    journal.restart("p", 5 * S)
    assert journal.counts().recent == (8 * S, 1, 8 * S)
    journal.restart("p", 9 * S)
    assert journal.counts().recent is None


def test_a_journal_is_opened_again_and_for_reading(journal, tmp_path):
    journal.add_tasks([line("t1")])
    reader = FleetJournal(tmp_path, read_only=True)

    assert reader.counts().total == 1
    assert code(reader.write_meta, "a", "b") == "store_unavailable"
    reader.close()
    assert code(FleetJournal, tmp_path / "none", read_only=True) == "not_found"


def test_a_journal_that_is_made_just_now_is_not_there_yet(tmp_path):
    (tmp_path / "journal.db").touch()

    assert code(FleetJournal, tmp_path, read_only=True) == "not_found"


def test_another_file_is_not_a_journal(tmp_path):
    db = sqlite3.connect(tmp_path / "journal.db")
    db.execute("CREATE TABLE x (y)")
    db.close()

    assert code(FleetJournal, tmp_path) == "store_unavailable"
    assert code(FleetJournal, tmp_path, read_only=True) == "store_unavailable"


def counts(waiting=0, running=0, ended=0, recent=None, tenants=None, usd=0.0):
    status = {"done": ended} if ended else {}
    return FleetCounts(
        waiting, running, ended, ended // 2, status, tenants or {}, 1234, usd, recent
    )


@pytest.mark.parametrize(
    ("one", "rate"),
    [
        (counts(), 0.0),
        (counts(waiting=1, recent=(0, 5, 2 * S)), 1.0),
        (counts(running=1, recent=(0, 5, 2 * S)), 1.0),
        (counts(recent=(0, 5, 2 * S)), 2.0),
        (counts(recent=(0, 1, 2 * S)), 0.0),
        (counts(recent=(0, 2, 2 * S)), 0.5),
        (counts(recent=(2 * S, 5, 2 * S)), 0.0),
    ],
)
def test_the_rate_of_the_last_tasks(one, rate):
    assert task_rate(one, 4 * S) == rate


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (5, "5 s"),
        (59, "59 s"),
        (60, "1 min 00 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (7384, "2 h 03 min"),
    ],
)
def test_progress_with_an_estimate(left, text):
    now = time.time_ns()
    report = FleetReport("/s", counts(left, 0, 4, (now - 10 * S, 11, now)), 3.0, "p")

    assert f"about {text} left" in progress_text(report)
    assert "1.0 tasks/s" in progress_text(report)
    assert "running" not in progress_text(report)


def test_progress_without_an_estimate():
    stopped = FleetReport("/s", counts(5, 1, 4, (0, 11, S)), 3.0)
    fresh = FleetReport("/s", counts(1500, 2, 0), 3.0, "p")

    assert "left" not in progress_text(stopped)
    assert progress_text(fresh).endswith("0 passed · 2 running · 1,500 waiting")
    assert (stopped.complete, fresh.complete) == (False, False)
    assert FleetReport("/s", counts(ended=3), 1.0).complete


def test_the_report_in_lines_and_as_json():
    tenants = {
        "a": {"waiting": 1, "running": 0, "ended": 2, "passed": 1},
        "b": {"waiting": 0, "running": 1, "ended": 0, "passed": 0},
    }
    report = FleetReport("/s", counts(1, 1, 2, tenants=tenants, usd=1.25), 12.3456, "p")
    lines = list(report.lines())

    assert lines[1] == "  done                2"
    assert lines[2:5] == [
        "tenants:",
        "  a                   2 of 3 ended, 1 passed",
        "  b                   0 of 1 ended, 0 passed",
    ]
    assert lines[-1].endswith("1.25 USD in all; this run 12.3 s")
    one = FleetReport("/s", counts(tenants={"a": tenants["a"]}), 1.0)
    assert "tenants:" not in list(one.lines())
    assert list(one.lines())[-1] == "1,234 tokens in all; last run 1.0 s"
    assert list(one.lines("this run"))[-1] == "1,234 tokens in all; this run 1.0 s"
    found = report.to_dict()
    assert found["tasks"] == {"total": 4, "waiting": 1, "running": 1, "ended": 2, "passed": 1}
    assert (found["running"], found["complete"], found["seconds"]) == (True, False, 12.346)
    assert found["seconds_left"] is None
    assert one.to_dict()["running"] is False


def test_the_report_of_a_fleet_that_runs_or_has_ended(journal, tmp_path):
    state = FleetState(tmp_path)
    journal.restart("p", 5 * S)
    assert read_report(journal, state).seconds == 0
    journal.write_meta("ended_ns", str(9 * S))
    assert read_report(journal, state) == FleetReport(str(tmp_path), journal.counts(), 4.0, None)
    state.lock.write_text(this_process())
    assert read_report(journal, state).running_in is None
    assert read_report(journal, state).seconds == 4.0

    journal.restart("p", time.time_ns() - 2 * S)
    running = read_report(journal, state)
    assert running.running_in == this_process()
    assert 2 <= running.seconds < 60


def test_values_of_a_task_are_kept_in_its_directory(tmp_path):
    state = FleetState(tmp_path)
    place = state.place(7)
    place.directory.mkdir(parents=True)

    assert place.directory == tmp_path / "tasks" / "0000007"
    assert place.read("x") is None
    place.write("x", {"a": 1})
    assert place.read("x") == {"a": 1}
    (place.directory / "y.json").write_text("[1]")
    (place.directory / "z.json").write_text("{")
    assert place.read("y") is None
    assert place.read("z") is None
    assert [one.name for one in place.directory.glob("*.part")] == []
    assert state.task_lock(7, "").parent == place.directory
    assert state.task_lock(7, "/w") == state.task_lock(8, "/w") != state.task_lock(7, "/v")
    assert state.holder() is None
    with state.locked():
        assert state.holder() == this_process()
