"""How a command line ends: its exit code and what is printed, for each kind of error."""

import os
import sys
from types import SimpleNamespace

import pytest

from handrail.cli import parser, runner
from handrail.cli.parser import HelpFormatter, UsageError
from handrail.core.problems import ProblemRaised


@pytest.fixture
def end_with(monkeypatch, capsys):
    """Run a command line that returns a code or raises an error."""

    def run(how, words=("x",), *, json=False):
        def command(options):
            if isinstance(how, BaseException):
                raise how
            return how

        def parse(words, options):
            options.json, options.run = json, command
            if isinstance(how, UsageError | SystemExit):
                raise how

        monkeypatch.setattr(parser, "parse", parse)
        code = runner.run_command_line(list(words))
        return (code, *capsys.readouterr())

    return run


@pytest.mark.parametrize("code", [0, 1, 5])
def test_the_code_of_the_command_is_returned(end_with, code):
    assert end_with(code) == (code, "", "")


@pytest.mark.parametrize(("given", "code"), [(0, 0), (2, 2), (None, 2), ("words", 2)])
def test_help_and_version_end_with_their_code(end_with, given, code):
    assert end_with(SystemExit(given)) == (code, "", "")


def test_output_is_flushed_before_the_end(end_with, monkeypatch):
    flushed = []
    stdout = SimpleNamespace(flush=lambda: flushed.append(True))
    monkeypatch.setattr(runner.output, "prepare_streams", lambda: None)
    monkeypatch.setattr(runner, "sys", SimpleNamespace(stdout=stdout, stderr=sys.stderr))
    assert end_with(0)[0] == 0
    assert flushed == [True]


@pytest.mark.parametrize("json", [False, True])
@pytest.mark.parametrize(
    ("code", "ends"), [("invalid_arguments", 2), ("needs_approval", 3), ("denied", 5)]
)
def test_a_problem_has_an_exit_code(end_with, json, code, ends):
    found, out, err = end_with(ProblemRaised(code, "it is so"), json=json)
    assert found == ends
    assert "it is so" in (out if json else err)


@pytest.mark.parametrize(
    ("words", "json", "stream"), [(["x"], False, 1), (["x", "--json"], False, 0), (["x"], True, 0)]
)
def test_a_usage_error_is_printed_with_its_hint(end_with, words, json, stream):
    code, *printed = end_with(UsageError("wrong word", "try this"), words, json=json)
    assert code == 2
    assert "wrong word" in printed[stream] and "try this" in printed[stream]
    if stream == 0:
        assert '"invalid_arguments"' in printed[0]


@pytest.mark.parametrize(
    ("terminal", "text"), [(True, "\ninterrupted\n"), (False, "interrupted\n")]
)
def test_an_interrupt_is_told_on_its_own_line(end_with, monkeypatch, terminal, text):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert end_with(KeyboardInterrupt()) == (130, "", text)


def test_a_reader_that_has_enough_is_no_error(end_with, monkeypatch):
    discarded = []
    monkeypatch.setattr(runner, "_discard_output", lambda: discarded.append(True))
    assert end_with(BrokenPipeError()) == (0, "", "")
    assert discarded == [True]


def test_an_error_of_the_machine_is_told_after_output_was_discarded(end_with, monkeypatch):
    order = []
    monkeypatch.setattr(runner, "_discard_output", lambda: order.append("discard"))
    monkeypatch.setattr(runner.output, "warn_titled", lambda title, error: order.append(title))
    assert end_with(OSError("full"))[0] == 1
    assert order == ["discard", "unavailable"]


def test_discarded_output_goes_nowhere_and_leaks_no_file(tmp_path, monkeypatch):
    with (tmp_path / "out").open("w") as file:
        before = len(os.listdir("/dev/fd"))
        monkeypatch.setattr(sys, "stdout", file)
        runner._discard_output()
        file.write("lost")
        file.flush()
        assert len(os.listdir("/dev/fd")) == before
    assert (tmp_path / "out").read_text() == ""


@pytest.mark.parametrize("debug", [False, True])
def test_an_unknown_error_is_a_bug(end_with, monkeypatch, debug):
    monkeypatch.setattr(runner.output, "is_debug", lambda: debug)
    code, out, err = end_with(ZeroDivisionError("by zero"))
    assert (code, out) == (1, "")
    assert "internal: ZeroDivisionError" in err
    assert "by zero" in err
    assert ("Traceback" in err, "HANDRAIL_DEBUG=1" in err) == (debug, not debug)


def formatter(width=80):
    return HelpFormatter("handrail", width=width)


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one two\nthree", 7, "one two\nthree"),
        ("one two\nthree", 6, "one\ntwo\nthree"),
        ("ab\none two", 7, "ab\none two"),
        ("one two three\nfour", 9, "one two\nthree\nfour"),
        ("a b\nc\n\nd", 20, "a b\nc\n\nd"),
        ("one two\n\nthree four", 8, "one two\n\nthree\nfour"),
        ("aa bb cc\ndd", 7, "aa bb\ncc dd"),
    ],
)
def test_help_texts_keep_lines_that_fit(text, width, expected):
    assert formatter()._fill_text(text, width, "") == expected


def test_help_texts_are_indented_without_spaces_at_the_end():
    assert formatter()._fill_text("a\n\nb", 20, "  ") == "  a\n\n  b"


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one,two,three", 30, ["one,two,three"]),
        ("one,two,three", 12, ["one,two,", "three"]),
        ("one, two", 30, ["one, two"]),
        ("one two", 4, ["one", "two"]),
    ],
)
def test_lists_are_broken_after_a_comma(text, width, expected):
    assert formatter()._split_lines(text, width) == expected
