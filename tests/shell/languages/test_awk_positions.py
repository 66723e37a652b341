"""A command is found wherever it may stand in an awk program; an installed awk judges the syntax."""

import subprocess

import pytest

from handrail.shell.languages.awk import (
    likely_commands,
    likely_files,
    parse_awk,
    program_argument,
)

HERE = 'system("true")'
# Programs in which HERE stands for an expression; in brackets, or where nothing else may follow.
POSITIONS = [
    *("BEGIN { HERE }", "END { HERE }", "{ HERE }", "HERE", "HERE { x }", "NR == 1, HERE { x }"),
    *(
        "BEGIN { x = HERE }",
        "BEGIN { x += HERE }",
        "BEGIN { x = y = HERE }",
        "BEGIN { a[HERE] = 1 }",
    ),
    *("BEGIN { x = HERE ? 1 : 2 }", "BEGIN { x = 1 ? HERE : 2 }", "BEGIN { x = 1 ? 2 : HERE }"),
    *("BEGIN { x = a || HERE }", "BEGIN { x = a ||\n HERE }"),
    *("BEGIN { x = a && HERE }", "BEGIN { x = HERE && a }", "BEGIN { x = a && b = HERE }"),
    *("BEGIN { x = HERE in a }", "BEGIN { x = (1, HERE) in a }", "BEGIN { x = $0 ~ HERE }"),
    *("BEGIN { x = HERE !~ /a/ }", "BEGIN { x = 1 < HERE }", "BEGIN { x = HERE >= 1 }"),
    *('BEGIN { x = "a" HERE }', "BEGIN { x = 1 + HERE }", "BEGIN { x = HERE - 1 }"),
    *("BEGIN { x = 2 * HERE }", "BEGIN { x = HERE / 2 }", "BEGIN { x = 2 % HERE }"),
    *(
        "BEGIN { x = !HERE }",
        "BEGIN { x = -HERE }",
        "BEGIN { x = 2 ^ HERE }",
        "BEGIN { x = HERE ^ 2 }",
    ),
    *("{ x = $(HERE) }", "{ $(HERE)++ }", "BEGIN { x = (HERE) }", "BEGIN { x = ((HERE)) }"),
    *("BEGIN { x = length(HERE) }", 'BEGIN { x = substr("abc", HERE, 1) }', "BEGIN { a[1, HERE] }"),
    *("BEGIN { print HERE }", "BEGIN { print 1, HERE }", "BEGIN { print(HERE) }"),
    *('BEGIN { printf "%s", HERE }', "BEGIN { print 1 ? HERE : 2 }", "BEGIN { print (1 > HERE) }"),
    *("BEGIN { if (HERE) x = 1 }", "BEGIN { if (1) HERE }", "BEGIN { if (1) x; else HERE }"),
    *(
        "BEGIN { if (1) { HERE } }",
        "BEGIN { if (0) x\n else if (1) HERE }",
        "BEGIN { if (1);HERE }",
    ),
    *(
        "BEGIN { while (HERE) break }",
        "BEGIN { while (i++ < 1) HERE }",
        "BEGIN { while(i++<1){HERE} }",
    ),
    *(
        "BEGIN { do HERE; while (0) }",
        "BEGIN { do { x } while (HERE) }",
        "BEGIN { for (k in a) HERE }",
    ),
    *("BEGIN { for (HERE; i < 1; i++) x }", "BEGIN { for (i = 0; HERE; ) break }"),
    *("BEGIN { for (i = 0; i < 1; HERE) i++ }", "BEGIN { for (i = 0; i < 1; i++) HERE }"),
    *(
        "BEGIN { for (;;) { HERE; break } }",
        "BEGIN { exit HERE }",
        "function f() { return HERE }\n{ f() }",
    ),
    *("function f(a, b) { HERE }\nBEGIN { f(1, 2) }", "function f(a) { x }\nBEGIN { f(HERE) }"),
    *("BEGIN { delete a[HERE] }", "BEGIN { x; HERE }", "BEGIN { x\nHERE\n}", "BEGIN { ; HERE ; }"),
    *("BEGIN { # comment\nHERE }", "BEGIN { x = 1; HERE } # end", "BEGIN { x = \\\n HERE }"),
    *(
        "/re/ { HERE }",
        "!/a\\/b/ { HERE }",
        "/[a-c]/ && HERE",
        "BEGIN { x++; HERE }",
        "BEGIN { --x; HERE }",
    ),
    *("BEGIN { x = 6 / 3; y = 2 / HERE }", "BEGIN { getline; HERE }", "BEGIN { getline x; HERE }"),
    *(
        'BEGIN { getline x < "f"; HERE }',
        'BEGIN { "id" | getline; HERE }',
        "BEGIN { next_one = HERE }",
    ),
]


@pytest.mark.parametrize("program", POSITIONS)
def test_a_command_is_found_wherever_an_expression_may_stand(program):
    found = parse_awk(program.replace("HERE", HERE))

    assert found is not None
    assert found.commands.count("true") == 1


def test_an_installed_awk_accepts_all_of_these_programs():
    for program in POSITIONS:
        checked = program.replace("HERE", "int(0)")
        done = subprocess.run(
            ["awk", checked], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False
        )
        assert b"syntax" not in done.stderr, program


@pytest.mark.parametrize(
    "program",
    [
        *("BEGIN {", "BEGIN }", "BEGIN { x = }", "BEGIN { (1 }", "BEGIN { a[1 }", "{ print ) }"),
        *("BEGIN { if 1 x }", "BEGIN { while (1 x }", "BEGIN { do x }", "BEGIN { for (a) }"),
        *("BEGIN { f(1) }", "function f( { x }", "BEGIN { 'x' }", "BEGIN { x = 1 2 = 3 }"),
        *('BEGIN { x = "a }', "BEGIN { x = ? }", "BEGIN { 1 + }", "x y z {", "BEGIN { else }"),
        *("BEGIN { x ? 1 }", "BEGIN { length /a/ }", "BEGIN { in }", "{ print > }", "BEGIN { $ }"),
    ],
)
def test_what_is_no_program_is_not_understood(program):
    assert parse_awk(program) is None


def test_nesting_and_length_have_limits():
    assert parse_awk("BEGIN { x = " + "(" * 27 + "1" + ")" * 27 + " }") is not None
    assert parse_awk("BEGIN { x = " + "(" * 28 + "1" + ")" * 28 + " }") is None
    assert parse_awk("{x}" + " " * 19_997) is not None
    assert parse_awk("{x}" + " " * 19_998) is None


@pytest.mark.parametrize(
    ("program", "doubts"),
    [
        ('{ x = ENVIRON["HOME"] }', []),
        ('{ x = ENVIRON["KEY"] }', ["ENVIRON"]),
        ("{ x = ENVIRON[k] }", ["ENVIRON"]),
        ("{ for (k in ENVIRON) x }", ["ENVIRON"]),
        ("{ x = ARGV[1] }", ["ARGV"]),
        ("{ delete ARGV }", ["ARGV"]),
        ('{ x = PROCINFO["pid"] }', ["PROCINFO"]),
        ("{ x = 1 in SYMTAB }", ["SYMTAB"]),
        ("{ x = NR }", []),
    ],
)
def test_names_that_reach_elsewhere_are_doubts(program, doubts):
    assert parse_awk(program).doubts == doubts


@pytest.mark.parametrize(
    ("program", "values", "commands", "files"),
    [
        ('BEGIN { system("a " x) }', {"x": "b"}, ["a b"], []),
        ('BEGIN { x = "c"; system("a " x) }', {"x": "b"}, ["a c"], []),
        ('BEGIN { system("a " y) }', {"x": "b"}, ["a "], []),
        ('BEGIN { system(("a" " b")) }', {}, ["a b"], []),
        ('BEGIN { system("a\\tb\\"c\\\\") }', {}, ['a\tb"c\\'], []),
        ('{ print "rm x" | "sh" }', {}, ["sh", "rm x"], []),
        ('{ print "rm x" | "/bin/bash -s" }', {}, ["/bin/bash -s", "rm x"], []),
        ('{ print "rm x" | "sort" }', {}, ["sort"], []),
        ('{ print "a" > ("/etc/" x) }', {"x": "b"}, [], ["/etc/b"]),
        ('{ print "a" >> "f" }', {}, [], ["f"]),
        ("BEGIN { broken", {}, [], []),
    ],
)
def test_what_a_program_may_run_and_write_is_guessed(program, values, commands, files):
    assert list(likely_commands(program, values)) == commands
    assert list(likely_files(program, values)) == files


@pytest.mark.parametrize(
    ("arguments", "program", "values"),
    [
        ("P file", "P", {}),
        ("-v a=1 P", "P", {"a": "1"}),
        ("-va=1 P", "P", {"a": "1"}),
        ("--assign a=1=2 P", "P", {"a": "1=2"}),
        ("-F : P", "P", {}),
        ("-F: P", "P", {}),
        ("-v a=1 -v b=2 -- P", "P", {"a": "1", "b": "2"}),
        ("-- -P", "-P", {}),
        ("-f file P", None, {}),
        ("--", None, {}),
        ("", None, {}),
    ],
)
def test_the_program_among_the_arguments(arguments, program, values):
    assert program_argument(arguments.split()) == (program, values)
