"""Paths are resolved while names on the way are exchanged, or the caller hears of it."""

import os

import pytest
from tests.support.swapping import swapping

from handrail.core.problems import ProblemRaised
from handrail.host.files.roots import real_path


@pytest.mark.finding("F14")
def test_a_path_is_resolved_while_names_are_exchanged(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("other")

    with swapping(tmp_path, ("folder", "link")):
        found = {real_path(tmp_path / "folder" / "a") for _ in range(3000)}

    assert found <= {str(tmp_path / name / "a") for name in ("folder", "other")}


@pytest.mark.finding("F14")
def test_a_path_that_cannot_be_resolved_is_a_problem(tmp_path, monkeypatch):
    def exchanged(path):
        raise OSError(22, "Invalid argument", str(path))

    monkeypatch.setattr(os.path, "realpath", exchanged)

    with pytest.raises(ProblemRaised) as raised:
        real_path(tmp_path)

    assert (raised.value.problem.code, raised.value.problem.retryable) == ("stale", True)
