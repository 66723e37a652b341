"""The directory outside the roots that a view of the files also reaches."""

import os

import pytest

from handrail.core.places import PLAN_FILE_ROOT, Kind
from handrail.core.problems import ProblemRaised


@pytest.fixture
def beside(tmp_path):
    directory = tmp_path / "beside"
    directory.mkdir()
    (directory / "plan.md").write_text("plan")
    (directory / "other.md").write_text("other")
    return directory


@pytest.fixture
def view(files, beside):
    """Files that reach `plan.md` of the directory outside."""
    top = files.open_beside(beside)
    return files.with_beside(lambda path: "plan.md" if path == f"{top}/plan.md" else None)


def test_the_view_reaches_what_it_may(view, beside, work):
    (work / "a").write_text("a")
    path = str(beside / "plan.md")

    place = view.locate(path)

    assert (place.root, place.path, place.absolute) == (PLAN_FILE_ROOT, path, path)
    assert place.kind is Kind.FILE
    assert view.read(place).content.tobytes() == b"plan"
    assert view.named(path).place == place
    assert view.locate("a").root == view.named("a").place.root == 0
    with pytest.raises(ProblemRaised):
        view.locate(str(beside / "other.md"))


def test_the_files_themselves_do_not_reach_it(files, view, beside):
    with pytest.raises(ProblemRaised):
        files.locate(str(beside / "plan.md"))


def test_relative_paths_are_never_resolved_outside(files, beside, work):
    files.open_beside(beside)
    everything = files.with_beside(lambda path: path.rpartition("/")[2])

    assert everything.locate("plan.md").kind is Kind.MISSING
    assert everything.locate(str(work / "plan.md")).root == PLAN_FILE_ROOT


def test_the_first_directory_that_was_opened_stays_open(files, beside, tmp_path):
    first = files.open_beside(beside)

    assert first == os.path.realpath(beside)
    assert files.open_beside(tmp_path) == first


def test_it_is_closed_once_and_may_be_opened_again(files, view, beside, tmp_path):
    files.close_beside()
    files.close_beside()

    with pytest.raises(OSError, match="link"):
        view.locate(str(beside / "plan.md"))
    assert files.open_beside(tmp_path) == os.path.realpath(tmp_path)


def test_the_handle_of_a_root_is_the_root(files, work):
    info = os.fstat(files.handle(0))

    assert (info.st_dev, info.st_ino) == (work.stat().st_dev, work.stat().st_ino)
    assert files.roots == (os.path.realpath(work),)
    assert files.aliases == ()
