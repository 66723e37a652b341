"""What `handrail verify` prints about the parts of a record."""

from types import SimpleNamespace

import pytest

from handrail.cli.commands.record.verify import print_integrity


def integrity(**values):
    return SimpleNamespace(
        **{
            "rows": 3, "sessions": 1, "broken": None, "purged_payloads": 0, "missing_payloads": 0,
            "open_sessions": (), "head": "abc", "anchored": None, **values,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"purged_payloads": 1}, "1 payload deleted"),
        ({"purged_payloads": 2}, "2 payloads deleted"),
        ({"missing_payloads": 1}, "1 payload missing for an unknown reason"),
        ({"open_sessions": ("a\n", "b")}, "not closed: a\\n, b"),
        ({"broken": "row 2"}, "BROKEN: row 2"),
        ({}, "verify --anchor"),
    ],
)
def test_each_fact_has_a_line(capsys, values, says):
    plain = {"anchored": True} if values else {}
    print_integrity(integrity(**plain))
    without = capsys.readouterr().out
    print_integrity(integrity(**values))
    shown = capsys.readouterr().out

    assert says in shown
    assert "head abc" in shown
    assert ("docs/operations.md" in shown) is ("broken" in values)
    if values:
        assert says not in without
        assert "verify --anchor" not in without
    if "broken" in values:
        assert "verify --anchor" not in shown
