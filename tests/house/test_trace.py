"""How far a read, an edit and a command travel through the code: files entered, switches between
packages. The figures depend on the code alone; `scripts/trace_calls.py` prints them.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# The command runs in the sandbox.
pytestmark = pytest.mark.needs_bubblewrap

ROOT = Path(__file__).parents[2]
# Files entered, switches between packages. Constructors that dataclasses generate are not counted,
# those of the plain classes in `engine/call_state.py` are.
MAXIMA = {"read": (21, 14), "edit": (42, 78), "command": (43, 42)}


@pytest.fixture(scope="module")
def figures():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "trace_calls.py", "--json"],
        capture_output=True,
        timeout=100,
        check=True,
        cwd=ROOT,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("call", MAXIMA)
def test_a_call_enters_few_files_and_stays_in_its_package(figures, call):
    files, switches = MAXIMA[call]
    one = figures[call]

    assert len(one["files"]) <= files, sorted(one["files"])
    assert one["switches"] <= switches
