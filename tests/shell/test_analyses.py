"""Whole analyses of commands, pinned: the class, what is touched, and what rules can match.

The commands of a topic are the rows of its file in `snapshots`. Set HANDRAIL_UPDATE_SNAPSHOTS=1 to
write the analyses anew, then read the diff; a new command is a row with nothing but its text.
"""

import json
import os
from pathlib import Path

import pytest
from tests.support.verdicts import ROOT, WHERE, parser

from handrail.shell.analyzer import ShellCommandAnalyzer

SNAPSHOTS = Path(__file__).parent / "snapshots"
ANALYZER = ShellCommandAnalyzer(parser(), lambda cwd: WHERE._replace(cwd=cwd))
ROWS_PER_TEST = 12
FLAGS = ("background", "open_ended", "changes_directory", "git", "network")


def topics():
    """Topics with the rows of each, a few at a time."""
    for file in sorted(SNAPSHOTS.glob("*.jsonl")):
        count = len(file.read_text("utf-8").splitlines())
        for start in range(0, count, ROWS_PER_TEST):
            yield pytest.param(file, start, id=f"{file.stem}-{start}")


def describe(command):
    """What an analysis says, without what is usual and without sentences; PLACE is in the environment."""
    found = ANALYZER.analyze(command, cwd=ROOT, env={"PLACE": "src"} if "PLACE" in command else {})
    effects = found.effects
    told = {
        "reasons": [one.part for one in found.reasons],
        "programs": list(effects.programs),
        **{
            name: [path.replace(ROOT, "@") for path in getattr(effects, name)]
            for name in ("reads", "writes", "removes", "hosts")
        },
        "flags": [name for name in FLAGS if getattr(effects, name)],
        "parts": [
            [one.safety_class.name, *one.words, *([">"] if one.writes else [])]
            for one in found.parts
        ],
        "segments": [
            [one.word, *(["$"] if one.substitutes else []), *one.risky_variables]
            for one in found.segments
        ],
        "matchable": found.rule_matchable,
    }
    kept = {name: value for name, value in told.items() if value}
    return {"command": command, "class": found.safety_class.name, **kept}


@pytest.mark.parametrize(("file", "start"), list(topics()))
def test_what_is_said_of_commands_is_the_snapshot(file, start):
    lines = file.read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines[start : start + ROWS_PER_TEST]]
    now = [describe(row["command"]) for row in rows]
    if os.environ.get("HANDRAIL_UPDATE_SNAPSHOTS"):
        lines[start : start + len(now)] = [json.dumps(one, ensure_ascii=False) for one in now]
        file.write_text("\n".join(lines) + "\n", "utf-8")
        rows = now

    assert now == rows
