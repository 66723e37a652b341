"""Patterns that take for ever elsewhere, in every place that takes a pattern: bounded here.

Each place is tried in a process of its own, which is stopped when it takes far too long: a
pattern that goes back on itself takes hours, and one that does not a moment.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import hostile_patterns

PROGRAM = Path(hostile_patterns.__file__)
# Far more than it takes on a machine that does ten other things, far less than for ever.
TOO_LONG_S = 240
EXPECTED = {
    "ok",
    "blocked",
    "command_failed",
    "denied",
    "invalid_arguments",
    "needs_approval",
    "no_match",
    "ambiguous",
    "not_found",
    "protected",
    "too_large",
    "unknown_tool",
    "already_applied",
    "conflict",
}


@pytest.mark.parametrize("place", hostile_patterns.places())
def test_no_pattern_takes_for_ever(place, tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, PROGRAM, place],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TOO_LONG_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = json.loads(done.stdout.splitlines()[-1])
    assert outcomes.keys() == hostile_patterns.PATTERNS.keys()
    assert set(outcomes.values()) <= EXPECTED, outcomes
