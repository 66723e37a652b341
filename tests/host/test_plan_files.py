"""The plan file of a session, and files with that one file among them."""

import stat
from pathlib import Path

import pytest

from handrail.core.places import PLAN_FILE_ROOT, Kind
from handrail.core.plan import Change
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.host.files.local_files import LocalFiles
from handrail.host.plan_files import SessionPlanFile


@pytest.fixture
def roots(tmp_path):
    (tmp_path / "work").mkdir()
    files = LocalFiles([tmp_path / "work"])
    yield files
    files.close()


def write(files, path, text):
    place = files.locate(path)
    staged = files.stage(Change(place, None, Content(text.encode())), durable=False)
    staged.publish()
    staged.discard()


def test_the_plan_is_reached_by_its_path_alone(roots, tmp_path):
    plan = SessionPlanFile(roots, tmp_path / "state", "s", keep=True)
    files = plan.files
    before = plan.path
    path = plan.open()

    missing = files.locate(path)
    write(files, path, "one\n")
    found = files.locate(path)

    assert before is None
    assert (missing.kind, found.kind, found.root, found.path) == (
        *(Kind.MISSING, Kind.FILE),
        *(PLAN_FILE_ROOT, path),
    )
    assert files.window(found, 1, 9).text == "one"
    assert files.read(found).content.tobytes() == b"one\n"
    assert files.read_part(found, 1, 2) == b"ne"
    assert files.stat(found).size == 4
    assert files.roots == roots.roots
    assert plan.read() == "one\n"
    for near in (path[:-3], f"{path}x", path.rpartition("/")[0], f"{path}/../x", f"/.{path}"):
        with pytest.raises(ProblemRaised):
            files.locate(near)
    plan.close()


def test_files_of_the_workspace_are_as_they_were(roots, tmp_path):
    plan = SessionPlanFile(roots, None, "s", keep=False)
    plan.open()
    files = plan.files

    write(files, "a.txt", "x")

    assert (tmp_path / "work" / "a.txt").read_text() == "x"
    assert [one.name for one in files.scan(files.locate("."))] == ["a.txt"]
    plan.close()


@pytest.mark.parametrize("kept", [True, False])
def test_the_folder_of_a_plan_is_private_and_a_temporary_one_ends_with_the_session(
    roots, tmp_path, kept
):
    plan = SessionPlanFile(roots, tmp_path / "state" if kept else None, "s", keep=kept)

    folder = Path(plan.open()).parent
    mode = stat.S_IMODE(folder.stat().st_mode)
    plan.close()

    assert mode == 0o700
    assert folder.exists() is kept
    assert folder.parent.exists() is kept


@pytest.mark.parametrize(("keep", "kept"), [(True, True), (False, False)])
def test_only_a_named_session_keeps_its_plan(roots, tmp_path, keep, kept):
    plan = SessionPlanFile(roots, tmp_path / "state", "../odd name", keep=keep)
    path = plan.open()
    write(plan.files, path, "one\n")
    plan.close()
    again = SessionPlanFile(roots, tmp_path / "state", "../odd name", keep=True)

    assert again.open() == path
    assert path.startswith(f"{tmp_path}/state/")
    assert (again.read() is not None) is kept
    again.close()


def test_two_sessions_do_not_share_a_plan(roots, tmp_path):
    plans = [SessionPlanFile(roots, tmp_path / "state", name, keep=True) for name in ("a b", "a-b")]

    assert len({plan.open() for plan in plans}) == 2
    for plan in plans:
        plan.close()


def test_what_a_crash_has_left_can_be_reached_for_making_it_whole(roots, tmp_path):
    plan = SessionPlanFile(roots, tmp_path / "state", "old", keep=True)
    path = plan.open()
    write(plan.files, path, "one\n")
    plan.close()

    later = SessionPlanFile(roots, tmp_path / "state", "new", keep=True)
    every, own = later.all_files, later.files

    assert every.locate(path).kind is Kind.FILE
    assert [one.name for one in every.scan(every.locate(path.rpartition("/")[0]))] == ["plan.md"]
    with pytest.raises(ProblemRaised):
        own.locate(path)
    later.close()


def test_a_plan_too_large_to_show_is_refused(roots, tmp_path):
    plan = SessionPlanFile(roots, tmp_path / "state", "s", keep=True)
    write(plan.files, plan.open(), "x" * 1_000_001)

    with pytest.raises(ProblemRaised) as caught:
        plan.read()

    assert caught.value.problem.code == "too_large"
    plan.close()
