"""The parser of awk programs: what it accepts, and the effects it finds."""

import pytest

from handrail.shell.languages.awk import likely_commands, parse_awk

pytestmark = pytest.mark.finding("F10")


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}",
        "/ERROR/ {n++} END {print n}",
        "NR==1,/^$/",
        '{a[$1]+=$2} END{for(k in a) printf "%s %d\\n", k, a[k]}',
        "$1 ~ /x/ && !seen[$2]++",
        '{print ($1 > 5 ? "a" : "b")}',
        "function f(x) { return x*2 } { print f($1) }",
        "BEGIN { x = 6 / 3 / 2; print x }",
        '{ if ($3 == "LOCK") print; else next }',
        "NR==FNR{a[$1];next} $1 in a",
        "{ while (i < 3) { i++ } }",
        "# a comment\n{ print }\n",
        "length { x = rand() + rand; print length }",
    ],
)
def test_programs_that_only_print_have_no_effects(program):
    found = parse_awk(program)

    assert found is not None
    assert (found.commands, found.reads, found.writes, found.doubts) == ([], [], [], [])


@pytest.mark.parametrize(
    ("program", "commands", "reads", "writes"),
    [
        ('BEGIN{system("id")}', ["id"], [], []),
        ('{print | "sort -n"}', ["sort -n"], [], []),
        ('{"date" | getline d}', ["date"], [], []),
        ("{cmd | getline d}", [None], [], []),
        ('{print > "out"}', [], [], ["out"]),
        ("{print $1 >> $2}", [], [], [None]),
        ('{print a && b = c > "out"}', [], [], ["out"]),
        ('{print a, (b > c) > "out"}', [], [], ["out"]),
        ('{getline x < "in"}', [], ["in"], []),
        ('{ x = 1 /2; print "a" /2 > "out" }', [], [], ["out"]),
    ],
)
def test_effects_are_found(program, commands, reads, writes):
    found = parse_awk(program)

    assert found is not None
    assert (found.commands, found.reads, found.writes) == (commands, reads, writes)


@pytest.mark.parametrize(
    "program",
    [
        '@load "x"; {print}',
        'BEGIN{f="system"; @f("id")}',
        "{print",
        "{ unknown($1) }",
        '/[/]{print > "x"}/',
        "BEGIN { switch (x) { case 1: print } }",
        "{ length /x/ }",
        "{ print tolower }",
        "# \\\n{print}",
        "(" * 500,
    ],
)
def test_what_awks_read_differently_is_not_understood(program):
    assert parse_awk(program) is None


@pytest.mark.parametrize("program", ["BEGIN{while(1);}", "{ARGV[1]=2}", '{print ENVIRON["X"]}'])
def test_loops_without_end_and_reaching_names_are_doubts(program):
    found = parse_awk(program)

    assert found is None or found.doubts


def test_commands_are_guessed_from_variables():
    assert list(likely_commands('BEGIN{c="rm -rf " d; system("rm -rf " d)}', {"d": "/"})) == [
        "rm -rf /"
    ]


@pytest.mark.parametrize(
    "program",
    [
        "BEGIN{while(n<1) m++}",
        'BEGIN{while(n<1) print "n++"}',
        "BEGIN{for(i=0;n<9;i++) m++}",
        "BEGIN{do m++; while(n<9)}",
        "BEGIN{while(getline line || 1) n++}",
        'BEGIN{while((getline line "x") > 0) n++}',
        'BEGIN{while((getline line < "a") != 5) n++}',
    ],
)
def test_a_loop_whose_condition_does_not_change_may_never_end(program):
    assert parse_awk(program).doubts == ["loop"]


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN{while((getline line < "a.txt") > 0) n++}',
        "{for(i=NF;i>0;i--) print $i}",
        "{i=1; while(i<=NF) {print $i; i++}}",
        "{while(match($0, /x+/)) {n++; $0 = substr($0, RSTART+RLENGTH)}}",
        '{s=$0; while((i = index(s, "x")) > 0) s = substr(s, i+1)}',
        "{while(i--) print}",
        "{for(;;) {if (x++ > 3) break}}",
        "BEGIN{do n++; while(n<9)}",
    ],
)
def test_a_loop_whose_condition_changes_ends(program):
    assert parse_awk(program).doubts == []
