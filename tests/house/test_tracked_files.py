"""What must not be in the repository: this or that machine, and where packages came from."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Commands that are judged and never run; one of them installs from elsewhere.
CORPUS = ROOT / "tests" / "data" / "corpus"

# Spelled in pieces, so that this file does not accuse itself.
FORBIDDEN = {
    "a home or build directory": r"(?<![\w.<])/(?:ro" r"ot|wo" r"rk|ho" r"me/[a-z]\w+)/\w",
    "a package registry": r"py" r"pi\.org|python" r"hosted|registry\.npm" r"js|/opt/py" r"pi",
    "an index option": r"--(?:extra-)?index" r"-url|--find" r"-links",
}


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_names(what):
    pattern = re.compile(FORBIDDEN[what])

    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in tracked()
        for number, line in enumerate(_text(path).splitlines(), 1)
        if pattern.search(line) and not (what == "an index option" and path.parent == CORPUS)
    ]

    assert found == []


def test_there_is_no_lock_file():
    names = {path.name for path in tracked()}

    assert names & {"uv.lock", "poetry.lock", "pdm.lock", "package-lock.json"} == set()


def test_every_constraint_is_one_exact_version():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()

    odd = [line for line in lines if not re.fullmatch(r"#.*|[\w.-]+==[\w.]+", line)]

    assert odd == []


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""
