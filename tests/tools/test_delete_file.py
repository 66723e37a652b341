import pytest

from handrail.core.verdicts import Risk
from handrail.tools.files.delete_file import DeleteFile, DeleteFileParams


@pytest.mark.feature("E11")
async def test_deleting_is_refused_unless_it_was_allowed(workspace):
    workspace.write("a", "x")
    workspace.tools["delete_file"] = DeleteFile(workspace.files, allow_delete=False)

    problem = await workspace.problem("delete_file", path="a")

    assert problem.code == "denied"
    assert "allow_delete=False" in problem.message
    assert "allow_delete=True" in problem.hint


@pytest.mark.feature("E11")
async def test_an_allowed_deletion_removes_the_file(workspace):
    target = workspace.write("a", "abc")

    plan = await workspace.change("delete_file", path="a")

    assert not target.exists()
    assert plan.text == "deleted a (3 bytes)"
    assert plan.changes[0].before.tobytes() == b"abc"


async def test_a_missing_file_and_a_directory_are_refused(workspace):
    (workspace.root / "d").mkdir()

    missing = await workspace.problem("delete_file", path="a")
    directory = await workspace.problem("delete_file", path="d")

    assert (missing.code, directory.code) == ("not_found", "not_text")


def test_deleting_is_dangerous(workspace):
    assert workspace.tools["delete_file"].risk(DeleteFileParams(path="a")) is Risk.DANGEROUS
