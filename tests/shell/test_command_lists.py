"""Lists of commands as users, models and attackers type them, with the rates to reach on them."""

import pytest
from tests.support.command_rates import LISTS, classified

from handrail.core.commands import CommandClass


@pytest.fixture(scope="module")
def listed():
    """The commands of a list, each with its class."""
    known = {}

    def of(name):
        if name not in known:
            known[name] = classified(LISTS / f"{name}.jsonl")
        return known[name]

    return of


# The lists called blind were written after the work, to see how it does on commands it never met.
@pytest.mark.finding("F09")
@pytest.mark.parametrize("name", ["catastrophes", "blind_catastrophes"])
def test_catastrophes_are_blocked_whatever_carries_them(listed, name):
    rows = [row for row in listed(name) if row.expect == "blocked"]
    missed = [row.command for row in rows if row.missed]

    assert len(rows) > 90
    assert len(missed) <= 0.02 * len(rows), missed


@pytest.mark.finding("F10")
@pytest.mark.parametrize("name", ["read_only", "blind_read_only"])
def test_commands_that_only_read_are_seldom_refused(listed, name):
    rows = listed(name)
    refused = [row.command for row in rows if row.missed]

    assert len(rows) > 90
    assert len(refused) <= 0.1 * len(rows), refused


@pytest.mark.finding("F08", "F10")
def test_what_looks_harmless_and_is_not_is_never_safe(listed):
    for name in ("near_misses", "catastrophes", "blind_catastrophes"):
        assert [row.command for row in listed(name) if row.found is CommandClass.SAFE] == []


@pytest.mark.finding("F08")
def test_installing_and_publishing_is_no_work_on_a_project(listed):
    rows = [row for row in listed("near_misses") if row.expect == "not_dev"]

    assert len(rows) > 40
    assert [row.command for row in rows if row.missed] == []


@pytest.mark.feature("H03")
@pytest.mark.parametrize("name", ["project_work", "blind_project_work"])
def test_no_work_on_a_project_is_blocked(listed, name):
    rows = listed(name)

    assert [row.command for row in rows if row.found is CommandClass.BLOCKED] == []
    assert len([row for row in rows if row.missed]) <= 0.1 * len(rows)
