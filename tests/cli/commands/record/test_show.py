import pytest


def test_everything_known_of_a_call_is_shown(handrail):
    call = handrail(
        *("--mode", "accept-edits", "--json", "call", "edit_file", "path=a.txt"),
        *("old_string=two", "new_string=2", "replace_all=false"),
    ).json

    done = handrail("show", call["call_id"])

    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "edit_file: ok"
    assert f"  call      {call['call_id']}" in lines
    assert "  session   cli, turn 1" in lines
    assert any("allow by mode:accept-edits" in line for line in lines)
    assert "  path = a.txt" in lines
    assert "+2" in lines
    assert any(line.startswith("  repaired  ") and "replace_all" in line for line in lines)
    changed = [line for line in lines if line.startswith("  changed   ")]
    before, after = call["changes"][0]["before_hash"], call["changes"][0]["after_hash"]
    assert changed == [f"  changed   a.txt (write, {before[:12]} → {after[:12]})"]


def test_a_refusal_is_shown_with_its_reason(handrail):
    handrail("call", "write_file", "path=b.txt", "content=line one\nline two")

    lines = handrail("show").out.splitlines()

    assert lines[0] == "write_file: refused"
    assert any(line.startswith("  cleared   ask by mode:default") for line in lines)
    assert any(line.startswith("  needs_approval: ") for line in lines)
    assert any(line.startswith("  hint: ") for line in lines)
    at = lines.index("  content =")
    assert lines[at + 1 : at + 3] == ["    line one", "    line two"]


def test_a_call_in_another_vocabulary_shows_what_it_was_called(handrail):
    handrail("--dialect", "claude", "call", "Read", "file_path=a.txt")

    assert ", as Read (claude dialect)" in handrail("show").out


def test_without_an_id_the_last_call_is_shown(handrail):
    handrail("call", "read_file", "path=a.txt")
    handrail("call", "file_info", "path=a.txt")

    assert handrail("show").out.startswith("file_info: ok\n")


def test_a_problem_fits_a_narrow_screen(handrail, monkeypatch):
    monkeypatch.setenv("COLUMNS", "48")
    handrail("call", "read_file", "path=a/long/path/to/a/file/that/is/missing.txt")

    lines = handrail("show").out.splitlines()

    assert any(line.startswith("  hint:") for line in lines)
    assert max(map(len, lines)) <= 48
    assert all(line.startswith(" ") for line in lines[1:] if line)


def test_json_is_the_record(handrail):
    handrail("call", "read_file", "path=a.txt")

    record = handrail("log", "--json").lines[0]

    assert handrail("show", "--json").json == {**record, "diffs": []}


def test_an_id_that_is_not_on_record_is_not_found(handrail):
    handrail("call", "read_file", "path=a.txt")

    done = handrail("show", "nope")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("not_found: no call 'nope'")


def test_the_same_id_in_two_sessions_shows_both_unless_one_is_named(handrail):
    for session in ("one", "two"):
        handrail("--session", session, "call", "--id", "x", "read_file", "path=a.txt")

    both = handrail("show", "x", "--json").lines
    one = handrail("--session", "one", "show", "x", "--json").lines

    assert [call["session"] for call in both] == ["two", "one"]
    assert [call["session"] for call in one] == ["one"]


def test_a_call_whose_payload_was_dropped_keeps_its_bones(handrail):
    handrail("call", "read_file", "path=a.txt")
    handrail("gc", "--older-than", "0")

    out = handrail("show").out

    assert out.startswith("(purged): (purged)\n")
    assert "the arguments were deleted" in out


def test_an_undo_names_the_call_it_took_back(handrail):
    write = ("call", "write_file", "path=b.txt", "content=x", "--json")
    made = handrail("--mode", "accept-edits", *write).json["call_id"]

    handrail("undo")
    undone = handrail("show").out
    handrail("redo")
    redone = handrail("show").out

    assert f"\n  undid     {made}\n" in undone
    assert f"\n  redid     {made}\n" in redone


@pytest.mark.needs_sandbox
def test_binary_files_are_told_by_their_size_behind_the_text(handrail, workspace):
    (workspace / "b.txt").write_text("b\n")
    (workspace / "cache.bin").write_bytes(b"\x00\x01" * 175)
    command = (
        "rm cache.bin; printf '\\0\\1' > made.bin; echo 1 > a.txt; echo 2 > b.txt; "
        "printf '\\377\\376x\\0\\n\\0' > wide.txt"
    )
    ran = handrail("--mode", "sandboxed", "call", "--id", "c", "run_command", f"command={command}")
    shown = handrail("show", "c").out
    undone = handrail("undo", "--json").json["display"]
    redone = handrail("redo", "--json").json["display"]

    assert ran.code == 0, ran.err
    for text in (shown, undone, redone):
        assert "\0" not in text
        assert "\\x00" not in text
        assert text.index("+++ b/b.txt") < text.index("cache.bin: binary file")
        # The undo removes it: its new side is /dev/null.
        side = "--- a/" if text is undone else "+++ b/"
        assert text.index(f"{side}wide.txt") < text.index("cache.bin: binary file")
    assert "removed (350 bytes)" in shown
    assert "(350 bytes)" in undone
    assert "made.bin: binary file removed" in undone
    assert "made.bin: binary file" in redone


@pytest.mark.needs_sandbox
def test_other_bytes_for_the_same_text_are_told(handrail, workspace):
    command = "printf '\\357\\273\\277one\\ntwo\\n' > a.txt"
    handrail("--mode", "sandboxed", "call", "run_command", f"command={command}")

    undone = handrail("undo")

    assert "text in another encoding" in undone.out
