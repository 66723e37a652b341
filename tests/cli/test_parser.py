import pytest


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


def test_an_option_before_the_command_is_not_wiped_out_by_the_command(handrail, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("there")

    done = handrail("-w", other, "call", "--json", "read_file", "path=b.txt")

    assert done.json["text"] == "there"


def test_an_unknown_command_is_told_what_it_could_have_meant(handrail):
    done = handrail("verfy")

    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "handrail: there is no command 'verfy'; did you mean verify?\nhint: see `handrail --help`\n"
    )


def test_an_unknown_format_names_the_known_ones(handrail):
    done = handrail("tools", "--format", "xml")

    assert done.code == 2
    assert "there is no FORMAT 'xml'" in done.err
    assert "openai-responses" in done.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("log", "--colour"), "unrecognised: --colour"),
        (("log", "extra"), "unrecognised: extra"),
        (("call", "read_file", "path=a.txt", "--nope"), "unrecognised: --nope"),
        (("log", "--limit", "0"), "'0' is not a number of calls"),
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
    assert "hint: see `handrail" in done.err
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


def test_help_lines_fit_eighty_columns(handrail, monkeypatch):
    from handrail.cli.parser import COMMANDS

    monkeypatch.setenv("COLUMNS", "80")
    texts = [handrail("--help").out, *(handrail(name, "--help").out for name in COMMANDS)]

    assert [line for text in texts for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("command", ["log", "verify", "doctor", "gc"])
@pytest.mark.parametrize("option", ["--mode", "--dialect"])
def test_a_name_that_does_not_exist_is_refused_by_every_command(handrail, command, option):
    before, after = handrail(option, "bogus", command), handrail(command, option, "bogus")

    assert (before.code, after.code) == (2, 2)
    assert "'bogus'" in before.err
    assert before.err == after.err
