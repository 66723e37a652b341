"""The recipe in CONTRIBUTING is complete: followed to the letter in a copy, the tool works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Builds, checkers and the code of whole pages run here; their own limits end them earlier.
pytestmark = pytest.mark.timeout(600)
ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"<!-- (file|lines): (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_the_recipe_for_a_new_tool_is_all_it_takes(tmp_path):
    # With compiled modules: they count for a copy, which has the time stamps of the sources.
    for part in ("src", "tests", "scripts", "docs"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    # What `make check` found out about the files that the recipe does not change.
    if (ROOT / ".mypy_cache").exists():
        others = shutil.ignore_patterns("loops", "*-journal")
        shutil.copytree(ROOT / ".mypy_cache", tmp_path / ".mypy_cache", ignore=others)

    for kind, name, text in STEP.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        if kind == "file":
            (tmp_path / name).write_text(text)
        else:
            add_lines(tmp_path / name, text.splitlines())

    run(tmp_path, "scripts/generate_docs.py")
    run(tmp_path, *PYTEST, "tests/dialects", HANDRAIL_UPDATE_SNAPSHOTS="1")
    run(tmp_path, "-m", "ruff", "check", "--no-cache", "src/handrail/tools", "tests/tools")
    run(
        tmp_path,
        "-m",
        "ruff",
        "format",
        "--no-cache",
        "--check",
        "src/handrail/tools/search/word_count.py",
        "src/handrail/tools/files/sort_lines.py",
    )
    run(tmp_path, "-m", "mypy", "src/handrail/tools")
    tests = ["tests/tools/test_word_count.py", "tests/tools/test_sort_lines.py"]
    tests += ["tests/house/test_tools.py", "tests/dialects"]
    run(tmp_path, *PYTEST, *tests, "tests/spec/test_context.py")


def add_lines(path: Path, lines: list[str]) -> None:
    """Put the lines at the end of the table of tools."""
    text = path.read_text().splitlines()
    rows = [number for number, line in enumerate(text) if line.startswith("    BuiltinTool(")]
    text[rows[-1] + 1 : rows[-1] + 1] = lines
    path.write_text("\n".join(text) + "\n")


def run(folder: Path, *arguments: object, **extra: str) -> None:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), **extra},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
