"""The report of a fleet: rates, the estimated end, and each line for a terminal."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from handrail.scale.journal import FleetCounts
from handrail.scale.report import FleetReport, progress_text, read_report, task_rate

S = 1_000_000_000


def counted(waiting=0, running=0, ended=0, recent=None, **changed):
    counts = FleetCounts(waiting, running, ended, 0, {}, {}, 0, 0.0, recent)
    return counts._replace(**changed)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (counted(), 0.0),
        (counted(running=1, recent=(0, 5, 2 * S)), 1.0),
        (counted(waiting=1, recent=(0, 5, 2 * S)), 1.0),
        (counted(ended=5, recent=(0, 5, 2 * S)), 2.0),
        (counted(ended=1, recent=(0, 1, 2 * S)), 0.0),
        (counted(ended=2, recent=(0, 2, 2 * S)), 0.5),
        (counted(ended=5, recent=(2 * S, 5, 2 * S)), 0.0),
        (counted(ended=5, recent=(3 * S, 5, 2 * S)), 0.0),
    ],
)
def test_the_rate_is_that_of_the_last_tasks(counts, expected):
    assert task_rate(counts, 4 * S) == expected


@pytest.fixture
def at_four(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 4 * S)


@pytest.mark.usefixtures("at_four")
def test_the_rest_is_estimated_only_while_a_fleet_runs():
    counts = counted(waiting=7, running=1, ended=5, recent=(0, 5, 2 * S))
    assert FleetReport("x", counts, 4.0, "pid").seconds_left == 8.0
    assert FleetReport("x", counts, 4.0).seconds_left is None
    assert FleetReport("x", counted(waiting=7), 4.0, "pid").seconds_left is None
    few = counted(waiting=7, running=1, ended=4, recent=(0, 4, 2 * S))
    assert FleetReport("x", few, 4.0, "pid").seconds_left is None
    together = counted(waiting=7, running=6, ended=5, recent=(0, 5, 2 * S))
    assert FleetReport("x", together, 4.0, "pid").seconds_left is None
    almost = FleetReport("x", counted(running=1, ended=9, recent=(0, 9, 2 * S)), 4.0, "pid")
    assert almost.seconds_left == 0.5
    assert "left" not in progress_text(almost)


@pytest.mark.usefixtures("at_four")
def test_the_json_form():
    tenants = {"a": {"waiting": 7, "running": 1, "ended": 5, "passed": 3}}
    counts = counted(7, 1, 5, (0, 5, 2 * S), passed=3, by_status={"done": 5}, by_tenant=tenants)
    running = FleetReport("there", counts._replace(tokens=9, usd=0.5), 1.23456, "pid").to_dict()
    assert running == {
        "state": "there",
        "running": True,
        "complete": False,
        "tasks": {"total": 13, "waiting": 7, "running": 1, "ended": 5, "passed": 3},
        "by_status": {"done": 5},
        "by_tenant": tenants,
        "tokens": 9,
        "usd": 0.5,
        "seconds": 1.235,
        "tasks_per_second": 1.0,
        "seconds_left": 8.0,
    }
    done = FleetReport("there", counted(ended=5), 1.0).to_dict()
    assert (done["running"], done["complete"], done["seconds_left"]) == (False, True, None)


@pytest.mark.usefixtures("at_four")
@pytest.mark.parametrize(
    ("counts", "running_in", "parts"),
    [
        (counted(ended=1_200), None, ["1,200 of 1,200 tasks ended", "0 passed"]),
        (
            counted(2, 1, 5, passed=4),
            "p",
            ["5 of 8 tasks ended", "4 passed", "1 running", "2 waiting"],
        ),
        (
            counted(2, 1, 5, passed=4),
            None,
            [
                "5 of 8 tasks ended",
                "4 passed",
                "1 interrupted; run again to continue",
                "2 waiting",
            ],
        ),
        (
            counted(waiting=3, ended=5, recent=(0, 5, 2 * S)),
            None,
            ["5 of 8 tasks ended", "0 passed", "3 waiting"],
        ),
        *(
            (
                counted(waiting=left, ended=5, recent=(0, 5, 2 * S)),
                "p",
                [
                    f"5 of {left + 5:,} tasks ended",
                    "0 passed",
                    f"{left:,} waiting",
                    "1.0 tasks/s",
                    f"about {told} left",
                ],
            )
            for left, told in [
                (59, "59 s"),
                (60, "1 min 00 s"),
                (3_599, "59 min 59 s"),
                (3_600, "1 h 00 min"),
                (7_380, "2 h 03 min"),
            ]
        ),
    ],
)
def test_the_progress_in_one_line(counts, running_in, parts):
    assert progress_text(FleetReport("x", counts, 4.0, running_in)).split(" · ") == parts


def test_the_lines_for_a_terminal():
    one = {"a": {"waiting": 0, "running": 0, "ended": 2, "passed": 0}}
    counts = counted(ended=2, by_status={"failed": 1, "done": 1_000}, by_tenant=one, tokens=1_234)
    first, *lines = FleetReport("x", counts, 2.04).lines()
    assert first == progress_text(FleetReport("x", counts, 2.04))
    assert [line.split() for line in lines[:2]] == [["done", "1,000"], ["failed", "1"]]
    assert lines[2:] == ["1,234 tokens in all; last run 2.0 s"]

    two = {**one, "b": {"waiting": 1, "running": 2, "ended": 3, "passed": 2}}
    *_, title, a, b, last = FleetReport("x", counts._replace(by_tenant=two, usd=0.5), 2).lines()
    assert title == "tenants:"
    assert a.split() == ["a", "2", "of", "2", "ended,", "0", "passed"]
    assert b.split() == ["b", "3", "of", "6", "ended,", "2", "passed"]
    assert last.split("; ") == ["1,234 tokens and 0.50 USD in all", "last run 2.0 s"]


@pytest.mark.usefixtures("at_four")
@pytest.mark.parametrize(
    ("begun", "ended", "holder", "seconds", "running_in"),
    [
        (S, None, "p", 3.0, "p"),
        (S, None, None, 0.0, None),
        (S, 3 * S, None, 2.0, None),
        (S, 3 * S, "p", 2.0, None),
        (3 * S, S, "p", 1.0, "p"),
        (3 * S, S, None, 0.0, None),
        (None, None, None, 0.0, None),
        (None, 2 * S, None, 2.0, None),
    ],
)
def test_a_fleet_that_began_again_has_not_ended(begun, ended, holder, seconds, running_in):
    meta = {"begun_ns": begun, "ended_ns": ended}
    journal = SimpleNamespace(
        read_meta=lambda key: None if meta[key] is None else str(meta[key]), counts=counted
    )
    state = SimpleNamespace(holder=lambda: holder, directory=Path("fleet"))
    found = read_report(journal, state)
    assert (found.state, found.seconds, found.running_in) == ("fleet", seconds, running_in)
