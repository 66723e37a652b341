"""The lists of features, findings and threats and the marks that show their rows agree."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
features = runpy.run_path(str(ROOT / "scripts" / "features.py"))
LISTS = list(features["LISTS"])


def test_every_mark_names_a_row_literally():
    assert features["unknown_uses"](features["uses"]()) == []


@pytest.mark.parametrize("mark", LISTS)
def test_an_unknown_or_computed_id_is_found(mark):
    use = features["Use"]

    wrong = [use(mark, "Z99", "test_a.py"), use(mark, None, "test_b.py")]

    assert features["unknown_uses"](wrong) == wrong


def test_every_row_of_a_decision_record_exists():
    assert set(features["decisions"]()) - set(features["rows"]()) == set()


@pytest.mark.parametrize("mark", LISTS)
def test_titles_are_short_and_ids_are_there_once(mark):
    rows = features["rows"](mark)
    text = (ROOT / "tests" / "data" / features["LISTS"][mark]).read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]

    assert {id_: title for id_, title in rows.items() if len(title.split()) > 8} == {}
    assert len(lines) == len(rows)


def test_findings_and_threats_are_listed_with_their_tests():
    command = [sys.executable, ROOT / "scripts" / "features.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=110)

    lines = done.stdout.splitlines()
    assert any(line.startswith("F26   shown") and "::test_" in line for line in lines)
    assert [line for line in lines if line.startswith("A56   ")]
    assert sum(" rows: " in line for line in lines) == 3
