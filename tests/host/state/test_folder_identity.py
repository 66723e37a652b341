"""A folder is told from the one that stood at its path before."""

import shutil

from handrail.host.state.identities import folder_identity


def test_a_moved_folder_is_the_same_and_one_made_anew_is_another(tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    identity = folder_identity(str(first))

    moved = first.rename(tmp_path / "moved")
    same = folder_identity(str(moved))
    shutil.rmtree(moved)
    first.mkdir()
    (first / "file").write_text("x")
    another = folder_identity(str(first))

    assert same == identity
    assert another != identity
    assert folder_identity(str(first)) == another, "its content does not matter"
    assert folder_identity(str(moved)) == ""
