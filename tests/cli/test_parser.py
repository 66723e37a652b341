import pytest

from handrail.cli.commands.agent.session_choice import PICK


@pytest.mark.parametrize(
    "words",
    [
        ("--json", "call", "read_file", "path=a.txt"),
        ("call", "--json", "read_file", "path=a.txt"),
        ("call", "read_file", "--json", "path=a.txt"),
        ("call", "read_file", "path=a.txt", "--json"),
    ],
)
def test_common_options_stand_before_or_after_the_command(handrail, words):
    assert handrail(*words).json["text"] == "one\ntwo"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("jobs", "output", "--follow", "4"), {"action": "output", "job": "4", "follow": True}),
        (("jobs", "-f", "output", "4"), {"action": "output", "job": "4", "follow": True}),
        (("jobs", "kill", "--store", "s.db", "4"), {"action": "kill", "job": "4"}),
        (("letters", "show", "--json", "7"), {"action": "show", "letter": "7", "json": True}),
        (("approvals", "yes", "--json", "ab"), {"action": "yes", "id": "ab"}),
        (("plan", "approve", "--json", "1", "2"), {"action": "approve", "arguments": ["1", "2"]}),
        (("plan", "approve", "1", "--json", "2"), {"action": "approve", "arguments": ["1", "2"]}),
        (("config", "check", "--json", "x"), {"action": "check", "arguments": ["x"]}),
        (("call", "t", "a=1", "--id", "i", "b=-"), {"arguments": ["a=1", "b=-"], "id": "i"}),
        (("call", "--id=i", "t", "--", "--json"), {"tool": "t", "arguments": ["--json"]}),
        (("explain", "-rf x", "--json"), {"shell_command": "-rf x", "json": True}),
        (("log", "-n5", "--path", "p"), {"limit": 5, "path": "p"}),
        (("show", "--json", "-1"), {"call_id": "-1", "json": True}),
        (("undo", "--force", "e1"), {"call": "e1", "force": True}),
        (("undo", "--call", "e1"), {"call": "e1"}),
        (("undo",), {"call": None}),
        (("redo", "e1", "--json"), {"call": "e1", "json": True}),
        (("run", "--resume", "--mode", "plan"), {"resume": PICK, "mode": "plan", "task": None}),
        (("run", "fix it", "--resume"), {"resume": PICK, "task": "fix it"}),
        (("run", "fix", "--resume", "--mode", "plan"), {"resume": PICK, "task": "fix"}),
        (("run", "--resume", "--", "-x"), {"resume": PICK, "task": "-x"}),
        (("run", "--resume", "s", "fix it"), {"resume": "s", "task": "fix it"}),
        (("run", "fix it", "--resume", "s"), {"resume": "s", "task": "fix it"}),
    ],
    ids=" ".join,
)
def test_options_may_stand_anywhere_among_the_other_words(words, expected):
    from argparse import Namespace

    from handrail.cli.parser import parse

    options = Namespace()
    parse(words, options)

    assert {name: getattr(options, name) for name in expected} == expected


def test_an_option_before_the_command_is_not_wiped_out_by_the_command(handrail, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("there\n")

    done = handrail("-w", other, "call", "--json", "read_file", "path=b.txt")

    assert done.json["text"] == "there"


def test_an_unknown_command_is_told_what_it_could_have_meant(handrail):
    done = handrail("verfy")

    assert (done.code, done.out) == (2, "")
    assert "did you mean verify?\nhint:" in done.err


def test_an_unknown_format_names_the_known_ones(handrail):
    done = handrail("tools", "--format", "xml")

    assert done.code == 2
    assert "there is no FORMAT 'xml'" in done.err
    assert "openai-responses" in done.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("log", "--colour"), "unrecognized arguments: --colour"),
        (("log", "extra"), "unrecognized arguments: extra"),
        (("jobs", "output", "4", "--follow", "5"), "unrecognized arguments: 5"),
        (("undo", "e1", "--turn", "2"), "not allowed with argument"),
        (("call", "read_file", "path=a.txt", "--nope"), "unrecognized arguments: --nope"),
        (("log", "--limit", "0"), "'0' is not a positive number"),
        (("gc", "--older-than", "-1"), "'-1' is not a number of days"),
        (("gc", "--older-than", "week"), "'week' is not a number of days"),
        (("gc", "--older-than", "nan"), "'nan' is not a number of days"),
        (("call",), "required: TOOL"),
        (("--mod", "plan", "log"), "there is no option '--mod'; did you mean --mode?"),
        (("-w", "/", "--bogus"), "there is no option '--bogus'"),
    ],
)
def test_wrong_words_are_a_usage_error(handrail, words, complaint):
    done = handrail(*words)

    assert (done.code, done.out) == (2, "")
    assert complaint in done.err
    own = f" {words[0]}" if words[0].isalpha() else ""
    assert f"hint: see `handrail{own} --help`\n" in done.err
    assert "Traceback" not in done.err


def test_wrong_words_cannot_move_the_cursor(handrail):
    done = handrail("lo\x1b[2Jg")

    assert done.code == 2
    assert "\x1b" not in done.err


def test_every_command_explains_itself(handrail):
    from handrail.cli.parser import COMMANDS

    helps = {name: handrail(name, "--help") for name in COMMANDS}

    assert {name: done.code for name, done in helps.items()} == dict.fromkeys(COMMANDS, 0)
    assert [name for name, done in helps.items() if "--workspace DIR" not in done.out] == []


@pytest.mark.parametrize("columns", [80, 48])
def test_help_lines_fit_the_terminal(handrail, monkeypatch, columns):
    from handrail.cli.parser import COMMANDS

    monkeypatch.setenv("COLUMNS", str(columns))
    texts = [handrail("--help").out, *(handrail(name, "--help").out for name in COMMANDS)]

    # argparse keeps options that exclude each other on one line.
    lines = [line for text in texts for line in text.splitlines() if " | --" not in line]
    assert [line for line in lines if len(line) > columns] == []


def test_the_second_column_of_a_help_text_keeps_its_place_when_it_is_wrapped(handrail, monkeypatch):
    monkeypatch.setenv("COLUMNS", "48")
    lines = handrail("approvals", "--help").out.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("  always ID "))

    assert lines[first + 1].startswith(" " * lines[first].index("allow") + "everything")


@pytest.mark.parametrize("command", ["log", "verify", "doctor", "gc"])
@pytest.mark.parametrize("option", ["--mode", "--dialect"])
def test_a_name_that_does_not_exist_is_refused_by_every_command(handrail, command, option):
    before, after = handrail(option, "bogus", command), handrail(command, option, "bogus")

    assert (before.code, after.code) == (2, 2)
    assert "'bogus'" in before.err
    assert before.err == after.err


def shown_tools(done):
    return {tool["name"] for tool in done.lines}


@pytest.mark.finding("F35")
def test_commands_are_enabled_and_disabled_for_one_invocation(handrail, workspace):
    config = workspace / "own.toml"
    config.write_text("commands = false\n")
    settings = ("--config", config)
    usual = shown_tools(handrail("tools", "--json"))
    without = shown_tools(handrail("tools", "--json", "--no-commands"))
    by_setting = shown_tools(handrail("tools", "--json", *settings))
    allowed = shown_tools(handrail("--allow-commands", "tools", "--json", *settings))

    assert "run_command" in usual
    assert "run_command" not in without
    assert by_setting == without
    assert allowed == usual


@pytest.mark.finding("F35")
def test_a_command_is_refused_without_commands(handrail, workspace):
    calls = workspace / "calls.jsonl"
    calls.write_text('{"name": "run_command", "arguments": {"command": "echo x"}}\n')

    call = handrail("--no-commands", "call", "--json", "run_command", "command=echo x")
    [batched] = handrail("batch", "--json", "--no-commands", calls).lines
    shown = handrail("config", "show", "--json", "--no-commands").lines
    served = handrail("serve", "--client", "generic", "--no-commands")

    assert call.json["problem"]["code"] == batched["problem"]["code"] == "unavailable"
    assert [one["value"] for one in shown if one["setting"] == "commands"] == [False]
    assert "--no-commands" in served.out
