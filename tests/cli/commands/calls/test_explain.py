import io
import json
import os
from types import SimpleNamespace

import pytest

from handrail.engine import messages


@pytest.fixture
def standard_input(monkeypatch):
    """What a script pipes into the command."""

    def give(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


def test_a_person_reads_the_class_the_reasons_the_effects_and_what_would_happen(
    handrail, workspace
):
    done = handrail("explain", "rm -f a.txt > out.txt")

    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert (done.code, lines[0]) == (0, "class dev")
    assert "programs rm" in lines
    assert f"writes {workspace}/a.txt" in lines or f"writes {workspace}/out.txt" in lines
    assert lines[-1].startswith("in mode default: needs approval")


def test_a_catastrophe_is_shown_with_the_part_that_is_one(handrail):
    out = handrail("--mode", "bypass", "explain", "ls; rm -rf ~").out

    assert out.startswith("class      blocked\n")
    assert "it deletes or moves away" in out
    assert "rm -rf ~" in out
    assert "in mode bypass: refused (" in out


def test_a_command_that_only_looks_would_run(handrail):
    assert "in mode default: runs" in handrail("explain", "cat a.txt").out


@pytest.mark.needs_bubblewrap
def test_the_answer_hangs_on_what_the_sandbox_holds_here(handrail, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('sandbox = "none"\n')

    held = handrail("--mode", "sandboxed", "explain", "make").out
    loose = handrail("--mode", "sandboxed", "--config", str(config), "explain", "make").out

    assert "in mode sandboxed: runs" in held
    assert "needs approval (nothing on" in loose


def test_a_list_of_hosts_says_what_will_be_refused(handrail, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('network = ["localhost:8765"]\n')

    out = handrail("--config", str(config), "explain", "curl http://other.example/a").out
    plain = handrail("explain", "curl http://other.example/a").out

    assert f"network    {messages.NETWORK_LISTED.format(hosts='localhost:8765')}" in out
    assert f"{'':<11}{messages.NETWORK_REFUSES.format(hosts='other.example')}" in out
    assert "\nnetwork" not in plain


def test_protected_names_are_part_of_what_would_happen(handrail):
    out = handrail("--mode", "sandboxed", "explain", "echo x > .envrc").out

    assert "needs approval ('.envrc' is protected" in out


def test_settings_of_the_person_are_part_of_what_would_happen(handrail, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('allowed_only = true\nblocked_commands = ["make deploy"]\n')

    dangerous = handrail("--config", config, "explain", "some-program").out
    blocked = handrail("--config", config, "explain", "make deploy").out

    assert ": refused (the command" in dangerous
    assert blocked.startswith("class      blocked\n")


def test_json_is_the_judgement_and_the_verdict(handrail, workspace):
    done = handrail("explain", "--json", "cat a.txt")
    told = done.json
    verdict = told.pop("verdict")

    assert verdict == {
        "mode": "default",
        "effect": "allow",
        "rule": "mode:default",
        "reason": "nothing restricts it",
        "hooks": [],
    }
    assert (done.code, told) == (
        0,
        {
            "class": "safe",
            "reasons": [],
            "effects": {
                "programs": ["cat"],
                "reads": [f"{workspace}/a.txt"],
                "writes": [],
                "hosts": [],
                "network": False,
                "background": False,
                "open_ended": False,
            },
        },
    )


def test_reasons_are_texts_with_the_part_behind(handrail):
    (reason, *_) = handrail("explain", "--json", "ls && sudo id").json["reasons"]

    assert "rights of another user" in reason
    assert reason.endswith(": sudo id")


def test_variables_and_directory_count(handrail, workspace):
    (workspace / "sub").mkdir()

    plain = handrail("explain", "--json", "ls").json
    loaded = handrail("explain", "--json", "--env", "LD_PRELOAD=x.so", "ls").json
    inside = handrail("explain", "--json", "--cwd", "sub", "cat ../a.txt").json
    outside = handrail("explain", "--json", "cat ../a.txt").json

    assert (plain["class"], loaded["class"]) == ("safe", "dangerous")
    assert (inside["class"], inside["effects"]["reads"]) == ("safe", [f"{workspace}/a.txt"])
    assert outside["class"] != "safe"


def test_the_workspace_decides_what_is_outside(handrail, workspace, tmp_path):
    other = tmp_path / "other"
    other.mkdir()

    here = handrail("explain", "--json", f"cat {workspace}/a.txt").json
    there = handrail("-w", other, "explain", "--json", f"cat {workspace}/a.txt").json

    assert (here["class"], there["class"]) == ("safe", "dangerous")


def test_lines_are_answered_in_order_and_a_bad_one_in_its_place(handrail, standard_input):
    standard_input(
        b'{"command": "ls"}\n'
        b"no json\n"
        b"\n"
        b'{"command": 1}\n'
        b'{"command": "ls", "env": {"LD_PRELOAD": "x"}}\n'
        b'{"command": "ls", "env": ["x"]}\n'
        b'{"command": "ls \xff"}\n'
        b'{"id": "7", "command": "rm -rf /", "env": null}'
    )

    done = handrail("explain", "--jsonl", "-")

    assert done.code == 0
    told = [line.get("class", "error") for line in done.lines]
    assert told == ["safe", "error", "error", "dangerous", "error", "error", "blocked"]
    assert set(done.lines[0]) == {"class", "reasons", "effects"}
    assert set(done.lines[1]) == {"error"}


def test_a_path_that_cannot_be_resolved_ends_only_its_own_line(
    handrail, standard_input, monkeypatch
):
    def realpath(path, **more):
        if "unreadable" in str(path):
            raise PermissionError
        return found(path, **more)

    found = os.path.realpath
    monkeypatch.setattr("os.path.realpath", realpath)
    standard_input(b'{"command": "cat unreadable"}\n{"command": "ls"}\n')

    told = [line.get("class", "error") for line in handrail("explain", "--jsonl", "-").lines]

    assert told == ["error", "safe"]


def test_lines_may_come_from_a_file(handrail, workspace):
    (workspace / "commands.jsonl").write_text('{"command": "cat ../x", "cwd": "sub"}\n')

    (answer,) = handrail("explain", "--jsonl", "commands.jsonl").lines

    assert answer["effects"]["reads"] == [f"{workspace}/x"]


def test_each_line_is_answered_before_the_next_is_read(handrail, monkeypatch):
    waiting = [b'{"command": "ls"}\n', b'{"command": "pwd"}\n']
    printed, answered = [], []

    class Asking(io.RawIOBase):
        def readline(self, size: int = -1) -> bytes:
            answered.append(len(printed))
            return waiting.pop(0) if waiting else b""

    monkeypatch.setattr("handrail.cli.render.output.print_json", printed.append)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Asking()))

    handrail("explain", "--jsonl", "-")

    assert answered == [0, 1, 2]


@pytest.mark.parametrize(
    "words",
    [
        ["explain"],
        ["explain", "ls", "--jsonl", "-"],
        ["explain", "ls", "--env", "X"],
        ["explain", "--jsonl", "missing.jsonl"],
        ["explain", "ls", "-la"],
    ],
)
def test_wrong_usage_is_told(handrail, words):
    done = handrail(*words)

    assert (done.code, done.out) == (2, "")
    assert "hint: " in done.err


def test_what_a_command_holds_cannot_move_the_cursor(handrail):
    assert "\x1b" not in handrail("explain", "echo \x1b[2J").out


def test_nothing_is_recorded_and_nothing_is_run(handrail, workspace, own_home):
    handrail("explain", "touch made; rm a.txt")

    assert [path.name for path in workspace.iterdir()] == ["a.txt"]
    assert [path for path in own_home.rglob("*") if path.is_file()] == []


def test_the_help_shows_a_line(handrail):
    assert json.loads(
        next(line for line in handrail("explain", "--help").out.splitlines() if "{" in line)
    )


@pytest.mark.needs_bubblewrap
def test_the_rules_and_guardrails_in_force_decide_and_are_named(handrail, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(
        '[permissions]\nallow = ["run_command(pytest:*)"]\ndeny = ["read_file(.env)"]\n'
        '[guardrails]\nblocked_commands = ["terraform"]\n'
    )

    def fate(command):
        return handrail("--config", config, "explain", command).out.splitlines()[-1]

    allowed, denied, blocked = fate("pytest -q"), fate("cat .env"), fate("terraform plan")

    assert '"allow run_command(pytest:*)"' in allowed
    assert allowed.endswith(f"rule from {config}:2)")
    assert denied.startswith("in mode default: refused (")
    assert "deny read_file(.env)" in denied
    assert denied.endswith(f"rule from {config}:3)")
    assert ": refused (Guardrail: 'terraform plan'" in blocked


def test_hooks_that_would_be_asked_are_named_and_not_run(handrail, workspace, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(
        '[[hooks.pre_tool_use]]\nname = "watch"\nmatcher = "run_command"\ncommand = "touch ran"\n'
        '[[hooks.session_start]]\ncommand = "touch ran"\n'
        '[[hooks.pre_tool_use]]\nname = "other"\nmatcher = "write_file"\ncommand = "true"\n'
    )

    done = handrail("--config", config, "explain", "ls")

    assert done.out.splitlines()[-1].endswith(f"'watch' ({config}:1: hooks.pre_tool_use[0])")
    assert not (workspace / "ran").exists()


def test_commands_that_are_switched_off_would_be_refused(handrail, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("commands = false\n")

    assert ": refused (commands are" in handrail("--config", config, "explain", "ls").out
