"""`handrail trust`: a look, a question, and a record that ends with the first change."""

import os

import pytest

QUESTION = "Trust these files until they change? [y/n] "
HOOK = "[[hooks.pre_tool_use]]\ncommand = './evil.sh'\n"


@pytest.fixture
def project(workspace):
    (workspace / ".handrail").mkdir()
    path = workspace / ".handrail" / "config.toml"
    path.write_text(f"mode = 'plan'\nnetwork = true\nkeep_days = 1\n{HOOK}")
    return path


def answer(terminal, text, words=("trust",)):
    running = terminal(list(words))
    running.wait_for(QUESTION)
    running.type(text)
    return running.end(), running.screen.decode()


def network(handrail):
    (row,) = [
        one for one in handrail("--json", "config", "show").lines if one["setting"] == "network"
    ]
    return row["value"]


def test_after_a_yes_the_workspace_is_trusted(terminal, handrail, project):
    before = network(handrail)
    code, screen = answer(terminal, "y\n")

    assert code == 0
    assert "trusted until these files change" in screen
    assert (before, network(handrail)) == (False, True)
    assert handrail("trust", "--json").json["trusted"] is True


def test_the_user_sees_everything_the_files_say(terminal, project, check_snapshot):
    _, screen = answer(terminal, "n\n")

    shown = screen.replace("\r\n", "\n").partition(QUESTION)[0]
    check_snapshot("trust", shown)


@pytest.mark.parametrize("text", ["n\n", "No\n", "\x04"])
def test_anything_but_a_yes_is_a_no(terminal, handrail, project, text):
    code, screen = answer(terminal, text)

    assert code == 5
    assert screen.rstrip().endswith("not trusted")
    assert network(handrail) is False


def test_a_yes_typed_before_the_question_does_not_count(terminal, handrail, project):
    running = terminal(["trust"])
    running.type("y\n")
    running.wait_for(QUESTION)
    running.type("n\n")

    assert running.end() == 5
    assert network(handrail) is False


def test_an_empty_answer_is_asked_again(terminal, handrail, project):
    running = terminal(["trust"])
    running.wait_for(QUESTION)
    running.type("\n")
    running.wait_for(f"{QUESTION}\r\n{QUESTION}")
    running.type("n\n")

    assert running.end() == 5
    assert network(handrail) is False


def test_ctrl_c_at_the_question_trusts_nothing(terminal, handrail, project):
    code, _ = answer(terminal, "\x03")

    assert code == 130
    assert network(handrail) is False


@pytest.mark.parametrize("change", ["edit", "comment", "another file", "local file", "moved"])
def test_any_change_ends_the_trust(terminal, handrail, project, workspace, tmp_path, change):
    answer(terminal, "y\n")
    before = network(handrail)
    match change:
        case "edit":
            project.write_text(project.read_text().replace("./evil.sh", "./other.sh"))
        case "comment":
            project.write_text(project.read_text() + "# harmless\n")
        case "another file":
            project.rename(project.with_name("config.yaml"))
            project.with_name("config.yaml").write_text("network: true\n")
        case "local file":
            project.with_name("config.local.toml").write_text("")
        case "moved":
            os.chdir(tmp_path)
            workspace.rename(tmp_path / "elsewhere")
            os.chdir(tmp_path / "elsewhere")

    assert (before, network(handrail)) == (True, False)


def test_content_that_was_trusted_is_trusted_again(terminal, handrail, project):
    text = project.read_text()
    answer(terminal, "y\n")
    project.write_text("network = true\n")
    between = network(handrail)
    project.write_text(text)

    assert (between, network(handrail)) == (False, True)


def test_trust_can_be_revoked(terminal, handrail, project):
    answer(terminal, "y\n")

    done = [handrail("trust", "--revoke"), handrail("trust", "--revoke")]

    assert [(one.code, one.out) for one in done] == [
        (0, "trust ended\n"),
        (0, "nothing was trusted here\n"),
    ]
    assert network(handrail) is False


def test_the_end_of_trust_is_told_as_json(terminal, handrail, project, workspace):
    answer(terminal, "y\n")

    kept = handrail("--json", "--dry-run", "trust", "--revoke").json["trusted"]
    done = [handrail("--json", "trust", "--revoke") for _ in range(2)]

    assert kept is True
    assert [(one.code, one.json) for one in done] == [
        (0, {"workspace": str(workspace), "revoked": True}),
        (0, {"workspace": str(workspace), "revoked": False}),
    ]


def test_without_a_terminal_nobody_can_say_yes(handrail, project):
    done = handrail("trust")

    assert (done.code, done.out) == (3, "")
    assert "needs_approval: trust" in done.err
    assert network(handrail) is False


@pytest.mark.parametrize("words", [("trust", "--show"), ("--dry-run", "trust")])
def test_showing_asks_nothing_and_records_nothing(handrail, project, own_home, words):
    done = handrail(*words)

    assert done.code == 0
    assert "  network = true  .handrail/config.toml:2\n" in done.out
    assert done.out.endswith("not trusted\n")
    assert not (own_home / "state").exists()


def test_what_is_trusted_is_told_as_json(terminal, handrail, project, workspace):
    report = handrail("trust", "--show", "--json").json

    assert report["workspace"] == str(workspace)
    assert report["files"] == [str(project)]
    assert report["trusted"] is False
    assert [(one["key"], one["why"]) for one in report["claims"]] == [
        ("mode", "applies"),
        ("network", "needs trust"),
        ("keep_days", "never from a workspace"),
        ("hooks.pre_tool_use[0]", "needs trust"),
    ]


def test_a_workspace_without_settings_needs_no_trust(handrail, workspace):
    done = handrail("trust")

    assert done.code == 0
    assert "no settings files" in done.out


def test_settings_that_only_narrow_need_no_trust(handrail, project):
    project.write_text("mode = 'plan'\n")

    done = handrail("trust")

    assert done.code == 0
    assert done.out.endswith("nothing here needs trust\n")


def test_what_the_files_say_cannot_forge_the_question(terminal, project):
    project.write_text('[hooks]\nx = "\\u001b[2J\\r\\nenabled by trust:\\n  nothing\\u202e"\n')

    code, screen = answer(terminal, "n\n")

    assert code == 5
    assert "\x1b" not in screen
    assert "\u202e" not in screen
    assert screen.count("\nenabled by trust") == 1


def test_the_files_are_shown_on_the_terminal_wherever_the_output_goes(terminal, project):
    code, screen = answer(terminal, "y\n", ("trust", "--json"))

    assert code == 0
    assert "  network = true" in screen
    assert '"trusted": true' in screen
