"""The programs of a command: their names, options, operands and directories."""

import pytest
from tests.support.commands import ROOT, WHERE, expanded, understood

from handrail.shell.blocklist.program_calls import ProgramCall, expand_command, program_basename
from handrail.shell.expand import Expander


def call(*arguments):
    one = expanded("x").calls[0].invocation
    return ProgramCall("x", arguments, ROOT, one)


@pytest.mark.parametrize(
    ("arguments", "operands"),
    [
        ("a b", ["a", "b"]),
        ("-a b --c d", ["b", "d"]),
        ("- a", ["-", "a"]),
        ("a -- -b --", ["a", "-b", "--"]),
        ("--", []),
        ("", []),
    ],
)
def test_operands_are_what_is_no_option(arguments, operands):
    assert call(*arguments.split()).operands == operands


@pytest.mark.parametrize(
    ("arguments", "options"),
    [("-a b --c", ["-a", "--c"]), ("- a", []), ("-a -- -b", ["-a"]), ("-- -b", []), ("", [])],
)
def test_options_end_at_two_dashes(arguments, options):
    assert call(*arguments.split()).options == options


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ("-r", True),
        ("-xr", True),
        ("-x", False),
        ("--recursive", True),
        ("--rec", True),
        ("--rec=x", True),
        ("--recursively", False),
        ("--other", False),
        ("--r-", False),
        ("-- -r", False),
        ("r", False),
        ("-", False),
        ("x --force", True),
    ],
)
def test_an_option_is_given_by_a_letter_or_the_beginning_of_a_name(arguments, given):
    assert call(*arguments.split()).has_option("rR", "recursive", "force") is given


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("-t X", "X"),
        ("-tX", "X"),
        ("-atX", "X"),
        ("-at X Y", "X"),
        ("--target=X", "X"),
        ("--target= Y", ""),
        ("--target X", "X"),
        ("--tar X", "X"),
        ("--targets X", None),
        ("a -t X", "X"),
        ("-t", None),
        ("--target", None),
        ("-", None),
        ("t X", None),
        ("-- X", None),
        ("--other X -t Y", "Y"),
        ("-a X", None),
        ("", None),
    ],
)
def test_the_value_of_an_option(arguments, value):
    assert call(*arguments.split()).option_value("t", "target") == value


def test_an_option_without_a_letter_has_its_name_only():
    assert call("-t", "X").option_value("", "target") is None
    assert call("-t", "--target", "X").option_value("", "target") == "X"


@pytest.mark.parametrize(
    ("program", "name"),
    [("rm", "rm"), ("/bin/rm", "rm"), ("./rm", "rm"), ("bin/rm/", "rm"), ("", "")],
)
def test_the_name_of_a_program_is_without_its_directory(program, name):
    assert program_basename(program) == name


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        ("rm x", [("rm", ROOT, False)]),
        ("/bin/rm x", [("rm", ROOT, False)]),
        ("./rm x", [("rm", ROOT, True)]),
        ("bin/rm x", [("rm", ROOT, True)]),
        ("../rm x", [("rm", ROOT, False)]),
        (f"{ROOT}/rm", [("rm", ROOT, True)]),
        ("cd sub && rm x", [("cd", ROOT, False), ("rm", f"{ROOT}/sub", False)]),
        ("cd /tmp && rm x", [("cd", ROOT, False), ("rm", "/tmp", False)]),
        ("cd && rm x", [("cd", ROOT, False), ("rm", "/home/u", False)]),
        ("/b?n/rm x", [("rm", ROOT, False)]),
    ],
)
def test_the_programs_of_a_command(command, seen):
    assert [(one.name, one.cwd, one.in_workspace) for one in expanded(command).calls] == seen


@pytest.mark.parametrize(
    ("program", "names"),
    [
        ("/bin/r*", ["rm", "rmdir"]),
        ("/???/rm", ["rm"]),
        ("/bin/r?", ["rm"]),
        ("/usr/bin/[r]m", ["rm"]),
        ("/opt/r?", []),
        ("r?", []),
        ("/bin/cp*", []),
    ],
)
def test_a_glob_stands_for_the_known_programs_of_the_system(program, names):
    _, flat = understood(f"{program} x")

    calls = expand_command(flat, WHERE, Expander({}, WHERE.home), ("rm", "mv", "rmdir")).calls

    assert [one.name for one in calls] == names


@pytest.mark.parametrize(
    ("command", "directories"),
    [
        ("rm x", (ROOT,)),
        ('cd "$D" && rm x', (None,)),
        ('eval "$D"; rm x', (None,)),
        ('for d in a /b; do cd "$d" && rm x; done', (f"{ROOT}/a", "/b")),
        ("pushd /a; popd; rm x", ("/a",)),
        ("cd -- /a; cd b; rm x", ("/a", f"{ROOT}/b")),
        ("cd; rm x", (WHERE.home,)),
    ],
)
def test_the_directories_that_a_command_visits(command, directories):
    assert expanded(command).directories == directories


def test_a_reason_has_the_source_and_what_to_do_instead():
    reason = expanded("rm -rf x").calls[0].reason("it deletes", "do not")

    assert (reason.text, reason.part) == ("it deletes; do not", "rm -rf x")
