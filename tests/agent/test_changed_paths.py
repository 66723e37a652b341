"""Which files recorded calls have changed, as far as the record says."""

import pytest

from handrail.agent.rewind import changed_paths, may_have_changed_files
from handrail.core.ports.records import CallRecord


def calls(*completed):
    return [CallRecord("s", "c", 1, 0, {}, None, one, None) for one in completed]


def test_changes_of_tools_and_commands():
    found = changed_paths(
        calls(
            None,
            {"changes": [["a", "edit"], ["b", "write"]]},
            {"effects": {"changes": [{"path": "c"}], "unattributed": [{"path": "d"}]}},
            {"changes": None, "effects": None},
        )
    )

    assert list(found) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("completed", "may"),
    [
        (None, False),
        ({}, False),
        ({"changes": []}, False),
        ({"changes": [["a", "edit"]]}, True),
        ({"effects": {}}, False),
        ({"effects": {"undo": "full"}}, False),
        ({"effects": {"undo": "partial"}}, True),
        ({"effects": {"undo": "full", "changes": [{"path": "a"}]}}, True),
        ({"effects": {"undo": "full", "unattributed": [{"path": "a"}]}}, True),
        ({"effects": {"undo": "full", "changes": [], "unattributed": []}}, False),
    ],
)
def test_whether_files_may_have_changed(completed, may):
    assert may_have_changed_files(calls(completed)) is may
    assert may_have_changed_files(calls({}, completed)) is may
