"""`handrail config`: where values come from, and whether files fit."""

import pytest


@pytest.fixture
def project(workspace):
    """Write the workspace's own settings."""
    (workspace / ".handrail").mkdir()

    def write(text, name="config.toml"):
        path = workspace / ".handrail" / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def own(own_home):
    """Write the person's settings."""

    def write(text):
        path = own_home / "config" / "handrail" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def rows(done):
    return {row["setting"]: row for row in done.lines}


def test_show_tells_every_setting_and_its_source(handrail, project, own):
    mine = own("keep_days = 9\n")
    project("\nmax_output_lines = 40\n")

    done = handrail("config", "show", "--mode", "plan")

    table = {line.split()[0]: line.split(maxsplit=2)[1:] for line in done.out.splitlines() if line}
    assert done.code == 0
    assert table["keep_days"] == [f"{mine}:1", "9"]
    assert table["max_output_lines"] == [".handrail/config.toml:2", "40"]
    assert table["mode"] == ["keyword", '"plan"']
    assert table["journal"] == ["default", "true"]


def test_show_as_json_has_one_object_per_setting(handrail, project):
    from handrail.config.settings import Settings

    file = project("network = true\n[permissions]\ndeny = ['read_file(.env)']\n")

    found = rows(handrail("--json", "config", "show"))

    assert list(found) == list(Settings.model_fields)
    assert found["network"] == {
        "setting": "network",
        "value": False,
        "source": {"layer": "default", "file": None, "line": None},
        "parts": {},
        "ignored": [
            {
                "key": "network",
                "value": True,
                "source": {"layer": "project", "file": str(file), "line": 1},
                "why": "needs trust",
            }
        ],
    }
    assert found["permissions"]["parts"]["permissions.deny[0]"]["line"] == 3


def test_show_marks_what_was_ignored(handrail, project):
    project("network = true\nkeep_days = 1\n[permissions]\nallow = ['run_command']\n")

    lines = handrail("config", "show").out.splitlines()

    assert "  network = true  .handrail/config.toml:1  (needs trust)" in lines
    assert "  keep_days = 1  .handrail/config.toml:2  (never from a workspace)" in lines
    assert '  permissions.allow[0] = "run_command"  .handrail/config.toml:4  (needs trust)' in lines


def test_parts_of_a_table_are_told_one_by_one(handrail, project, own):
    mine = own("[guardrails]\nmax_files_modified = 5\n")
    project("[guardrails]\nmax_lines_changed = 7\n[permissions]\nask = ['write_file']\n")

    done = handrail("config", "show")

    lines = [line.split() for line in done.out.splitlines()]
    assert ["guardrails.max_files_modified", f"{mine}:2", "5"] in lines
    assert ["guardrails.max_lines_changed", ".handrail/config.toml:2", "7"] in lines
    assert ["permissions.ask[0]", ".handrail/config.toml:4", '"write_file"'] in lines


def test_show_cannot_be_used_to_move_the_cursor(handrail, project):
    project('[hooks]\n"\\u001b[2J" = "\\u202e"\n[permissions]\ndeny = ["\\u001b]0;x"]\n')

    done = handrail("config", "show")

    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert "\u202e" not in done.out + done.err


def test_a_broken_file_is_told_with_its_line(handrail, project):
    file = project("mode = 'plan'\nnetwork =\n")

    done = handrail("config", "show")

    assert (done.code, done.out) == (2, "")
    assert f"{file}:2 cannot be read" in done.err


def test_check_says_that_a_file_fits(handrail, workspace):
    (workspace / "new.yaml").write_text("mode: plan\ncommands:\n  enabled: false\n")

    done = handrail("config", "check", "new.yaml")

    assert (done.code, done.out) == (0, "new.yaml: 2 settings, all of them fit\n")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "\nnetwrok = true\n",
            "t.toml:2: netwrok: there is no such setting; did you mean `network`",
        ),
        ("mode = 'plam'\n", "t.toml:1: mode: 'plam' is not a mode"),
        ("\ndialect = 'klingon'\n", "t.toml:2: dialect: "),
        ("max_output_lines = 1\n", "t.toml:1: max_output_lines: "),
        ("mode =\n", "t.toml:1 cannot be read"),
    ],
)
def test_check_names_line_and_key_of_what_does_not_fit(handrail, workspace, text, complaint):
    (workspace / "t.toml").write_text(text)

    done = handrail("config", "check", "t.toml")
    as_json = handrail("config", "check", "--json", "t.toml")

    assert (done.code, done.out) == (1, "")
    assert complaint in done.err
    assert as_json.code == 1
    assert as_json.json["fits"] is False
    assert complaint in as_json.json["problem"]["message"]


def test_every_file_named_is_checked(handrail, workspace):
    (workspace / "good.toml").write_text("")
    done = handrail("config", "check", "--json", "gone.toml", "good.toml")

    assert done.code == 1
    assert [line["fits"] for line in done.lines] == [False, True]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("config",), "required: ACTION"),
        (("config", "shwo"), "there is no ACTION 'shwo'; did you mean show?"),
        (("config", "check"), "`config check` needs a FILE"),
        (("config", "show", "a.toml"), "`config show` takes no FILE"),
        (("config", "show", "--session", "x"), "`config` takes no --session"),
    ],
)
def test_wrong_words_are_a_usage_error(handrail, words, complaint):
    done = handrail(*words)

    assert (done.code, done.out) == (2, "")
    assert complaint in done.err
