"""Where a store is: a path, a URL, or memory."""

from pathlib import Path

import pytest

from handrail.core.names.store_location import normalize_location


@pytest.mark.parametrize("location", [":memory:", "postgresql://host/db", "/var/x.db"])
def test_a_whole_location_stays_as_it_is(location):
    assert normalize_location(location) == location


@pytest.mark.parametrize("location", ["x.db", Path("x.db"), "memory"])
def test_a_relative_path_becomes_absolute(location, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    assert normalize_location(location) == str(tmp_path / location)
