"""Calls that recovery ends, and calls whose temporary files are still to be removed."""

from types import SimpleNamespace

import pytest

from handrail.core.ports.records import CallRecord, OpenRequest
from handrail.history.recovered_call import (
    JOB_PREFIX,
    RecoveredCall,
    clear_pending_cleanup,
    close_abandoned_sessions,
    completed_row,
    list_pending_cleanup,
    mark_pending_cleanup,
)

RECORD = CallRecord("s", "c", 3, 5, {"tool": "write_file"}, None, None, None)
CHANGE = {"path": "a", "operation": "create", "before_hash": None, "after_hash": "h", "more": 1}


class StateStore:
    """The states that are stored for no session, and what else was done."""

    def __init__(self, requests=(), to_close=()):
        self.states = {}
        self.found = SimpleNamespace(requests=requests, to_close=to_close)
        self.done = []

    def save_state(self, session, key, value):
        assert session == ""
        self.states[key] = value

    async def load_state(self, session):
        assert session == ""
        return self.states

    async def abandoned(self, is_alive):
        return self.found

    def append(self, row):
        self.done.append(row)

    async def flush(self):
        self.done.append("flush")

    async def close_abandoned(self, is_alive):
        self.done.append("close")


async def test_calls_with_temporary_files_are_listed_until_they_are_cleared():
    store = StateStore()
    store.save_state("", f"{JOB_PREFIX}1", True)
    mark_pending_cleanup(store, "s", "one")
    mark_pending_cleanup(store, "s", "two")

    assert await list_pending_cleanup(store) == {("s", "one"), ("s", "two")}
    clear_pending_cleanup(store, "s", "one")
    assert await list_pending_cleanup(store) == {("s", "two")}


def row(recovered, intent, reads=None):
    return completed_row(RECORD, recovered, intent, None, reads, 9)


def test_a_change_that_was_completed_has_the_result_it_would_have_had():
    found = row(
        RecoveredCall("c", "write_file", "ok", "recovered"),
        {"changes": [CHANGE], "text": "wrote a"},
    )

    assert (found.session, found.kind, found.call_id, found.turn) == ("s", "completed", "c", 3)
    assert found.payload == {
        "tool": "write_file",
        "status": "ok",
        "is_error": False,
        "text": "wrote a\n[handrail: recovered]",
        "data": {"paths": []},
        "problem": None,
        "changes": [["a", "create", None, "h"]],
        "cleared": None,
        "asked": False,
        "meta": {"recovered": True},
    }


def test_a_change_without_a_text_names_its_paths():
    found = row(
        RecoveredCall("c", "w", "ok", "recovered"),
        {"changes": [CHANGE], "data": {"x": 1}},
        {"r": 1},
    )

    assert found.payload["text"].startswith("changed a\n")
    assert (found.payload["data"], found.payload["reads"]) == ({"x": 1}, {"r": 1})


@pytest.mark.parametrize(
    ("status", "paths", "hint"),
    [
        ("interrupted", ("a",), None),
        ("unknown", ("a", "b"), "a, b"),
        ("unknown", (), "what it changes"),
    ],
)
def test_a_call_that_was_not_completed_is_a_problem(status, paths, hint):
    found = row(RecoveredCall("c", "w", status, "lost", paths=paths), {"changes": [CHANGE]})

    problem = found.payload["problem"]
    assert (found.payload["is_error"], found.payload["text"]) == (True, "lost")
    assert (found.payload["changes"], found.payload["data"]) == ([], {"paths": list(paths)})
    assert (problem["code"], problem["message"], problem["retryable"]) == (
        "cancelled",
        "lost",
        False,
    )
    assert problem["hint"] is None if hint is None else hint in problem["hint"]


CLOCK = SimpleNamespace(now_ns=lambda: 77)
REQUEST = OpenRequest("s", "c", 2, "read_file", None)


@pytest.mark.parametrize(
    ("requests", "to_close", "done"),
    [
        ((), (), []),
        ((), ("s",), ["close"]),
        ((REQUEST,), (), ["row", "flush", "close"]),
    ],
)
async def test_sessions_of_dead_processes_are_closed(requests, to_close, done):
    store = StateStore(requests, to_close)

    await close_abandoned_sessions(store, CLOCK, lambda owner: False)

    assert [one if isinstance(one, str) else "row" for one in store.done] == done


async def test_a_call_that_never_started_may_be_made_again():
    store = StateStore((REQUEST,))

    await close_abandoned_sessions(store, CLOCK, lambda owner: False)

    made = store.done[0]
    assert (made.session, made.kind, made.call_id, made.turn) == ("s", "completed", "c", 2)
    assert (made.payload["status"], made.payload["is_error"]) == ("interrupted", True)
    assert made.payload["not_started"] is True
    assert made.payload["meta"] == {"interrupted": True}
    assert made.payload["asked"] is False
    problem = made.payload["problem"]
    assert (problem["code"], problem["retryable"]) == ("cancelled", True)
