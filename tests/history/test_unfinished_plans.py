"""Temporary files of plans that were interrupted: which are removed, and what is left for later."""

import pytest

from handrail.history.unfinished_plans import Recovery
from handrail.host.files.local_files import LocalFiles


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    (folder / "d").mkdir(parents=True)
    return folder


@pytest.fixture
def files(work):
    files = LocalFiles([work])
    yield files
    files.close()


def recovery(files):
    return Recovery(None, files, None, None, lambda owner: False)


def test_only_temporary_files_of_the_plan_are_removed(work, files):
    (work / "kept").write_text("x")
    for name in (".handrail-t-0", "d/.handrail-t-1~", "d/.handrail-u-0", "d/a", "handrail-t"):
        (work / name).write_text("x")
    (work / ".handrail-t-link").symlink_to("kept")
    (work / ".handrail-t-dir").mkdir()

    described = [{"path": "a"}, {"path": "d/b"}, {"path": "missing/c"}]
    assert recovery(files)._sweep(described, "t", "")

    left = {str(path.relative_to(work)) for path in work.rglob("*")}
    assert left == {"d", "kept", "d/a", "d/.handrail-u-0", "handrail-t", ".handrail-t-dir"}


def test_files_of_other_steps_of_the_plan_stay(work, files):
    for name in (".handrail-t-0", ".handrail-t-back-0", ".handrail-t-sweep1-0"):
        (work / name).write_text("x")

    assert recovery(files)._sweep([{"path": "a"}], "t", "-back", "-sweep")

    assert [path.name for path in work.glob(".handrail*")] == [".handrail-t-0"]


def test_a_file_that_is_gone_meanwhile_is_removed(work, files):
    (work / ".handrail-t-0").write_text("x")
    listed = files.scan(files.locate("."))
    (work / ".handrail-t-0").unlink()
    files.scan = lambda place: listed

    assert recovery(files)._sweep([{"path": "a"}], "t", "")


def test_a_file_that_cannot_be_removed_is_left_for_later(work, files, monkeypatch):
    from handrail.core.problems import ProblemRaised
    from handrail.history import unfinished_plans

    def refuse(*args, **kwargs):
        raise ProblemRaised("disk", "x")

    for name in (".handrail-t-0", ".handrail-t-1"):
        (work / name).write_text("x")
    monkeypatch.setattr(unfinished_plans, "commit", refuse)

    assert not recovery(files)._sweep([{"path": "a"}], "t", "")
