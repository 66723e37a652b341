"""What a session has read, kept between runs: from its rows, and from what was kept before."""

import pytest

from handrail.core.context import ReadRecord
from handrail.core.places import Stat
from handrail.engine.recording.read_state_codec import SavedReads

STAT = Stat(1, 2, 3, 4, 5, 0o644, 1)
LATER = Stat(1, 2, 4, 6, 7, 0o644, 1)
RECORD = ReadRecord(1.5, 1, 200, STAT, True, "old")
PLAIN = [1.5, 1, 200, list(STAT), True, "old", None]


def records(saved):
    """Agent → path → record, as a session that goes on gets them."""
    return {agent: dict(state.items()) for agent, state in saved.restore().items()}


@pytest.mark.parametrize("state", [None, "text", 7, []])
def test_nothing_usable_means_that_nothing_was_read(state):
    saved = SavedReads.from_state(state)

    assert (records(saved), saved.seq) == ({}, 0)


def test_what_was_kept_is_what_is_restored():
    saved = SavedReads.from_state({"seq": 9, "agents": {"main": {"/w/a": PLAIN}}})

    assert saved.seq == 9
    assert records(saved) == {"main": {"/w/a": RECORD}}
    again = SavedReads.from_state(saved.to_state())
    assert (records(again), again.seq) == (records(saved), 9)


@pytest.mark.parametrize("by_agent", [True, False])
def test_what_older_versions_kept_is_read_too(by_agent):
    files = {"/w/a": {**RECORD._asdict(), "stat": list(STAT)}}

    saved = SavedReads.from_state({"main": files} if by_agent else files)

    assert (records(saved), saved.seq) == ({"main": {"/w/a": RECORD}}, 0)


def test_a_call_adds_and_removes_what_its_agent_knows_of_files():
    saved = SavedReads.from_state({"seq": 1, "agents": {"main": {"/w/a": PLAIN}}})

    saved.add_call({"files": {"/w/a": None, "/w/b": PLAIN}})
    saved.add_call({"agent": "helper", "files": {"/w/c": PLAIN}})

    assert records(saved) == {"main": {"/w/b": RECORD}, "helper": {"/w/c": RECORD}}


@pytest.mark.parametrize(
    ("before", "digest", "stat"), [("old", "new", LATER), ("another", "old", STAT)]
)
def test_an_edit_changes_what_is_known_only_of_the_content_it_replaced(before, digest, stat):
    saved = SavedReads.from_state({"seq": 1, "agents": {"main": {"/w/a": PLAIN}}})
    edited = {"/w/a": [before, list(LATER), "new"], "/w/unknown": [before, list(LATER), "new"]}

    saved.add_call({"files": {}, "edited": edited})

    assert records(saved) == {"main": {"/w/a": RECORD._replace(stat=stat, digest=digest)}}
