"""The acceptance list and the marks that show its rows agree."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
features = runpy.run_path(str(ROOT / "scripts" / "features.py"))


def test_every_mark_names_a_row_literally():
    known = features["rows"]()

    strangers = [use for use in features["uses"]() if use.id not in known]

    assert strangers == []


def test_every_row_of_a_decision_record_exists():
    assert set(features["decisions"]()) - set(features["rows"]()) == set()


def test_titles_are_short():
    long = {id_: title for id_, title in features["rows"]().items() if len(title.split()) > 8}

    assert long == {}
