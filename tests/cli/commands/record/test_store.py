"""`handrail store copy`: what it copies, and what it prints about the copy."""

import json
from types import SimpleNamespace

import pytest

from handrail.store import copying


@pytest.fixture
def copied(monkeypatch):
    """The copies that were asked for, without a store behind them."""
    asked = []

    def copy(source, target):
        asked.append((source, target))
        return SimpleNamespace(rows=1_234, sessions=1, head="abc")

    monkeypatch.setattr(copying, "copy_store", copy)
    return asked


def test_a_copy_is_told_with_its_head(handrail, copied):
    done = handrail("store", "copy", "a.db", "b.db")
    assert (done.code, copied) == (0, [("a.db", "b.db")])
    first, head = done.out.splitlines()
    assert first.endswith("1,234 rows in 1 session")
    assert head == "head abc"


def test_a_copy_is_told_to_programs(handrail, copied):
    done = handrail("--json", "store", "copy", "a.db", "b.db")
    assert (done.code, len(copied)) == (0, 1)
    assert json.loads(done.out) == {"rows": 1_234, "sessions": 1, "head": "abc"}


def test_one_session_cannot_be_copied(handrail, copied):
    done = handrail("--session", "x", "store", "copy", "a.db", "b.db")
    assert (done.code, done.out, copied) == (2, "", [])
