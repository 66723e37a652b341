"""Where the command stands among the words, and counts that are none."""

import argparse

import pytest

from handrail.cli.parser import UsageError, build_parser, parse_count


@pytest.mark.parametrize(
    ("words", "position"),
    [
        ([], None),
        (["log"], 0),
        (["--json"], None),
        (["--json", "log"], 1),
        (["--mode", "plan", "log"], 2),
        (["--mode=plan", "log"], 1),
        (["-w", "dir", "log"], 2),
        (["-wdir", "log"], 1),
        (["-w", "dir", "--json", "log", "--mode", "plan"], 3),
        (["--mode", "plan"], None),
        (["-"], 0),
        (["log", "--json"], 0),
    ],
)
def test_the_command_is_the_first_word_that_is_no_option_or_value(words, position):
    assert build_parser([]).command_position(words) == position


@pytest.mark.parametrize("words", [["--nonsense", "log"], ["--", "log"], ["-Z", "log"]])
def test_an_unknown_option_before_the_command_is_an_error(words):
    with pytest.raises(UsageError):
        build_parser([]).command_position(words)


@pytest.mark.parametrize(("text", "count"), [("1", 1), ("20", 20)])
def test_a_count(text, count):
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x", ""])
def test_what_is_no_count(text):
    with pytest.raises((argparse.ArgumentTypeError, ValueError)):
        parse_count(text)
