"""The paths that a stored result names."""

import pytest

from handrail.engine.recording import read_review
from handrail.engine.recording.read_review import list_named_paths


@pytest.mark.parametrize(
    ("data", "paths"),
    [
        (None, []),
        ("a", []),
        ({}, []),
        ({"path": "a"}, ["a"]),
        ({"path": 1, "paths": "abc"}, []),
        ({"paths": ["a", 2, "b"]}, ["a", "b"]),
        ({"path": "a", "paths": ["b"]}, ["a", "b"]),
        ({"matches": [{"path": "a"}, ["x", {"path": "b"}]]}, ["a", "b"]),
        ({"deep": {"deeper": {"path": "a"}}}, ["a"]),
        ([{"path": "a"}, "b"], ["a"]),
    ],
)
def test_paths_are_found_wherever_a_tool_puts_them(data, paths):
    assert sorted(list_named_paths(data)) == paths


@pytest.mark.parametrize(("limit", "found"), [(1, 1), (2, 2), (3, 3), (4, 4), (9, 4)])
def test_no_further_value_is_read_once_there_are_enough(monkeypatch, limit, found):
    monkeypatch.setattr(read_review, "MAX_PATHS", limit)

    assert len(list(list_named_paths([{"path": name} for name in "abcd"]))) == found
