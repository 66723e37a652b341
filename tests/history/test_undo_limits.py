"""What is said about calls that cannot be undone, or only in part."""

import pytest

from handrail.core.ports.records import Trace
from handrail.history.undo.recorded_changes import undo_limits, why_not_undoable


def command(effects, **judged):
    intent = {"tool": "run_command", "runs": "command", "effects": {"writes": ["a"], **judged}}
    return Trace(1, "s", "c1", 1, 0, intent, 2, {"tool": "run_command", "effects": effects})


@pytest.mark.parametrize(
    ("effects", "words"),
    [
        ({"undo": "full"}, []),
        ({"undo": "none"}, ["cannot be undone", "was not kept"]),
        ({"undo": "none", "left_out": {"big.bin": "too large"}}, ["cannot be undone", "big.bin"]),
        ({"undo": "partial", "left_out": {"c1": "it still ran"}}, ["known only in part: it still"]),
        ({"undo": "partial", "left_out": {"big.bin": "too large"}}, ["only in part, without big"]),
        (
            {"undo": "partial", "left_out": {"c1": "it still ran", "big.bin": "too large"}},
            ["known only in part: it still ran", "without big.bin"],
        ),
    ],
)
def test_what_is_missing_is_named(effects, words):
    said = "\n".join(undo_limits(command(effects), []))

    assert bool(said) is bool(words)
    for word in words:
        assert word in said
    assert ("it still ran" in said) is ("c1" in effects.get("left_out", {}))


def test_a_command_that_writes_nothing_needs_no_undo():
    assert why_not_undoable(command({"undo": "none"}, writes=[])) is None
    assert why_not_undoable(command({"undo": "none"}, writes=[], open_ended=True)) is not None
    assert "not on record" in why_not_undoable(command(None))
