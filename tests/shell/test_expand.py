"""Word expansion: what the classifier may rely on, and what the blocklist expects."""

import pytest
from tests.support.commands import ROOT, WHERE, parser, refused, understood

from handrail.core.commands import CommandClass
from handrail.shell.analyze.variables import bind_variables
from handrail.shell.analyzer import ShellCommandAnalyzer
from handrail.shell.classify.arguments import argument_readings
from handrail.shell.echo import format_printf
from handrail.shell.expand import UNKNOWN, UNSET, Expander, plain_text


def expanded(command, env=None):
    """The expander of a command and the arguments of its program `p`."""
    script, flat = understood(command)
    expander = Expander(bind_variables(script, flat, env or {}), WHERE.home)
    return expander, next(one for one in flat.invocations if one.program == "p").words[1:]


def certain(command, env=None):
    expander, words = expanded(command, env)
    return [
        [argument.text for argument in reading]
        for reading in argument_readings(words, expander, ROOT)
    ]


def likely(command, env=None):
    expander, words = expanded(command, env)
    return [[plain_text(field) for field in fields] for fields in expander.likely(words, ROOT)]


@pytest.mark.parametrize(
    ("command", "readings"),
    [
        ("p a 'b c'", [["a", "b c"]]),
        ("p {a,b}c", [["ac", "bc"]]),
        ("p $'\\x41'", [["A"]]),
        ("X=a; p $X", [["a"]]),
        ("X=a; X=b; p $X $X", [["a", "a"], ["b", "b"]]),
        ("for x in a {b,c}; do p $x; done", [["a"], ["b"], ["c"]]),
        ("Y=a; X=$Y; Y=b; p $X$Y", [["aa"], ["ba"], ["ab"], ["bb"]]),
        ("X='a b'; p $X", [[None]]),
        ("X='a b'; p \"$X\"", [["a b"]]),
        ("X=''; p $X c", [["c"]]),
        ("X=''; p \"$X\" c", [["", "c"]]),
        ("true; X=a; p $X/b", [["a/b"], ["/b"]]),
        ("read X; p $X", [[None]]),
        ("p $HOME $PWD", [[WHERE.home, ROOT]]),
        ("X=~/a; p b$X", [[f"b{WHERE.home}/a"]]),
        ("p $(echo a)", [[None]]),
    ],
)
def test_the_certain_view_has_a_gap_where_the_run_time_decides(command, readings):
    assert sorted(certain(command), key=str) == sorted(readings, key=str)


@pytest.mark.parametrize(
    ("command", "readings"),
    [
        ("p ~ ~root ~u/x", [[WHERE.home, "/root", "/home/u/x"]]),
        ("p ~{root,u}", [["/root", "/home/u"]]),
        ("X='a b'; p $X", [["a", "b"]]),
        ("p $X/a", [[f"{UNSET}/a"]]),
        ("p $1", [[UNKNOWN]]),
        ("p ${X:-/a}", [["/a"]]),
        ("X=b; p ${X:-/a}", [["b"]]),
        ("X=b; p ${X:+/a}", [["/a"]]),
        ("Y=/a; p ${X:-$Y}", [["/a"]]),
        ("read X; p ${X:-/a}", [["/a"]]),
        ("X=$(echo /b); p ${X:-/a}", [["/b"]]),
        ("p $(echo a b)", [["a", "b"]]),
        ('p "$(printf "/%s" a)"', [["/a"]]),
        ("p $(cat a)", [[UNKNOWN]]),
        ("p $IFS", [[]]),
    ],
)
def test_the_likely_view_fills_the_gaps(command, readings):
    assert likely(command) == readings


def test_variables_given_with_the_command_are_likely_but_not_certain():
    assert certain("p $X", {"X": "a"}) == [[None]]
    assert likely("p $X", {"X": "a"}) == [["a"]]


def test_too_many_values_leave_a_gap():
    values = " ".join(f"a{number}" for number in range(300))

    assert certain(f"for x in {values}; do p $x; done") == [[None]]
    assert len(likely(f"for x in {values}; do p $x; done")) == 256


def test_a_value_that_refers_to_itself_ends():
    assert certain("X=$X/a; p $X") == [[None]]


@pytest.mark.parametrize(
    "command",
    [
        "for f in -e /etc/passwd; do grep foo $f; done",
        "f=--regexp; grep foo $f; f=/etc/shadow; grep foo $f",
        "X='.en?'; cat $X",
        "for X in -o; do sort $X a; done",
        "X=''; sort -o $X a",
    ],
)
@pytest.mark.feature("H04")
def test_every_value_is_classified_by_itself(command):
    analyzer = ShellCommandAnalyzer(parser(), lambda cwd: WHERE._replace(cwd=cwd))

    assert analyzer.analyze(command, cwd=ROOT, env={}).safety_class > CommandClass.SAFE


@pytest.mark.parametrize(
    "command",
    [
        "X='/*'; rm -rf $X",
        'for f in /*; do rm -rf "$f"; done',
        "for f in {a,/}; do rm -rf $f; done",
        "for f in a b c d e f g h i j k l m n o p q r /; do rm -rf $f; done",
        "X=a; rm -rf ${X:+/}",
        "Y=/; rm -rf ${X:-$Y}",
        "rm -rf $(printf '/%s' etc)",
    ],
)
@pytest.mark.feature("H01")
def test_the_blocklist_looks_at_every_value(command):
    assert refused(command)


def test_a_format_is_used_again_until_no_argument_is_left():
    assert format_printf("%s-%d\\n", ["a", "1", "b"]) == "a-1\nb-\n"
    assert format_printf("a%%", ["b"]) == "a%"
