"""What recovery records about the jobs of a runtime that was killed."""

from types import SimpleNamespace

import pytest

from handrail.core.ports.processes import Job, JobState
from handrail.engine.executors.job_effects import DeadJobs, JobCall, JobNote, note_job
from handrail.history.command_effects.effects_report import EffectsReport

CHANGE = {
    "path": "a", "absolute": "/place/a", "operation": "write", "before_hash": "1",
    "after_hash": "2", "before_form": "file", "after_form": "file",
}  # fmt: skip
NOTE = JobNote(JobCall("c1", 3, "main", "owner"), 5, {"shadow": "x"}, True, False, True)
NOW_NS = 9


class JobStore:
    """A store whose only rows are what is recorded here."""

    def __init__(self):
        self.states, self.rows, self.completed = {}, [], set()

    def save_state(self, session, key, value):
        assert session == ""
        if value is None:
            self.states.pop(key)
        else:
            self.states[key] = value

    async def load_state(self, session):
        return dict(self.states)

    async def openings(self):
        return [SimpleNamespace(session="s", folder=None)]

    async def find_completed(self, session, call_id):
        return (session, call_id) if (session, call_id) in self.completed else None

    def append(self, row):
        self.rows.append(row)

    async def flush(self):
        pass


class JobEffects:
    """The changes of a job: `report`, or unknown."""

    def __init__(self, report):
        self.report = report
        self.asked, self.limited = [], []
        self.keeping = SimpleNamespace(files=SimpleNamespace(roots=("/place",)))

    def unfinished(self, intent, ended_ns):
        self.asked.append((intent, ended_ns))
        return self.report

    def limit(self, report, noted, *, confined):
        self.limited.append((noted, confined))


@pytest.fixture
def here(monkeypatch):
    """Every session worked in the folder that is open now."""
    from handrail.engine.executors import job_effects
    from handrail.history.workspace_match import WorkspaceMatch

    where = SimpleNamespace(match=WorkspaceMatch.HERE)
    folders = SimpleNamespace(where=lambda session, began_ns: where.match)
    monkeypatch.setattr(job_effects, "workspace_folders", lambda *_: folders)
    return where


async def settled(effects, *jobs, alive=(), store=None):
    store = store or JobStore()
    note_job(store, "s", "1", NOTE)

    async def all_jobs():
        return jobs

    dead = DeadJobs(
        effects,
        store,
        SimpleNamespace(jobs=all_jobs),
        SimpleNamespace(now_ns=lambda: NOW_NS),
        lambda owner: owner in alive,
    )
    return await dead.settle("s"), store


def job(state=JobState.RUNNING, session="s", call="c1", ended_at=None):
    return Job("1", session, call, "cmd", "", 1.0, state, 7, ended_at=ended_at)


async def test_a_job_is_recorded_as_a_call_with_its_changes(here):
    effects = JobEffects(EffectsReport([CHANGE]))

    found, store = await settled(effects, job(JobState.EXITED, ended_at=2.0))

    assert [(one.call_id, one.tool, one.status, one.paths) for one in found] == [
        ("job:1", "job", "unknown", ("a",))
    ]
    assert effects.asked == [(NOTE.intent, 2_000_000_000)]
    assert effects.limited == [(NOTE, True)]
    assert [(row.kind, row.call_id, row.turn, row.at_ns) for row in store.rows] == [
        (kind, "job:1", 3, NOW_NS) for kind in ("requested", "intent", "completed")
    ]
    requested, intent, completed = (row.payload for row in store.rows)
    assert requested == {
        "tool": "job",
        "called": "job",
        "arguments": {"job": "1", "call": "c1"},
        "agent": "main",
    }
    assert intent == {"tool": "job", "owner": "owner", "runs": "job", "call": "c1"}
    assert completed["meta"] == {
        "recovered": True,
        "undo": "full",
        **job(JobState.EXITED, ended_at=2.0).to_meta(),
    }
    assert (completed["status"], completed["is_error"]) == ("unknown", True)
    assert completed["changes"] == [["a", "write", "1", "2"]]
    assert completed["effects"]["changes"] == [CHANGE]
    assert completed["data"] == {"paths": ["a"]}
    assert (completed["problem"]["code"], completed["problem"]["retryable"]) == (
        "cancelled",
        False,
    )
    assert (completed["asked"], completed["cleared"]) == (False, None)
    assert store.states == {}


async def test_a_job_that_still_runs_can_be_undone_only_in_part(here):
    effects = JobEffects(EffectsReport([CHANGE]))

    (found,), store = await settled(effects, job())

    assert "still runs" in found.text
    assert effects.asked == [(NOTE.intent, NOW_NS)]
    assert store.rows[-1].payload["meta"]["undo"] == "partial"
    assert list(effects.report.left_out) == ["job:1"]


@pytest.mark.parametrize("other", [{"session": "t"}, {"call": "c2"}])
async def test_another_job_of_that_number_is_not_this_one(here, other):
    effects = JobEffects(EffectsReport())

    (found,), store = await settled(effects, job(**other))

    assert "still runs" not in found.text
    assert effects.asked == [(NOTE.intent, None)]
    assert store.rows[-1].payload["meta"] == {"recovered": True, "undo": "full"}


async def test_a_job_whose_changes_are_not_known_is_recorded_without(here):
    (found,), store = await settled(JobEffects(None))

    completed = store.rows[-1].payload
    assert (found.paths, completed["changes"], completed["meta"]) == ((), [], {"recovered": True})
    assert "effects" not in completed


async def test_jobs_of_others_are_left_alone(here):
    found, store = await settled(JobEffects(None), alive=["owner"])
    assert (found, store.rows, len(store.states)) == ([], [], 1)

    here.match = type(here.match).ELSEWHERE
    found, store = await settled(JobEffects(None))
    assert (found, store.rows, len(store.states)) == ([], [], 1)

    here.match = type(here.match).BEFORE
    effects = JobEffects(EffectsReport([CHANGE]))
    (found,), _ = await settled(effects)
    assert (found.paths, effects.asked) == ((), [])


async def test_a_job_that_is_on_record_is_not_recorded_again(here):
    store = JobStore()
    store.completed.add(("s", "job:1"))

    found, store = await settled(JobEffects(None), store=store)

    assert (found, store.rows, store.states) == ([], [], {})


def test_a_note_is_what_the_store_kept():
    assert JobNote.from_state(NOTE.to_state()) == NOTE
    with pytest.raises(TypeError):
        JobNote.from_state({"call": "c1"})
