import pytest


@pytest.mark.needs_bubblewrap
def test_the_overview_says_where_you_are_and_what_holds(handrail, workspace):
    done = handrail()

    assert (done.code, done.err) == (0, "")
    assert f"workspace  {workspace}\n" in done.out
    assert "mode       default: " in done.out
    assert "files      opened relative to" in done.out
    assert "search     ripgrep, " in done.out
    assert "commands   confined by bubblewrap\n" in done.out
    assert " enforced  fs_write, fs_read, fs_hide, tcp" in done.out
    assert " repaired  protected_names\n" in done.out
    assert "(empty)" in done.out
    assert "handrail demo" in done.out


def test_the_overview_says_what_happened_last(handrail):
    handrail("call", "read_file", "path=a.txt")
    handrail("--mode", "accept-edits", "call", "write_file", "path=b", "content=x")

    facts = handrail("--json").json

    assert (facts["last_session"]["calls"], facts["last_session"]["changes"]) == (2, 1)
    assert facts["store"]["bytes"] > 0
    assert "session cli, " in handrail().out
    assert ": 2 calls, 1 file" in handrail().out


def test_the_overview_of_every_mode_says_what_it_means(handrail):
    from handrail.policy.modes import Mode

    for mode in Mode:
        assert f"mode       {mode}: " in handrail("--mode", mode).out


@pytest.mark.needs_bubblewrap
def test_the_overview_names_each_property_and_how_far_it_holds(handrail):
    measured = handrail("--json").json["commands"]["measured"]

    assert measured["fs_write"] == "enforced"
    assert measured["protected_names"] == "repaired"
    assert measured["fs_hide"] == "enforced"
    assert len(measured) == 16


def test_commands_that_nothing_confines_are_told_as_that(handrail, tmp_path):
    (tmp_path / "own.toml").write_text('sandbox = "none"\n')

    out = handrail("--config", tmp_path / "own.toml").out

    assert "\n absent    fs_write, fs_read" in out


def test_commands_that_are_switched_off_are_told_as_that(handrail, tmp_path):
    (tmp_path / "own.toml").write_text("commands = false\n")

    assert "commands   disabled" in handrail("--config", tmp_path / "own.toml").out


def test_looking_changes_nothing(handrail, own_home):
    handrail()

    assert [path for path in own_home.rglob("*") if path.is_file()] == []


def test_a_search_without_ripgrep_is_told_as_what_it_is(handrail, monkeypatch):
    from handrail.cli.commands.setup import overview
    from handrail.host.processes.helpers import bundled
    from handrail.host.processes.helpers.bundled import HelperProgram

    monkeypatch.setattr(bundled, "find_helper", lambda name, roots: HelperProgram(name, None))

    facts = overview.enforcement(["/"])

    assert facts["search"] == facts["files"]


def test_a_record_that_cannot_be_read_is_told_and_the_rest_is_shown(handrail, tmp_path):
    store = tmp_path / "store.db"
    store.write_bytes(b"nonsense" * 1000)

    done = handrail("--store", store)

    assert done.code == 6
    assert "problem    the store" in done.out
    assert "handrail demo" in done.out


def test_other_directories_and_another_dialect_are_named(handrail, tmp_path):
    (tmp_path / "beside").mkdir()
    (tmp_path / "own.toml").write_text(f'directories = ["{tmp_path}/beside"]\n')

    out = handrail("--config", tmp_path / "own.toml", "--dialect", "codex").out

    assert f"           {tmp_path}/beside\n" in out
    assert "dialect    codex\n" in out


def test_a_home_that_cannot_be_used_is_told_and_the_rest_is_shown(handrail, workspace, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(workspace / "a.txt" / "state"))

    done = handrail()
    facts = handrail("--json").json

    assert (done.code, done.err) == (6, "")
    assert "problem    Handrail cannot keep" in done.out
    assert "hint       set XDG_STATE_HOME" in done.out
    assert "handrail demo" in done.out
    assert facts["store"]["problem"]["code"] == "unavailable"


def test_the_call_that_is_proposed_can_be_made(handrail, workspace):
    some = proposed(handrail)
    (workspace / "README.md").write_text("# hello\n")
    readme = proposed(handrail)
    for file in workspace.iterdir():
        file.unlink()
    (workspace / "odd name.txt").write_text("x")
    (workspace / "binary.bin").write_bytes(b"\0")
    none = proposed(handrail)

    assert some == ["call", "read_file", "path=a.txt"]
    assert readme == ["call", "read_file", "path=README.md"]
    assert none == ["call", "list_files"]
    assert handrail(*none).code == 0


def proposed(handrail) -> list[str]:
    (line,) = [line for line in handrail().out.splitlines() if line.endswith("make one call")]
    return line.removesuffix("make one call").split()[1:]


def test_a_session_without_calls_does_not_hide_what_happened_last(handrail, workspace):
    handrail("call", "read_file", "path=a.txt")
    (workspace / "none").touch()
    handrail("--session", "empty", "batch", "none")

    assert handrail("--json").json["last_session"]["calls"] == 1
