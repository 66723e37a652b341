import json

import pytest


@pytest.fixture
def edited(handrail):
    """Two turns in one session and one in another."""
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** Add File: b.txt\n+b\n*** End Patch"
    )
    handrail(
        "--mode", "accept-edits", "call", "--id", "p", "apply_patch", json.dumps({"patch": patch})
    )
    write = ("call", "write_file", "path=a.txt")
    handrail("--mode", "accept-edits", *write, "--id", "w", "content=all new\n")
    handrail("--mode", "accept-edits", "--session", "other", *write, "--id", "o", "content=other\n")


@pytest.mark.usefixtures("edited")
def test_a_turn_is_undone_by_its_number_and_ambiguity_is_refused(handrail, workspace):
    ambiguous = handrail("undo", "--turn", "1")
    last = handrail("undo", "--turn", "last")
    other = handrail("undo", "--turn", "cli:2", "--json").json
    narrowed = handrail("--session", "cli", "undo", "--turn", "1")

    assert ambiguous.code == 1
    assert ambiguous.err.startswith("ambiguous: ")
    assert "cli:1" in ambiguous.err
    assert "other:1" in ambiguous.err
    assert last.code == 0
    assert other["data"]["undid"] == ["w"]
    assert narrowed.code == 0, narrowed.err
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"
    assert not (workspace / "b.txt").exists()


@pytest.fixture
def interleaved(handrail):
    """Changes of two sessions in turns, the last one in the session `b`."""
    for session, name in (("a", "a1"), ("b", "b1"), ("a", "a2"), ("b", "b2")):
        write = ("call", "--id", name, "write_file", f"path={name}.txt", "content=x")
        handrail("--mode", "accept-edits", "--session", session, *write)


@pytest.mark.usefixtures("interleaved")
@pytest.mark.parametrize("selection", [(), ("--turn", "last")])
def test_the_newest_change_of_a_session_is_undone_whatever_others_did_later(handrail, selection):
    undone = [
        handrail("--session", "a", "undo", *selection, "--json").json["data"]["undid"]
        for _ in range(2)
    ]
    nothing = handrail("--session", "a", "undo", *selection)

    assert undone == [["a2"], ["a1"]]
    assert nothing.code == 1
    assert nothing.err.startswith("not_found: ")


@pytest.mark.usefixtures("edited")
def test_a_call_is_undone_by_its_id_alone(handrail, workspace):
    undone = handrail("undo", "o")
    between = (workspace / "a.txt").read_text()
    back = handrail("redo", "o")

    assert (undone.code, between) == (0, "all new\n")
    assert (back.code, (workspace / "a.txt").read_text()) == (0, "other\n")


@pytest.mark.usefixtures("edited")
def test_a_file_is_undone_alone_and_everything_since_then(handrail, workspace):
    alone = handrail("undo", "--path", "b.txt")
    since = handrail("undo", "--since", "p", "--json").json
    nothing = handrail("undo", "--since", "all")
    back = handrail("redo", "--path", "b.txt")

    assert alone.out.startswith("undid apply_patch (p) in b.txt")
    assert since["data"]["undid"] == ["o", "w", "p"]
    assert [change["path"] for change in since["changes"]] == ["a.txt"]
    assert nothing.code == 1
    assert back.code == 0
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"
    assert (workspace / "b.txt").read_text() == "b\n"


@pytest.mark.usefixtures("edited")
def test_a_conflict_names_the_file_and_force_overwrites_it(handrail, workspace):
    (workspace / "a.txt").write_text("mine\n")

    refused = handrail("undo")
    planned = handrail("undo", "--force", "--dry-run")
    unchanged = (workspace / "a.txt").read_text()
    forced = handrail("undo", "--force")
    overwritten = (workspace / "a.txt").read_text()
    redone = handrail("redo")

    assert refused.code == 1
    assert "'a.txt' changed since, from outside" in refused.err
    assert planned.code == 0
    assert unchanged == "mine\n"
    assert forced.code == 0
    assert overwritten == "all new\n"
    assert redone.code == 0
    assert (workspace / "a.txt").read_text() == "mine\n"


def test_only_one_thing_can_be_named(handrail):
    done = handrail("undo", "--call", "x", "--turn", "last")

    assert done.code == 2


@pytest.mark.usefixtures("edited")
def test_the_history_of_a_file_goes_over_sessions_and_says_what_stands(handrail):
    handrail("undo")

    lines = handrail("log", "--path", "a.txt", "--json").lines
    table = handrail("log", "--path", "./a.txt").out.splitlines()
    own = handrail("--session", "other", "log", "--path", "a.txt", "--json").lines
    none = handrail("log", "--path", "never.txt")

    assert [(one["tool"], one["session"], one["standing"]) for one in lines] == [
        ("undo", "cli", True),
        ("write_file", "other", False),
        ("write_file", "cli", True),
        ("apply_patch", "cli", True),
    ]
    assert list(lines[1]) == [
        *("path", "operation", "session", "turn", "call_id", "tool", "at_ns", "standing"),
        *("attributed", "before_hash", "after_hash", "calls", "folder"),
    ]
    assert lines[1]["after_hash"] == lines[0]["before_hash"]
    assert table[0].split() == ["TIME", "CALL", "TURN", "TOOL", "CHANGE", "STATE"]
    assert table[2].split()[1:] == ["o", "other:1", "write_file", "write", "undone"]
    assert [one["call_id"] for one in own] == ["o"]
    assert none.out.endswith("of never.txt\n")


def test_the_history_of_a_folder_is_that_of_the_files_below_it(handrail):
    write = ("--mode", "accept-edits", "call", "write_file")
    for number, path in enumerate(["pkg/a.py", "pkg/sub/b.py", "pkg.py", "a.txt"]):
        handrail(*write, "--id", f"w{number}", f"path={path}", "content=new\n")

    below = handrail("log", "--path", "pkg/", "--json").lines
    table = handrail("log", "--path", "pkg").out.splitlines()
    all_of_it = handrail("log", "--path", ".", "--json").lines
    one = handrail("log", "--path", "pkg/a.py").out.splitlines()

    assert [call["call_id"] for call in below] == ["w1", "w0"]
    assert table[0].split() == ["TIME", "CALL", "TURN", "TOOL", "CHANGE", "STATE", "FILE"]
    assert [line.split()[-1] for line in table[1:]] == ["pkg/sub/b.py", "pkg/a.py"]
    assert [call["call_id"] for call in all_of_it] == ["w3", "w2", "w1", "w0"]
    assert one[0].split() == ["TIME", "CALL", "TURN", "TOOL", "CHANGE", "STATE"]


@pytest.mark.usefixtures("edited")
def test_a_turn_that_is_not_there_is_told_with_those_that_are(handrail):
    missing = handrail("undo", "--turn", "77")
    named = handrail("undo", "--turn", "nobody:1")

    assert missing.code == named.code == 1
    assert "no turn '77'" in missing.err
    assert " other:1, cli:2, cli:1; `handrail log`" in missing.err
    assert ": other:1, cli:2, cli:1" in named.err


@pytest.mark.usefixtures("edited")
def test_the_calls_of_a_turn_are_listed(handrail):
    everywhere = handrail("log", "--turn", "1", "--json").lines
    one = handrail("log", "--turn", "cli:2", "--json").lines
    newest = handrail("log", "--turn", "last", "--json").lines
    wrong = handrail("log", "--turn", "latest")

    assert [call["call_id"] for call in everywhere] == ["o", "p"]
    assert [call["call_id"] for call in one] == ["w"]
    assert [call["call_id"] for call in newest] == ["o"]
    assert wrong.code == 2


@pytest.mark.usefixtures("edited")
def test_a_call_shows_its_diff_again_and_whether_it_stands(handrail, workspace):
    first = handrail("show", "p")
    as_json = handrail("show", "p", "--json").json
    handrail("undo")
    undone = handrail("show", "o")
    (workspace / "a.txt").write_text("lost\n")
    lost = handrail("show", "w", "--json").json

    assert "-one" in first.out.splitlines()
    assert "+1" in first.out.splitlines()
    assert [(one["path"], one["standing"]) for one in as_json["diffs"]] == [
        ("a.txt", True),
        ("b.txt", True),
    ]
    assert as_json["diffs"][0]["diff"].endswith("-one\n+1\n two\n")
    assert "later undone" in undone.out
    assert "+other" in undone.out.splitlines()
    assert lost["diffs"][0]["diff"] is not None, "kept as the old content of the next change"


def test_an_undo_of_many_files_begins_with_how_many_and_cuts_the_diff(handrail, tmp_path):
    added = "".join(f"*** Add File: f{number}.txt\n+{number}\n" for number in range(50))
    patch = f"*** Begin Patch\n{added}*** End Patch"
    handrail(
        "--mode", "accept-edits", "call", "--id", "p", "apply_patch", json.dumps({"patch": patch})
    )

    undone = handrail("undo")

    lines = undone.out.splitlines()
    assert lines[0].endswith("50 files: 50 removed")
    assert lines[-1].startswith("[100 more lines: `handrail show ")
    assert len(lines) == 102


def test_a_redo_is_called_a_redo(handrail):
    handrail("--mode", "accept-edits", "call", "write_file", "path=a.txt", "content=x")
    handrail("undo")
    handrail("redo")

    newest = handrail("log", "-n", "1").out.splitlines()[1]
    of_the_file = handrail("log", "--path", "a.txt").out.splitlines()[1]

    assert " redo " in newest
    assert "redo=" not in newest
    assert " redo " in of_the_file


def test_nothing_to_take_back_says_how_to_go_further(handrail):
    handrail("--mode", "accept-edits", "call", "--id", "w", "write_file", "path=a.txt", "content=x")
    unknown = handrail("undo", "--call", "nope")
    handrail("undo")

    nothing = handrail("undo", "--since", "start")
    none_left = handrail("undo", "--call", "nope")

    assert ": w (write_file); `handrail log`" in unknown.err
    assert "handrail undo --since all" in nothing.err
    assert "can still be undone" in none_left.err


def test_an_undo_without_lines_to_show_still_says_what_it_does(handrail, workspace):
    handrail("--mode", "accept-edits", "call", "write_file", "path=new.txt", "content=")

    undone = handrail("undo")

    assert "new.txt: the empty file" in undone.out


def test_the_hint_of_a_conflict_says_what_to_type(handrail, workspace):
    write = ("--mode", "accept-edits", "call", "write_file")
    handrail(*write, "path=a.txt", "content=1")
    handrail(*write, "path=b.txt", "content=1")
    (workspace / "a.txt").write_text("mine\n")

    refused = handrail("undo", "--since", "all")

    assert refused.code == 1
    assert "`--force`" in refused.err
    assert "(`--path FILE`)" in refused.err
    assert "later change" not in refused.err


def test_an_undo_reverts_what_was_written_before_a_cache(handrail, workspace):
    """A later call that changed only files in caches comes last."""
    write = ("--mode", "accept-edits", "call", "write_file")
    handrail(*write, "--id", "code", "path=app.py", "content=x = 1\n")
    handrail(*write, "--id", "cache", "path=__pycache__/app.pyc", "content=x")

    first = handrail("undo", "--json").json
    second = handrail("undo", "--json").json

    assert first["data"]["undid"] == ["code"]
    assert second["data"]["undid"] == ["cache"]
    assert not (workspace / "app.py").exists()
    assert not (workspace / "__pycache__").exists()
