"""What hooks said and changed, as the person at the command line sees it."""


def test_an_edit_shows_what_its_hooks_said_and_did_and_is_undone_with_it(handrail, workspace):
    (workspace.parent / "own.toml").write_text(
        "[[hooks.post_tool_use]]\nname = 'tidy'\nmatcher = 'edit_file'\n"
        "command = 'sed -i s/two/2/ {file}; echo 1 file reformatted'\n"
    )
    asked = ("--config", workspace.parent / "own.toml", "--mode", "accept-edits")
    arguments = ("path=a.txt", "old_string=one", "new_string=1")
    done = handrail(*asked, "call", "edit_file", *arguments)
    written = (workspace / "a.txt").read_text()
    undone = handrail(*asked, "undo")

    assert done.code == 0, done.err
    assert "[Hook tidy]\n1 file reformatted\n" in done.out
    assert written == "1\n2\n"
    assert undone.code == 0, undone.err
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"
