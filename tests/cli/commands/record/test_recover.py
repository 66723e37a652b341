"""`handrail recover`: what it prints, and how a record follows a folder that was moved."""

import shutil

import pytest

from handrail.cli.commands.record import recover
from handrail.cli.render.recovery import EarlierRecovery
from handrail.core.ports.processes import Job, JobState
from handrail.history.recovered_call import RecoveredCall

HALF = RecoveredCall("c1", "write_file", "unknown", "half\ndone", paths=("a.txt",))
WHOLE = RecoveredCall("c2", "edit_file", "ok", "finished")


def job(number, state):
    return Job(str(number), "s", "c", "make\nall", "", 0.0, state, 1)


@pytest.fixture
def found(monkeypatch):
    """What the recovery of the workspace returns."""

    def give(recovered=(), earlier=(), jobs=()):
        async def answer(options):
            return recovered, earlier, jobs

        monkeypatch.setattr(recover, "_recover", answer)

    return give


def test_nothing_was_interrupted(handrail, found):
    found()

    assert handrail("recover").out.splitlines() == ["nothing to recover"]
    assert handrail("recover", "--json").out == ""


def test_each_call_has_a_line(handrail, found):
    earlier = [EarlierRecovery(HALF, stands) for stands in (True, False)]
    found((HALF, WHOLE), earlier)

    show, undo = "`handrail show c1`", "`handrail undo --call c1`"
    lines = handrail("recover").out.splitlines()
    assert "earlier" in lines.pop(2)
    assert lines == [
        f"c1  write_file  unknown: half\\ndone; {show}, {undo}",
        "c2  edit_file  ok: finished",
        f"c1  write_file  unknown: half\\ndone; {show}, {undo}",
        f"c1  write_file  unknown: half\\ndone; {show}",
    ]


def test_jobs_that_run_or_are_lost_have_a_line_and_a_hint(handrail, found):
    found((), (), (job(1, JobState.RUNNING), job(2, JobState.LOST)))

    lines = handrail("recover").out.splitlines()

    assert lines[:2] == ["nothing to recover", "job 1 is still running: make\\nall"]
    assert lines[2].startswith("job 2 is lost: ") and lines[2].endswith(": make\\nall")
    assert "`handrail jobs`" in lines[3]


def test_json_says_which_calls_were_recovered_earlier(handrail, found):
    found((WHOLE,), [EarlierRecovery(HALF, True)], (job(1, JobState.RUNNING),))

    lines = handrail("recover", "--json").lines

    assert [(one["call_id"], one["earlier"]) for one in lines] == [("c2", False), ("c1", True)]
    assert lines[1]["paths"] == ["a.txt"]


def test_a_recovery_cannot_be_tried(handrail):
    assert handrail("--dry-run", "recover").code == 2


@pytest.fixture
def recorded(handrail, workspace):
    """A workspace with a record of one call."""
    assert handrail("call", "read_file", "path=a.txt").code == 0
    return workspace


def relocate(handrail, old, new, *words):
    return handrail("-w", new, *words, "recover", "--moved-from", old)


def test_a_moved_folder_keeps_its_record(handrail, recorded, tmp_path):
    new = recorded.rename(tmp_path / "new")

    moved = relocate(handrail, recorded, new)

    assert moved.code == 0, moved.err
    assert moved.out.splitlines()[0].endswith(str(recorded))
    assert len(handrail("-w", new, "log", "--json").lines) == 1


def test_json_names_only_calls(handrail, recorded, tmp_path):
    new = recorded.rename(tmp_path / "new")

    assert relocate(handrail, recorded, new, "--json").out == ""


def test_an_empty_record_of_the_new_folder_is_replaced(handrail, recorded, tmp_path):
    from handrail.host.state.directories import state_home, workspace_name

    new = recorded.rename(tmp_path / "new")
    empty = state_home() / workspace_name(new)
    empty.mkdir()

    state = recover.relocate_state(recorded, new)

    assert state == empty
    assert (state / "store.db").is_file()
    (kept,) = state.parent.glob(f"{state.name}.empty-*")
    assert list(kept.iterdir()) == []


@pytest.mark.parametrize("how", ["copied", "used", "never", "same"])
def test_a_record_follows_no_other_folder(handrail, recorded, tmp_path, how):
    new = tmp_path / "new"
    if how == "copied":
        shutil.copytree(recorded, new)
    elif how == "used":
        recorded.rename(new)
        assert handrail("-w", new, "call", "read_file", "path=a.txt").code == 0
    elif how == "never":
        new.mkdir()
    old = tmp_path / "old" if how == "never" else recorded

    refused = relocate(handrail, old, recorded if how == "same" else new)

    assert refused.code == 1
    code = "conflict" if how in ("copied", "used") else "not_found"
    assert refused.err.startswith(f"{code}: ")


def test_a_named_store_does_not_move(handrail, recorded, tmp_path):
    new = recorded.rename(tmp_path / "new")

    refused = relocate(handrail, recorded, new, "--store", tmp_path / "s.db")

    assert refused.code == 2
    assert not (tmp_path / "s.db").exists()
