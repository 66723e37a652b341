"""`python -m bench` on machines that lack something: rows come one by one and say what is missing."""

import asyncio
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from bench import __main__ as bench
from bench import f_command
from bench.figure import Figure, NotMeasured, Scale, format_head, format_row

SCALE = Scale(files=1, rounds=1, calls=1, deep_mb=1, big_edit_mb=1)
ROW = Figure("a", "a read", 1.0, 2.0, 2.0, 3.0, 2.0)


def measure(shown, outcome):
    """A measure that returns rows or raises; remembers how much was shown before it."""

    async def run(folder, scale):
        run.shown_before = len(shown)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return SimpleNamespace(measure=run, __doc__="x. A read, and more.")


@pytest.mark.finding("F30")
def test_rows_are_shown_as_they_come_and_none_keeps_the_others_away(tmp_path, monkeypatch, capsys):
    shown = []
    outcomes = {
        "a": [ROW],
        "b": ModuleNotFoundError("no", name="mcp"),
        "c": FileNotFoundError(2, "no", "/venv/bin/rg"),
        "d": AssertionError("a defect"),
        "e": [NotMeasured("e", "in bubblewrap", "bubblewrap"), ROW],
    }
    measures = {letter: measure(shown, outcome) for letter, outcome in outcomes.items()}
    monkeypatch.setattr(bench, "MEASURES", measures)

    rows, failed = bench.measure_all("abcde", tmp_path, SCALE, shown.append)

    assert failed == ["d"]
    assert [one.measure.shown_before for one in measures.values()] == [0, 1, 2, 3, 4]
    assert len(rows) == 5
    assert "a defect" in capsys.readouterr().err
    assert "needs the package mcp" in shown[1]
    assert "not measured: needs ripgrep" in shown[2]
    assert shown[3].startswith("d  FAILED")
    assert shown[4].endswith("not measured: needs bubblewrap")


def test_columns_are_aligned_without_knowing_the_other_rows():
    head, row = format_head(), format_row(ROW)

    assert head.index("limit") + len("limit") == row.index("1 ms") + len("1 ms")
    assert head.index("ratio") + len("ratio") == row.index("2.00x") + len("2.00x")


@pytest.mark.finding("F30")
def test_a_sandbox_that_is_not_there_is_a_row_that_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(f_command, "open_backend", only_none(f_command.open_backend))

    rows = asyncio.run(f_command._sandboxes(tmp_path, SCALE))

    assert [row.needs for row in rows] == ["landlock", "bubblewrap"]


def only_none(original):
    return lambda workspace, name: original(workspace, name) if name == "none" else None


def test_the_program_runs_without_peers_and_ends_well(tmp_path):
    command = [sys.executable, "-m", "bench", "--quick", "--only", "i", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=110)

    told = json.loads(done.stdout)
    assert {row["measure"] for row in told["figures"]} == {"i"}
    assert told["tokens"]
