"""`handrail config`: where values come from, and whether files fit."""

import json
import re
import tomllib

import pytest

from handrail.assembly.settings_files import load_from


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
    from handrail.config.model import SETTING_NAMES

    file = project("network = true\n[permissions]\ndeny = ['read_file(.env)']\n")

    found = rows(handrail("--json", "config", "show"))

    assert list(found) == list(SETTING_NAMES)
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

    assert any(one.endswith("config.toml:1  (needs trust)") for one in lines)
    assert any(one.endswith("toml:2  (never from a workspace)") for one in lines)
    assert any(one.startswith("  permissions.allow[0] = ") for one in lines)


@pytest.mark.parametrize("words", [["config", "show"], ["--json", "config", "show"]])
def test_tables_that_were_ignored_are_shown_without_their_secrets(handrail, project, words):
    project(
        "[models.own]\nwire = 'openai-chat'\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'm'\n"
        "[mcp.servers.own]\nurl = 'http://127.0.0.1:9/mcp'\nbearer_token = 'hunter2'\n"
    )

    done = handrail(*words)

    assert done.code == 0
    assert "http://127.0.0.1:9/v1" in done.out
    assert "***" in done.out
    assert "hunter2" not in done.out + done.err


@pytest.mark.threat("A05")
def test_models_of_a_workspace_are_shown_as_not_used(handrail, project, own):
    """Trust does not change that, and is not offered."""
    table = "wire = 'anthropic'\nbase_url = '{}'\nmodel = 'm'\n"
    own(f"model = 'mine'\n[models.mine]\n{table.format('https://mine.example')}")
    project(f"model = 'theirs'\n[models.mine]\n{table.format('https://theirs.example')}")

    lines = handrail("config", "show").out.splitlines()
    used, ignored = lines[: lines.index("")], lines[lines.index("") :]

    assert any(one.startswith("model ") and one.endswith('"mine"') for one in used)
    assert not any("theirs" in one for one in used)
    marked = [one for one in ignored if one.endswith("(never from a workspace)")]
    assert [one.split()[0] for one in marked] == ["model", "models"]
    assert not any("handrail trust" in one for one in lines)


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
    assert f"{file}:2 is not valid" in done.err


def test_check_says_that_a_file_fits(handrail, workspace):
    (workspace / "new.yaml").write_text("mode: plan\ncommands:\n  enabled: false\n")

    done = handrail("config", "check", "new.yaml")

    assert (done.code, done.out) == (0, "new.yaml: 2 settings, all valid\n")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "\nnetwrok = true\n",
            "t.toml:2: netwrok: unknown setting; did you mean `network`",
        ),
        ("mode = 'plam'\n", "t.toml:1: mode: 'plam' is not a mode"),
        ("\ndialect = 'klingon'\n", "t.toml:2: dialect: "),
        ("max_output_lines = 1\n", "t.toml:1: max_output_lines: "),
        ("mode =\n", "t.toml:1 is not valid"),
    ],
)
def test_check_names_line_and_key_of_what_does_not_fit(handrail, workspace, text, complaint):
    (workspace / "t.toml").write_text(text)

    done = handrail("config", "check", "t.toml")
    as_json = handrail("config", "check", "--json", "t.toml")

    assert (done.code, done.out) == (2, "")
    assert complaint in done.err
    assert as_json.code == 2
    assert as_json.json["fits"] is False
    assert complaint in as_json.json["problem"]["message"]


@pytest.mark.parametrize("text", ["network = 3\n", "network = \n"])
def test_the_check_does_not_advise_to_run_it(handrail, workspace, text):
    (workspace / "t.toml").write_text(text)

    checked = handrail("config", "check", "t.toml").err
    called = handrail("--config", "t.toml", "tools").err

    assert "hint: fix the file" in checked
    assert "config check" not in checked
    assert "config check" in called


def test_a_url_in_a_list_of_hosts_is_refused_with_the_entry_to_write(handrail, workspace):
    (workspace / "t.toml").write_text('network = ["http://localhost:8765/"]\n')

    assert 'write "localhost:8765"' in handrail("config", "check", "t.toml").err


def test_every_file_named_is_checked(handrail, workspace):
    (workspace / "good.toml").write_text("")
    done = handrail("config", "check", "--json", "gone.toml", "good.toml")

    assert done.code == 2
    assert [line["fits"] for line in done.lines] == [False, True]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("config",), "required: ACTION"),
        (("config", "shwo"), "there is no ACTION 'shwo'; did you mean show?"),
        (("config", "check"), "you have no settings file yet"),
        (("config", "show", "a.toml"), "`config show` takes no FILE"),
        (("config", "show", "--session", "x"), "`config` does not accept --session"),
    ],
)
def test_wrong_words_are_a_usage_error(handrail, words, complaint):
    done = handrail(*words)

    assert (done.code, done.out) == (2, "")
    assert complaint in done.err


UNUSABLE = [
    ('[permissions]\nallow = ["Bash"]\n', ":2 cannot be used: it is too broad"),
    ('[permissions]\ndeny = ["read_file(.env"]\n', ":2 cannot be used: it is neither a tool"),
    ('[guardrails]\nblocked_commands = ["(?<=a)b"]\n', ":2: guardrails.blocked_commands[0]: "),
    ("[guardrails]\nmax_files_modified = -1\n", ":2: guardrails.max_files_modified: -1 is "),
    ("[guardrails]\nmax_files = 1\n", ":2: guardrails.max_files: there is no such key"),
    (
        '[[guardrails.code_rules]]\nmessage = "no"\npattern = "print("\n',
        ":3: guardrails.code_rules[0].pattern: the expression 'print(' is not valid: missing )\n",
    ),
    ('[[hooks.pre_tool_use]]\ncommand = "./gone.sh"\n', ":1: hooks.pre_tool_use[0]: the hook "),
    (
        '[[hooks.pre_tool_use]]\ncommand = "true"\nmatcher = "edti_file"\n',
        "there is no tool named 'edti_file'; did you mean 'edit_file'",
    ),
    (
        '[[hooks.pre_tool_use]]\ncommand = "true"\ntimeout = "5s"\n',
        "hooks.pre_tool_use[0].timeout: it must be a number of seconds",
    ),
    ('[[hooks.pre_tol]]\ncommand = "true"\n', ":1: hooks.pre_tol: there is no such event"),
    ('[agents.helper]\ntolls = ["grep"]\n', ":2: agents.helper.tolls is not known"),
    ('sandbox_require = ["air"]\n', ":1: sandbox_require: the sandbox has no property 'air'"),
    ('[programs.x]\nclass = "odd"\n', ":1: programs: 'x': class must be"),
    ('directories = ["/no/such/place"]\n', ":1: directories: there is no directory"),
]


@pytest.mark.parametrize(("text", "complaint"), UNUSABLE)
@pytest.mark.parametrize("whose", ["own", "workspace"])
def test_what_a_call_would_refuse_the_check_refuses_too(
    handrail, request, workspace, own_home, text, complaint, whose
):
    write = request.getfixturevalue("own" if whose == "own" else "project")
    file = write(text)

    checked = handrail("config", "check", file)

    assert (checked.code, checked.out) == (2, "")
    assert complaint in checked.err
    assert not list(own_home.rglob("*.db"))
    if whose == "own":
        assert handrail("call", "list_files").err == checked.err


def test_files_that_fit_alone_and_not_together_do_not_fit_where_both_hold(handrail, project, own):
    own("[guardrails]\nblocked_commands = ['a']\n[hooks]\nclaude = ['~/a.json']\n")
    file = project("blocked_commands = ['b']\n[guardrails]\nenabled = true\n")
    elsewhere = handrail("-w", "..", "config", "check", file)

    here = handrail("config", "check", file)

    assert (elsewhere.code, here.code) == (0, 2)
    assert "there is no file" in here.err


def test_what_a_workspace_may_never_say_is_told_by_the_check(handrail, project):
    file = project("keep_days = 3\n")

    done = handrail("config", "check", file)

    assert done.code == 0
    assert "keep_days: ignored: " in done.err


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("mode = plan\n", "text needs quotes"),
        ("allow_protected = 3\n", "allow_protected: it must be a list, not a number"),
        ("keep_days = 1.5\n", "keep_days: it must be a whole number, not a decimal"),
        ("most_at_once = 0\n", "most_at_once: it must be at least 1"),
        ("durability = 'x'\n", "durability: it must be 'power' or 'process'"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_in_the_words_of_the_file(handrail, own, text, complaint):
    file = own(text)

    done = handrail("config", "show")

    assert f"{file}:1" in done.err
    assert complaint in done.err
    assert "config show" not in done.err


def test_a_wrong_mode_is_answered_with_the_modes(handrail, own):
    own("mode = 'plam'\n")

    done = handrail("call", "list_files")

    assert "\nhint: use one of: default, " in done.err


def test_no_action_is_told_without_asking_for_a_file(handrail):
    assert "required: ACTION\n" in handrail("config").err


@pytest.mark.finding("F33")
def test_a_rule_about_a_tool_that_is_not_registered_is_a_notice(handrail, own):
    file = own('[permissions]\nallow = ["deploy"]\ndeny = ["other_tool"]\n')

    checked = handrail("config", "check", file)
    as_json = handrail("--json", "config", "check", file)
    doctor = handrail("doctor", "--json")

    assert checked.code == as_json.code == 0
    assert "tool named 'deploy'" in checked.err
    assert ":3 has no effect yet" in checked.err
    assert len(json.loads(as_json.out)["notices"]) == 2
    assert len(json.loads(doctor.out)["notices"]) == 2


@pytest.mark.finding("F39")
def test_init_writes_a_commented_file_and_replaces_none(handrail, own_home):
    file = own_home / "config" / "handrail" / "config.toml"

    planned = handrail("config", "init", "--dry-run")
    written = handrail("config", "init")
    again = handrail("config", "init")

    assert (planned.code, written.code, again.code) == (0, 0, 1)
    assert again.err.startswith("exists: ")
    assert 'model = "' in again.err
    assert str(file) in written.out
    assert "names no model yet" in written.out
    assert handrail("config", "check", file).code == 0
    assert all(line.startswith("#") for line in file.read_text().splitlines() if line)


def test_check_without_a_file_checks_the_one_in_use(handrail, own, workspace):
    mine = own("keep_days = 9\n")
    (workspace / "other.toml").write_text("keep_days = 'x'\n")

    assert handrail("config", "check").out == f"{mine}: 1 setting, all valid\n"
    assert handrail("config", "check", "--config", "other.toml").code == 2


@pytest.mark.finding("F39")
def test_every_setting_of_the_written_file_can_be_used(handrail, workspace):
    handrail("config", "init", "--config", "mine.toml")
    file = workspace / "mine.toml"
    names = re.findall(r"^# (\w+) = (?!\.\.\.)", file.read_text(), re.MULTILINE)
    text = re.sub(r"^# (?=\w+ = (?!\.\.\.)|\[)", "", file.read_text(), flags=re.MULTILINE)
    file.write_text(text)

    assert {"mode", "keep_days", "deny"} <= set(names)
    checked = handrail("config", "check", file)
    assert (checked.code, checked.err) == (0, "")


@pytest.mark.parametrize(
    ("answers", "model", "profile"),
    [
        (["1", "claude-x", ""], "anthropic:claude-x", None),
        (["9", "2", "gpt-x", "WORK_KEY"], "openai", ("https://api.openai.com/v1", "WORK_KEY")),
        (
            ["6", "ftp://x", "http://127.0.0.1:8000/v1", "", "qwen", "sk-123-secret", "none"],
            "own",
            ("http://127.0.0.1:8000/v1", None),
        ),
        (["7"], None, None),
    ],
)
def test_init_asks_about_the_model_at_a_terminal(terminal, own_home, answers, model, profile):
    screen = terminal(["config", "init"])
    screen.wait_for("[1-7] ")
    for answer in answers:
        screen.type(f"{answer}\n")
    assert screen.end() == 0

    file = own_home / "config" / "handrail" / "config.toml"
    settings = tomllib.loads(file.read_text())
    assert settings.get("model") == model
    table = settings.get("models", {}).get(model)
    assert (table and (table["base_url"], table.get("key_env"))) == profile
    assert "sk-123-secret" not in file.read_text()
    assert load_from(own_home, str(file), {}).settings.model == model
