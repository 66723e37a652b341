"""How recovered calls are reported: by the first command after a crash, and for a day afterwards."""

import time
from types import SimpleNamespace

import pytest

from handrail.cli.render.recovery import recent_recoveries, recovery_hints, warn_recovered
from handrail.core.ports.records import CallRecord, OpenedSession, Trace
from handrail.history.recovered_call import RecoveredCall

DAY_NS = 24 * 3_600 * 1_000_000_000
CHANGED = RecoveredCall("c1", "write_file", "unknown", "half done", paths=("a.txt",))


@pytest.mark.parametrize(
    ("call", "stands", "hints"),
    [
        (CHANGED, True, "; `handrail show c1`, `handrail undo --call c1`"),
        (CHANGED, False, "; `handrail show c1`"),
        (RecoveredCall("c1", "run_command", "unknown", ""), True, "; `handrail show c1`"),
        (RecoveredCall("c1", "write_file", "ok", "", paths=("a",)), True, ""),
        (RecoveredCall("c1", "write_file", "unknown", "", False, ("a",)), True, ""),
    ],
)
def test_only_what_may_have_changed_something_has_hints(call, stands, hints):
    assert recovery_hints(call, stands=stands) == hints


@pytest.mark.parametrize(
    ("count", "rest"),
    [
        (0, []),
        (3, []),
        (4, ["recovered: 1 more; `handrail log` lists them"]),
        (9, ["recovered: 6 more; `handrail log` lists them"]),
    ],
)
def test_the_first_three_are_named_and_the_others_counted(capsys, count, rest):
    warn_recovered([RecoveredCall(f"c{n}", "t", "ok", "two\nlines") for n in range(count)])

    lines = capsys.readouterr().err.splitlines()
    named = [f"recovered: t (c{n}): two\\nlines" for n in range(min(count, 3))]
    assert lines == named + rest


class RecordedCalls:
    """A runtime whose record has these calls, newest first."""

    def __init__(self, *calls, session="here", recovered=()):
        self._calls = calls
        self.store, self.recovered = self, recovered
        self.session = SimpleNamespace(id=session)

    async def openings(self):
        places = {"here": "/w", "there": "/elsewhere"}
        return [OpenedSession(name, 0, {"workspace": path}) for name, path in places.items()]

    async def traces(self, limit):
        return [trace for trace, _ in self._calls][:limit]

    async def calls(self, session, call_id, limit):
        for trace, record in self._calls:
            if (trace.session, trace.call_id) == (session, call_id) and record is not None:
                return [record][:limit]
        return []


def call(call_id="c1", *, session="here", ago_ns=0, recorded=True, **completed):
    completed = {
        "status": "unknown",
        "tool": "write_file",
        "text": "half done",
        "meta": {"recovered": True},
        "data": {"paths": ["a.txt"]},
        "effects": {"changes": [{"path": "a.txt", "operation": "update"}]},
    } | completed
    now = time.time_ns() - ago_ns
    trace = Trace(1, session, call_id, 1, now, {"runs": True}, 2, completed)
    record = CallRecord(session, call_id, 1, now, {"tool": "write_file"}, {}, completed, now)
    return trace, record if recorded else None


async def test_a_call_that_was_recovered_within_a_day_is_listed():
    (found,) = await recent_recoveries(RecordedCalls(call()), "/w")

    assert found.recovered == CHANGED
    assert found.stands is True


async def test_a_call_without_known_changes_has_nothing_to_undo():
    (found,) = await recent_recoveries(RecordedCalls(call(effects={})), "/w")

    assert found.stands is False


@pytest.mark.parametrize(
    "unlisted",
    [
        call(status="ok"),
        call(ago_ns=DAY_NS + 1_000_000_000),
        call(session="there"),
        call(meta={}),
        call(meta=None),
        call(recorded=False),
    ],
    ids=["complete", "old", "elsewhere", "not recovered", "no facts", "purged"],
)
async def test_other_calls_are_not_listed(unlisted):
    newer, older = call("newer"), call("older")

    found = await recent_recoveries(RecordedCalls(newer, unlisted, older), "/w")

    assert [one.recovered.call_id for one in found] == ["newer", "older"]


async def test_what_was_recovered_just_now_is_not_listed_again():
    assert await recent_recoveries(RecordedCalls(call(), recovered=(CHANGED,)), "/w") == []


async def test_a_recent_call_of_a_day_ago_is_still_listed_and_may_name_no_paths():
    recorded = RecordedCalls(call(ago_ns=DAY_NS - 60_000_000_000, data=None))

    (found,) = await recent_recoveries(recorded, "/w")

    assert found.recovered.paths == ()
